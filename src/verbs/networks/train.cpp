#include "headway/train.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <mutex>
#include <numeric>
#include <utility>

#include "headway/core/clock.hpp"
#include "headway/core/parallel.hpp"
#include "headway/error.hpp"
#include "headway/training/training_stack.hpp"
#include "verbs/networks/shared_room.hpp"

namespace headway {
namespace {

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
  if (plan.study.task.kind() == TaskKind::kArrays) run.format = task.task->format();
  return run;
}

/// What the trained model writes after the first tokens of the validation text
/// (TrainingTask::selection_split()).
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

/// A grid that is being trained, by one thread or several.
class Grid {
 public:
  Grid(std::span<const TrainRun> runs, const TaskMaker& make_task, Observer& observer,
       const TrainHooks& hooks, int threads)
      : runs_(runs),
        make_task_(make_task),
        observer_(observer),
        hooks_(one_at_a_time(hooks)),
        threads_(threads),
        trained_(runs.size()) {}

  /// Trains run `index` to its end, or to the interruption; one that is done only joins the others.
  /// In a stack it has entered `place`.
  void train(std::size_t index, training::TrainingStack* stack = nullptr, Index place = 0);
  /// Trains stacks and single runs side by side, `jobs` runs at most: as many as fit the memory of
  /// the device, then the next.
  void train_stacks(const Stacks& stacks, int jobs);

  /// The runs that began, in order.
  [[nodiscard]] TrainResult result();

 private:
  /// What a run tells its observer goes to the hooks or to the observer of all, one at a time.
  class RunObserver final : public Observer {
   public:
    RunObserver(Grid& grid, std::size_t index) : grid_(grid), index_(index) {}
    void progress(std::string_view stage, double done, double total) override {
      if (grid_.hooks_.progress) return grid_.hooks_.progress(index_, done, total);
      const Lock lock(grid_.telling_);
      grid_.observer_.progress(stage, done, total);
    }
    void warning(std::string_view text) override {
      const Lock lock(grid_.telling_);
      grid_.observer_.warning(text);
    }
    void note(std::string_view text) override {
      const Lock lock(grid_.telling_);
      grid_.observer_.note(text);
    }
    [[nodiscard]] bool interrupted() const override { return grid_.interrupted(); }

   private:
    Grid& grid_;
    std::size_t index_;
  };

  using Lock = std::lock_guard<std::recursive_mutex>;

  template <class Answer, class... Arguments>
  std::function<Answer(Arguments...)> one_at_a_time(
      const std::function<Answer(Arguments...)>& hook) {
    if (!hook) return {};
    return [this, hook](Arguments... arguments) {
      const Lock lock(telling_);
      return hook(arguments...);
    };
  }
  TrainHooks one_at_a_time(const TrainHooks& hooks) {
    return {one_at_a_time(hooks.load),
            one_at_a_time(hooks.save),
            one_at_a_time(hooks.begin),
            one_at_a_time(hooks.record),
            one_at_a_time(hooks.progress),
            one_at_a_time(hooks.end),
            hooks.ranks};
  }
  [[nodiscard]] bool interrupted() const { return failed_ || observer_.interrupted(); }
  [[nodiscard]] bool is_first() const {
    return hooks_.ranks == nullptr || hooks_.ranks->is_first();
  }
  /// Whether all ranks begin a run. The first rank knows whether the run is already done.
  bool begin_together(TrainedRun& run);
  /// The run as it stands before this call, and its task; nothing where it may not begin any more.
  std::optional<std::pair<TrainTask, TrainedRun>> begin(std::size_t index);
  void train(std::size_t index, const TrainTask& task, TrainedRun& run, training::Trainer& trainer);
  /// Runs that are trained in the same steps, and the share of the device that they take.
  struct Stack {
    std::vector<std::size_t> runs;
    double share = 1.0;
  };
  /// Runs of one shape, in stacks that the memory of the device holds.
  [[nodiscard]] std::vector<Stack> stacks_that_fit(const std::vector<std::size_t>& runs, int jobs);
  /// Trains these runs side by side, each in a thread of its own.
  void train_stack(const std::vector<std::size_t>& runs);

