#include "headway/training/task_adapters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "headway/core/option_error.hpp"
#include "headway/error.hpp"

namespace headway::training {
namespace {

using tasks::FuzzyLogicSplit;
using tasks::OneShotSplit;
using tasks::SravenSplit;

void require_range(Index first, Index count) {
  if (first >= 0 && count >= 0) return;
  throw Error(ErrorKind::kInternal,
              fmt::format("examples {} to {} of a split", first, first + count));
}

template <typename Split, std::size_t n>
Split split_named(const TrainingTask& task, const std::array<Split, n>& values,
                  std::string_view name) {
  require_split(task, name);
  std::size_t i = 0;
  while (task.splits()[i] != name) ++i;
  return values[i];
}

// Population variance of each row [rows, length].
void row_variances(const std::vector<float>& values, Index rows, std::vector<float>* out) {
  const Index length = static_cast<Index>(values.size()) / rows;
  out->resize(static_cast<std::size_t>(rows));
  for (Index r = 0; r < rows; ++r) {
    const float* row = values.data() + r * length;
    double mean = 0.0;
    for (Index i = 0; i < length; ++i) mean += row[i];
    mean /= static_cast<double>(length);
    double squares = 0.0;
    for (Index i = 0; i < length; ++i) squares += (row[i] - mean) * (row[i] - mean);
    (*out)[static_cast<std::size_t>(r)] = static_cast<float>(squares / static_cast<double>(length));
  }
}

/// A task whose splits have as many examples as are asked for.
class DrawnTask : public TrainingTask {
 public:
  const TaskFormat& format() const override { return format_; }
  const std::vector<std::string>& splits() const override { return splits_; }
  Index size(std::string_view split) const override {
    require_split(*this, split);
    return 0;
  }
  // Not a split that is reported: the best step on that would be optimistic.
  std::string_view selection_split() const override { return "validation"; }

 protected:
  explicit DrawnTask(std::vector<std::string> splits) : splits_(std::move(splits)) {}

  TaskFormat format_;
  std::vector<std::string> splits_;
};

class FuzzyLogicTask final : public DrawnTask {
 public:
  explicit FuzzyLogicTask(const tasks::FuzzyLogicOptions& options)
      : DrawnTask({"train", "validation", "held_out", "unknown_terms"}), generator_(options) {
    format_.tokens = options.sequence_length;
    format_.features = generator_.features();
    format_.outputs = 1;
    format_.loss = LossKind::kSquaredError;
    format_.scored = 1;
  }
  void batch(std::string_view split, Index first, Index count, TaskBatch& out) const override {
    constexpr std::array kSplits = {FuzzyLogicSplit::kTrain, FuzzyLogicSplit::kValidation,
                                    FuzzyLogicSplit::kHeldOut, FuzzyLogicSplit::kUnknownTerms};
    require_range(first, count);
    tasks::FuzzyLogicBatch examples;
    generator_.batch(split_named(*this, kSplits, split), first, count, examples);
    out.examples = count;
    out.inputs = std::move(examples.inputs);
    out.targets.clear();
    for (Index i = 1; i <= count; ++i) {
      out.targets.push_back(examples.targets[static_cast<std::size_t>(i * format_.tokens - 1)]);
    }
    if (count > 0) row_variances(examples.targets, count, &out.target_variances);
  }

 private:
  tasks::FuzzyLogicGenerator generator_;
};

class SravenTask final : public DrawnTask {
 public:
  explicit SravenTask(const tasks::SravenOptions& options)
      : DrawnTask({"train", "validation", "test", "held_out"}), generator_(options) {
    format_.tokens = options.tokens();
    format_.features = options.values;
    format_.outputs = options.values;
    format_.loss = LossKind::kCrossEntropy;
    format_.scored = options.features;
    format_.all_or_nothing = true;
  }
  void batch(std::string_view split, Index first, Index count, TaskBatch& out) const override {
    constexpr std::array kSplits = {SravenSplit::kTrain, SravenSplit::kValidation,
                                    SravenSplit::kTest, SravenSplit::kHeldOut};
    require_range(first, count);
    tasks::SravenBatch instances;
    generator_.batch(split_named(*this, kSplits, split), first, count, instances);
    out.examples = count;
    out.inputs.resize(instances.symbols.size() * static_cast<std::size_t>(format_.features));
    tasks::expand_sraven_one_hot(instances.symbols, generator_.options().values, out.inputs);
    out.classes.assign(instances.answers.begin(), instances.answers.end());
  }

 private:
  tasks::SravenGenerator generator_;
};

class OneShotTask final : public DrawnTask {
 public:
  explicit OneShotTask(OneShotExamples examples)
      : DrawnTask({"train", "validation"}), examples_(std::move(examples)) {
    format_ = one_shot_format();
    const tasks::OneShotImagesGenerator& images = *examples_.images;
    const tasks::OneShotClasses& classes = images.classes();
    if (classes.validation.empty()) {
      throw OptionError(fmt::format("task.validation = {:g}: must be above 0 for training: "
                                    "validation characters choose the best checkpoint",
                                    images.options().validation),
                        {"task.validation"});
    }
    sources_ = {{&images, OneShotSplit::kTrain}, {&images, OneShotSplit::kValidation}};
    if (!classes.test.empty()) {
      splits_.emplace_back("test");
      sources_.push_back({&images, OneShotSplit::kTest});
    }
    for (const OutOfDistributionImages& other : examples_.out_of_distribution) {
      const bool taken = other.name == "test" ||
                         std::find(splits_.begin(), splits_.end(), other.name) != splits_.end();
      if (taken) {
        throw OptionError(
            fmt::format("task.out_of_distribution.name = \"{}\": must be a name that no "
                        "other split has",
                        other.name),
            {"task.out_of_distribution"});
      }
      splits_.push_back(other.name);
      sources_.push_back({other.examples.get(), OneShotSplit::kOutOfDistribution});
    }
  }
  void batch(std::string_view split, Index first, Index count, TaskBatch& out) const override {
    require_range(first, count);
    require_split(*this, split);
    std::size_t i = 0;
    while (splits_[i] != split) ++i;
    tasks::OneShotBatch examples;
    std::swap(examples.inputs, out.inputs);  // its memory is used again
    std::swap(examples.labels, out.targets);
    sources_[i].generator->batch(sources_[i].split, first, count, examples);
    out.examples = count;
    out.inputs = std::move(examples.inputs);
    out.targets = std::move(examples.labels);
  }

 private:
  struct Source {
    const tasks::OneShotImagesGenerator* generator;
    OneShotSplit split;
  };

  OneShotExamples examples_;
  std::vector<Source> sources_;
};

}  // namespace

TaskFormat one_shot_format() {
  TaskFormat format;
  format.tokens = tasks::kOneShotTokens;
  format.features = tasks::kOneShotFeatures;
  format.outputs = 1;
  format.loss = LossKind::kSquaredError;
  format.scored = 1;
  format.signs = true;
  return format;
}

std::unique_ptr<TrainingTask> make_one_shot_task(OneShotExamples examples) {
  return std::make_unique<OneShotTask>(std::move(examples));
}

std::unique_ptr<TrainingTask> make_fuzzy_logic_task(const tasks::FuzzyLogicOptions& options) {
  return std::make_unique<FuzzyLogicTask>(options);
}

std::unique_ptr<TrainingTask> make_sraven_task(const tasks::SravenOptions& options) {
  return std::make_unique<SravenTask>(options);
}

}  // namespace headway::training
