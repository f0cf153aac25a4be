#include "headway/sampling/sample.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "headway/core/clock.hpp"
#include "headway/core/parallel.hpp"
#include "headway/core/rng.hpp"
#include "headway/core/text.hpp"
#include "headway/core/tree_sum.hpp"
#include "headway/error.hpp"
#include "headway/posterior/evidence.hpp"
#include "headway/posterior/exact_chain.hpp"
#include "headway/sample.hpp"
#include "headway/solve.hpp"
#include "verbs/theory/calibration.hpp"
#include "verbs/theory/learned_problem.hpp"
#include "verbs/theory/learned_summary.hpp"
#include "verbs/theory/point_observer.hpp"
#include "verbs/theory/posterior_recorder.hpp"
#include "verbs/theory/problem.hpp"
#include "verbs/theory/sample_setup.hpp"
#include "verbs/theory/sample_state.hpp"
#include "verbs/theory/sample_summary.hpp"
#include "verbs/theory/sample_task.hpp"
#include "verbs/theory/value_sample.hpp"

namespace headway {
namespace {

class PointSampler {
 public:
  PointSampler(const Study& study, const tasks::Dataset& dataset, const TheoryProblem& problem,
               const LearnedProblem* learned, Observer& observer, const SampleHooks& hooks)
      : study_(study),
        dataset_(dataset),
        problem_(problem),
        observer_(observer),
        hooks_(hooks),
        learned_(learned),
        tasks_(study, dataset, problem, learned) {}

  SamplePoint sample(const SweepPoint& sweep, std::size_t index, std::size_t points,
                     SweepShare& share) const {
    const Clock::time_point began = Clock::now();
    const SampleTask task = tasks_.at(sweep, index);
    SampleState state;
    const std::pair<int, int> all{0, task.options.chains};
    const std::optional<sampling::Checkpoint> resumed = resume(hooks_, index, all, state);
    SavePoint::Save save;
    if (hooks_.save) save = [&](const SampleState& s) { hooks_.save(index, s); };
    SavePoint sink(std::move(save), state);
    if (resumed) {
      for (const auto& chain : resumed->chains) {
        share.earlier += static_cast<double>(chain.iteration);
      }
    }
    PointObserver observer(observer_, index, points, &share);
    sampling::SamplingResult result = run(task, all, resumed, observer, sink, state);
    sink.save(result.state);
    SamplePoint point;
    point.widths = sweep.widths;
    point.temperature = sweep.temperature;
    point.sampler = word_of(task.sampler);
    describe_run(result, point);
    leave_kept_chains(result.kept.chains, result.state, state.records);
    point.sampling_seconds = sink.earlier_seconds() + result.summary.seconds;
    summarize_record(state.records, matrix_sizes(task.architecture), problem_.evaluation, point);
    if (learned_ != nullptr) {
      describe_attention(task, result, state.records, point);
    } else if (task.sampler == Sampler::kCollapsed) {
      describe_collapsed(task, result, point);
    } else if (problem_.values) {
      summarize_features(state.records, study_.sample.draws, point);
      if (study_.sample.evidence) {
        summarize_value_evidence(result, task.options.replicas, problem_.train_labels.size(),
                                 point);
      }
    } else if (task.keep_positions && draws_weights(task.sampler)) {
      point.weights = recorded_positions(state.records, task.target->dimension(), point.draws);
    }
    if (task.exact() && study_.sample.evidence && point.complete) {
      estimate_evidence(dynamic_cast<posterior::ExactChain&>(*task.target), state.records, index,
                        point);
    }
    judge_diagnostics(point);
    if (study_.sample.calibrate > 0 && point.complete) {
      calibrate_sampler(task, sweep, index,
                        {.done = &state.calibration, .save = [&] { sink.save(result.state); }},
                        point);
    }
    point.seconds = sink.earlier_seconds() + seconds_since(began);
    return point;
  }

