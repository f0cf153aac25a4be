#include "headway/analysis/head_ranking.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "headway/analysis/rank_correlation.hpp"
#include "headway/core/rng.hpp"

using namespace headway;
using namespace headway::analysis;
using Catch::Matchers::WithinAbs;
using Catch::Matchers::WithinRel;

namespace {

MatrixXd drawn(Index rows, Index columns, std::uint64_t stream) {
  Rng rng(3, StreamPurpose::kResampledExamples, stream);
  MatrixXd out(rows, columns);
  for (double& x : out.reshaped()) x = rng.normal();
  return out;
}

MatrixXd rows_without(const MatrixXd& x, const std::vector<Index>& left_out) {
  std::vector<Index> kept;
  for (Index i = 0; i < x.rows(); ++i) {
    if (std::find(left_out.begin(), left_out.end(), i) == left_out.end()) kept.push_back(i);
  }
  return x(kept, Eigen::all);
}

/// Fitted with the scales of all examples, as the formula takes them to stay: the plain definition.
MatrixXd answers_when_fitted_without(const RidgeReadout& whole, const MatrixXd& x,
                                     const MatrixXd& y, const std::vector<Index>& left_out,
                                     const MatrixXd& at) {
  const auto standardised = [&](const MatrixXd& some) { return whole.standardisation.apply(some); };
  MatrixXd a = standardised(rows_without(x, left_out));
  MatrixXd b = rows_without(y, left_out);
  const Eigen::RowVectorXd of_a = a.colwise().mean(), of_b = b.colwise().mean();
  a.rowwise() -= of_a;
  b.rowwise() -= of_b;
  const MatrixXd hessian =
      a.transpose() * a + whole.penalty * MatrixXd::Identity(a.cols(), a.cols());
  const MatrixXd weights = hessian.ldlt().solve(a.transpose() * b);
  return ((standardised(at).rowwise() - of_a) * weights).rowwise() + of_b;
}

}  // namespace

TEST_CASE("Leaving examples out of a ridge readout is fitting without them") {
  for (const Index features : {3, 15}) {  // fewer and more than examples
    const MatrixXd x = drawn(9, features, 1), y = drawn(9, 2, 2), other = drawn(9, features, 3);
    const RidgeReadout readout(x, y, 0.7);
    const RidgeReadout::Pair pairs = readout.two_left_out({2, 5});
    const MatrixXd moved = readout.answers_left_out(other);
    for (Index i = 0; i < 9; ++i) {
      const MatrixXd alone = answers_when_fitted_without(readout, x, y, {i}, x.row(i));
      CHECK((readout.missed.row(i) - (y.row(i) - alone)).norm() < 1e-10);
      const MatrixXd there = answers_when_fitted_without(readout, x, y, {i}, other.row(i));
      CHECK((moved.row(i) - there).norm() < 1e-10);
      for (Index k = 0; k < 2; ++k) {
        const Index second = k == 0 ? 2 : 5;
        const MatrixXd both = answers_when_fitted_without(readout, x, y, {i, second}, x.row(i));
        for (Index c = 0; c < 2; ++c) {
          CHECK_THAT(pairs.first[static_cast<std::size_t>(c)](i, k),
                     WithinAbs(y(i, c) - both(0, c), 1e-10));
        }
      }
    }
  }
}

TEST_CASE("Without a penalty the one is taken whose left-out error is smallest") {
  const MatrixXd x = drawn(20, 6, 4), y = x.col(0) + 0.3 * drawn(20, 1, 5);
  const RidgeReadout chosen(x, y, std::nullopt);
  for (int power = -4; power <= 3; ++power) {
    const RidgeReadout other(x, y, std::pow(10.0, power));
    CHECK(chosen.missed.squaredNorm() <= other.missed.squaredNorm() * (1.0 + 1e-12));
  }
}

