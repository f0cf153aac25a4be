#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "headway/core/jobs.hpp"
#include "headway/core/observer.hpp"
#include "headway/studies/results.hpp"
#include "headway/studies/study.hpp"
#include "headway/studies/training_records.hpp"
#include "headway/tasks/sraven_bayes.hpp"
#include "headway/training/trainer.hpp"
#include "headway/training/training_ranks.hpp"

namespace headway::studies {

/// What a sweep sets in one run: a key of the study and its value as TOML text.
struct Setting {
  std::string key;
  std::string value;
  bool operator==(const Setting&) const = default;
};

/// One run of a grid: a study without a sweep, and what makes it differ from the others.
struct TrainRun {
  std::vector<Setting> settings;
  Study study;
};

/// The examples of a run.
struct TrainTask {
  std::unique_ptr<training::TrainingTask> task;
  std::string content_hash;  ///< SHA-256 (hex) that changes with the examples
  /// Text that token ids stand for; empty where the task has none.
  std::function<std::string(std::span<const std::int32_t>)> decode;
  /// The learned tokenizer as a SentencePiece model; empty where nothing was learned.
  std::string tokenizer;
};

/// Makes the task of a study: make_task_maker() of all kinds.
using TaskMaker = std::function<TrainTask(const Study&)>;

/// How files of tasks are read: io::task_files().
struct TaskFiles {
  std::function<tasks::TextCorpus(const std::string& path, const tasks::TextShares&)> text;
  std::function<std::shared_ptr<const tasks::ImageSet>(const std::vector<std::string>& paths)>
      drawings;
  std::function<std::shared_ptr<const tasks::ImageSet>(const OutOfDistributionSet&)> other_images;
};

/// Makes tasks that are generated, and texts and images from their files. It keeps the last
/// drawings, the last text with its tokens, and every tokenizer that was learned, for the other
/// runs of a grid. Errors: those of `files` and of train_bpe_tokenizer(); kBadStudy for a text that
/// is too short, too few characters for the shares of the splits, or another kind of task.
TaskMaker make_task_maker(const TaskFiles& files);

/// The generators of a study with task.kind = "omniglot". Errors as above.
training::OneShotExamples one_shot_examples(const Study& study, const TaskFiles& files);

/// Seed of the data: task.seed where given, else the study's.
std::uint64_t task_seed(const Study& study);

/// The task of kind "fuzzy_logic" or "sraven". Error{kBadStudy} for another kind.
TrainTask make_generated_task(const Study& study);

/// One hash for the data of all runs: their own if they share it.
std::string combined_data_hash(std::vector<std::string> hashes);

/// SHA-256 (hex) of the first examples of every split.
std::string examples_hash(const training::TrainingTask& task);

/// [train] with the seed and the threads of the study.
training::TrainOptions resolved_run(const Study& study);

/// Error{kBadStudy} when model, run and task do not fit each other, before anything is trained.
void check_train_run(const Study& study, const training::TrainingTask& task);

/// Sizes and costs of a run, without training (and without LibTorch).
struct TrainCost {
  Index parameters = 0;
  double flops_per_step = 0.0;
  double attention_flops_per_step = 0.0;
  std::string device;
  /// Memory that a run needs at least: parameters, gradients and two moments in the trainer; the
  /// same once more as a state; the last and best weights of the result; the streams into the
  /// layers.
  double least_bytes = 0.0;
};
template <class Visitor, RecordOf<TrainCost> Record>
void fields(Visitor& visit, Record& r) {
  visit("device", r.device, "device: \"cpu\" or \"cuda\"");
  visit("parameters", r.parameters, "number of trained parameters");
  visit("flops_per_step", r.flops_per_step, "floating-point operations of a step");
  visit("attention_flops_per_step", r.attention_flops_per_step, "those of attention alone",
        {.place = FieldPlace::kFile});
}
/// Error{kUnavailable} for train.device = "cuda" where there is none.
TrainCost train_cost(const Study& study, const training::TaskFormat& format);

/// Error{kBadStudy} when `jobs` such runs at once need more than `memory_bytes` of the CPU's.
void require_memory(const TrainCost& cost, int jobs, double memory_bytes);

/// The best accuracy that any solver who knows the rule sets of a split can reach on it.
struct SplitCeiling {
  std::string split;  ///< "test", "held_out"; "all": rule sets of both alike
  tasks::SravenCeiling best;
};

/// For "sraven", whose examples do not always have one answer; empty for other tasks. Averages over
/// 20,000 instances a split; the seed fixes the numbers. Cost: 0.2 s a split at K = 4 on one core.
std::vector<SplitCeiling> split_ceilings(const Study& study);

/// A number of a SravenCeiling under the name of its member, for files and tables.
struct CeilingNumber {
  const char* name;
  double tasks::SravenCeiling::*number;
  const char* meaning;
};
const std::vector<CeilingNumber>& ceiling_numbers();

template <class Visitor, RecordOf<SplitCeiling> Record>
void fields(Visitor& visit, Record& r) {
  visit("split", r.split, "name of the split", {.layout = FieldLayout::kKey});
  visit("instances", r.best.instances, "instances that the ceiling is averaged over");
  for (const CeilingNumber& c : ceiling_numbers()) visit(c.name, r.best.*c.number, c.meaning);
}

/// One run, finished or not: what a checkpoint keeps and a result shows.
struct TrainedRun {
  std::vector<Setting> settings;
  std::string label;    ///< the settings but for seeds, in short; the variant where there are none
  std::string variant;  ///< train.attention, with " + mixture", " + encoder" where it has them
  std::uint64_t seed = 0;
  TrainCost cost;
  std::vector<training::TrainRecord> records;
  training::TrainSummary summary;  ///< outcome, final evaluations, best step
  double training_seconds = 0.0;   ///< of every call, evaluations left out
  std::string sample;              ///< text: what the trained model writes
  std::string tokenizer;           ///< as TrainTask's
  std::vector<SplitCeiling> ceilings;
  training::TrainState state;  ///< no parameters before the first checkpoint

