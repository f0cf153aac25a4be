// What `sample` runs at a sweep point, and what it refuses.
#include "verbs/theory/sample_setup.hpp"

#include <string>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "headway/core/option_error.hpp"
#include "headway/core/rng.hpp"
#include "random_examples.hpp"

using namespace headway;
using sampling::MetricKind;
using sampling::SamplerKind;
using theory::KernelForm;

namespace {

Study small_study() {
  Study study;
  study.task.set_kind(TaskKind::kDataset);
  study.model.widths = {{20}};
  study.model.temperatures = {0.1};
  study.threads = 1;
  return study;
}

/// The message, and the keys of a study that it is about.
using Fault = std::pair<std::string, std::vector<std::string>>;

Fault fault(const Study& study) {
  try {
    check_sampling(study);
  } catch (const OptionError& error) {
    return {error.what(), error.fields()};
  }
  return {"none", {}};
}

/// Path features of one output, P x (p N_0).
std::shared_ptr<const theory::PathKernels> kernels_of(Index examples, Index paths, Index n0,
                                                      KernelForm form = KernelForm::kStored) {
  Rng rng(13, StreamPurpose::kTests);
  theory::PathKernelOptions options;
  options.form = form;
  options.smallest_temperature = 0.1;
  return theory::make_path_kernels(testing::random_matrix(examples, paths * n0, rng),
                                   testing::random_matrix(examples, 1, rng), paths, options);
}

/// Options for `unknowns` with these kernels.
sampling::SamplerOptions options_of(const Study& study, Index unknowns,
                                    const theory::PathKernels* kernels, Index labels = 10,
                                    Index width = 20) {
  const model::Architecture architecture = model::uniform_architecture({4}, width);
  const Sampler sampler = sampler_of(study, architecture, 0.1, kernels);
  return sampler_options(study, {architecture, sampler, unknowns, labels}, kernels);
}

}  // namespace

TEST_CASE("sampling at temperature 0 and metrics that a sampler lacks are refused") {
  Study study = small_study();
  CHECK(fault(study).first == "none");
  study.model.temperatures = {0.1, 0.0};
  CHECK(fault(study) ==
        Fault{"model.temperature = 0: sampling needs a temperature > 0", {"model.temperature"}});
  study.model.temperatures = {0.1};
  study.sample.metric = SampleMetric::kInformation;
  for (const Sampler sampler : {Sampler::kAuto, Sampler::kExact, Sampler::kCollapsed,
                                Sampler::kGibbs}) {  // a sweep has no metric
    study.sample.sampler = sampler;
    CHECK(fault(study).first == "none");
  }
  for (const Sampler sampler :
       {Sampler::kNuts, Sampler::kHmc, Sampler::kMala, Sampler::kLangevin}) {
    study.sample.sampler = sampler;
    CHECK(fault(study) ==
          Fault{"sample.metric = \"information\": needs sample.sampler = \"exact\"; for \"" +
                    std::string(word_of(sampler)) +
                    "\" it must be \"auto\", \"unit\", \"diagonal\" or \"dense\"",
                {"sample.metric", "sample.sampler"}});
  }
}

TEST_CASE("an order parameter is singular where its layer is narrower than its size") {
  model::Architecture a = model::uniform_architecture({2, 3}, 12, 1.0, 2);
  CHECK_FALSE(has_singular_matrix(a));  // C p_l = 12, 6, 2
  a.widths = {12, 6, 2};
  CHECK_FALSE(has_singular_matrix(a));
  for (const std::size_t layer : {0, 1, 2}) {
    model::Architecture narrow = a;
    --narrow.widths[layer];
    CHECK(has_singular_matrix(narrow));
  }
}

