#include "headway/verbs/theory/plan.hpp"

#include <memory>

#include "catch.hpp"
#include "headway/error.hpp"
#include "headway/observer.hpp"
#include "headway/solve.hpp"
#include "headway/study/task_kinds.hpp"
#include "verbs/theory/problem.hpp"

using namespace headway;
using headway::TheoryPlan;
using headway::TheoryVerb;

namespace {

headway::Study small_study() {
  headway::Study study;
  tasks::HiddenMarkovChainOptions& task = study.task.as<tasks::HiddenMarkovChainOptions>();
  task.train_examples = 30;
  task.test_examples = 20;
  task.tokens = 6;
  task.features = 10;
  task.layers = {{{}, {.kind = tasks::HeadKind::kSameToken, .name = ""}}, {{}}};
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
    headway::Study study = small_study();
    study.solve.kernels = kernels;
    const tasks::Dataset data = headway::make_dataset(study);
    const TheoryPlan plan = headway::plan_theory(study, data, TheoryVerb::kSolves);
    Observer observer;
    const headway::TheoryProblem made =
        headway::make_problem(study, data, observer, headway::FeatureDirections::kAll);
    CHECK(plan.kernels.form == made.kernels->form());
    CHECK(plan.kernels.evaluation_flops == made.kernels->cost().evaluation_flops);
    CHECK(plan.kernels.kernel_bytes == made.kernels->cost().kernel_bytes);
    CHECK(plan.features == made.kernels->feature_count());
    CHECK(plan.feature_bytes == 8.0 * static_cast<double>(made.kernels->features().size() +
                                                          made.evaluation_features.size()));
    CHECK(plan.points == 4);
    CHECK(plan.least_bytes <= plan.memory_bytes);
    CHECK(headway::solve(study, data, observer).points.front().kernels ==
          word_of(plan.kernels.form));
  }
}

TEST_CASE("impossible kernels are found by the plan") {
  headway::Study study = small_study();
  study.model.temperatures = {0.0};
  study.solve.kernels = theory::KernelForm::kFeatureSpace;
  const tasks::Dataset data = headway::make_dataset(study);
  CHECK_THROWS_AS(headway::plan_theory(study, data, TheoryVerb::kSolves), Error);
}

TEST_CASE("a study that does not fit the memory is refused, whether by kernels or draws") {
  headway::Study study = small_study();
  const tasks::Dataset data = headway::make_dataset(study);
  const TheoryPlan plan = headway::plan_theory(study, data, TheoryVerb::kSamples);
  CHECK_NOTHROW(headway::require_memory(plan, study, plan.least_bytes + plan.draw_bytes));
  CHECK_THROWS_WITH(headway::require_memory(plan, study, 0.5 * plan.least_bytes),
                    Catch::Matchers::ContainsSubstring("need at least"));
  CHECK(plan.draw_bytes > plan.least_bytes);
  CHECK_THROWS_WITH(headway::require_memory(plan, study, 0.5 * plan.draw_bytes),
                    Catch::Matchers::ContainsSubstring("sample.draws = 1000"));
}
