// A solve result in which every number differs from every other, with non-square and non-symmetric
// arrays.
#pragma once

#include <cmath>
#include <string>

#include "headway/result_file.hpp"

namespace headway::testing {

/// Gives 1.5, 2.5, 3.5, ...: no two numbers of a result are the same.
class Numbers {
 public:
  double next() { return 0.5 + ++count_; }
  MatrixXd matrix(Index rows, Index columns) {
    MatrixXd m(rows, columns);
    for (Index i = 0; i < rows; ++i) {
      for (Index j = 0; j < columns; ++j) m(i, j) = next();
    }
    return m;
  }
  VectorXd vector(Index size) { return matrix(size, 1).col(0); }

 private:
  int count_ = 0;
};

inline headway::PredictorReport built_report(Numbers& numbers, Index test, Index outputs) {
  headway::PredictorReport report;
  report.mean = numbers.matrix(test, outputs);
  report.variance = numbers.matrix(test, outputs);
  report.train_accuracy = numbers.next();
  report.accuracy = numbers.next();
  report.mean_squared_error = numbers.next();
  report.right_sign_probability = numbers.next();
  report.squared_bias = numbers.next();
  report.predictor_variance = numbers.next();
  return report;
}

/// Of two layers of two and three heads, C outputs.
inline theory::OrderParameters built_order_parameters(Numbers& numbers, Index c) {
  return {{numbers.matrix(6 * c, 6 * c), numbers.matrix(3 * c, 3 * c)}, numbers.matrix(c, c)};
}

inline headway::SolvePoint built_point(Numbers& numbers, const headway::SolveResult& result,
                                       double temperature) {
  const Index c = result.outputs, test = result.test_examples;
  headway::SolvePoint point;
  point.widths = {11, 12, 13};
  point.temperature = temperature;
  theory::SaddlePointSummary& summary = point.summary;
  summary.converged = true;
  summary.message = "gradient below tolerance \xE2\x89\xA4";
  summary.optimizer = "newton";
  summary.iterations = 9;
  summary.evaluations = 11;
  summary.hessians = 3;
  summary.products = 21;
  summary.gradient_norm = numbers.next();
  summary.gradient_rounding = numbers.next();
  point.action = numbers.next();
  point.energy = numbers.next();
  point.entropy = numbers.next();
  point.order_parameters = built_order_parameters(numbers, c);
  point.predictor = built_report(numbers, test, c);
  point.smallest_hessian_eigenvalue = headway::kUndefined;
  point.smallest_hessian_eigenvalue_error = 0.03125;
  point.evidence.log_evidence = -12.25 - temperature;
  point.evidence.error = 0.015625;
  point.evidence.leading_order = -13.5 - temperature;
  point.evidence.method = "laplace";
  point.kernels = "stored";
  point.start_spread = numbers.next();
  point.corrected.defined = true;
  point.corrected.probe_error = 0.0078125;
  point.corrected.mean = built_order_parameters(numbers, c);
  point.corrected.deviation = built_order_parameters(numbers, c);
  point.corrected.predictor = built_report(numbers, test, c);
  summary.history = {{0, numbers.next(), numbers.next(), 0.0},
                     {1, numbers.next(), numbers.next(), numbers.next()}};
  point.seconds = numbers.next();
  return point;
}

inline headway::SolveResult built_result(Index outputs, Index test_examples = 4) {
  Numbers numbers;
  headway::SolveResult result;
  result.heads = {2, 3};
  result.variances = {0.5, 0.75, 1.25, 2.0};
  result.outputs = outputs;
  result.train_examples = 5;
  result.test_examples = test_examples;
  result.features = 7;
  result.train_labels = numbers.matrix(5, outputs);
  result.test_labels = numbers.matrix(test_examples, outputs);
  result.head_names = {{"good", "\xC3\xA9t\xC3\xA9"}, {"a", "b", "c"}};
  for (int i = 0; i < 6; ++i) result.path_kernels.push_back(numbers.matrix(5, 5));
  for (const double temperature : {0.01, 0.1}) {
    result.gaussian_process.push_back(
        {temperature, built_report(numbers, test_examples, outputs), numbers.next()});
    result.points.push_back(built_point(numbers, result, temperature));
  }
  result.points[1].corrected = {};
  result.points[1].corrected.reason = "U_1 is not positive";
  result.points[1].summary.converged = false;
  result.points[1].smallest_hessian_eigenvalue = 0.0625;
  result.points[1].method = "another";
  result.seconds = 12.25;
  result.threads = 3;
  return result;
}

/// Gives every predictor of a result two further sets, in an order that is not that of their names.
inline void add_sets(headway::SolveResult& result) {
  Numbers numbers;
  result.set_names = {"validation", "mnist"};
  result.set_examples = {3, 4};
  const auto add = [&](headway::PredictorReport& report) {
    for (const std::string& name : result.set_names) {
      const double accuracy = numbers.next();
      report.sets.push_back({name, accuracy, numbers.next()});
    }
  };
  for (headway::GaussianProcessPoint& point : result.gaussian_process) add(point.predictor);
  for (headway::SolvePoint& point : result.points) {
    add(point.predictor);
    if (point.corrected.defined) add(point.corrected.predictor);
  }
}

inline headway::ResultProvenance built_provenance() {
  headway::ResultProvenance from;
  from.study_toml = "schema = 1\nname = \"caf\xC3\xA9\"\n";
  from.study_hash = std::string(64, 'a');
  from.data_hash = std::string(64, 'b');
  from.headway_version = "9.8.7";
  from.git_commit = "0123abc";
  from.compiler = "a compiler";
  from.blas = "a BLAS";
  from.command = "headway solve study.toml";
  from.started = "2031-02-03T04:05:06Z";
  from.seed = 0xFFFFFFFFFFFFFFFEULL;
  from.threads = 3;
  from.seconds = 12.25;
  from.partial = true;
  return from;
}

}  // namespace headway::testing