  /// Trained to its end, or diverged: nothing is left to do.
  [[nodiscard]] bool done() const;
};

/// The training loss of the last record, a mean over its steps. The loss of the last step if
/// nothing was recorded.
double final_train_loss(const TrainedRun& run);

/// Settings as a list of key, value, key, value, ..., and back.
std::vector<std::string> setting_words(const std::vector<Setting>& settings);
std::vector<Setting> settings_of(const std::vector<std::string>& words);

/// All but records, weights and state.
template <class Visitor, RecordOf<TrainedRun> Record>
void fields(Visitor& visit, Record& r) {
  visit("label", r.label, "the run in short: what the sweep sets, seeds left out");
  visit("variant", r.variant,
        "attention variant, with \" + mixture\" or \" + encoder\" if it has them");
  visit("seed", r.seed, "seed of the run");
  std::vector<std::string> words = setting_words(r.settings);
  visit("settings", words, "what the sweep sets: key, value, key, value, ...",
        {.place = FieldPlace::kFile});
  if constexpr (!std::is_const_v<Record>) r.settings = settings_of(words);
  fields(visit, r.summary);
  fields(visit, r.cost);
  const double loss = final_train_loss(r);
  visit("train_loss", loss, "training loss, mean over the steps of the last record");
  visit("ceiling", r.ceilings, "what any solver can reach at best on each split",
        {.json = "ceilings", .layout = FieldLayout::kByName, .optional = true});
  visit("training_seconds", r.training_seconds, "training time of all calls, evaluations left out");
  visit("sample", r.sample, "text that the trained model writes",
        training::if_any(visit, r.sample));
}

/// Over the runs that differ in their seeds alone.
struct Spread {
  Index count = 0;  ///< runs whose value is finite
  double mean = kUndefined;
  double standard_error = kUndefined;  ///< undefined for one run
};
/// Of the values that are finite.
Spread spread_of(std::vector<double> values);
template <class Visitor, RecordOf<Spread> Record>
void fields(Visitor& visit, Record& r, const std::string& name, const char* meaning) {
  visit(name, r.mean, meaning, {.json = name + "/mean"});
  visit(name + "_standard_error", r.standard_error, "its standard error; undefined for one run",
        {.json = name + "/standard_error"});
  visit(name + "_count", r.count, "number of runs whose value is finite",
        {.json = name + "/count"});
}

/// Of the values that are finite.
Spread spread_of(std::vector<double> values);

struct SplitSpread {
  std::string split, metric;
  Spread last, best;
};
template <class Visitor, RecordOf<SplitSpread> Record>
void fields(Visitor& visit, Record& r) {
  visit("split", r.split, "name of the split", {.layout = FieldLayout::kKey});
  visit("metric", r.metric, "metric that is shown for the split; \"\": the loss",
        {.place = FieldPlace::kFile});
  const std::string shown = r.metric.empty() ? "loss" : r.metric;
  visit("metric", shown, "metric that is shown for the split", {.place = FieldPlace::kJson});
  fields(visit, r.last, "last", "metric at the last step, mean over seeds");
  fields(visit, r.best, "best", "metric at the best step, mean over seeds");
}

/// One row of the final table.
struct TrainGroup {
  std::string label;
  std::vector<std::size_t> runs;
  std::vector<std::uint64_t> seeds;
  Index diverged = 0;  ///< of the runs; they are in no mean
  Index parameters = 0;
  double flops_per_step = 0.0;
  Spread train_loss;
  std::vector<SplitSpread> splits;
};
template <class Visitor, RecordOf<TrainGroup> Record>
void fields(Visitor& visit, Record& r) {
  visit("label", r.label, "the runs in short");
  visit("runs", r.runs, "numbers of the runs",
        {.place = FieldPlace::kFile, .layout = FieldLayout::kAttribute});
  visit("seeds", r.seeds, "seeds of the runs", {.place = FieldPlace::kJson});
  visit("diverged", r.diverged, "number of runs that diverged; they count in no mean");
  visit("parameters", r.parameters, "trained parameters of a run");
  visit("flops_per_step", r.flops_per_step, "floating-point operations of a step");
  fields(visit, r.train_loss, "train_loss", "training loss, mean over seeds");
  visit("splits", r.splits, "one entry a split", {.layout = FieldLayout::kByName});
}

struct TrainResult {
  static constexpr const char* kVerb = "train";
  std::vector<TrainedRun> runs;  ///< those that were begun
  std::size_t planned = 0;       ///< runs of the grid
  bool interrupted = false;
  double seconds = 0.0;
  int threads = 1;
};

/// How runs are watched, checkpointed and skipped. Any may be empty. They are called one at a time,
/// from the thread of the run.
struct TrainHooks {
  /// What an earlier call left of this run: one that is done() is not run again.
  std::function<std::optional<TrainedRun>(std::size_t run)> load;
  std::function<void(std::size_t run, const TrainedRun&)> save;
  /// At the start of a run, also of one that `load` gave.
  std::function<void(std::size_t run, const TrainedRun&)> begin;
  std::function<void(std::size_t run, const TrainedRun&, const training::TrainRecord&)> record;
  /// In place of the observer's: `done` of `total` steps, or of examples of an evaluation.
  std::function<void(std::size_t run, double done, double total)> progress;
  /// At the end of a run, trained to it or not.
  std::function<void(std::size_t run, const TrainedRun&)> end;
  /// The ranks that take the steps of a run together; null: this process alone. Every rank calls
  /// train() with the same runs and one job at once. The other hooks are those of the first rank,
  /// which also gets the result. The rank that fails throws; the others stop as if interrupted.
  training::TrainingRanks* ranks = nullptr;
};

/// `headway train`: one training::Trainer for each run, `share.jobs` of them at once with
/// `share.threads` threads each (0: as the study says). The results are the same to the last bit
/// for any numbers. Interruption and divergence are values. The state of an interrupted run goes on
/// to the same bits. After an error in one run the others stop as if interrupted, then it is
/// thrown. Errors: kBadStudy as check_train_run, kUnavailable without LibTorch or CUDA, kBadData
/// for a state of another model.
TrainResult train(std::span<const TrainRun> runs, const TaskMaker& make_task, Observer& observer,
                  const TrainHooks& hooks = {}, JobShare share = {1, 0});

/// The same for a part of the grid (shards.hpp): only the runs with these numbers, in rising order.
TrainResult train_part(std::span<const TrainRun> runs, const std::vector<std::size_t>& numbers,
                       const TaskMaker& make_task, Observer& observer, const TrainHooks& hooks = {},
                       JobShare share = {1, 0});

/// The final table: groups in the order of their first runs.
std::vector<TrainGroup> group_runs(const TrainResult& result);

/// The metric that tables show for a split: the first of r2, bits_per_byte and accuracy that is
/// there. "" if there is none; the loss is then shown.
std::string main_metric(const training::Evaluation& evaluation);

/// train.attention with its nonlinearity where one is set, and " + mixture", " + encoder" for
/// models that have them.
std::string run_variant(const Study& study);

/// What a sweep sets, but for seeds, in short: "hyla", "hyla, layers = 4".
std::string run_label(const std::vector<Setting>& settings, const Study& study);

/// What keeps a run from being usable, in words; empty when all is well.
std::string training_fault(const TrainedRun& run);

}  // namespace headway::studies
