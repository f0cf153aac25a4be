#include "headway/verbs/theory/plan.hpp"

#include <memory>

#include "catch.hpp"
#include "headway/error.hpp"
#include "headway/observer.hpp"
#include "headway/path_features.hpp"
#include "headway/posterior/weight_posterior.hpp"
#include "headway/sample.hpp"
#include "headway/solve.hpp"
#include "headway/study/task_kinds.hpp"
#include "random_examples.hpp"
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

TEST_CASE("narrow layers are sampled with the cheapest kernels that fit, like wide ones") {
  Rng rng(14, StreamPurpose::kTests);
  const auto form = [](const headway::Study& study, const tasks::Dataset& data) {
    return headway::plan_theory(study, data, TheoryVerb::kSamples).kernels.form;
  };
  for (const Index outputs : {1, 2}) {
    const tasks::Dataset many = testing::random_dataset({2, 2}, {40, 4, 3}, rng, outputs);
    const tasks::Dataset few = testing::random_dataset({2, 2}, {6, 4, 3}, rng, outputs);
    for (const Index width : {20, 3}) {
      CAPTURE(outputs, width);
      headway::Study study = small_study();
      study.model.widths = {{20}, {width}};
      CHECK(form(study, many) == theory::KernelForm::kFeatureSpace);
      CHECK(form(study, few) ==
            (outputs == 1 ? theory::KernelForm::kStored : theory::KernelForm::kStreamed));
      study.solve.memory_limit_gib = 1e-9;
      CHECK(form(study, few) == theory::KernelForm::kStreamed);
      study.solve.kernels = theory::KernelForm::kStreamed;
      CHECK(form(study, many) == theory::KernelForm::kStreamed);
    }
  }
}

TEST_CASE("chains of narrow layers run on the kernels of the plan") {
  Rng rng(15, StreamPurpose::kTests);
  const tasks::Dataset data = testing::random_dataset({2, 2}, {40, 4, 3}, rng);
  headway::Study study = small_study();
  study.model.widths = {{3}};
  study.model.temperatures = {0.1};
  study.sample.chains = 2;
  study.sample.draws = 20;
  study.sample.warmup = 20;
  Observer observer;
  const headway::SampleResult result = headway::sample(study, data, observer);
  REQUIRE(result.solve.points.size() == 1);
  CHECK(result.solve.points.front().kernels == "feature_space");
}

TEST_CASE("impossible kernels are found by the plan") {
  headway::Study study = small_study();
  study.model.temperatures = {0.0};
  study.solve.kernels = theory::KernelForm::kFeatureSpace;
  const tasks::Dataset data = headway::make_dataset(study);
  CHECK_THROWS_AS(headway::plan_theory(study, data, TheoryVerb::kSolves), Error);
}

TEST_CASE("a study that does not fit its data is refused by the plan, too") {
  headway::Study study = small_study();
  const tasks::Dataset data = headway::make_dataset(study);
  study.model.widths = {{10, 20}};
  CHECK_THROWS_WITH(
      headway::plan_theory(study, data, TheoryVerb::kSolves),
      "model.widths: the entry [10, 20] has 2 numbers; with 2 layers it must have one "
      "number or 3 (N_1, N_2, N_a)");
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

namespace {

/// Heads [2, 3] on 7 training, 4 test and 5 further examples of two outputs.
tasks::Dataset two_outputs() {
  Rng rng(9, StreamPurpose::kTests);
  tasks::Dataset data = testing::random_dataset({2, 3}, {7, 6, 5}, rng, 2);
  data.test = testing::random_split({4, 6, 5}, rng, 2);
  data.sets.push_back({"validation", testing::random_split({5, 6, 5}, rng, 2)});
  return data;
}

/// The same path features in a file.
tasks::Dataset as_features(const tasks::Dataset& data) {
  tasks::Dataset out = data;
  out.form = AttentionForm::kPathFeatures;
  const auto replace = [&](tasks::Split& split) {
    split.examples.reset();
    split.path_features = RowMatrixXd::Ones(split.size(), 6 * 5);
  };
  replace(out.train);
  replace(*out.test);
  for (tasks::NamedSplit& set : out.sets) replace(set.split);
  return out;
}

TheoryPlan plan_of(const tasks::Dataset& data, TheoryVerb verb = TheoryVerb::kSolves,
                   const Study& study = small_study()) {
  return plan_theory(study, data, verb);
}

std::string fault(const TheoryPlan& plan, const Study& study, double memory) {
  try {
    require_memory(plan, study, memory);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kBadStudy);
    return error.what();
  }
  return "none";
}

}  // namespace

