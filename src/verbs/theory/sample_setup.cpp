#include "verbs/theory/sample_setup.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "headway/core/memory.hpp"
#include "headway/core/option_error.hpp"
#include "headway/core/parallel.hpp"
#include "headway/core/rng.hpp"
#include "headway/posterior/collapsed_chain.hpp"
#include "headway/verbs/theory/learned_attention.hpp"

namespace headway {
namespace {

constexpr double kExactTargetAccept = 0.65;
constexpr double kInformationTargetAccept = 0.6;
constexpr Index kLargestDenseMetric = 60;  // unknowns up to which "auto" estimates their covariance
// Where the draws of a window are several times as many as the unknowns, their covariance is the
// best metric. Above, the information is at most 1.6 times as slow as the best, up to 400 unknowns
// (apps/benchmarks/README.md).
constexpr Index kFewUnknowns = 10;
constexpr double kGradientsPerTransition = 10.0;
// What an effective draw takes, about (measured with 4 to 20 paths, N = 3 to 100, one and two
// layers): sweeps of the collapsed chain, and gradients of the exact one, where some N_l < C p_l at
// least that many. Where examples are fewer than features, the collapsed chain walks among networks
// that fit them, in steps as long as the noise lets: T = 0.1, 0.03 and 0.01 beside labels of +-1
// took 25, 60 and 180 sweeps.
constexpr double kSweepsOfDraw = 3.0;
constexpr double kSweepsOfSignal = 2.0;  // times y^2 / T
constexpr double kGradientsOfDraw = 20.0;
constexpr double kNarrowGradientsOfDraw = 500.0;
// The exact chain also gives the evidence, so the other must gain this much.
constexpr double kWantedGain = 4.0;
// Replicas of a chain with learned attention: how far a posterior is from its prior, in deviations,
// grows as the root of the number of labels. 5 to 8 exchange in 60 to 75 % of the trials with 6
// labels (measured).
constexpr int kFewestReplicas = 4;
constexpr int kMostAutomaticReplicas = 16;
constexpr double kEnergyTolerance = 1e-3;  // that is half of it in the log density

/// The exact chain runs on NUTS, Gibbs in sweeps. The others have the same words.
sampling::SamplerKind sampler_kind(Sampler sampler) {
  if (sampler == Sampler::kExact) return sampling::SamplerKind::kNuts;
  if (sampler == Sampler::kCollapsed || sampler == Sampler::kGibbs)
    return sampling::SamplerKind::kSweep;
  return parse_word<sampling::SamplerKind>("sample.sampler", word_of(sampler));
}

sampling::MetricKind metric_kind(const SampleOptions& sample, Sampler sampler, Index dimension,
                                 const theory::PathKernels* kernels) {
  using sampling::MetricKind;
  if (sample.metric == SampleMetric::kDense) return MetricKind::kDense;
  if (sample.metric == SampleMetric::kInformation) return MetricKind::kInformation;
  if (sample.metric == SampleMetric::kDiagonal) return MetricKind::kDiagonal;
  if (sample.metric == SampleMetric::kUnit) return MetricKind::kUnit;
  if (dimension <= kFewUnknowns) return MetricKind::kDense;
  if (sampler == Sampler::kExact && kernels != nullptr && sample.warmup > 0) {
    const double information =
        sampling::information_evaluations(sample.warmup) * kernels->cost().hessian_flops;
    const double warmup =
        sample.warmup * kGradientsPerTransition * kernels->cost().evaluation_flops;
    if (information <= warmup) return MetricKind::kInformation;
  }
  return dimension <= kLargestDenseMetric ? MetricKind::kDense : MetricKind::kDiagonal;
}

double sweeps_of_draw(const theory::PathKernels& kernels, double temperature) {
  if (kernels.features().cols() <= kernels.labels().size()) return kSweepsOfDraw;
  const double signal =
      kernels.labels().squaredNorm() / static_cast<double>(kernels.labels().size());
  return kSweepsOfDraw + kSweepsOfSignal * signal / temperature;
}

int automatic_replicas(Index labels) {
  const double wanted = kFewestReplicas + std::sqrt(static_cast<double>(labels));
  return static_cast<int>(std::min<double>(kMostAutomaticReplicas, std::round(wanted)));
}

}  // namespace

bool has_singular_matrix(const model::Architecture& architecture) {
  for (int l = 1; l <= architecture.layers() + 1; ++l) {
    if (architecture.widths[l - 1] < architecture.outputs * architecture.paths_above(l)) {
      return true;
    }
  }
  return false;
}

void check_sampling(const Study& study) {
  for (const double t : study.model.temperatures) {
    if (t > 0.0) continue;
    throw OptionError(fmt::format("model.temperature = {}: sampling needs a temperature > 0", t),
                      {"model.temperature"});
  }
  const SampleOptions& sample = study.sample;
  if (sample.metric == SampleMetric::kInformation && draws_weights(sample.sampler) &&
      sample.sampler != Sampler::kGibbs) {
    throw OptionError(
        fmt::format("sample.metric = \"information\": needs sample.sampler = \"exact\"; for \"{}\" "
                    "it must be \"auto\", \"unit\", \"diagonal\" or \"dense\"",
                    word_of(sample.sampler)),
        {"sample.metric", "sample.sampler"});
  }
}

void check_features(const Study& study, const tasks::Dataset& dataset,
                    const TheoryProblem& problem) {
  const SampleOptions& sample = study.sample;
  if (problem.values || !problem.kernels || problem.kernels->examples() == 0 ||
      problem.kernels->features().size() > 0)
    return;
  const std::string why =
      fmt::format("{} without the features of its examples in one process", dataset.name);
  if (sample.calibrate > 0) {
    throw OptionError(fmt::format("sample.calibrate = {}: must be 0 for {}", sample.calibrate, why),
                      {"sample.calibrate", "solve.kernels"});
  }
  if (sample.sampler == Sampler::kCollapsed) {
    throw OptionError(
        fmt::format("sample.sampler = \"collapsed\": must be \"auto\" or \"exact\" for {}", why),
        {"sample.sampler", "solve.kernels"});
  }
}

Sampler sampler_of(const Study& study, const model::Architecture& architecture, double temperature,
                   const theory::PathKernels* kernels) {
  if (study.sample.sampler != Sampler::kAuto) return study.sample.sampler;
  if (kernels == nullptr || kernels->features().rows() == 0) return Sampler::kExact;
  const double gradients =
      has_singular_matrix(architecture) ? kNarrowGradientsOfDraw : kGradientsOfDraw;
  const double exact = gradients * kernels->cost().evaluation_flops;
  const double collapsed = sweeps_of_draw(*kernels, temperature) *
                           posterior::CollapsedChain::sweep_flops(architecture, kernels->examples(),
                                                                  kernels->feature_count());
  return exact < kWantedGain * collapsed ? Sampler::kExact : Sampler::kCollapsed;
}

std::shared_ptr<const theory::PathKernels> sampling_kernels(const Study& study,
                                                            const TheoryProblem& problem) {
  const theory::PathKernels& kernels = *problem.kernels;
  theory::PathKernelOptions options;
  options.form = theory::KernelForm::kStored;
  options.energy_tolerance = kEnergyTolerance;
  const Sampler sampler = study.sample.sampler;
  if ((sampler != Sampler::kAuto && sampler != Sampler::kExact) ||
      kernels.form() != theory::KernelForm::kStored ||
      !theory::kernel_cost(kernels.sizes(), options).compact) {
    return problem.kernels;
  }
  return theory::make_path_kernels(kernels.features(), kernels.labels(), kernels.paths(), options);
}

theory::PathKernelOptions same_kernels(const theory::PathKernels& kernels) {
  theory::PathKernelOptions options;
  options.form = kernels.form();
  if (kernels.cost().compact) options.energy_tolerance = kEnergyTolerance;
  options.smallest_temperature = std::numeric_limits<double>::min();  // sampling has T > 0
  return options;
}

int calibration_threads(const Study& study, double kernel_bytes) {
  const double most = study.solve.memory_limit_gib * kGibibyte / std::max(1.0, kernel_bytes);
  return std::max(1, static_cast<int>(std::min<double>(most, resolve_threads(study.threads))));
}

sampling::SamplerOptions sampler_options(const Study& study, const SampledPoint& point,
                                         const theory::PathKernels* kernels) {
  const SampleOptions& sample = study.sample;
  const Sampler sampler = point.sampler;
  sampling::SamplerOptions options;
  options.sampler = sampler_kind(sampler);
  options.chains = sample.chains;
  options.draws = sample.draws;
  options.warmup = sample.warmup;
  options.thin = sample.thin;
  options.seed = study.seed;
  options.first_stream = point_stream(point.index, 0);
  options.threads = resolve_threads(study.threads);
  options.metric = metric_kind(sample, sampler, point.dimension, kernels);
  // The exact chain's target is smooth and has few dimensions. Longer steps than the general
  // default give more effective draws a second: 0.65 a third more than 0.8 (measured). With many
  // unknowns and the information metric 0.6 is best (measured with 147 unknowns at N = 20 and 200).
  // At 0.5 trajectories at large widths end regularly on the far side of the mode: distances from
  // it hardly change, and tails mix two to three times slower. At small widths 0.65 costs up to
  // twice the gradients. A singular U_l has tails too steep for such steps, with a few divergences.
  if (sampler == Sampler::kExact && sampling::is_full_matrix(options.metric)) {
    const bool smooth = options.metric == sampling::MetricKind::kInformation &&
                        !has_singular_matrix(point.architecture);
    options.target_accept = smooth ? kInformationTargetAccept : kExactTargetAccept;
  }
  if (study.model.value_network) options.replicas = std::max(1, sample.replicas);
  if (learns_attention(study)) {
    options.replicas = sample.replicas == 0 ? automatic_replicas(point.labels) : sample.replicas;
  } else if (sampler == Sampler::kCollapsed) {
    options.replicas = std::max(1, sample.replicas);
  }
  if (sample.target_accept > 0.0) options.target_accept = sample.target_accept;
  options.max_tree_depth = sample.max_tree_depth;
  options.keep_draws = false;  // the recorder keeps what is wanted
  options.checkpoint_seconds = sample.checkpoint_seconds;
  return options;
}

}  // namespace headway
