#include "headway/sampling/sample.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <memory>
#include <span>
#include <utility>

#include "headway/core/error.hpp"
#include "headway/core/parallel.hpp"
#include "headway/posterior/evidence.hpp"
#include "headway/posterior/exact_chain.hpp"
#include "headway/posterior/weight_posterior.hpp"
#include "headway/studies/verbs.hpp"
#include "posterior_recorder.hpp"
#include "problem.hpp"

namespace headway::studies {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kExactTargetAccept = 0.65;
constexpr double kInformationTargetAccept = 0.6;
constexpr Index kLargestDenseMetric = 60;  // unknowns up to which "auto" adapts a dense mass matrix
constexpr double kGradientsPerTransition = 10.0;
constexpr double kEnergyTolerance = 1e-3;  // half of it in the log density

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

sampling::SamplerKind sampler_kind(const std::string& name) {
  if (name == "exact" || name == "nuts") return sampling::SamplerKind::kNuts;
  if (name == "gibbs") return sampling::SamplerKind::kSweep;
  if (name == "hmc") return sampling::SamplerKind::kStaticHmc;
  if (name == "mala") return sampling::SamplerKind::kMala;
  if (name == "langevin") return sampling::SamplerKind::kLangevin;
  throw Error(ErrorKind::kBadStudy,
              fmt::format("sample.sampler = \"{}\": allowed are \"exact\", \"gibbs\", \"nuts\", "
                          "\"hmc\", \"mala\", \"langevin\"",
                          name));
}

sampling::MetricKind metric_kind(const SampleOptions& sample, Index dimension,
                                 const theory::PathKernels& kernels) {
  using sampling::MetricKind;
  if (sample.metric == "dense") return MetricKind::kDense;
  if (sample.metric == "information") return MetricKind::kInformation;
  if (sample.metric == "diagonal") return MetricKind::kDiagonal;
  if (dimension <= kLargestDenseMetric) return MetricKind::kDense;
  const double information =
      sampling::information_evaluations(sample.warmup) * kernels.cost().hessian_flops;
  const double warmup = sample.warmup * kGradientsPerTransition * kernels.cost().evaluation_flops;
  return sample.sampler == "exact" && information <= warmup ? MetricKind::kInformation
                                                            : MetricKind::kDiagonal;
}

/// Some N_l < C p_l.
bool has_singular_matrix(const model::Architecture& a) {
  for (int l = 1; l <= a.layers() + 1; ++l) {
    if (a.widths[l - 1] < a.outputs * a.paths_above(l)) return true;
  }
  return false;
}

/// Kernels for the exact chain: those of the theory, or the same in half the memory and time where
/// that changes the log density by less than a draw could tell.
std::shared_ptr<const theory::PathKernels> sampling_kernels(const Study& study,
                                                            const TheoryProblem& problem) {
  const theory::PathKernels& kernels = *problem.kernels;
  theory::PathKernelOptions options;
  options.form = theory::KernelForm::kStored;
  options.energy_tolerance = kEnergyTolerance;
  if (study.sample.sampler != "exact" || kernels.form() != theory::KernelForm::kStored ||
      !theory::kernel_cost(kernels.sizes(), options).compact)
    return problem.kernels;
  return theory::make_path_kernels(kernels.features(), kernels.labels(), kernels.paths(), options);
}

void require_metric(const SampleOptions& sample) {
  if (sample.metric != "information" || sample.sampler == "exact" || sample.sampler == "gibbs")
    return;
  throw Error(ErrorKind::kBadStudy,
              fmt::format("sample.metric = \"information\": allowed with sample.sampler = "
                          "\"exact\" alone; for \"{}\" it is \"auto\", \"diagonal\" or \"dense\"",
                          sample.sampler));
}

sampling::SamplerOptions sampler_options(const Study& study, Index dimension,
                                         const theory::PathKernels& kernels, bool singular,
                                         std::size_t point) {
  const SampleOptions& sample = study.sample;
  sampling::SamplerOptions options;
  options.sampler = sampler_kind(sample.sampler);
  options.chains = sample.chains;
  options.draws = sample.draws;
  options.warmup = sample.warmup;
  options.thin = sample.thin;
  options.seed = study.seed + point;  // chains of different sweep points are independent
  options.threads = resolve_threads(study.threads);
  options.metric = metric_kind(sample, dimension, kernels);
  // The exact chain's target is smooth and of few dimensions: longer steps than the general default
  // give more effective draws a second (measured: 0.65 against 0.8 a third more).
  // Many unknowns under the information metric: 0.6. At 0.5 trajectories at large widths end on the
  // far side of the mode so regularly that distances from it hardly change, and tails mix two to
  // three times slower; 0.65 costs up to twice the gradients at small ones (measured with 147
  // unknowns at N = 20 and 200). A singular U_l has tails too steep for such steps: a few
  // divergences.
  if (sample.sampler == "exact" && sampling::is_full_matrix(options.metric)) {
    const bool smooth = options.metric == sampling::MetricKind::kInformation && !singular;
    options.target_accept = smooth ? kInformationTargetAccept : kExactTargetAccept;
  }
  if (sample.target_accept > 0.0) options.target_accept = sample.target_accept;
  options.max_tree_depth = sample.max_tree_depth;
  options.keep_draws = false;  // the recorder keeps what is wanted
  options.checkpoint_seconds = sample.checkpoint_seconds;
  return options;
}

/// What stands before the run and the record in a checkpoint.
struct CheckpointHead {
  std::uint64_t run_bytes = 0;
  double seconds = 0.0;  // of the chains so far, all calls together
};

/// [head][run][record]
std::vector<std::uint8_t> pack(const sampling::Checkpoint& checkpoint,
                               const PosteriorRecorder& recorder, double seconds) {
  const std::vector<std::uint8_t> run = sampling::checkpoint_to_bytes(checkpoint);
  const std::vector<std::uint8_t> record = recorder.to_bytes();
  const CheckpointHead head{run.size(), seconds};
  std::vector<std::uint8_t> bytes(sizeof head + run.size() + record.size());
  std::memcpy(bytes.data(), &head, sizeof head);
  const auto end = std::copy(run.begin(), run.end(), bytes.begin() + sizeof head);
  std::copy(record.begin(), record.end(), end);
  return bytes;
}

sampling::Checkpoint unpack(const std::vector<std::uint8_t>& bytes, PosteriorRecorder& recorder,
                            double& seconds) {
  CheckpointHead head;
  if (bytes.size() < sizeof head) throw Error(ErrorKind::kBadData, "checkpoint: truncated");
  std::memcpy(&head, bytes.data(), sizeof head);
  if (head.run_bytes > bytes.size() - sizeof head)
    throw Error(ErrorKind::kBadData, "checkpoint: truncated");
  const std::span<const std::uint8_t> all(bytes);
  sampling::Checkpoint checkpoint =
      sampling::checkpoint_from_bytes(all.subspan(sizeof head, head.run_bytes), "checkpoint");
  recorder.from_bytes(all.subspan(sizeof head + head.run_bytes));
  if (!(head.seconds >= 0.0)) throw Error(ErrorKind::kBadData, "checkpoint: damaged");
  seconds = head.seconds;
  return checkpoint;
}

class SavePoint final : public sampling::CheckpointSink {
 public:
  SavePoint(const SampleHooks& hooks, std::size_t point, const PosteriorRecorder& recorder)
      : hooks_(hooks), point_(point), recorder_(recorder) {}
  void save(const sampling::Checkpoint& checkpoint) override {
    if (hooks_.save)
      hooks_.save(point_, pack(checkpoint, recorder_, earlier_seconds + seconds_since(began_)));
  }
  double earlier_seconds = 0.0;  ///< of the calls that this one resumes

