#include <vector>

#include "headway/numerics/dense.hpp"
#include "verbs/theory/value_problem.hpp"

namespace headway {
namespace {

constexpr Index kLargestShownKernel =
    1000;  // examples and paths up to which a result keeps its path kernels, for figures
constexpr Index kLargestShownPaths = 16;

std::vector<MatrixXd> same_path_kernels(const TheoryProblem& problem) {
  std::vector<MatrixXd> result;
  if (problem.kernels == nullptr) return result;
  const theory::PathKernels& kernels = *problem.kernels;
  if (problem.train_labels.rows() == 0 || kernels.features().size() == 0 ||
      kernels.examples() > kLargestShownKernel || kernels.paths() > kLargestShownPaths ||
      kernels.examples() * kernels.examples() * kernels.paths() > 1000000) {
    return result;
  }
  const Index n0 = kernels.feature_count();
  for (Index a = 0; a < kernels.paths(); ++a) {
    MatrixXd& kernel = result.emplace_back(kernels.examples(), kernels.examples());
    numerics::rank_update_lower(1.0, kernels.features().middleCols(a * n0, n0),
                                numerics::Transpose::kNo, 0.0, kernel);
    numerics::mirror_lower(kernel);
  }
  return result;
}

}  // namespace

SolveResult describe_problem(const Study& study, const tasks::Dataset& dataset,
                             const TheoryProblem& problem) {
  SolveResult result;
  result.heads = problem.heads;
  result.joined_heads = readout_heads(study, dataset) != dataset.heads;
  result.variances = architecture_of(study, dataset, study.model.widths.front()).variances;
  result.outputs = problem.outputs;
  result.train_examples =
      problem.kernels == nullptr ? problem.train_labels.rows() : problem.kernels->examples();
  result.test_examples = problem.evaluation.test_labels.rows();
  result.features = dataset.features;
  result.train_labels = problem.train_labels;
  result.test_labels = problem.evaluation.test_labels;
  result.set_names = problem.evaluation.set_names;
  for (const MatrixXd& labels : problem.evaluation.set_labels) {
    result.set_examples.push_back(labels.rows());
  }
  result.head_names = names_of_heads(dataset);
  result.path_kernels = same_path_kernels(problem);
  return result;
}

}  // namespace headway
