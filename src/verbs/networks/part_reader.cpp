#include "verbs/networks/part_reader.hpp"

#include <fmt/format.h>

#include <utility>

#include "headway/core/labels.hpp"
#include "headway/core/option_error.hpp"
#include "headway/training/task_adapters.hpp"

namespace headway {

std::vector<Part> parts_of(const training::TrainingTask& task, const Study& study) {
  const ExtractOptions& wanted = study.extract;
  const std::vector<std::string>& splits = task.splits();
  // Not of arrays, whose sets keep the names that their owner gave them.
  const bool held_out = study.task.kind() != TaskKind::kArrays &&
                        std::find(splits.begin(), splits.end(), "held_out") != splits.end();
  const std::string test = held_out ? "held_out" : "test";
  std::vector<Part> parts;
  for (const std::string& split : splits) {
    if (split == training::kSeenSplit) continue;  // no set of its own: train has these examples
    Part part{split, split, wanted.out_of_distribution_examples};
    const Index distinct = task.train_examples();
    if (split == "train") {
      part.examples =
          distinct > 0 ? std::min(wanted.train_examples, distinct) : wanted.train_examples;
    }
    if (split == task.selection_split()) {
      part = {split, tasks::kValidationSet, wanted.validation_examples};
    }
    if (held_out && split == "test") part.set = "in_distribution";  // SRAVEN has both
    if (split == test) part = {split, "test", wanted.test_examples};
    if (task.size(split) > 0) part.examples = std::min(part.examples, task.size(split));
    if (part.examples > 0) parts.push_back(std::move(part));
  }
  return parts;
}

ExtractedSplit quality_of(const Part& part, const Answers& answers,
                          const training::TaskFormat& format) {
  ExtractedSplit out;
  out.name = part.set;
  out.examples = part.examples;
  if (format.signs || format.loss == training::LossKind::kCrossEntropy) {
    out.accuracy = right_answers(answers.outputs, answers.labels).mean();
  }
  if (format.loss == training::LossKind::kSquaredError) {
    out.mean_squared_error = (answers.outputs - answers.labels).squaredNorm() /
                             static_cast<double>(answers.labels.size());
  }
  return out;
}

void add_split(const Part& part, tasks::Split split, tasks::Dataset& dataset) {
  if (part.set == "train") {
    dataset.train = std::move(split);
  } else if (part.set == "test") {
    dataset.test = std::move(split);
  } else {
    dataset.sets.push_back({part.set, std::move(split)});
  }
}

std::vector<tasks::Split*> splits_of(tasks::Dataset& dataset) {
  std::vector<tasks::Split*> splits = {&dataset.train};
  if (dataset.test) splits.push_back(&*dataset.test);
  for (tasks::NamedSplit& set : dataset.sets) splits.push_back(&set.split);
  return splits;
}

PartReader::PartReader(const Study& study, const training::TrainingTask& task, Observer& observer)
    : task_(task),
      format_(task.format()),
      threads_(resolve_threads(study.threads)),
      observer_(observer) {
  const Index position = study.extract.position.value_or(format_.scored);
  if (position > format_.scored) {
    throw OptionError(
        fmt::format("extract.position = {}: must be from 1 to {}, the number of scored tokens",
                    position, format_.scored),
        {"extract.position"});
  }
  place_ = position - 1;
  token_ = format_.tokens - format_.scored + place_;
}

}  // namespace headway