 private:
  const SampleHooks& hooks_;
  std::size_t point_;
  const PosteriorRecorder& recorder_;
  Clock::time_point began_ = Clock::now();
};

/// Names the sweep point in the progress. Warnings reach the user once, with the point's others.
class PointObserver final : public Observer {
 public:
  PointObserver(Observer& observer, std::size_t point, std::size_t points)
      : observer_(observer), label_(fmt::format(", point {} of {}", point + 1, points)) {}
  void progress(std::string_view stage, double done, double total) override {
    observer_.progress(fmt::format("{}{}", stage, label_), done, total);
  }
  void note(std::string_view text) override { observer_.note(text); }
  [[nodiscard]] bool interrupted() const override { return observer_.interrupted(); }

 private:
  Observer& observer_;
  std::string label_;
};

class PointSampler {
 public:
  PointSampler(const Study& study, const tasks::Dataset& dataset, const TheoryProblem& problem,
               Observer& observer, const SampleHooks& hooks)
      : study_(study),
        dataset_(dataset),
        problem_(problem),
        observer_(observer),
        hooks_(hooks),
        evaluation_features_(std::make_shared<MatrixXd>(problem.evaluation_features)) {}

  SamplePoint sample(const SweepPoint& sweep, std::size_t index, std::size_t points) const {
    const Clock::time_point began = Clock::now();
    const model::Architecture architecture = architecture_of(study_, dataset_, sweep.widths);
    const bool exact = study_.sample.sampler == "exact";
    const std::unique_ptr<sampling::Target> target = make_target(architecture, sweep, exact);
    const sampling::SamplerOptions options = sampler_options(
        study_, target->dimension(), *problem_.kernels, has_singular_matrix(architecture), index);
    options.validate(target->dimension());
    const bool positions =
        (exact && study_.sample.evidence) || (!exact && study_.sample.keep_weights);
    PosteriorRecorder recorder(options.chains, positions, study_.sample.draws,
                               study_.sample.predictor_draws, problem_.evaluation);
    SavePoint sink(hooks_, index, recorder);
    sampling::SamplingHooks run;
    PointObserver observer(observer_, index, points);
    run.observer = &observer;
    run.recorder = &recorder;
    if (hooks_.save) run.checkpoints = &sink;
    sampling::Checkpoint resumed;
    if (hooks_.load) {
      const std::vector<std::uint8_t> bytes = hooks_.load(index);
      if (!bytes.empty()) {
        resumed = unpack(bytes, recorder, sink.earlier_seconds);
        run.resume = &resumed;
      }
    }
    const sampling::SamplingResult result = sampling::sample(*target, options, run);
    sink.save(result.state);
    SamplePoint point;
    point.widths = sweep.widths;
    point.temperature = sweep.temperature;
    point.sampler = study_.sample.sampler;
    point.chains = options.chains;
    describe_run(result, point);
    point.sampling_seconds = sink.earlier_seconds + result.summary.seconds;
    summarize_record(recorder.chains(), matrix_sizes(architecture), problem_.evaluation, point);
    if (positions && !exact)
      point.weights = recorded_positions(recorder.chains(), target->dimension(), point.draws);
    if (exact && study_.sample.evidence && point.complete) {
      estimate_evidence(dynamic_cast<posterior::ExactChain&>(*target), recorder, index, point);
    }
    judge(point);
    point.seconds = seconds_since(began);
    return point;
  }

