#include "headway/theory/gram.hpp"

#include <fmt/format.h>

#include <cmath>
#include <string>

#include "catch.hpp"
#include "theory_problems.hpp"

using namespace headway;
using test::random_case;

TEST_CASE("Gram matrices of parts add up to those of the whole") {
  const test::TheoryCase c = random_case({2}, 2, 20, 3, 1);
  const GramMatrices whole = theory::gram_matrices(c.features, c.labels);
  GramMatrices sum = theory::gram_matrices(c.features.topRows(7), c.labels.topRows(7));
  sum.add(theory::gram_matrices(c.features.bottomRows(13), c.labels.bottomRows(13)));
  CHECK(sum.examples == 20);
  CHECK(whole.outputs() == 2);
  CHECK(test::relative_error(sum.gram, whole.gram) < 1e-14);
  CHECK(test::relative_error(sum.projection, whole.projection) < 1e-14);
  CHECK(test::relative_error(sum.label_square, whole.label_square) < 1e-14);
  CHECK(test::relative_error(whole.gram, c.features.transpose() * c.features) < 1e-14);
}

TEST_CASE("scaled Gram matrices are those of scaled features") {
  const test::TheoryCase c = random_case({2, 2}, 1, 20, 3, 1);
  const RowMatrixXd unscaled = c.features;
  const MatrixXd scaled = theory::PathKernels::scale_features(unscaled, 4, 1.7);
  const GramMatrices a = theory::gram_matrices(scaled, c.labels);
  const GramMatrices b = theory::scale_gram(theory::gram_matrices(c.features, c.labels), 1.7);
  CHECK(test::relative_error(b.gram, a.gram) < 1e-14);
  CHECK(test::relative_error(b.projection, a.projection) < 1e-14);
  CHECK(b.label_square == a.label_square);
}

TEST_CASE("Gram matrices that no data have are told apart, each by its fault") {
  const test::TheoryCase c = random_case({2, 2}, 2, 30, 3, 1);
  const GramMatrices good = theory::gram_matrices(c.features, c.labels);
  CHECK(theory::gram_fault(good, 4).empty());
  // Fewer examples than directions, and in single precision: still good.
  const GramMatrices few = theory::gram_matrices(c.features.topRows(5), c.labels.topRows(5));
  CHECK(theory::gram_fault(few, 4).empty());
  GramMatrices rounded = few;
  rounded.gram = few.gram.cast<float>().cast<double>();
  CHECK(theory::gram_fault(rounded, 4).empty());

  const auto fault = [&](auto change) {
    GramMatrices bad = good;
    change(bad);
    return theory::gram_fault(bad, 4);
  };
  CHECK(fault([](auto& g) { g.gram(3, 3) = -g.gram(3, 3); }) ==
        "the Gram matrix is not positive semidefinite, so it belongs to no features");
  const double largest = good.gram.cwiseAbs().maxCoeff();
  CHECK(fault([](auto& g) { g.gram(3, 1) += 0.1; }) ==
        fmt::format("the Gram matrix is not symmetric: entries differ by 1.0e-01, the largest is "
                    "{:.1e}",
                    largest));
  CHECK(fault([&](auto& g) { g.gram(3, 1) += 0.9e-6 * largest; }).empty());
  const std::string finite =
      "it holds numbers that are not finite (or its sums overflow); allowed: finite numbers";
  CHECK(fault([](auto& g) { g.gram(0, 0) = std::nan(""); }) == finite);
  CHECK(fault([](auto& g) { g.projection(2, 1) = HUGE_VAL; }) == finite);
  CHECK(fault([](auto& g) { g.label_square(1, 0) = -HUGE_VAL; }) == finite);
  const std::string other =
      "the projections are larger than labels of this size allow, so they belong to other data";
  CHECK(fault([](auto& g) { g.projection *= 3.0; }) == other);
  CHECK(fault([](auto& g) { g.projection *= 0.5; }).empty());
  CHECK(fault([](auto& g) { g.label_square.setZero(); }) == other);
  CHECK(fault([](auto& g) { g.examples = 0; }) == "0 examples; allowed: at least 1");
  const auto sizes = [](const std::string& projections, const std::string& labels) {
    return "projections of " + projections + " and label products of " + labels +
           " do not fit; allowed: D x C and C x C with D = 12";
  };
  CHECK(fault([](auto& g) { g.projection = g.projection.topRows(5).eval(); }) ==
        sizes("5 x 2", "2 x 2"));
  CHECK(fault([](auto& g) { g.projection = g.projection.leftCols(1).eval(); }) ==
        sizes("12 x 1", "2 x 2"));
  CHECK(fault([](auto& g) { g.label_square = g.label_square.leftCols(1).eval(); }) ==
        sizes("12 x 2", "2 x 1"));
  CHECK(fault([](auto& g) { g.label_square = g.label_square.topRows(1).eval(); }) ==
        sizes("12 x 2", "1 x 2"));
  for (const Index path : {0, 2, 3}) {
    CHECK(fault([path](auto& g) {
            g.gram.middleRows(3 * path, 3).setZero();
            g.gram.middleCols(3 * path, 3).setZero();
          }) ==
          fmt::format("path {} of 4 has only features that are zero; leave it out", path + 1));
  }
  const auto square = [](const std::string& size, int paths) {
    return fmt::format("the Gram matrix is {}; allowed: D x D, D a multiple of {} paths", size,
                       paths);
  };
  CHECK(theory::gram_fault(good, 5) == square("12 x 12", 5));
  CHECK(theory::gram_fault(good, 0) == square("12 x 12", 0));
  CHECK(fault([](auto& g) { g.gram = g.gram.leftCols(8).eval(); }) == square("12 x 8", 4));
  CHECK(fault([](auto& g) { g.gram.resize(0, 0); }) == square("0 x 0", 4));
}