  /// Runs the share `chains` of a point's chains alone; false when interrupted.
  bool sample_chains(const SweepPoint& sweep, std::size_t index, std::size_t points,
                     const Shard& chains) const {
    const SampleTask task = tasks_.at(sweep, index);
    const std::pair<int, int> mine =
        leaves_of_part(static_cast<std::size_t>(task.options.chains), chains.index, chains.count);
    SampleState state;
    std::optional<sampling::Checkpoint> resumed =
        resume(hooks_, index, {mine.first, mine.first + 1}, state);
    if (resumed) keep_alone(mine, *resumed, state);
    SavePoint sink([&](const SampleState& s) { hooks_.save_chains(index, mine.first, s); }, state);
    PointObserver observer(observer_, index, points);
    const sampling::SamplingResult result = run(task, mine, resumed, observer, sink, state);
    sink.save(result.state);
    const auto draws = static_cast<std::size_t>(task.options.draws);
    return std::all_of(result.state.chains.begin() + mine.first,
                       result.state.chains.begin() + mine.second,
                       [&](const auto& chain) { return chain.statistics.size() == draws; });
  }

 private:
  /// Runs chains [first, second) from where they stand; records lie in `state` then.
  [[nodiscard]] sampling::SamplingResult run(const SampleTask& task, std::pair<int, int> chains,
                                             const std::optional<sampling::Checkpoint>& resumed,
                                             Observer& observer, SavePoint& sink,
                                             SampleState& state) const {
    state.records.resize(static_cast<std::size_t>(task.options.chains));
    PosteriorRecorder recorder(state.records, task.keep_positions, study_.sample.draws,
                               study_.sample.predictor_draws, problem_.evaluation);
    sampling::SamplingHooks hooks{.observer = &observer, .recorder = &recorder, .chains = chains};
    if (sink.saves()) hooks.checkpoints = &sink;
    if (resumed) hooks.resume = &*resumed;
    return sampling::sample(*task.target, task.options, hooks);
  }

  /// Attention, evidence by replicas, and draws of the weights where they are kept.
  void describe_attention(const SampleTask& task, const sampling::SamplingResult& result,
                          const std::vector<ChainRecord>& records, SamplePoint& point) const {
    if (point.draws == 0) return;
    summarize_attention(records, matrix_sizes(task.architecture), point);
    if (task.options.replicas > 1 && study_.sample.evidence) {
      const ReplicaEvidence replicas =
          summarize_replicas(result.state, static_cast<double>(learned_->labels->size()), point);
      point.attention->integral_log_evidence = replicas.integral;
      point.attention->integral_log_evidence_error = replicas.integral_error;
      point.attention->exchange_rate = replicas.exchange_rate;
    } else if (task.options.replicas == 1) {
      point.evidence_reason = "sample.replicas = 1: the evidence needs replicas";
    }
    if (task.keep_positions) {
      keep_attention_weights(records, dynamic_cast<const posterior::LearnedChain&>(*task.target),
                             point);
    }
  }

  /// Ranks of networks from the prior, by the sampler and kernels of the draws. Where it is
  /// interrupted, the checkpoint has the networks that are done, and the point is incomplete.
  void calibrate_sampler(const SampleTask& task, const SweepPoint& sweep, std::size_t index,
                         CalibrationRun run, SamplePoint& point) const {
    PointObserver observer(observer_, index, 1);
    run.networks = study_.sample.calibrate;
    run.point = index;
    sampling::SamplerOptions options = task.options;
    if (task.linear) {
      options.threads = calibration_threads(study_, problem_.kernels->cost().kernel_bytes);
    }
    point.calibration = calibrate(tasks_.calibration(task, sweep), options, run, observer);
    point.complete = point.calibration.has_value();
  }

  /// Evidence by replicas, where there are some.
  void describe_collapsed(const SampleTask& task, const sampling::SamplingResult& result,
                          SamplePoint& point) const {
    if (point.draws == 0 || !study_.sample.evidence) return;
    if (task.options.replicas > 1) {
      summarize_replicas(result.state, static_cast<double>(dataset_.train.labels.size()), point);
    } else {
      point.evidence_reason =
          "the collapsed sampler needs replicas for it: sample.sampler = \"collapsed\" with "
          "sample.replicas, 8 for a start";
    }
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
  const LearnedProblem* learned_;  // null where attention is given
  SampleTasks tasks_;
};

/// A study that is ready for one part after another.
struct Prepared {
  Study study;
  TheoryProblem problem;
  std::optional<LearnedProblem> learned;  // where attention is learned
  std::shared_ptr<const theory::PathKernels> of_theory, of_chains;

