#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "headway/core/record.hpp"
#include "headway/study.hpp"
#include "headway/tasks/image_set.hpp"
#include "headway/tasks/sraven_bayes.hpp"
#include "headway/tasks/text.hpp"
#include "headway/training/task_adapters.hpp"
#include "headway/training/training_task.hpp"

namespace headway {

/// The examples of a run.
struct TrainTask {
  std::unique_ptr<training::TrainingTask> task;
  std::string content_hash;  ///< SHA-256 (hex) that changes with the examples
  /// Text that token ids stand for; empty where the task has none.
  std::function<std::string(std::span<const std::int32_t>)> decode;
  /// The learned tokenizer as a SentencePiece model; empty where nothing was learned.
  std::string tokenizer;
  std::vector<std::string> warnings;  ///< of what the examples are
};

/// Makes the task of a study: make_task_maker() of all kinds.
using TaskMaker = std::function<TrainTask(const Study&)>;

/// How files of tasks are read: io::task_files().
struct TaskFiles {
  std::function<tasks::TextCorpus(const std::string& path, const tasks::TextShares&)> text;
  std::function<std::shared_ptr<const tasks::ImageSet>(const std::vector<std::string>& paths)>
      drawings;
  std::function<std::shared_ptr<const tasks::ImageSet>(const OutOfDistributionSet&)> other_images;
  std::function<std::shared_ptr<const tasks::ExampleArrays>(const std::string& path)> arrays;
};

/// Makes tasks that are generated, and texts, images and arrays from their files. It keeps the last
/// drawings, the last arrays, the last text with its tokens, and every tokenizer that was learned,
/// for the other runs of a grid. Errors: those of `files` and of train_bpe_tokenizer(); kBadStudy
/// for a text that is too short, too few characters for the shares of the splits, or another kind
/// of task.
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

/// [train] with the seed and the threads of the study.
training::TrainOptions resolved_run(const Study& study);

}  // namespace headway