namespace {

/// The squared error of example i by weights w for all outputs and an offset for each. The examples
/// that are kept are centred anew. features: [P, D] of each output.
double error_without(const std::vector<MatrixXd>& features, const MatrixXd& labels, Index i,
                     double temperature) {
  std::vector<Index> kept;
  for (Index j = 0; j < labels.rows(); ++j) {
    if (j != i) kept.push_back(j);
  }
  const Index size = features.front().cols();
  MatrixXd gram = MatrixXd::Identity(size, size) * temperature;
  VectorXd seen = VectorXd::Zero(size);
  const MatrixXd y = labels(kept, Eigen::all);
  for (Index c = 0; c < labels.cols(); ++c) {
    const MatrixXd x = features[static_cast<std::size_t>(c)](kept, Eigen::all);
    const MatrixXd centred = x.rowwise() - x.colwise().mean();
    gram += centred.transpose() * centred;
    seen += centred.transpose() * y.col(c);
  }
  const VectorXd weights = gram.inverse() * seen;
  double sum = 0.0;
  for (Index c = 0; c < labels.cols(); ++c) {
    const MatrixXd& x = features[static_cast<std::size_t>(c)];
    const double answer =
        y.col(c).mean() + (x.row(i) - x(kept, Eigen::all).colwise().mean()).dot(weights);
    sum += std::pow(labels(i, c) - answer, 2);
  }
  return sum / static_cast<double>(labels.cols());
}

MatrixXd without_means(const MatrixXd& rows) { return rows.rowwise() - rows.colwise().mean(); }

}  // namespace

TEST_CASE("Left-out errors of a kernel predictor are those of fitting without the example") {
  struct Case {
    Index examples, features;
    double temperature, tolerance;
  };
  // With more features than examples and a small temperature the fit goes through all labels.
  const Case one =
      GENERATE(Case{8, 5, 0.4, 1e-9}, Case{8, 20, 0.4, 1e-9}, Case{12, 40, 1e-4, 1e-6});
  const MatrixXd labels = drawn(one.examples, 2, 7), y = without_means(labels);
  const std::vector<MatrixXd> features = {drawn(one.examples, one.features, 6),
                                          drawn(one.examples, one.features, 8)};
  MatrixXd x(2 * one.examples, one.features);
  x << without_means(features[0]), without_means(features[1]);
  const MatrixXd between_outputs = x * x.transpose();
  const MatrixXd same = between_outputs.topLeftCorner(one.examples, one.examples);
  const VectorXd coupled = left_out_errors(between_outputs, one.temperature, y);
  const VectorXd alone = left_out_errors(same, one.temperature, y.col(1));
  for (Index i = 0; i < one.examples; ++i) {
    CHECK_THAT(coupled[i],
               WithinRel(error_without(features, labels, i, one.temperature), one.tolerance));
    CHECK_THAT(alone[i], WithinRel(error_without({features[0]}, labels.col(1), i, one.temperature),
                                   one.tolerance));
  }
}

TEST_CASE("A cut of parts is a predictor of the parts that are left") {
  const RowMatrixXd parts = scaled_parts(drawn(10, 12, 8));
  const MatrixXd labels = drawn(10, 1, 9);
  const MatrixXd y = labels.rowwise() - labels.colwise().mean();
  const MatrixXd changes = cut_changes(parts, 3, {{0}, {1, 2}, {}}, y, {0.5, MatrixXd()}, [] {});
  const auto errors = [&](const MatrixXd& sum) {
    return left_out_errors(sum * sum.transpose() / 12.0, 0.5, y);
  };
  const MatrixXd a = parts.leftCols(4), b = parts.middleCols(4, 4), c = parts.rightCols(4);
  const VectorXd whole = errors(a + b + c);
  CHECK((changes.row(0).transpose() - (errors(b + c) - whole)).norm() < 1e-10);
  CHECK((changes.row(1).transpose() - (errors(a) - whole)).norm() < 1e-10);
  CHECK(changes.row(2).norm() == 0.0);
  int calls = 0;
  const auto stops = [&calls] {
    if (++calls == 2) throw std::runtime_error("stop");
  };
  CHECK_THROWS(cut_changes(parts, 3, {{0}, {1}, {2}}, y, {0.5, MatrixXd()}, stops));
  CHECK(calls == 2);
}

namespace {

/// Heads whose measured rises have these means, all with the same noise.
RemovalChanges rises_around(const VectorXd& means, double noise, const VectorXd& belief) {
  const Index heads = means.size(), examples = 400;
  RemovalChanges out;
  out.rises = noise * drawn(heads, examples, 10);
  out.rises.colwise() += means - out.rises.rowwise().mean();
  out.pairs = MatrixXd::Zero(heads, 1);
  out.shift = VectorXd::Constant(heads, 0.1);
  out.belief = belief;
  out.belief_error = VectorXd::Zero(heads);
  return out;
}

}  // namespace

