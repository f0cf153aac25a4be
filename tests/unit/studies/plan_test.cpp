#include "headway/studies/plan.hpp"

#include <memory>

#include "catch.hpp"
#include "headway/core/error.hpp"
#include "headway/core/observer.hpp"
#include "headway/studies/verbs.hpp"
#include "studies/problem.hpp"

using namespace headway;
using studies::TheoryPlan;
using studies::TheoryVerb;

namespace {

studies::Study small_study() {
  studies::Study study;
  tasks::HiddenMarkovChainOptions& task = study.task.hidden_markov_chain;
  task.train_examples = 30;
  task.test_examples = 20;
  task.tokens = 6;
  task.features = 10;
  task.layers = {{{}, {.kind = tasks::HeadKind::kSameToken}}, {{}}};
  study.model.widths = {{10}, {20}};
  study.model.temperatures = {0.1, 1.0};
  study.threads = 1;
  return study;
}

}  // namespace

TEST_CASE("a plan tells the kernels that a run then makes") {
  for (const auto kernels : {theory::KernelForm::kAuto, theory::KernelForm::kStored,
                             theory::KernelForm::kStreamed, theory::KernelForm::kFeatureSpace}) {
    CAPTURE(word_of(kernels));
    studies::Study study = small_study();
    study.solve.kernels = kernels;
    const tasks::Dataset data = studies::make_dataset(study);
    const TheoryPlan plan = studies::plan_theory(study, data, TheoryVerb::kSolves);
    Observer observer;
    const studies::TheoryProblem made =
        studies::make_problem(study, data, observer, studies::FeatureDirections::kAll);
    CHECK(plan.kernels.form == made.kernels->form());
    CHECK(plan.kernels.evaluation_flops == made.kernels->cost().evaluation_flops);
    CHECK(plan.kernels.kernel_bytes == made.kernels->cost().kernel_bytes);
    CHECK(plan.features == made.kernels->feature_count());
    CHECK(plan.feature_bytes == 8.0 * static_cast<double>(made.kernels->features().size() +
                                                          made.evaluation_features.size()));
    CHECK(plan.points == 4);
    CHECK(plan.least_bytes <= plan.memory_bytes);
    CHECK(studies::solve(study, data, observer).points.front().kernels ==
          word_of(plan.kernels.form));
  }
}

TEST_CASE("impossible kernels are found by the plan") {
  studies::Study study = small_study();
  study.model.temperatures = {0.0};
  study.solve.kernels = theory::KernelForm::kFeatureSpace;
  const tasks::Dataset data = studies::make_dataset(study);
  CHECK_THROWS_AS(studies::plan_theory(study, data, TheoryVerb::kSolves), Error);
}

TEST_CASE("a study that does not fit the memory is refused, whether by kernels or draws") {
  studies::Study study = small_study();
  const tasks::Dataset data = studies::make_dataset(study);
  const TheoryPlan plan = studies::plan_theory(study, data, TheoryVerb::kSamples);
  CHECK_NOTHROW(studies::require_memory(plan, study, plan.least_bytes + plan.draw_bytes));
  CHECK_THROWS_WITH(studies::require_memory(plan, study, 0.5 * plan.least_bytes),
                    Catch::Matchers::ContainsSubstring("need at least"));
  CHECK(plan.draw_bytes > plan.least_bytes);
  CHECK_THROWS_WITH(studies::require_memory(plan, study, 0.5 * plan.draw_bytes),
                    Catch::Matchers::ContainsSubstring("sample.draws = 1000"));
}
