// What a readout loses without a head, by fitting again and again.
#include <Eigen/Cholesky>
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "catch.hpp"
#include "headway/analysis/head_ranking.hpp"
#include "headway/core/rng.hpp"

using namespace headway;
using namespace headway::analysis;
using Catch::Matchers::WithinAbs;
using Catch::Matchers::WithinRel;

namespace {

MatrixXd drawn(Index rows, Index columns, std::uint64_t stream) {
  Rng rng(4, StreamPurpose::kTests, stream);
  MatrixXd out(rows, columns);
  for (double& x : out.reshaped()) x = rng.normal();
  return out;
}

/// Squared error of example `at` on embedding z, mean over outputs, by the readout that is fitted
/// to all examples of x but those of `left_out`. Scales are those of all examples.
double error_without(const RidgeReadout& whole, const MatrixXd& x, const MatrixXd& y,
                     const Eigen::RowVectorXd& z, Index at, const std::vector<Index>& left_out) {
  const auto standardised = [&](const MatrixXd& some) { return whole.standardisation.apply(some); };
  std::vector<Index> kept;
  for (Index i = 0; i < x.rows(); ++i) {
    if (std::find(left_out.begin(), left_out.end(), i) == left_out.end()) kept.push_back(i);
  }
  MatrixXd a = standardised(x(kept, Eigen::all));
  MatrixXd b = y(kept, Eigen::all);
  const Eigen::RowVectorXd of_a = a.colwise().mean(), of_b = b.colwise().mean();
  a.rowwise() -= of_a;
  b.rowwise() -= of_b;
  const MatrixXd normal =
      a.transpose() * a + whole.penalty * MatrixXd::Identity(a.cols(), a.cols());
  const Eigen::RowVectorXd answer =
      (standardised(z) - of_a) * normal.ldlt().solve(a.transpose() * b) + of_b;
  return (y.row(at) - answer).squaredNorm() / static_cast<double>(y.cols());
}

/// What two examples do that neither does alone: D_ik, the rise of i without k, less what i and k
/// give by themselves.
MatrixXd double_centred(MatrixXd d) {
  const VectorXd rows = d.rowwise().mean();
  const Eigen::RowVectorXd columns = d.colwise().mean();
  const double mean = d.mean();
  d.colwise() -= rows;
  d.rowwise() -= columns;
  return d.array() + mean;
}

}  // namespace

TEST_CASE("rises without a head are those of readouts that are fitted without the example") {
  constexpr Index kExamples = 7;
  const MatrixXd x = drawn(kExamples, 3, 1), y = drawn(kExamples, 2, 2);
  MatrixXd z = x;
  z.col(1) += 0.7 * drawn(kExamples, 1, 3);
  const RankedReadout ranked(x, y, 0.6, 1);
  const std::array<RemovalChanges, 2> both = ranked.without(z);
  const RidgeReadout fixed(x, y, 0.6), refitted(z, y, 0.6);
  for (const std::size_t way : {0, 1}) {
    CAPTURE(way);
    const RidgeReadout& readout = way == 0 ? fixed : refitted;
    const MatrixXd& from = way == 0 ? x : z;
    MatrixXd by_pairs(kExamples, kExamples);
    for (Index i = 0; i < kExamples; ++i) {
      const double whole = error_without(fixed, x, y, x.row(i), i, {i});
      CHECK_THAT(ranked.errors()[i], WithinRel(whole, 1e-10));
      const double rise = error_without(readout, from, y, z.row(i), i, {i}) - whole;
      CHECK_THAT(both[way].rises(0, i), WithinAbs(rise, 1e-10));
      for (Index k = 0; k < kExamples; ++k) {
        by_pairs(i, k) = rise - (error_without(readout, from, y, z.row(i), i, {i, k}) -
                                 error_without(fixed, x, y, x.row(i), i, {i, k}));
      }
    }
    const MatrixXd wanted = double_centred(by_pairs) / static_cast<double>(kExamples);
    REQUIRE(both[way].pairs.size() == kExamples * kExamples);
    for (Index i = 0; i < kExamples; ++i) {
      for (Index k = 0; k < kExamples; ++k) {
        CHECK_THAT(both[way].pairs(0, i * kExamples + k), WithinAbs(wanted(i, k), 1e-10));
      }
    }
  }
  // The answers that are left out move by this much.
  const MatrixXd moved = fixed.answers_left_out(z) - fixed.answers_left_out(x);
  CHECK_THAT(both[0].shift[0], WithinRel(moved.squaredNorm() / (2.0 * kExamples), 1e-10));
}