  std::span<const TrainRun> runs_;
  const TaskMaker& make_task_;
  Observer& observer_;
  std::recursive_mutex telling_;  // held while hooks or observer are called
  std::mutex making_;             // held while a task is made: other runs go on meanwhile
  TrainHooks hooks_;
  int threads_;
  std::atomic<bool> failed_{false};  // an error in one run stops the others
  std::atomic<bool> interrupted_{false};
  std::map<std::string, std::vector<SplitCeiling>> ceilings_;  // runs mostly share one task
  std::vector<std::optional<TrainedRun>> trained_;
};

bool Grid::begin_together(TrainedRun& run) {
  if (!hooks_.ranks->go_on(interrupted())) return run.done();
  std::array<double, 1> outcome = {static_cast<double>(run.summary.outcome)};
  hooks_.ranks->tell(outcome);
  run.summary.outcome = static_cast<training::TrainOutcome>(outcome.front());
  return true;
}

std::optional<std::pair<TrainTask, TrainedRun>> Grid::begin(std::size_t index) {
  const std::lock_guard<std::mutex> lock(making_);
  const TrainRun& plan = runs_[index];
  std::optional<TrainedRun> earlier = hooks_.load ? hooks_.load(index) : std::nullopt;
  // After Ctrl-C the runs that are done already still belong to the result. Ranks agree on it when
  // the run is ready.
  const bool stop = hooks_.ranks != nullptr ? hooks_.ranks->stopped() : interrupted();
  if (stop && !(earlier && earlier->done())) {
    interrupted_ = true;
    return std::nullopt;
  }
  TrainTask task = make_task_(plan.study);
  check_train_run(plan.study, *task.task);
  TrainedRun run = new_run(plan, task);
  const auto [found, is_new] = ceilings_.try_emplace(task.content_hash);
  if (is_new) found->second = split_ceilings(plan.study);
  run.ceilings = found->second;
  if (earlier) {
    run.records = std::move(earlier->records);
    run.summary = std::move(earlier->summary);
    run.training_seconds = earlier->training_seconds;
    run.sample = std::move(earlier->sample);
    run.state = std::move(earlier->state);
  }
  if (hooks_.ranks != nullptr && !begin_together(run)) {
    interrupted_ = true;
    return std::nullopt;
  }
  if (hooks_.begin) hooks_.begin(index, run);
  return std::pair(std::move(task), std::move(run));
}

void Grid::train(std::size_t index, const TrainTask& task, TrainedRun& run,
                 training::Trainer& trainer) {
  const Study& study = runs_[index].study;
  if (!run.state.parameters.empty()) trainer.set_state(run.state);
  if (hooks_.ranks != nullptr) trainer.take_steps_with(*hooks_.ranks);
  const double seconds_before = run.training_seconds;
  RunSink sink(index, run, hooks_);
  RunObserver observer(*this, index);
  run.summary = trainer.run(observer, sink);
  run.training_seconds = seconds_before + run.summary.training_seconds;
  if (is_first() && run.summary.outcome == training::TrainOutcome::kFinished) {
    run.sample = sample_text(study, task, trainer);
  }
  if (hooks_.save) hooks_.save(index, run);
}

void Grid::train_stacks(const Stacks& stacks, int jobs) {
  std::vector<Stack> all;
  const auto add = [&](const std::vector<std::size_t>& runs) {
    for (Stack& stack : stacks_that_fit(runs, jobs)) all.push_back(std::move(stack));
  };
  for (const std::vector<std::size_t>& runs : stacks.stacks) add(runs);
  for (const std::size_t run : stacks.alone) add({run});
  SharedRoom device;
  run_jobs(all.size(), static_cast<std::size_t>(jobs), [&](std::size_t i) {
    const SharedRoom::Stay stay(device, i, all[i].share);
    if (all[i].runs.size() > 1) {
      train_stack(all[i].runs);
    } else {
      train(all[i].runs.front());
    }
  });
}

std::vector<Grid::Stack> Grid::stacks_that_fit(const std::vector<std::size_t>& runs, int jobs) {
  if (interrupted()) return {{runs, 1.0}};  // no run begins any more
  const Study& study = runs_[runs.front()].study;
  const TrainTask task = make_task_(study);
  check_train_run(study, *task.task);
  const auto most = static_cast<std::size_t>(training::runs_that_fit_one_stack(
      study.train.model, resolved_run(study), task.task->format(), static_cast<Index>(jobs)));
  const std::size_t count = (runs.size() + most - 1) / most;
  if (count > 1) {
    observer_.note(fmt::format(
        "the memory of the device holds {} of {} runs at once: they are trained in {} parts", most,
        runs.size(), count));
  }
  std::vector<Stack> stacks;
  for (std::size_t i = 0; i < count; ++i) {  // of about the same size
    const auto at = [&](std::size_t part) {
      return runs.begin() + static_cast<std::ptrdiff_t>((part * runs.size() + count - 1) / count);
    };
    stacks.push_back({{at(i), at(i + 1)}, 0.0});
    stacks.back().share =
        static_cast<double>(stacks.back().runs.size()) / static_cast<double>(most);
  }
  return stacks;
}

void Grid::train_stack(const std::vector<std::size_t>& runs) {
  training::TrainingStack stack(static_cast<Index>(runs.size()));
  run_jobs(runs.size(), runs.size(), [&](std::size_t i) {
    const auto place = static_cast<Index>(i);
    stack.enter(place);
    try {
      train(runs[i], &stack, place);
    } catch (...) {
      stack.leave(place);
      throw;
    }
    stack.leave(place);  // a run that was done has never trained
  });
}

void Grid::train(std::size_t index, training::TrainingStack* stack, Index place) {
  try {
    std::optional<std::pair<TrainTask, TrainedRun>> begun = begin(index);
    if (!begun) return;
    auto& [task, run] = *begun;
    if (!run.done()) {
      const Study& study = runs_[index].study;
      training::TrainOptions options = resolved_run(study);
      if (threads_ > 0) options.threads = threads_;
      const training::TransformerOptions& model = study.train.model;
      training::Trainer trainer = stack != nullptr
                                      ? training::Trainer(model, options, *task.task, *stack, place)
                                      : training::Trainer(model, options, *task.task);
      train(index, task, run, trainer);
    }
    if (hooks_.end) hooks_.end(index, run);
    if (!run.done()) interrupted_ = true;
    trained_[index] = std::move(run);
  } catch (...) {
    failed_ = true;
    if (hooks_.ranks != nullptr) hooks_.ranks->go_on(true);  // the others wait for an answer
    throw;
  }
}

TrainResult Grid::result() {
  TrainResult result;
  result.planned = runs_.size();
  result.interrupted = interrupted_;
  for (std::optional<TrainedRun>& run : trained_) {
    if (run) result.runs.push_back(std::move(*run));
  }
  return result;
}

}  // namespace