TEST_CASE("a plan has the sizes of the data, and counts the entries of all order parameters") {
  const tasks::Dataset data = two_outputs();
  const TheoryPlan plan = plan_of(data);
  CHECK(plan.train_examples == 7);
  CHECK(plan.test_examples == 4);
  CHECK(plan.sets == std::vector<std::pair<std::string, Index>>{{"validation", 5}});
  CHECK(plan.tokens == 6);
  CHECK(plan.features == 5);
  CHECK(plan.outputs == 2);
  CHECK(plan.paths == 6);
  CHECK(plan.unknowns == 12 * 13 / 2 + 6 * 7 / 2 + 2 * 3 / 2);  // U_1, U_2, U_a
  double flops = 0.0;
  for (const tasks::Split* split : {&data.train, &*data.test, &data.sets[0].split}) {
    flops +=
        model::path_feature_flops(*split->examples, data.heads, data.layers, Readout::kLastToken);
  }
  CHECK(plan.path_feature_flops == flops);
  CHECK(plan.draw_bytes == 0.0);
  const TheoryPlan of_file = plan_of(as_features(data));
  CHECK(of_file.tokens == 0);
  CHECK(of_file.path_feature_flops == 0.0);
  CHECK(of_file.feature_bytes == plan.feature_bytes);
}