TEST_CASE("a head that moves a constant column costs nothing until the readout is fitted again") {
  constexpr Index kExamples = 12;
  for (const Index columns : {5, 20}) {  // fewer and more than examples
    for (const double constant : {0.1, 0.3, 0.5}) {
      CAPTURE(columns, constant);
      MatrixXd x = drawn(kExamples, columns, 11);
      const MatrixXd y = x.leftCols(2) + 0.3 * drawn(kExamples, 2, 12);
      x.rightCols(2).setConstant(constant);
      x(3, columns - 1) = std::nextafter(static_cast<float>(constant), 1.0F);  // of float32
      MatrixXd z = x;
      z.rightCols(2) += 0.2 * drawn(kExamples, 2, 13);
      const RankedReadout ranked(x, y, 0.01, 1);
      const std::array<RemovalChanges, 2> both = ranked.without(z);
      CHECK(both[0].rises.cwiseAbs().maxCoeff<Eigen::PropagateNaN>() < 1e-10);
      CHECK(both[0].pairs.cwiseAbs().maxCoeff<Eigen::PropagateNaN>() < 1e-10);
      // The columns vary now, and the readout that is fitted to them uses them.
      const RidgeReadout& fixed = ranked.readout();
      const RidgeReadout refitted(z, y, 0.01);
      for (Index i = 0; i < kExamples; ++i) {
        const double whole = error_without(fixed, x, y, x.row(i), i, {i});
        CHECK_THAT(ranked.errors()[i], WithinRel(whole, 1e-9));
        CHECK_THAT(both[1].rises(0, i),
                   WithinAbs(error_without(refitted, z, y, z.row(i), i, {i}) - whole, 1e-9));
      }
      // The other way round, columns that become constant: their removal at the mean.
      const RemovalChanges flat = RankedReadout(z, y, 0.01, 1).without(x)[1];
      for (Index i = 0; i < kExamples; ++i) {
        const double whole = error_without(refitted, z, y, z.row(i), i, {i});
        CHECK_THAT(flat.rises(0, i),
                   WithinAbs(error_without(fixed, x, y, x.row(i), i, {i}) - whole, 1e-9));
      }
    }
  }
}

TEST_CASE("a head that does nothing changes nothing") {
  const MatrixXd x = drawn(12, 4, 4), y = drawn(12, 1, 5);
  const RankedReadout ranked(x, y, std::nullopt, 1);
  for (const RemovalChanges& change : ranked.without(x)) {
    CHECK(change.rises.cwiseAbs().maxCoeff<Eigen::PropagateNaN>() < 1e-12);
    CHECK(change.pairs.cwiseAbs().maxCoeff<Eigen::PropagateNaN>() < 1e-12);
    CHECK(change.shift[0] < 1e-12);
    CHECK(std::abs(change.belief[0]) < 1e-12);
  }
}

TEST_CASE("a readout that knows the labels expects the rises that are measured") {
  const MatrixXd x = drawn(400, 2, 6);
  const MatrixXd y = x * Eigen::Vector2d(2.0, -1.0);
  MatrixXd z = x;
  z.col(0).setZero();
  // A penalty makes all answers too small by one factor, and the expectation makes up for it.
  for (const double penalty : {1e-6, 400.0}) {
    CAPTURE(penalty);
    const RemovalChanges fixed = RankedReadout(x, y, penalty, 1).without(z)[0];
    const double rise = fixed.mean()[0];
    CHECK(rise > 0.5);
    CHECK_THAT(fixed.belief[0], WithinRel(rise, 0.02));
    const VectorXd rises = fixed.rises.row(0);
    const double error = std::sqrt((rises.array() - rise).square().sum() / (400.0 * 399.0));
    CHECK_THAT(fixed.belief_error[0], WithinRel(error, 0.05));
  }
  // No answer but the mean, so nothing to expect.
  const MatrixXd same = MatrixXd::Ones(20, 2);
  const RemovalChanges blind = RankedReadout(same, y.topRows(20), 1.0, 1).without(same)[0];
  CHECK(std::abs(blind.belief[0]) < 1e-12);
}