 private:
  [[nodiscard]] std::unique_ptr<sampling::Target> make_target(
      const model::Architecture& architecture, const SweepPoint& sweep, bool exact) const {
    const std::string fingerprint =
        fmt::format("data {} sampler {} widths {} temperature {:.17g} variances {}",
                    dataset_.content_hash, study_.sample.sampler, fmt::join(sweep.widths, ","),
                    sweep.temperature, fmt::join(architecture.variances, ","));
    if (exact) {
      return std::make_unique<posterior::ExactChain>(
          architecture, sweep.temperature, problem_.kernels, evaluation_features_, fingerprint);
    }
    return std::make_unique<posterior::WeightPosterior>(
        architecture, sweep.temperature, problem_.kernels, evaluation_features_, fingerprint);
  }

  static std::vector<Index> matrix_sizes(const model::Architecture& architecture) {
    std::vector<Index> sizes;
    for (int l = 1; l <= architecture.layers() + 1; ++l)
      sizes.push_back(architecture.outputs * architecture.paths_above(l));
    return sizes;
  }

  static void describe_run(const sampling::SamplingResult& result, SamplePoint& point) {
    const sampling::SamplingSummary& summary = result.summary;
    point.complete = summary.complete;
    point.biased = summary.biased;
    point.warnings = summary.warnings;
    point.divergences = 0;
    for (Index d : summary.divergences) point.divergences += d;
    for (double e : summary.ebfmi)
      point.ebfmi_min = std::isnan(point.ebfmi_min) ? e : std::min(point.ebfmi_min, e);
    const double chains =
        static_cast<double>(std::max<std::size_t>(1, summary.mean_acceptance.size()));
    double acceptance = 0.0;
    double step = 0.0;
    for (double a : summary.mean_acceptance) acceptance += a / chains;
    for (double s : summary.step_size) step += s / chains;
    point.mean_acceptance = acceptance;
    point.step_size = step;
    std::size_t draws =
        result.state.chains.empty() ? 0 : result.state.chains.front().statistics.size();
    for (const sampling::ChainState& chain : result.state.chains)
      draws = std::min(draws, chain.statistics.size());
    point.energies.resize(static_cast<Index>(draws),
                          static_cast<Index>(result.state.chains.size()));
    for (std::size_t c = 0; c < result.state.chains.size(); ++c) {
      for (std::size_t d = 0; d < draws; ++d) {
        point.energies(static_cast<Index>(d), static_cast<Index>(c)) =
            result.state.chains[c].statistics[d].log_density;
      }
    }
  }

