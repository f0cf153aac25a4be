#pragma once

#include <memory>
#include <string>
#include <vector>

#include "headway/core/option_table.hpp"
#include "headway/dataset.hpp"
#include "headway/study.hpp"
#include "headway/train_task.hpp"

namespace headway {

/// The verbs that a task or section is for: those of the theory, or `train`.
enum class Side { kBoth, kTheory, kTraining };

/// All that the program knows of a kind of task. A new one is a line of the table in
/// task_kinds.cpp, an enumerator and an alternative of TaskOptions, and the generator of its
/// examples.
struct TaskDescription {
  TaskKind kind;
  Side side;                       ///< of the theory or of training
  std::string help;                ///< one line
  OptionTable<TaskOptions> table;  ///< its keys of [task], besides kind and seed
  /// Which keys of the table are paths of files; "list.key": of the tables in a list.
  std::vector<std::string> paths;
  /// Error{kBadStudy} for options that are missing or do not fit each other.
  void (*validate)(const TaskOptions& task);
  /// Makes the examples from the options alone, with task_seed(). Null for tasks of the other side
  /// and for those that read files (io::read_dataset(), make_task_maker()).
  tasks::Dataset (*make_dataset)(const Study& study);
  std::unique_ptr<training::TrainingTask> (*make_task)(const Study& study);
  /// See split_ceilings(); null where examples have one answer.
  std::vector<SplitCeiling> (*ceilings)(const Study& study);
};

/// Every kind of task, in the order of help.
const std::vector<TaskDescription>& task_kinds();

const TaskDescription& description_of(TaskKind kind);

/// "\"fuzzy_logic\", \"sraven\", \"text\" and \"omniglot\"": the kinds of one side, for messages.
std::string kinds_in_words(Side side, const std::string& last_separator = " and ");

/// Makes the study's data set from its task (every kind but "dataset", which is read by
/// io::read_dataset).
tasks::Dataset make_dataset(const Study& study);

}  // namespace headway
