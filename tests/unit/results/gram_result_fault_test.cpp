// What is wrong with a result of `gram`, in whole sentences.
#include <cmath>
#include <string>

#include "catch.hpp"
#include "headway/gram_results.hpp"
#include "headway/theory/gram.hpp"
#include "random_matrices.hpp"

using namespace headway;  // NOLINT(google-build-using-namespace)

namespace {

/// Two heads, three features and one output, with a test set of four examples.
GramResult sound() {
  GramResult result;
  result.heads = {2};
  result.data =
      theory::gram_matrices(testing::random_matrix(9, 6, 1), testing::random_matrix(9, 1, 2));
  result.sets = {{"test", testing::random_matrix(4, 6, 3), testing::random_matrix(4, 1, 4)},
                 {"far", testing::random_matrix(2, 6, 5), testing::random_matrix(2, 1, 6)}};
  return result;
}

template <class Change>
std::string fault(const Change& change) {
  GramResult result = sound();
  change(result);
  return gram_fault(result);
}

}  // namespace

TEST_CASE("a sound result of gram has no fault") { CHECK(gram_fault(sound()).empty()); }

TEST_CASE("heads that name no path, or too many, are a fault of a result of gram") {
  const std::string allowed =
      "root attribute heads: allowed: at least one layer, at most 10^6 paths";
  CHECK(fault([](GramResult& r) { r.heads.clear(); }) == allowed);
  CHECK(fault([](GramResult& r) { r.heads = {1001, 1000}; }) == allowed);
  CHECK(fault([](GramResult& r) { r.heads = {1000, 1000}; }).starts_with("gram: "));
  CHECK(fault([](GramResult& r) { r.heads = {4}; }).starts_with("gram: "));  // not 6 features
}

TEST_CASE("sets that do not belong to the sums are told with their sizes") {
  const std::string as = "; allowed: as many examples, 6 numbers and 1 outputs as in gram";
  CHECK(fault([](GramResult& r) { r.sets[0].path_features = MatrixXd::Ones(4, 5); }) ==
        "sets/test: path_features of 4 x 5 and labels of 4 x 1" + as);
  CHECK(fault([](GramResult& r) { r.sets[1].labels = MatrixXd::Ones(2, 3); }) ==
        "sets/far: path_features of 2 x 6 and labels of 2 x 3" + as);
  CHECK(fault([](GramResult& r) { r.sets[1].labels = MatrixXd::Ones(3, 1); }) ==
        "sets/far: path_features of 2 x 6 and labels of 3 x 1" + as);
  CHECK(fault([](GramResult& r) {
          r.sets[0].path_features = MatrixXd(0, 6);
          r.sets[0].labels = MatrixXd(0, 1);
        }) == "sets/test: path_features of 0 x 6 and labels of 0 x 1" + as);
  const std::string finite = ": holds numbers that are not finite; allowed: finite numbers";
  CHECK(fault([](GramResult& r) { r.sets[0].path_features(3, 5) = std::nan(""); }) ==
        "sets/test" + finite);
  CHECK(fault([](GramResult& r) { r.sets[1].labels(1, 0) = HUGE_VAL; }) == "sets/far" + finite);
}