TrainResult train(std::span<const TrainRun> runs, const TaskMaker& make_task, Observer& observer,
                  const TrainHooks& hooks, JobShare share) {
  std::vector<std::size_t> all(runs.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return train_part(runs, all, make_task, observer, hooks, share);
}

TrainResult train_part(std::span<const TrainRun> runs, const std::vector<std::size_t>& numbers,
                       const TaskMaker& make_task, Observer& observer, const TrainHooks& hooks,
                       JobShare share) {
  const Clock::time_point began = Clock::now();
  Grid grid(runs, make_task, observer, hooks, share.threads);
  const bool stacked = share.jobs > 1 && hooks.ranks == nullptr && training::stacks_runs();
  for (const std::vector<std::size_t>& group : groups_of_precision(runs, numbers, share.jobs)) {
    if (stacked) {
      grid.train_stacks(stacks_of(runs, group, share.jobs), share.jobs);
    } else {
      run_jobs(group.size(), static_cast<std::size_t>(share.jobs),
               [&](std::size_t i) { grid.train(group[i]); });
    }
  }
  if (hooks.ranks != nullptr) hooks.ranks->go_on(false);  // notices a rank that failed at its end
  TrainResult result = grid.result();
  if (!runs.empty()) {
    const int processes = hooks.ranks != nullptr ? hooks.ranks->size() : 1;
    result.threads =
        processes * share.jobs *
        (share.threads > 0 ? share.threads : resolve_threads(runs.back().study.threads));
  }
  result.seconds = seconds_since(began);
  return result;
}

}  // namespace headway
