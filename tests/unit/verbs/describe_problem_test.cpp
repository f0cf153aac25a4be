// Which kernels a result shows: those of every path, where they are small enough for figures.
#include <string>
#include <vector>

#include "catch.hpp"
#include "random_examples.hpp"
#include "verbs/theory/problem.hpp"

using namespace headway;           // NOLINT(google-build-using-namespace)
using namespace headway::testing;  // NOLINT(google-build-using-namespace)

namespace {

/// Paths of one head each.
TheoryProblem problem_of(Index examples, Index paths, Index n0) {
  Rng rng(16, StreamPurpose::kTests);
  TheoryProblem problem;
  problem.heads = {static_cast<int>(paths)};
  problem.train_labels = random_matrix(examples, 1, rng);
  theory::PathKernelOptions options;
  options.form = theory::KernelForm::kStreamed;
  options.smallest_temperature = 0.1;
  problem.kernels = theory::make_path_kernels(random_matrix(examples, paths * n0, rng),
                                              problem.train_labels, paths, options);
  return problem;
}

std::vector<MatrixXd> shown(const TheoryProblem& problem) {
  Study study;
  study.task.set_kind(TaskKind::kDataset);
  tasks::Dataset dataset;
  dataset.heads = problem.heads;
  dataset.layers.resize(1);
  dataset.train.labels = problem.train_labels;
  return describe_problem(study, dataset, problem).path_kernels;
}

}  // namespace

TEST_CASE("the kernels of a result are X_a X_a^T, path by path") {
  constexpr Index kExamples = 7, kPaths = 3, kN0 = 2;
  const TheoryProblem problem = problem_of(kExamples, kPaths, kN0);
  const std::vector<MatrixXd> kernels = shown(problem);
  REQUIRE(kernels.size() == kPaths);
  for (Index a = 0; a < kPaths; ++a) {
    const MatrixXd x = problem.kernels->features().middleCols(a * kN0, kN0);
    const MatrixXd& kernel = kernels[static_cast<std::size_t>(a)];
    REQUIRE(kernel.rows() == kExamples);
    REQUIRE(kernel.cols() == kExamples);
    CHECK((kernel - x * x.transpose()).cwiseAbs().maxCoeff<Eigen::PropagateNaN>() < 1e-14);
  }
}

TEST_CASE("kernels are shown up to 1000 examples, 16 paths and a million numbers") {
  CHECK(shown(problem_of(1000, 1, 1)).size() == 1);
  CHECK(shown(problem_of(1001, 1, 1)).empty());
  CHECK(shown(problem_of(10, 16, 1)).size() == 16);
  CHECK(shown(problem_of(10, 17, 1)).empty());
  CHECK(shown(problem_of(250, 16, 1)).size() == 16);
  CHECK(shown(problem_of(251, 16, 1)).empty());
}

TEST_CASE("without kernels or examples nothing is shown") {
  TheoryProblem problem = problem_of(5, 2, 2);
  TheoryProblem summed = problem;
  summed.train_labels.resize(0, 1);  // sums over examples
  CHECK(shown(summed).empty());
  problem.kernels = nullptr;  // attention is learned
  CHECK(shown(problem).empty());
}