  /// Puts the chains' kernels in place of the theory's; end_chains() undoes it.
  void begin_chains() {
    of_theory = problem.kernels;
    if (learned || problem.values) return;
    if (of_chains == nullptr) of_chains = sampling_kernels(study, problem);
    problem.kernels = of_chains;
  }
  void end_chains() { problem.kernels = of_theory; }
  [[nodiscard]] const LearnedProblem* attention() const { return learned ? &*learned : nullptr; }
};

/// The points of a part. The theory's kernels are kept for further parts. After a whole study there
/// are none, so it lets the kernels go before the chains run.
SampleResult sample_part(Prepared& prepared, const tasks::Dataset& dataset, Observer& observer,
                         const SampleHooks& hooks, const SolveResult* known, const Shard& shard) {
  const Clock::time_point began = Clock::now();
  const Study& study = prepared.study;
  const std::vector<std::size_t> numbers = sample_points(study, shard);
  SampleResult result;
  if (prepared.learned) {
    result.solve = solve_learned(study, dataset, *prepared.learned, observer, numbers);
  } else {
    result.solve = solve_or_reuse(study, dataset, prepared.problem, observer, known, numbers);
  }
  prepared.begin_chains();
  if (shard.whole()) prepared.of_theory = nullptr;
  const std::vector<SweepPoint> sweep = sweep_points(study, dataset);
  const PointSampler sampler(study, dataset, prepared.problem, prepared.attention(), observer,
                             hooks);
  SweepShare share;
  share.points = static_cast<double>(numbers.size());
  for (const std::size_t i : numbers) {
    if (observer.interrupted()) break;
    share.before = static_cast<double>(result.points.size());
    result.points.push_back(sampler.sample(sweep[i], i, sweep.size(), share));
    for (const std::string& warning : result.points.back().warnings) {
      observer.warning(fmt::format("widths {}, temperature {:g}: {}", join(sweep[i].widths, ","),
                                   sweep[i].temperature, warning));
    }
  }
  if (!shard.whole()) prepared.end_chains();
  result.interrupted = result.solve.interrupted || result.points.size() < numbers.size();
  for (const SamplePoint& point : result.points)
    result.interrupted = result.interrupted || !point.complete;
  result.seconds = seconds_since(began);
  return result;
}

bool sample_chains(Prepared& prepared, const tasks::Dataset& dataset, Observer& observer,
                   const SampleHooks& hooks, std::size_t point, const Shard& chains) {
  prepared.begin_chains();
  const PointSampler sampler(prepared.study, dataset, prepared.problem, prepared.attention(),
                             observer, hooks);
  const std::vector<SweepPoint> sweep = sweep_points(prepared.study, dataset);
  const bool complete = sampler.sample_chains(sweep.at(point), point, sweep.size(), chains);
  prepared.end_chains();
  return complete;
}

}  // namespace

SampleParts prepare_sample(const Study& study, const tasks::Dataset& dataset, Observer& observer,
                           const SampleHooks& hooks, const SolveResult* known) {
  check_sampling(study);
  check_value_sampling(study, dataset);
  const auto prepared = std::make_shared<Prepared>();
  prepared->study = study;
  if (learns_attention(study)) {
    prepared->learned = make_learned_problem(study, dataset, observer);
    prepared->problem = outline_problem(dataset);
  } else {
    prepared->problem = make_problem(
        prepared->study, dataset, observer,
        draws_weights(study.sample.sampler) ? FeatureDirections::kAll : FeatureDirections::kUsed);
    check_features(study, dataset, prepared->problem);
  }
  return {[&dataset, &observer, hooks, known, prepared](const Shard& shard) {
            return sample_part(*prepared, dataset, observer, hooks, known, shard);
          },
          [&dataset, &observer, hooks, prepared](std::size_t point, const Shard& chains) {
            return sample_chains(*prepared, dataset, observer, hooks, point, chains);
          }};
}

SampleResult sample(const Study& study, const tasks::Dataset& dataset, Observer& observer,
                    const SampleHooks& hooks, const SolveResult* known, const Shard& shard) {
  const Clock::time_point began = Clock::now();
  SampleResult result = prepare_sample(study, dataset, observer, hooks, known).part(shard);
  result.seconds = seconds_since(began);
  return result;
}

}  // namespace headway
