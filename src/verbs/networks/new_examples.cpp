#include "verbs/networks/new_examples.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "headway/error.hpp"
#include "headway/tasks/one_shot_images.hpp"
#include "headway/train_task.hpp"
#include "results/answers.hpp"
#include "verbs/named_splits.hpp"

namespace headway {
namespace {

using training::TaskBatch;
using training::TaskFormat;
using training::TrainingTask;

/// A task whose splits are given examples. Trainers want a "train" split; this one has no examples.
class GivenExamples : public TrainingTask {
 public:
  GivenExamples(TaskFormat format, std::vector<std::string> names) : format_(std::move(format)) {
    splits_.insert(splits_.end(), names.begin(), names.end());
  }
  const TaskFormat& format() const override { return format_; }
  const std::vector<std::string>& splits() const override { return splits_; }
  std::string_view selection_split() const override { return splits_.back(); }

 private:
  TaskFormat format_;
  std::vector<std::string> splits_ = {"train"};
};

[[noreturn]] void refuse_inputs(const std::string& name, const std::string& fault) {
  throw Error(ErrorKind::kBadData, name + ": " + fault);
}

/// The new inputs of one set, with the name of their array in messages.
struct NamedInputs {
  std::string array;
  tasks::Split split;
};

class InputTask final : public GivenExamples {
 public:
  /// `names`: of the splits of the task, one for each of `inputs`. `source`: in messages.
  InputTask(TaskFormat format, const std::vector<std::string>& names,
            std::vector<NamedInputs> inputs, std::string source)
      : GivenExamples(std::move(format), names),
        inputs_(std::move(inputs)),
        source_(std::move(source)) {}
  Index size(std::string_view split) const override {
    const NamedInputs* found = inputs_of(split);
    return found == nullptr ? 0 : found->split.size();
  }
  void batch(std::string_view split, Index first, Index count, TaskBatch& out) const override {
    const NamedInputs* found = inputs_of(split);
    if (found == nullptr || first < 0 || first + count > found->split.size()) {
      throw Error(ErrorKind::kInternal, fmt::format("examples {} to {} of new inputs \"{}\"", first,
                                                    first + count, split));
    }
    std::vector<double> values(
        static_cast<std::size_t>(count * format().tokens * std::max<Index>(format().features, 1)));
    found->split.examples->read_inputs(first, count, values.data());
    out.examples = count;
    if (format().features == 0) {
      require_ids(*found, first, values);
      out.ids.assign(values.begin(), values.end());
      return;
    }
    require_moderate(*found, first, values);
    out.inputs.assign(values.begin(), values.end());
  }

 private:
  /// A network computes in single precision, where the squares of its norms overflow at 1e19: it
  /// would answer the same to every input beyond.
  void require_moderate(const NamedInputs& from, Index first,
                        const std::vector<double>& values) const {
    constexpr double kLargest = 1e15;
    const auto row = static_cast<std::size_t>(format().tokens * format().features);
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (std::abs(values[i]) <= kLargest) continue;
      const auto example = static_cast<std::size_t>(first) + i / row;
      refuse_inputs(source_, fmt::format("{}: example {} has {:.3g}; allowed: up to {:g} in size, "
                                         "since norms of larger ones overflow in single precision",
                                         from.array, example, values[i], kLargest));
    }
  }

  void require_ids(const NamedInputs& from, Index first, const std::vector<double>& values) const {
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double id = values[i];
      if (id == std::floor(id) && id >= 0 && id < static_cast<double>(format().vocabulary))
        continue;
      const Index at = static_cast<Index>(i);
      refuse_inputs(source_,
                    fmt::format("{}: token {} of example {} is {:g}; allowed: the ids 0 to {}",
                                from.array, at % format().tokens, first + at / format().tokens, id,
                                format().vocabulary - 1));
    }
  }

  const NamedInputs* inputs_of(std::string_view split) const {
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      if (splits()[i + 1] == split) return &inputs_[i];
    }
    return nullptr;
  }

  std::vector<NamedInputs> inputs_;
  std::string source_;
};

class WindowTask final : public GivenExamples {
 public:
  WindowTask(TaskFormat format, std::vector<std::int32_t> tokens)
      : GivenExamples(std::move(format), {kWindows, kEnd}), tokens_(std::move(tokens)) {}
  Index size(std::string_view split) const override {
    if (split == kEnd) return 1;
    return split == kWindows ? (length() + format().tokens - 1) / format().tokens : 0;
  }
  void batch(std::string_view split, Index first, Index count, TaskBatch& out) const override {
    const Index most = format().tokens;
    out.examples = count;
    out.ids.assign(static_cast<std::size_t>(count * most), 0);
    for (Index i = 0; i < count; ++i) {
      const Index begin = split == kEnd ? std::max<Index>(length() - most, 0) : (first + i) * most;
      const Index kept = std::min(most, length() - begin);
      std::copy_n(tokens_.begin() + begin, kept, out.ids.begin() + i * most);
    }
  }