TEST_CASE(
    "rows that stand for examples have their Gram matrices, with fewer rows than directions") {
  for (const Index rank : {3, 9}) {  // below the number of examples, and full
    for (const Index outputs : {1, 3}) {
      test::TheoryCase c = random_case({2, 2}, outputs, 9, 4, 2);
      Rng rng(6, StreamPurpose::kTests);
      c.features = test::random_matrix(9, rank, rng) * test::random_matrix(rank, 16, rng);
      const GramMatrices data = theory::gram_matrices(c.features, c.labels);
      CHECK(theory::has_few_rows(data));
      const theory::GramRows rows = theory::rows_of_gram(data);
      CAPTURE(rank, outputs);
      REQUIRE(rows.features.rows() == 9);
      REQUIRE(rows.labels.rows() == 9);
      const GramMatrices again = theory::gram_matrices(rows.features, rows.labels);
      CHECK(test::relative_error(again.gram, data.gram) < 1e-13);
      CHECK(test::relative_error(again.projection, data.projection) < 1e-12);
      CHECK(test::relative_error(again.label_square, data.label_square) < 1e-12);
    }
  }
  const test::TheoryCase many = random_case({2}, 2, 40, 4, 2);
  const GramMatrices data = theory::gram_matrices(many.features, many.labels);
  CHECK_FALSE(theory::has_few_rows(data));
  const theory::GramRows rows = theory::rows_of_gram(data);
  REQUIRE(rows.features.rows() == 10);  // directions and outputs
  const GramMatrices again = theory::gram_matrices(rows.features, rows.labels);
  CHECK(test::relative_error(again.gram, data.gram) < 1e-13);
  CHECK(test::relative_error(again.projection, data.projection) < 1e-12);
  CHECK(test::relative_error(again.label_square, data.label_square) < 1e-12);
}

TEST_CASE(
    "labels that the features explain keep their energy at small temperatures, from Gram matrices "
    "alone") {
  // Without rows that stand for the examples |y|^2 - b^T F v~ cancels: 1e-16 |y|^2 / T.
  test::TheoryCase c = random_case({3}, 1, 60, 4, 2);
  Rng rng(8, StreamPurpose::kTests);
  c.labels = c.features * test::random_matrix(12, 1, rng);
  const auto whole = theory::make_path_kernels(c.features, c.labels, 3, {});
  const auto gram = theory::make_path_kernels(theory::gram_matrices(c.features, c.labels), 3, 1);
  MatrixXd u = test::random_matrix(3, 3, rng);
  u = MatrixXd(u * u.transpose()) + 0.1 * MatrixXd::Identity(3, 3);
  for (const double temperature : {1e-4, 1e-8, 1e-10}) {
    CAPTURE(temperature);
    const auto energy = [&](const theory::PathKernels& kernels, const MatrixXd& at) {
      const auto state = kernels.evaluate(at, temperature);
      REQUIRE(state);
      return state->quadratic;
    };
    const double square = c.labels.squaredNorm();
    const double rounding = 4.0 * std::numeric_limits<double>::epsilon() * square / temperature;
    const double error = energy(*gram, u) - energy(*whole, u);
    CHECK(std::abs(error) < rounding + 1e-9 * energy(*whole, u));
    // The same error for every U, so that the order parameters do not feel it.
    const MatrixXd other = u + 1e-3 * MatrixXd::Identity(3, 3);
    const double change = energy(*gram, other) - energy(*gram, u);
    CHECK_THAT(change, Catch::Matchers::WithinRel(energy(*whole, other) - energy(*whole, u), 1e-5));
  }
}