TEST_CASE("The combined estimate follows what is certain: the measurement, or what is expected") {
  const VectorXd means = Eigen::Vector4d(0.0, 0.1, 0.2, 0.4),
                 belief = Eigen::Vector4d(0.3, 0.2, 0.1, 0.0);
  const RankEstimate sure = combine(rises_around(means, 1e-4, belief), 1);
  CHECK((sure.mean - means).norm() < 1e-3);
  CHECK(sure.reliance.minCoeff<Eigen::PropagateNaN>() > 0.99);
  const RankEstimate unsure = combine(rises_around(means, 100.0, belief), 1);
  CHECK(unsure.reliance.maxCoeff<Eigen::PropagateNaN>() < 0.05);
  CHECK(shared_ranks(sure.draws, 0.9) == std::vector<int>{1, 2, 3, 4});
  for (Index h = 1; h < 4; ++h) CHECK(unsure.mean[h] < unsure.mean[h - 1]);
  const RankEstimate blind = combine(rises_around(means, 100.0, VectorXd::Constant(4, 0.1)), 1);
  CHECK(shared_ranks(blind.draws, 0.9) == std::vector<int>{1, 1, 1, 1});
  const auto interval = sure.interval(0.9);
  for (Index h = 0; h < 4; ++h) {
    const auto inside =
        (sure.draws.col(h).array() >= interval[0][h] && sure.draws.col(h).array() <= interval[1][h])
            .count();
    CHECK(std::abs(static_cast<double>(inside) / static_cast<double>(sure.draws.rows()) - 0.9) <
          0.002);
  }
  const VectorXd cheapest = among_cheapest(unsure.draws, 2);
  CHECK_THAT(cheapest.sum(), WithinAbs(2.0, 1e-12));
  CHECK(among_cheapest(sure.draws, 2) == VectorXd(Eigen::Vector4d(1.0, 1.0, 0.0, 0.0)));
}

TEST_CASE("Draws have half of what pairs of examples do as the very readout's own") {
  // Head 0 is measured to 0.1. Its true rise is as uncertain, and the readout's own adds half of
  // that variance: sqrt(0.01 + 0.005). The means are far apart, so nothing draws them together.
  RemovalChanges changes =
      rises_around(Eigen::Vector4d(0.0, 20.0, -20.0, 40.0), 1e-6, VectorXd::Zero(4));
  changes.pairs = Eigen::Vector4d(0.1, 0.0, 0.0, 0.0);
  changes.shift = VectorXd::Ones(4);
  const VectorXd deviation = combine(changes, 1).deviation();
  CHECK_THAT(deviation[0], WithinRel(std::sqrt(0.015), 0.04));  // 3.5 errors of 4000 draws
  CHECK(deviation.tail(3).maxCoeff<Eigen::PropagateNaN>() < 1e-4);
}

TEST_CASE("Heads that move no answer keep the rises that were measured") {
  // Neither what all heads share nor the slope of what is expected tells one from the other.
  RemovalChanges changes =
      rises_around(Eigen::Vector4d(3.0, -3.0, 0.1, 0.2), 1e-4, Eigen::Vector4d(0.0, 0.0, 0.1, 0.2));
  changes.shift = Eigen::Vector4d(0.0, 0.0, 1.0, 1.0);
  const RankEstimate estimate = combine(changes, 1);
  CHECK_THAT(estimate.mean[0], WithinAbs(3.0, 1e-3));
  CHECK_THAT(estimate.mean[1], WithinAbs(-3.0, 1e-3));
  CHECK(estimate.reliance.head(2).minCoeff<Eigen::PropagateNaN>() > 0.99);
}

TEST_CASE(
    "Heads that cost the same share the places of the cheapest, and halves without an order do not "
    "count") {
  MatrixXd draws(2, 4);
  draws << 0.5, 0.5, 0.5, 0.5,  //
      0.1, 0.2, 0.2, 0.3;
  CHECK(among_cheapest(draws, 2) == VectorXd(Eigen::Vector4d(0.75, 0.5, 0.5, 0.25)));
  CHECK(among_cheapest(draws, 9) == VectorXd::Ones(4));
  // Two of eight examples tell the heads apart. If both are in one half, the other has no order.
  MatrixXd rises = MatrixXd::Zero(3, 8);
  CHECK(std::isnan(rank_ceiling(rises, 1).whole));
  rises.col(0) = Eigen::Vector3d(0.0, 1.0, 2.0);
  rises.col(1) = Eigen::Vector3d(0.0, 1.0, 2.0);
  const RankCeiling ceiling = rank_ceiling(rises, 1);
  CHECK_THAT(ceiling.halves, WithinAbs(1.0, 1e-12));
  CHECK_THAT(ceiling.deviation, WithinAbs(0.0, 1e-12));
}

