// Why the members of a solve do not fit each other, in whole sentences.
#include "headway/results/lookup.hpp"

#include <cmath>

#include "catch.hpp"

using namespace headway;  // NOLINT: a test

namespace {

SolveResult sound() {
  SolveResult result;
  result.heads = {2, 3};
  result.outputs = 1;
  result.train_examples = 4;
  result.test_examples = 5;
  result.train_labels = MatrixXd::Ones(4, 1);
  result.test_labels = MatrixXd::Ones(5, 1);
  result.head_names = {{"a", "b"}, {}};
  result.set_names = {"validation"};
  result.set_examples = {7};
  result.path_kernels = {MatrixXd::Identity(4, 4)};
  return result;
}

template <class Change>
std::string fault(const Change& change) {
  SolveResult result = sound();
  change(result);
  return solve_fault(result);
}

}  // namespace

TEST_CASE("members of a solve that do not belong together are told by name and number") {
  CHECK(solve_fault(sound()).empty());
  CHECK(fault([](SolveResult& r) { r.heads.clear(); }).starts_with("root attribute heads:"));
  CHECK(fault([](SolveResult& r) { r.heads = {1001, 1000}; }).starts_with("root attribute heads:"));
  CHECK(fault([](SolveResult& r) { r.head_names[1] = {"c"}; }) ==
        "names/layer_2: has 1 entries; allowed: 3");
  CHECK(fault([](SolveResult& r) {
          r.set_examples = {7, 8};
        }) == "sets, attribute examples: has 2 entries; allowed: 1");
  CHECK(fault([](SolveResult& r) { r.set_names = {"train"}; }).starts_with("sets: \"train\" is "));
  CHECK(fault([](SolveResult& r) { r.train_labels = MatrixXd::Ones(4, 2); }) ==
        "labels/train: has shape [4, 2]; allowed: [4, 1]");
  CHECK(fault([](SolveResult& r) { r.test_labels = MatrixXd::Ones(4, 1); }) ==
        "labels/test: has shape [4, 1]; allowed: [5, 1]");
  CHECK(fault([](SolveResult& r) { r.path_kernels = {MatrixXd::Ones(4, 3)}; }) ==
        "path_kernels: its matrices are not square; allowed: shape [p, P, P]");
}

TEST_CASE("points and limits are found by their widths and temperature") {
  SolveResult result;
  for (const double temperature : {0.1, 0.2}) {
    for (const Index width : {10, 20}) {
      SolvePoint& point = result.points.emplace_back();
      point.widths = {width, width};
      point.temperature = temperature;
    }
    GaussianProcessPoint& limit = result.gaussian_process.emplace_back();
    limit.temperature = temperature;
    limit.predictor.accuracy = 0.5 + temperature;
  }
  CHECK(theory_at(result, {20, 20}, 0.2) == &result.points[3]);
  CHECK(theory_at(result, {20, 10}, 0.2) == nullptr);
  CHECK(theory_at(result, {20, 20}, 0.3) == nullptr);
  CHECK(gaussian_process_at(result, 0.2) == &result.gaussian_process[1]);
  CHECK(gaussian_process_at(result, 0.3) == nullptr);
  CHECK(gaussian_process_accuracy(result, 0.2) == 0.7);
  CHECK(std::isnan(gaussian_process_accuracy(result, 0.3)));
}
