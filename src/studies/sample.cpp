#include "headway/sampling/sample.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "headway/core/clock.hpp"
#include "headway/core/error.hpp"
#include "headway/core/rng.hpp"
#include "headway/posterior/evidence.hpp"
#include "headway/posterior/exact_chain.hpp"
#include "headway/posterior/weight_posterior.hpp"
#include "headway/studies/verbs.hpp"
#include "posterior_recorder.hpp"
#include "problem.hpp"
#include "sample_setup.hpp"
#include "sample_summary.hpp"

namespace headway::studies {
namespace {

/// Hands what the checkpoint of a point must hold to the caller's hook.
class SavePoint final : public sampling::CheckpointSink {
 public:
  /// `state` must outlive the sink; its seconds are those of the calls that this one resumes.
  SavePoint(const SampleHooks& hooks, std::size_t point, SampleState& state)
      : hooks_(hooks), point_(point), state_(state), earlier_seconds_(state.seconds) {}
  void save(const sampling::Checkpoint& checkpoint) override {
    if (!hooks_.save) return;
    state_.run = checkpoint;
    state_.seconds = earlier_seconds_ + seconds_since(began_);
    hooks_.save(point_, state_);
  }
  [[nodiscard]] double earlier_seconds() const { return earlier_seconds_; }

 private:
  const SampleHooks& hooks_;
  std::size_t point_;
  SampleState& state_;
  double earlier_seconds_;
  Clock::time_point began_ = Clock::now();
};

/// What an earlier call left of a point, moved out: its chains, and the rest in `state`.
std::optional<sampling::Checkpoint> resume(const SampleHooks& hooks, std::size_t point,
                                           SampleState& state) {
  std::optional<SampleState> earlier = hooks.load ? hooks.load(point) : std::nullopt;
  if (!earlier) return std::nullopt;
  state = *std::move(earlier);
  bool fits = state.records.size() == state.run.chains.size();
  for (std::size_t c = 0; fits && c < state.records.size(); ++c) {
    const auto kept = static_cast<Index>(state.run.chains[c].statistics.size());
    fits = state.records[c].draws == kept;
  }
  if (!fits) {
    throw Error(ErrorKind::kBadData,
                "checkpoint: the records of the draws are not those of its chains");
  }
  return std::move(state.run);
}

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
    const bool exact = study_.sample.sampler == Sampler::kExact;
    const std::unique_ptr<sampling::Target> target = make_target(architecture, sweep, exact);
    const sampling::SamplerOptions options =
        sampler_options(study_, architecture, target->dimension(), *problem_.kernels, index);
    options.validate(target->dimension());
    const bool positions =
        (exact && study_.sample.evidence) || (!exact && study_.sample.keep_weights);
    SampleState state;
    const std::optional<sampling::Checkpoint> resumed = resume(hooks_, index, state);
    state.records.resize(static_cast<std::size_t>(options.chains));
    PosteriorRecorder recorder(state.records, positions, study_.sample.draws,
                               study_.sample.predictor_draws, problem_.evaluation);
    SavePoint sink(hooks_, index, state);
    PointObserver observer(observer_, index, points);
    sampling::SamplingHooks run{.observer = &observer, .recorder = &recorder};
    if (hooks_.save) run.checkpoints = &sink;
    if (resumed) run.resume = &*resumed;
    const sampling::SamplingResult result = sampling::sample(*target, options, run);
    sink.save(result.state);
    SamplePoint point;
    point.widths = sweep.widths;
    point.temperature = sweep.temperature;
    point.sampler = word_of(study_.sample.sampler);
    point.chains = options.chains;
    describe_run(result, point);
    point.sampling_seconds = sink.earlier_seconds() + result.summary.seconds;
    summarize_record(state.records, matrix_sizes(architecture), problem_.evaluation, point);
    if (positions && !exact)
      point.weights = recorded_positions(state.records, target->dimension(), point.draws);
    if (exact && study_.sample.evidence && point.complete) {
      estimate_evidence(dynamic_cast<posterior::ExactChain&>(*target), state.records, index, point);
    }
    judge_diagnostics(point);
    point.seconds = seconds_since(began);
    return point;
  }