TEST_CASE("settings of [sample] reach the sampler, each point with streams of its own") {
  Study study = small_study();
  study.seed = 17;
  study.threads = 3;
  study.sample.chains = 5;
  study.sample.draws = 70;
  study.sample.warmup = 60;
  study.sample.thin = 2;
  study.sample.max_tree_depth = 7;
  study.sample.checkpoint_seconds = 4.0;
  const model::Architecture architecture = model::uniform_architecture({4}, 20);
  const sampling::SamplerOptions first =
      sampler_options(study, {architecture, Sampler::kExact, 5, 10, 0}, nullptr);
  const sampling::SamplerOptions second =
      sampler_options(study, {architecture, Sampler::kExact, 5, 10, 1}, nullptr);
  CHECK(first.seed == 17);
  CHECK(first.threads == 3);
  CHECK(first.chains == 5);
  CHECK(first.draws == 70);
  CHECK(first.warmup == 60);
  CHECK(first.thin == 2);
  CHECK(first.max_tree_depth == 7);
  CHECK(first.checkpoint_seconds == 4.0);
  CHECK_FALSE(first.keep_draws);
  CHECK(first.replicas == 1);
  CHECK(first.first_stream == point_stream(0, 0));
  CHECK(second.first_stream == point_stream(1, 0));
  const std::pair<Sampler, SamplerKind> kinds[] = {
      {Sampler::kAuto, SamplerKind::kNuts},  {Sampler::kCollapsed, SamplerKind::kSweep},
      {Sampler::kExact, SamplerKind::kNuts}, {Sampler::kGibbs, SamplerKind::kSweep},
      {Sampler::kNuts, SamplerKind::kNuts},  {Sampler::kHmc, SamplerKind::kStaticHmc},
      {Sampler::kMala, SamplerKind::kMala},  {Sampler::kLangevin, SamplerKind::kLangevin}};
  for (const auto& [asked, kind] : kinds) {
    study.sample.sampler = asked;
    CHECK(options_of(study, 5, nullptr).sampler == kind);
  }
}

TEST_CASE("from 11 unknowns on the metric is the information where that is cheap") {
  Study study = small_study();
  const auto kernels = kernels_of(30, 4, 2);
  const auto metric = [&](Index unknowns, const theory::PathKernels* with) {
    return options_of(study, unknowns, with).metric;
  };
  CHECK(metric(60, nullptr) == MetricKind::kDense);
  CHECK(metric(61, nullptr) == MetricKind::kDiagonal);
  int cheap_ones = 0, all = 0;
  for (const int warmup : {1, 20, 1000}) {
    study.sample.warmup = warmup;
    for (const Index paths : {2, 8, 128}) {
      const auto some = kernels_of(6, paths, 1, KernelForm::kStreamed);
      const theory::KernelCost& cost = some->cost();
      const bool cheap = sampling::information_evaluations(warmup) * cost.hessian_flops <=
                         10.0 * warmup * cost.evaluation_flops;
      cheap_ones += cheap ? 1 : 0;
      ++all;
      CHECK(metric(60, some.get()) == (cheap ? MetricKind::kInformation : MetricKind::kDense));
      CHECK(metric(61, some.get()) == (cheap ? MetricKind::kInformation : MetricKind::kDiagonal));
    }
  }
  CHECK(cheap_ones > 0);
  CHECK(cheap_ones < all);  // else the sizes above test one answer alone
  study.sample.warmup = 0;  // nothing is adapted
  CHECK(metric(60, kernels.get()) == MetricKind::kDense);
  study.sample.warmup = 1000;
  CHECK(metric(10, kernels.get()) == MetricKind::kDense);
  CHECK(metric(11, kernels.get()) == MetricKind::kInformation);
  study.sample.sampler = Sampler::kNuts;  // over weights
  CHECK(metric(60, kernels.get()) == MetricKind::kDense);
  CHECK(metric(61, kernels.get()) == MetricKind::kDiagonal);
  const std::pair<SampleMetric, MetricKind> asked[] = {
      {SampleMetric::kDense, MetricKind::kDense},
      {SampleMetric::kInformation, MetricKind::kInformation},
      {SampleMetric::kDiagonal, MetricKind::kDiagonal},
      {SampleMetric::kUnit, MetricKind::kUnit}};
  for (const auto& [word, kind] : asked) {
    study.sample.metric = word;
    CHECK(metric(5, kernels.get()) == kind);
    CHECK(metric(500, kernels.get()) == kind);
  }
}

TEST_CASE("the exact chain takes longer steps where its metric is a whole matrix") {
  Study study = small_study();
  const auto accept = [&](SampleMetric metric, Index width) {
    study.sample.metric = metric;
    return options_of(study, 5, nullptr, 10, width).target_accept;
  };
  CHECK(accept(SampleMetric::kDense, 20) == 0.65);
  CHECK(accept(SampleMetric::kDense, 3) == 0.65);
  CHECK(accept(SampleMetric::kInformation, 20) == 0.6);
  CHECK(accept(SampleMetric::kInformation, 3) == 0.65);  // singular U_1: steep tails
  CHECK_FALSE(accept(SampleMetric::kDiagonal, 20).has_value());
  study.sample.target_accept = 0.9;
  CHECK(accept(SampleMetric::kInformation, 20) == 0.9);
  CHECK(accept(SampleMetric::kDiagonal, 20) == 0.9);
  study.sample.target_accept = 0.0;
  study.sample.sampler = Sampler::kNuts;
  CHECK_FALSE(accept(SampleMetric::kDense, 20).has_value());
}