TEST_CASE("features are held scaled, and unscaled too while they are made") {
  tasks::Dataset data = two_outputs();
  Rng rng(10, StreamPurpose::kTests);
  data.test = testing::random_split({30'000, 1, 5}, rng, 2);  // takes more than any matrix
  const double row = 8.0 * 6 * 5;
  const TheoryPlan plan = plan_of(data);
  CHECK(plan.feature_bytes == row * (7 + 30'005));
  CHECK(plan.memory_bytes == row * (7 + 30'005) + row * 30'005);
  CHECK(plan.least_bytes == plan.feature_bytes + plan.kernels.kernel_bytes +
                                plan.kernels.state_bytes + plan.kernels.work_bytes);
  // A file has all of its features, and a list of what is evaluated beside them.
  const TheoryPlan of_file = plan_of(as_features(data));
  CHECK(of_file.memory_bytes == 2.0 * row * (7 + 30'005) + row * 30'005);
}

TEST_CASE("a point holds two states beside its Hessian, or directions where that is too large") {
  const auto point_of = [](std::vector<int> heads) {
    Rng rng(11, StreamPurpose::kTests);
    return plan_of(testing::random_dataset(std::move(heads), {7, 2, 3}, rng));
  };
  const TheoryPlan dense = point_of({2, 3});
  const theory::KernelCost& c = dense.kernels;
  REQUIRE(c.hessian_bytes > c.work_bytes);
  CHECK(dense.point_bytes == 2.0 * c.state_bytes + c.hessian_bytes);
  CHECK(dense.memory_bytes == dense.feature_bytes + c.kernel_bytes + dense.point_bytes);
  const TheoryPlan large = point_of({110});
  CHECK(large.unknowns == 110 * 111 / 2 + 1);
  CHECK(large.point_bytes == 2.0 * large.kernels.state_bytes + large.kernels.product_bytes +
                                 40.0 * 2.0 * 8.0 * large.unknowns);
}

TEST_CASE(
    "draws take a triangle and two matrices each, and three times the weights that are kept") {
  const tasks::Dataset data = two_outputs();
  Study study = small_study();
  study.model.widths = {{3, 20, 9}, {4, 5, 6}};
  study.sample.chains = 3;
  study.sample.draws = 11;
  const auto triangle_and_two = [](double n) { return n * (n + 1) / 2 + 2 * n * n; };
  const double matrices = triangle_and_two(2) + triangle_and_two(6) + triangle_and_two(12);
  CHECK(plan_of(data, TheoryVerb::kSamples, study).draw_bytes == 8.0 * 3 * 11 * matrices);
  study.sample.keep_weights = true;  // which the exact sampler has none of
  CHECK(plan_of(data, TheoryVerb::kSamples, study).draw_bytes == 8.0 * 3 * 11 * matrices);
  study.sample.sampler = Sampler::kNuts;
  Observer observer;
  const TheoryProblem problem = make_problem(study, data, observer, FeatureDirections::kAll);
  const posterior::WeightPosterior weights(architecture_of(study, data, study.model.widths.front()),
                                           0.1, problem.kernels,
                                           std::make_shared<MatrixXd>(problem.evaluation_features));
  CHECK(plan_of(data, TheoryVerb::kSamples, study).draw_bytes ==
        8.0 * 3 * 11 * (matrices + 3.0 * static_cast<double>(weights.dimension())));
}

TEST_CASE("what does not fit into the memory is told with its sizes, in GiB") {
  const tasks::Dataset data = two_outputs();
  const Study study = small_study();
  TheoryPlan plan = plan_of(data, TheoryVerb::kSamples);
  constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;
  plan.least_bytes = 3.0 * kGiB;
  plan.draw_bytes = 2.0 * kGiB;
  CHECK(fault(plan, study, 3.0 * kGiB) == "none");
  CHECK(fault(plan, study, 2.5 * kGiB) ==
        "11 examples, 5 features and 6 paths need at least 3.0 GiB: must be at most 2.5 GiB, the "
        "memory of this machine");
  plan.least_bytes = 1.0 * kGiB;
  CHECK(fault(plan, study, 2.0 * kGiB) == "none");
  CHECK(fault(plan, study, 1.5 * kGiB) ==
        "sample.draws = 1000: 4 chains of so many draws need 2.0 GiB: must fit into 1.5 GiB, the "
        "memory of this machine. Lower sample.draws or raise sample.thin");
}

TEST_CASE("a plan of align has the memory of whole kernels, and refuses more than LAPACK counts") {
  tasks::Dataset data = as_features(two_outputs());
  const auto take = [&](Index examples) {
    data.train.labels.setOnes(examples, 2);
    data.train.path_features = RowMatrixXd::Ones(examples, 6 * 5);
  };
  take(1000);
  const TheoryPlan solves = plan_of(data), aligns = plan_of(data, TheoryVerb::kAligns);
  const double bytes = alignment_bytes(2000);
  CHECK(bytes == 4.0 * 8.0 * 2000.0 * 2000.0);
  const double held = solves.feature_bytes + solves.kernels.kernel_bytes;
  CHECK(aligns.memory_bytes == held + bytes);
  CHECK(aligns.least_bytes == held + bytes);
  CHECK(aligns.point_bytes == bytes);
  CHECK(solves.memory_bytes < bytes);
  take(16384);  // 2^15 rows
  CHECK_NOTHROW(plan_of(data));
  CHECK_THROWS_WITH(
      plan_of(data, TheoryVerb::kAligns),
      Catch::Matchers::ContainsSubstring("16384 examples of 2 outputs: align takes at "
                                         "most 32766 of both together"));
}

TEST_CASE("a plan counts the chains of a calibration") {
  headway::Study study = small_study();
  study.sample.chains = 3;
  study.sample.warmup = 100;
  study.sample.draws = 50;
  study.sample.thin = 2;
  const tasks::Dataset data = headway::make_dataset(study);
  const TheoryPlan without = headway::plan_theory(study, data, TheoryVerb::kSamples);
  CHECK(without.draw_transitions == 600);
  CHECK(without.calibration_transitions == 0);
  study.sample.calibrate = 40;
  const TheoryPlan with = headway::plan_theory(study, data, TheoryVerb::kSamples);
  CHECK(with.calibration_transitions == 8000);
  CHECK(with.calibration_flops == 40 * with.kernels.construction_flops);
  CHECK(with.calibration_bytes == with.kernels.kernel_bytes);  // one thread
  CHECK(with.memory_bytes == without.memory_bytes + with.calibration_bytes);
}
