// Points of a sweep where numbers leave the range of double precision.
#include <cmath>
#include <memory>
#include <vector>

#include "catch.hpp"
#include "headway/solve.hpp"
#include "headway/study.hpp"
#include "random_examples.hpp"

using namespace headway;           // NOLINT(google-build-using-namespace)
using namespace headway::testing;  // NOLINT(google-build-using-namespace)
using headway::Study;

namespace {

tasks::Dataset dataset_of_scale(double scale) {
  constexpr Shape kShape = {2, 4, 3};
  Rng rng(5, StreamPurpose::kTests, 1);
  tasks::Dataset dataset = random_dataset({2, 2}, kShape, rng);
  Tensor tokens = random_tensor({kShape.examples, kShape.tokens, kShape.features}, rng);
  for (double& x : tokens.values) x *= scale;
  dataset.train.examples = std::make_shared<tasks::MemoryExamples>(std::move(tokens));
  return dataset;
}

}  // namespace

TEST_CASE("a point without a finite step has not converged, and the others of its sweep stay") {
  for (const double scale : {1e10, 1e20, 1e-20}) {
    const tasks::Dataset dataset = dataset_of_scale(scale);
    Study study;
    study.threads = 1;
    study.model.widths = {{1}, {10}, {100}};
    study.model.temperatures = {0.1, 1e-40};
    study.solve.hessian = When::kOn;
    Observer observer;
    const SolveResult result = solve(study, dataset, observer);
    REQUIRE(result.points.size() == 6);
    CHECK_FALSE(result.interrupted);
    int stopped = 0;
    for (const SolvePoint& point : result.points) {
      CHECK(point.summary.message.starts_with(point.summary.converged ? "converged"
                                                                      : "not converged"));
      stopped += point.summary.converged ? 0 : 1;
    }
    CHECK(stopped > 0);
  }
}