TEST_CASE("chains of learned attention have more replicas the more labels there are, up to 16") {
  Study study = small_study();
  const auto replicas = [&](Index labels) {
    return options_of(study, 5, nullptr, labels).replicas;
  };
  CHECK(replicas(100) == 1);
  study.model.attention_prior.emplace();
  CHECK(replicas(1) == 5);
  CHECK(replicas(6) == 6);  // 4 + sqrt(6) = 6.4
  CHECK(replicas(7) == 7);  // 6.6
  CHECK(replicas(144) == 16);
  CHECK(replicas(10'000) == 16);
  study.sample.replicas = 3;
  CHECK(replicas(100) == 3);
}

TEST_CASE("the exact chain halves large stored kernels, and nothing else does") {
  Study study = small_study();
  const auto sampled = [&](std::shared_ptr<const theory::PathKernels> kernels) {
    TheoryProblem problem;
    problem.kernels = std::move(kernels);
    return std::pair(sampling_kernels(study, problem), problem.kernels);
  };
  const auto small = sampled(kernels_of(20, 4, 2));
  CHECK(small.first == small.second);
  const auto large = kernels_of(460, 4, 1);  // 10 kernels of 106,030 numbers, above 8 MiB
  const auto halved = sampled(large);
  CHECK(halved.first->cost().compact);
  CHECK_FALSE(halved.second->cost().compact);
  const MatrixXd u = MatrixXd::Identity(4, 4);
  const auto exact = large->evaluate(u, 0.1), rounded = halved.first->evaluate(u, 0.1);
  CHECK(std::abs(rounded->energy() - exact->energy()) < 1e-3);
  CHECK(rounded->gradient != exact->gradient);
  // Labels of other networks get the same kernels.
  for (const auto& kernels : {large, halved.first}) {
    const auto again = theory::make_path_kernels(kernels->features(), kernels->labels(), 4,
                                                 same_kernels(*kernels));
    CHECK(again->form() == kernels->form());
    CHECK(again->cost().compact == kernels->cost().compact);
    CHECK(again->evaluate(u, 0.1)->gradient == kernels->evaluate(u, 0.1)->gradient);
  }
  const auto streamed = kernels_of(460, 4, 1, KernelForm::kStreamed);
  CHECK(sampled(streamed).first == streamed);
  study.sample.sampler = Sampler::kNuts;
  CHECK(sampled(large).first == large);
}

TEST_CASE("auto takes the collapsed sampler for narrow layers of many paths alone") {
  const Study study = small_study();
  const auto many = kernels_of(30, 12, 2);
  const auto narrow = model::uniform_architecture({12}, 3);
  CHECK(sampler_of(study, narrow, 1.0, many.get()) == Sampler::kCollapsed);
  CHECK(sampler_of(study, model::uniform_architecture({12}, 1000), 1.0, many.get()) ==
        Sampler::kExact);
  CHECK(sampler_of(study, model::uniform_architecture({3, 4}, 3), 1.0, many.get()) ==
        Sampler::kCollapsed);
  CHECK(sampler_of(study, model::uniform_architecture({3, 4}, 100), 1.0, many.get()) ==
        Sampler::kExact);
  CHECK(sampler_of(study, narrow, 1.0, nullptr) == Sampler::kExact);
  // Many features of few examples and hardly any noise: sweeps are short.
  const auto wide = kernels_of(30, 12, 20);
  CHECK(sampler_of(study, narrow, 1.0, wide.get()) == Sampler::kCollapsed);
  CHECK(sampler_of(study, narrow, 1e-4, wide.get()) == Sampler::kExact);
  CHECK(sampler_of(study, narrow, 1e-4, many.get()) == Sampler::kCollapsed);
  Study asked = study;
  asked.sample.sampler = Sampler::kExact;
  CHECK(sampler_of(asked, narrow, 1.0, many.get()) == Sampler::kExact);
}

TEST_CASE("as many networks are calibrated at a time as there are threads and memory for") {
  Study study = small_study();
  study.threads = 6;
  study.solve.memory_limit_gib = 2.0;
  CHECK(calibration_threads(study, 1000.0) == 6);
  CHECK(calibration_threads(study, 0.7 * 1024.0 * 1024.0 * 1024.0) == 2);
  CHECK(calibration_threads(study, 1e12) == 1);
}