  void estimate_evidence(posterior::ExactChain& target, const PosteriorRecorder& recorder,
                         std::size_t index, SamplePoint& point) const {
    const MatrixXd positions =
        recorded_positions(recorder.chains(), target.dimension(), point.draws);
    const posterior::Evidence evidence = posterior::bridge_evidence(
        target, positions, point.chains, static_cast<double>(problem_.train_labels.size()),
        study_.seed + index);
    point.evidence_reason = evidence.reason;
    if (!evidence.reliable) return;
    point.log_evidence = evidence.log_evidence;
    point.log_evidence_error = evidence.error;
  }

  /// Diagnostics of the order parameters in words.
  static void judge(SamplePoint& point) {
    if (point.rhat_max > kUsableRhat) {
      point.warnings.push_back(fmt::format(
          "R-hat {:.3f} > {}: the chains have not mixed; raise sample.warmup and sample.draws",
          point.rhat_max, kUsableRhat));
    } else if (point.rhat_max > kGoodRhat) {
      point.warnings.push_back(
          fmt::format("R-hat {:.3f} > {}: error bars are too small; raise sample.draws",
                      point.rhat_max, kGoodRhat));
    }
    const double wanted = 100.0 * point.chains;
    if (point.ess_bulk_min < wanted) {
      point.warnings.push_back(
          fmt::format("{:.0f} effective draws of the slowest entry of U (at least {:.0f} are "
                      "wanted); raise sample.draws",
                      point.ess_bulk_min, wanted));
    }
  }

  const Study& study_;
  const tasks::Dataset& dataset_;
  const TheoryProblem& problem_;
  Observer& observer_;
  const SampleHooks& hooks_;
  std::shared_ptr<const MatrixXd> evaluation_features_;
};

}  // namespace

Study sampled_study(const Study& study, const tasks::Dataset& dataset) {
  Study sampled = study;
  if (sampled.solve.kernels != "auto") return sampled;
  for (const SweepPoint& point : sweep_points(study, dataset)) {
    // A singular U (narrow layers) has no feature-space form.
    const model::Architecture a = architecture_of(study, dataset, point.widths);
    if (has_singular_matrix(a)) sampled.solve.kernels = a.outputs == 1 ? "stored" : "streamed";
  }
  return sampled;
}

SampleResult sample(const Study& study, const tasks::Dataset& dataset, Observer& observer,
                    const SampleHooks& hooks, const SolveResult* known) {
  const Clock::time_point began = Clock::now();
  for (double t : study.model.temperatures) {
    if (!(t > 0.0))
      throw Error(ErrorKind::kBadStudy,
                  fmt::format("model.temperature = {}: sampling needs a temperature > 0", t));
  }
  const Study sampled = sampled_study(study, dataset);
  require_metric(sampled.sample);
  TheoryProblem problem = make_problem(
      sampled, dataset, observer,
      sampled.sample.sampler == "exact" ? FeatureDirections::kUsed : FeatureDirections::kAll);
  SampleResult result;
  result.solve = solve_or_reuse(sampled, dataset, problem, observer, known);
  problem.kernels = sampling_kernels(sampled, problem);
  const std::vector<SweepPoint> sweep = sweep_points(sampled, dataset);
  const PointSampler sampler(sampled, dataset, problem, observer, hooks);
  for (std::size_t i = 0; i < sweep.size() && !observer.interrupted(); ++i) {
    result.points.push_back(sampler.sample(sweep[i], i, sweep.size()));
    for (const std::string& warning : result.points.back().warnings) {
      observer.warning(fmt::format("widths {}, temperature {:g}: {}",
                                   fmt::join(sweep[i].widths, ","), sweep[i].temperature, warning));
    }
  }
  result.interrupted = result.solve.interrupted || result.points.size() < sweep.size();
  for (const SamplePoint& point : result.points)
    result.interrupted = result.interrupted || !point.complete;
  result.seconds = seconds_since(began);
  return result;
}

}  // namespace headway::studies
