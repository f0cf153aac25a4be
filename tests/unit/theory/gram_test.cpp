#include "headway/theory/gram.hpp"

#include <cmath>

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
  using Catch::Matchers::ContainsSubstring;
  CHECK_THAT(fault([](auto& g) { g.gram(3, 3) = -g.gram(3, 3); }),
             ContainsSubstring("not positive semidefinite"));
  CHECK_THAT(fault([](auto& g) { g.gram(3, 1) += 0.1; }), ContainsSubstring("not symmetric"));
  CHECK_THAT(fault([](auto& g) { g.gram(0, 0) = std::nan(""); }), ContainsSubstring("finite"));
  CHECK_THAT(fault([](auto& g) { g.projection *= 3.0; }), ContainsSubstring("other data"));
  CHECK_THAT(fault([](auto& g) { g.examples = 0; }), ContainsSubstring("at least 1"));
  CHECK_THAT(fault([](auto& g) { g.projection = g.projection.topRows(5).eval(); }),
             ContainsSubstring("do not fit"));
  CHECK_THAT(fault([](auto& g) {
               g.gram.middleRows(6, 3).setZero();
               g.gram.middleCols(6, 3).setZero();
             }),
             ContainsSubstring("path 3 of 4 has only features that are zero"));
  CHECK_THAT(theory::gram_fault(good, 5), ContainsSubstring("a multiple of 5 paths"));
}
