#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "headway/core/error.hpp"
#include "headway/core/parallel.hpp"
#include "headway/studies/training.hpp"

namespace headway::studies {
namespace {

using Clock = std::chrono::steady_clock;

constexpr Index kPromptTokens = 32;

/// Collects what a run tells and hands it on to the hooks.
class RunSink final : public training::TrainSink {
 public:
  RunSink(std::size_t index, TrainedRun& run, const TrainHooks& hooks)
      : index_(index), run_(run), hooks_(hooks), seconds_before_(run.training_seconds) {}

  void record(const training::TrainRecord& record) override {
    if (pending_ && record.step > run_.state.step) save();
    run_.records.push_back(record);
    if (hooks_.record) hooks_.record(index_, run_, record);
  }

  void checkpoint(training::CheckpointKind kind, double seconds,
                  const std::function<training::TrainState()>& state) override {
    const bool last = kind == training::CheckpointKind::kLast;
    // Without a place to keep them only the last one is of use.
    if (!hooks_.save && !last) return;
    run_.state = state();
    run_.training_seconds = seconds_before_ + seconds;
    // The best one comes in the middle of an evaluation: it is saved when the records of the other
    // splits at its step are there too. The last one is saved with the summary of the run.
    pending_ = kind == training::CheckpointKind::kBest;
    if (!pending_ && !last) save();
  }

 private:
  void save() {
    pending_ = false;
    hooks_.save(index_, run_);
  }

  std::size_t index_;
  TrainedRun& run_;
  const TrainHooks& hooks_;
  double seconds_before_;
  bool pending_ = false;  // run_.state is to be saved
};

TrainedRun new_run(const TrainRun& plan, const TrainTask& task) {
  TrainedRun run;
  run.settings = plan.settings;
  run.label = run_label(plan.settings, plan.study);
  run.variant = run_variant(plan.study);
  run.seed = plan.study.seed;
  run.cost = train_cost(plan.study, task.task->format());
  run.tokenizer = task.tokenizer;
  return run;
}

/// What the trained model writes after the first tokens of the held-out text.
std::string sample_text(const Study& study, const TrainTask& task, training::Trainer& trainer) {
  if (!task.decode || study.train.sample_tokens == 0) return "";
  training::TaskBatch batch;
  task.task->batch(task.task->selection_split(), 0, 1, batch);
  const auto prompt =
      static_cast<std::size_t>(std::min(kPromptTokens, static_cast<Index>(batch.ids.size())));
  std::vector<std::int32_t> ids(batch.ids.begin(),
                                batch.ids.begin() + static_cast<std::ptrdiff_t>(prompt));
  training::GenerateOptions options;
  options.tokens = study.train.sample_tokens;
  options.temperature = study.train.sample_temperature;
  options.seed = study.seed;
  const std::vector<std::int32_t> more = trainer.generate(ids, options);
  ids.insert(ids.end(), more.begin(), more.end());
  return task.decode(ids);
}

/// Trains one run to its end, or to the interruption.
void train_one(std::size_t index, const TrainRun& plan, const TrainTask& task, Observer& observer,
               const TrainHooks& hooks, TrainedRun& run) {
  training::Trainer trainer(plan.study.train.model, resolved_run(plan.study), *task.task);
  if (!run.state.parameters.empty()) trainer.set_state(run.state);
  const double seconds_before = run.training_seconds;
  RunSink sink(index, run, hooks);
  run.summary = trainer.run(observer, sink);
  run.training_seconds = seconds_before + run.summary.training_seconds;
  if (run.summary.outcome == training::TrainOutcome::kFinished) {
    run.sample = sample_text(plan.study, task, trainer);
  }
  if (hooks.save) hooks.save(index, run);
}

}  // namespace

TrainResult train(std::span<const TrainRun> runs, const TaskMaker& make_task, Observer& observer,
                  const TrainHooks& hooks) {
  const Clock::time_point began = Clock::now();
  TrainResult result;
  result.planned = runs.size();
  std::vector<SplitCeiling> ceilings;  // runs mostly share one task
  std::string ceilings_of;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    result.threads = resolve_threads(runs[i].study.threads);
    std::optional<TrainedRun> earlier = hooks.load ? hooks.load(i) : std::nullopt;
    const bool done = earlier && earlier->done();
    // After Ctrl-C the runs that are done already still belong to the result.
    if (observer.interrupted() && !done) {
      result.interrupted = true;
      continue;
    }
    const TrainTask task = make_task(runs[i].study);
    check_train_run(runs[i].study, *task.task);
    TrainedRun run = new_run(runs[i], task);
    if (task.content_hash != ceilings_of) {
      ceilings = split_ceilings(runs[i].study);
      ceilings_of = task.content_hash;
    }
    run.ceilings = ceilings;
    if (earlier) {
      run.records = std::move(earlier->records);
      run.summary = std::move(earlier->summary);
      run.training_seconds = earlier->training_seconds;
      run.sample = std::move(earlier->sample);
      run.state = std::move(earlier->state);
    }
    if (hooks.begin) hooks.begin(i, run);
    if (!done) train_one(i, runs[i], task, observer, hooks, run);
    result.interrupted = result.interrupted || !run.done();
    result.runs.push_back(std::move(run));
  }
  result.seconds = std::chrono::duration<double>(Clock::now() - began).count();
  return result;
}

}  // namespace headway::studies
