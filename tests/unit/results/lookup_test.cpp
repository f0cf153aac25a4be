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
  const std::string paths =
      "root attribute heads: makes more than 10^6 paths, or is empty; allowed: 1 to 10^6 paths";
  CHECK(fault([](SolveResult& r) { r.heads.clear(); }) == paths);
  CHECK(fault([](SolveResult& r) { r.heads = {1001, 1000}; }) == paths);
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

TEST_CASE("draws that cannot be used say why, the worst first") {
  const auto fault = [](const auto& change) {
    SamplePoint point;
    point.draws = 6;
    point.rhat_max = kUsableRhat;
    point.readout_order_parameter.mean = MatrixXd::Ones(1, 1);
    point.order_parameters.resize(2);
    for (SampledMatrix& layer : point.order_parameters) layer.mean = MatrixXd::Ones(2, 2);
    point.predictor.mean = point.predictor.variance = MatrixXd::Ones(3, 1);
    change(point);
    return sampling_fault(point);
  };
  CHECK(fault([](SamplePoint&) {}).empty());
  CHECK(fault([](SamplePoint& p) { p.draws = 0; }) == "a chain has no draws");
  const std::string means = "the means are not finite";
  CHECK(fault([](SamplePoint& p) { p.readout_order_parameter.mean(0, 0) = std::nan(""); }) ==
        means);
  CHECK(fault([](SamplePoint& p) { p.order_parameters[1].mean(1, 0) = std::nan(""); }) == means);
  CHECK(fault([](SamplePoint& p) { p.predictor.mean(2, 0) = std::nan(""); }) == means);
  CHECK(fault([](SamplePoint& p) { p.predictor.variance(2, 0) = std::nan(""); }) == means);
  CHECK(fault([](SamplePoint& p) { p.rhat_max = std::nan(""); }) ==
        "R-hat is undefined: 6 draws a chain are too few, or no chain moved");
  CHECK(fault([](SamplePoint& p) {
          p.rhat_max = std::nan("");
          p.draws = 1;
        }) == "R-hat is undefined: 1 draw a chain is too few, or no chain moved");
  CHECK(fault([](SamplePoint& p) { p.rhat_max = 1.2345; }) ==
        "R-hat 1.234 > 1.05: the chains have not mixed");
  CHECK(fault([](SamplePoint& p) { p.rhat_max = 6744475883888558.0; }) ==
        "R-hat 6.744e+15 > 1.05: the chains have not mixed");
}

TEST_CASE("effective draws a second need both") {
  SamplePoint point;
  point.ess_bulk_min = 30.0;
  CHECK(std::isnan(effective_draws_per_second(point)));
  point.sampling_seconds = 4.0;
  CHECK(effective_draws_per_second(point) == 7.5);
}