TEST_CASE("of many examples some pairs stand for all, which the seed draws") {
  constexpr Index kExamples = 250;  // 120 partners of 250: 30,000 pairs
  const MatrixXd x = drawn(kExamples, 2, 7), y = x.col(0) + drawn(kExamples, 1, 8);
  MatrixXd z = x;
  z.col(0).setZero();
  const auto pairs = [&](std::uint64_t seed) {
    return MatrixXd(RankedReadout(x, y, 1.0, seed).without(z)[0].pairs);
  };
  const MatrixXd one = pairs(1);
  CHECK(one.size() == kExamples * 120);
  CHECK(one == pairs(1));
  CHECK(one != pairs(2));
  const Eigen::Map<const RowMatrixXd> table(one.data(), kExamples, 120);
  CHECK(table.rowwise().sum().cwiseAbs().maxCoeff<Eigen::PropagateNaN>() < 1e-12);
  CHECK(table.colwise().sum().cwiseAbs().maxCoeff<Eigen::PropagateNaN>() < 1e-12);
  // The sum of squares over some partners is made as large as over all, and falls as 1 / P^2.
  const auto scaled = [](Index examples) {
    const MatrixXd some = drawn(examples, 2, 7), labels = some.col(0) + drawn(examples, 1, 8);
    MatrixXd cut = some;
    cut.col(0).setZero();
    const RemovalChanges changes = RankedReadout(some, labels, 1.0, 1).without(cut)[0];
    return changes.pairs.squaredNorm() * static_cast<double>(examples * examples);
  };
  CHECK(scaled(450) < 1.5 * scaled(170));  // 66 partners, and all
  CHECK(scaled(450) > 0.67 * scaled(170));
  const MatrixXd few = RankedReadout(drawn(4000, 1, 9), drawn(4000, 1, 10), 1.0, 1)
                           .without(drawn(4000, 1, 11))[0]
                           .pairs;
  CHECK(few.size() == 4000 * 8);  // never fewer than 8 partners
}

TEST_CASE("errors and covariances of rises are those computed by hand") {
  RemovalChanges changes;
  changes.rises = (MatrixXd(2, 3) << 1, 2, 3, 2, 4, 9).finished();
  changes.pairs = (MatrixXd(2, 2) << 1, 2, 0, 3).finished();
  CHECK(changes.mean() == Eigen::Vector2d(2, 5));
  const MatrixXd covariance = changes.covariance();
  CHECK_THAT(covariance(0, 0), WithinRel(2.0 / 6.0 + 5.0, 1e-14));
  CHECK_THAT(covariance(1, 1), WithinRel(26.0 / 6.0 + 9.0, 1e-14));
  CHECK_THAT(covariance(0, 1), WithinRel(7.0 / 6.0 * 3.0 / (3.0 + 2.0) + 6.0, 1e-14));
  CHECK(covariance == covariance.transpose());
  CHECK((changes.error() - covariance.diagonal().cwiseSqrt())
            .cwiseAbs()
            .maxCoeff<Eigen::PropagateNaN>() < 1e-14);
}

TEST_CASE("rows of heads are stacked in their order") {
  const auto row = [](double first) {
    return RemovalChanges{Eigen::RowVector2d(first, first + 1),
                          Eigen::RowVector2d(first + 2, first), VectorXd::Constant(1, first + 3),
                          VectorXd::Constant(1, first + 4), VectorXd::Constant(1, first + 5)};
  };
  const RemovalChanges all = stacked({row(10.0), row(20.0), row(30.0)});
  CHECK(all.rises == (MatrixXd(3, 2) << 10, 11, 20, 21, 30, 31).finished());
  CHECK(all.pairs == (MatrixXd(3, 2) << 12, 10, 22, 20, 32, 30).finished());
  CHECK(all.shift == Eigen::Vector3d(13, 23, 33));
  CHECK(all.belief == Eigen::Vector3d(14, 24, 34));
  CHECK(all.belief_error == Eigen::Vector3d(15, 25, 35));
}