TEST_CASE("The ceiling is 1 where halves agree and 0 where nothing is measured") {
  const VectorXd means = VectorXd::LinSpaced(8, 0.0, 1.0), none = VectorXd::Zero(8);
  const RankCeiling certain = rank_ceiling(rises_around(means, 1e-3, none).rises, 1);
  CHECK_THAT(certain.whole, WithinAbs(1.0, 1e-12));
  CHECK(told_apart(rises_around(means, 1e-3, none).rises) == 1.0);
  CHECK(rank_ceiling(rises_around(none, 1.0, none).rises, 1).whole < 0.5);
  CHECK(told_apart(rises_around(none, 1.0, none).rises) < 0.2);
}

TEST_CASE(
    "The ceiling has the mean and spread of many random halves, and what whole data can give") {
  // Halves by the definition, with random numbers of its own: 200 splits each, so that means agree
  // to their errors.
  const RemovalChanges noisy =
      rises_around(VectorXd::LinSpaced(8, 0.0, 1.0), 4.0, VectorXd::Zero(8));
  const RankCeiling ceiling = rank_ceiling(noisy.rises, 1);
  Rng rng(9, StreamPurpose::kTests);
  std::vector<double> found;
  for (int split = 0; split < 200; ++split) {
    std::vector<Index> order(400);
    for (Index i = 0; i < 400; ++i) order[static_cast<std::size_t>(i)] = i;
    for (std::size_t i = 399; i > 0; --i) std::swap(order[i], order[rng.uniform_index(i + 1)]);
    std::vector<double> one(8, 0.0), other(8, 0.0);
    for (std::size_t i = 0; i < 400; ++i) {
      for (Index h = 0; h < 8; ++h) {
        (i < 200 ? one : other)[static_cast<std::size_t>(h)] += noisy.rises(h, order[i]);
      }
    }
    found.push_back(spearman(one, other));
  }
  double mean = 0.0, square = 0.0;
  for (const double rho : found) mean += rho / 200.0;
  for (const double rho : found) square += (rho - mean) * (rho - mean) / 200.0;
  REQUIRE(mean > 0.2);
  REQUIRE(mean < 0.9);
  CHECK_THAT(ceiling.halves, WithinAbs(mean, 5.0 * std::sqrt(2.0 * square / 200.0)));
  CHECK_THAT(ceiling.deviation, WithinAbs(std::sqrt(square), 0.2 * std::sqrt(square)));
  CHECK_THAT(ceiling.whole,
             WithinAbs(std::sqrt(2.0 * ceiling.halves / (1.0 + ceiling.halves)), 1e-14));
  CHECK(rank_ceiling(noisy.rises, 1).halves == ceiling.halves);
  CHECK(rank_ceiling(noisy.rises, 2).halves != ceiling.halves);
  const RankCeiling one = rank_ceiling(noisy.rises.topRows(1), 1);
  CHECK((std::isnan(one.halves) && std::isnan(one.deviation) && std::isnan(one.whole)));
}

TEST_CASE("Pairs of heads are told apart by two errors of their difference") {
  // Differences of heads 1 and 0: mean 1, of n = 4 examples with deviation d sqrt(4 / 3) and error
  // d / sqrt(3). Of 2 and 0 as of 2 and 1 they are far larger.
  const auto share = [](double d) {
    MatrixXd rises = MatrixXd::Zero(3, 4);
    rises.row(1) << 1.0 + d, 1.0 - d, 1.0 + d, 1.0 - d;
    rises.row(2).setConstant(50.0);
    return told_apart(rises);
  };
  CHECK(share(0.5 * std::sqrt(3.0) * 0.999) == 1.0);
  CHECK_THAT(share(0.5 * std::sqrt(3.0) * 1.001), WithinAbs(2.0 / 3.0, 1e-15));
  CHECK(told_apart(MatrixXd::Zero(3, 4)) == 0.0);
  CHECK(std::isnan(told_apart(MatrixXd::Ones(1, 4))));
}