 private:
  Index length() const { return static_cast<Index>(tokens_.size()); }

  std::vector<std::int32_t> tokens_;
};

/// "sets/new/inputs" of a file; arrays in memory have one set, whose argument is "inputs". A file
/// of examples has tokens or vectors there, so for networks of arrays it is the set alone.
std::string array_name(const TrainedNetwork& network, const tasks::Dataset& inputs,
                       const std::string& set) {
  if (inputs.name == tasks::kArraysInMemory) return "inputs";
  const std::string group = set == "train" || set == "test" ? set : "sets/" + set;
  return network.study.task.kind() == TaskKind::kArrays ? group : group + "/inputs";
}

void check_form(const TrainedNetwork& network, const tasks::Dataset& inputs) {
  const bool of_features = inputs.form == AttentionForm::kPathFeatures || inputs.gram;
  if (!of_features && inputs.form != AttentionForm::kSupplied) return;
  refuse_inputs(inputs.name,
                fmt::format("holds {}; allowed: inputs [M, S, F] alone, the tokens that {} reads",
                            inputs.gram   ? "Gram matrices"
                            : of_features ? "path features"
                                          : "the attention of every example",
                            network.study_name));
}

}  // namespace

training::TaskFormat format_of(const TrainedNetwork& network) {
  const Study& study = network.study;
  if (network.format) return *network.format;
  if (study.task.kind() == TaskKind::kOmniglot) return training::one_shot_format();
  if (study.task.kind() != TaskKind::kText) return make_generated_task(study).task->format();
  const std::unique_ptr<tasks::Tokenizer> tokenizer =
      tokenizer_of(network.tokenizer, network.study_name);
  TaskFormat format;
  format.tokens = format.scored = study.task.as<TextTaskOptions>().text.sequence_length;
  format.vocabulary = format.outputs = tokenizer->vocabulary();
  format.loss = training::LossKind::kCrossEntropy;
  return format;
}

std::unique_ptr<TrainingTask> make_input_task(const TrainedNetwork& network,
                                              const tasks::Dataset& inputs) {
  check_form(network, inputs);
  const bool any_length = network.study.task.kind() == TaskKind::kFuzzyLogic;
  TaskFormat format = format_of(network);
  std::vector<std::string> names;
  std::vector<NamedInputs> splits;
  for (const tasks::NamedSplit& set : named_splits(inputs)) {
    const ExampleSource& examples = *set.split.examples;
    const std::string array = array_name(network, inputs, set.name);
    if (format.features == 0 && examples.features() != 1) {
      refuse_inputs(
          inputs.name,
          fmt::format("{}: has {} numbers a token; allowed: one, its id from 0 to {}, "
                      "which {} reads",
                      array, examples.features(), format.vocabulary - 1, network.study_name));
    }
    if (format.features > 0 && examples.features() != format.features) {
      refuse_inputs(inputs.name,
                    fmt::format("{}: has {} features a token; allowed: {}, as in the "
                                "training of {}",
                                array, examples.features(), format.features, network.study_name));
    }
    // A data set has one number of tokens for all its sets.
    if (any_length && examples.tokens() > 1) format.tokens = examples.tokens();
    if (examples.tokens() != format.tokens) {
      refuse_inputs(
          inputs.name,
          fmt::format("{}: has {} tokens an example; allowed: {}", array, examples.tokens(),
                      any_length ? "2 or more" : fmt::format("{}", format.tokens)));
    }
    if (examples.has_mask()) {
      refuse_inputs(inputs.name,
                    fmt::format("{}: has a mask; allowed: none, as the network was trained "
                                "without one",
                                array));
    }
    names.push_back(set.name == "train" ? kTrainInputs : set.name);
    splits.push_back({array, set.split});
  }
  return std::make_unique<InputTask>(std::move(format), names, std::move(splits), inputs.name);
}

std::unique_ptr<TrainingTask> make_window_task(const TrainedNetwork& network,
                                               std::vector<std::int32_t> tokens) {
  return std::make_unique<WindowTask>(format_of(network), std::move(tokens));
}

}  // namespace headway