 private:
  [[nodiscard]] std::unique_ptr<sampling::Target> make_target(
      const model::Architecture& architecture, const SweepPoint& sweep, bool exact) const {
    const std::string fingerprint =
        fmt::format("sampler {} widths {} temperature {:.17g} variances {} data {}",
                    word_of(study_.sample.sampler), fmt::join(sweep.widths, ","), sweep.temperature,
                    fmt::join(architecture.variances, ","), dataset_.content_hash);
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

  void estimate_evidence(posterior::ExactChain& target, const std::vector<ChainRecord>& records,
                         std::size_t index, SamplePoint& point) const {
    const MatrixXd positions = recorded_positions(records, target.dimension(), point.draws);
    Rng rng(study_.seed, StreamPurpose::kPrior, index);
    const posterior::Evidence evidence = posterior::bridge_evidence(
        target, positions, point.chains,
        static_cast<double>(problem_.kernels->examples() * problem_.kernels->outputs()), rng);
    point.evidence_reason = evidence.reason;
    if (!evidence.reliable) return;
    point.log_evidence = evidence.log_evidence;
    point.log_evidence_error = evidence.error;
  }

  const Study& study_;
  const tasks::Dataset& dataset_;
  const TheoryProblem& problem_;
  Observer& observer_;
  const SampleHooks& hooks_;
  std::shared_ptr<const MatrixXd> evaluation_features_;
};

}  // namespace

namespace {

/// The points of a part. `problem` keeps the kernels of the theory for further parts; of a whole
/// study they are let go before the chains run.
SampleResult sample_part(const Study& sampled, const tasks::Dataset& dataset,
                         TheoryProblem& problem, Observer& observer, const SampleHooks& hooks,
                         const SolveResult* known, const Shard& shard) {
  const Clock::time_point began = Clock::now();
  const std::vector<std::size_t> numbers = sample_points(sampled, shard);
  SampleResult result;
  result.solve = solve_or_reuse(sampled, dataset, problem, observer, known, numbers);
  std::shared_ptr<const theory::PathKernels> of_theory;
  if (!shard.whole()) of_theory = problem.kernels;
  problem.kernels = sampling_kernels(sampled, problem);
  const std::vector<SweepPoint> sweep = sweep_points(sampled, dataset);
  const PointSampler sampler(sampled, dataset, problem, observer, hooks);
  for (const std::size_t i : numbers) {
    if (observer.interrupted()) break;
    result.points.push_back(sampler.sample(sweep[i], i, sweep.size()));
    for (const std::string& warning : result.points.back().warnings) {
      observer.warning(fmt::format("widths {}, temperature {:g}: {}",
                                   fmt::join(sweep[i].widths, ","), sweep[i].temperature, warning));
    }
  }
  if (of_theory != nullptr) problem.kernels = of_theory;
  result.interrupted = result.solve.interrupted || result.points.size() < numbers.size();
  for (const SamplePoint& point : result.points)
    result.interrupted = result.interrupted || !point.complete;
  result.seconds = seconds_since(began);
  return result;
}

}  // namespace

PartSampler prepare_sample(const Study& study, const tasks::Dataset& dataset, Observer& observer,
                           const SampleHooks& hooks, const SolveResult* known) {
  check_sampling(study);
  const auto sampled = std::make_shared<const Study>(sampled_study(study, dataset));
  const auto problem = std::make_shared<TheoryProblem>(
      make_problem(*sampled, dataset, observer,
                   sampled->sample.sampler == Sampler::kExact ? FeatureDirections::kUsed
                                                              : FeatureDirections::kAll));
  return [&dataset, &observer, hooks, known, sampled, problem](const Shard& shard) {
    return sample_part(*sampled, dataset, *problem, observer, hooks, known, shard);
  };
}

SampleResult sample(const Study& study, const tasks::Dataset& dataset, Observer& observer,
                    const SampleHooks& hooks, const SolveResult* known, const Shard& shard) {
  const Clock::time_point began = Clock::now();
  SampleResult result = prepare_sample(study, dataset, observer, hooks, known)(shard);
  result.seconds = seconds_since(began);
  return result;
}

}  // namespace headway::studies