TEST_CASE("Ranks, bounds and deviations are those of the draws") {
  RankEstimate estimate{VectorXd::Zero(3), {}, 0.0, VectorXd::Zero(3)};
  estimate.draws.resize(5, 3);
  estimate.draws << 1.0, 2.0, 9.0,  //
      2.0, 1.0, 8.0,                //
      3.0, 4.0, 7.0,                //
      4.0, 5.0, 6.0,                //
      5.0, 6.0, 0.0;
  const auto bounds = estimate.interval(0.5);
  CHECK(bounds[0] == VectorXd(Eigen::Vector3d(2.0, 2.0, 6.0)));
  CHECK(bounds[1] == VectorXd(Eigen::Vector3d(4.0, 5.0, 8.0)));
  const VectorXd deviation = estimate.deviation();
  CHECK_THAT(deviation[0], WithinAbs(std::sqrt(2.0), 1e-14));
  CHECK_THAT(deviation[2], WithinAbs(std::sqrt(10.0), 1e-14));
  CHECK(among_cheapest(estimate.draws, 1) == VectorXd(Eigen::Vector3d(0.6, 0.2, 0.2)));
  CHECK(among_cheapest(estimate.draws, 2) == VectorXd(Eigen::Vector3d(1.0, 0.8, 0.2)));
  CHECK(among_cheapest(estimate.draws, 3) == VectorXd::Ones(3));
  CHECK(among_cheapest(estimate.draws, 9) == VectorXd::Ones(3));
  // Head 1 is above head 0 in four of five draws, and head 2 above either.
  CHECK(shared_ranks(estimate.draws, 0.9) == std::vector<int>{1, 1, 1});
  CHECK(shared_ranks(estimate.draws, 0.8) == std::vector<int>{1, 2, 3});
  CHECK(shared_ranks(estimate.draws.leftCols(2), 0.8) == std::vector<int>{1, 2});
}

TEST_CASE("errors of examples left out need a kernel that is positive with the temperature") {
  // The eigenvalue along (1, 1) / sqrt(2) is left alone, and the trace that is added there is 0.
  const MatrixXd kernel = (MatrixXd(2, 2) << 0.0, 0.6, 0.6, 0.0).finished();
  const MatrixXd y = drawn(2, 1, 3);
  CHECK_NOTHROW(left_out_errors(kernel, 0.7, y));
  CHECK_THROWS_WITH(left_out_errors(kernel, 0.5, y),
                    "temperature = 0.5: K + T I is not positive definite; allowed: a U that is "
                    "positive semidefinite, and a larger temperature");
}

TEST_CASE("At the matched temperature all parts together predict as the readout of the penalty") {
  // K = S S^T / (N_0 p) of the sum S of the parts, so that K + T is the kernel of ridge regression
  // on S / sqrt(V), whose penalty is T N_0 p / V.
  const RowMatrixXd parts = scaled_parts(drawn(9, 12, 21));
  CHECK_THAT(parts.array().square().mean(), WithinAbs(1.0, 1e-14));
  CHECK(parts.colwise().mean().cwiseAbs().maxCoeff<Eigen::PropagateNaN>() < 1e-14);
  const MatrixXd sum = parts.leftCols(4) + parts.middleCols(4, 4) + parts.rightCols(4);
  const double variance = sum.array().square().mean(), penalty = 0.6;
  const double temperature = matched_temperature(parts, 3, penalty);
  CHECK_THAT(temperature, WithinAbs(penalty * variance / 12.0, 1e-14));
  const MatrixXd y = drawn(9, 2, 22);
  const MatrixXd kernel = sum * sum.transpose() / 12.0;
  const MatrixXd by_kernel =
      kernel * (kernel + temperature * MatrixXd::Identity(9, 9)).ldlt().solve(y);
  const MatrixXd z = sum / std::sqrt(variance);
  const MatrixXd by_readout =
      z * (z.transpose() * z + penalty * MatrixXd::Identity(4, 4)).ldlt().solve(z.transpose() * y);
  CHECK((by_kernel - by_readout).cwiseAbs().maxCoeff<Eigen::PropagateNaN>() < 1e-12);
}
