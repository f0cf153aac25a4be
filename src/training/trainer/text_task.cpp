#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "headway/core/option_error.hpp"
#include "headway/core/option_table.hpp"
#include "headway/core/rng.hpp"
#include "headway/error.hpp"
#include "headway/training/task_adapters.hpp"

namespace headway::training {
namespace {

class TextTask final : public TrainingTask {
 public:
  TextTask(std::shared_ptr<const tasks::TokenizedText> text, const TextOptions& options)
      : text_(std::move(text)), options_(options) {
    format_.tokens = options.sequence_length;
    format_.vocabulary = text_->vocabulary();
    format_.outputs = text_->vocabulary();
    format_.loss = LossKind::kCrossEntropy;
    format_.scored = options.sequence_length;
    format_.class_bytes = text_->token_bytes;
    format_.validate();
    check_sizes();
    for (const std::string& split : splits_) check_ids(part(split));
  }
  const TaskFormat& format() const override { return format_; }
  const std::vector<std::string>& splits() const override { return splits_; }
  Index size(std::string_view split) const override {
    require_split(*this, split);
    return split == "train" ? Index{0} : windows(part(split));
  }
  // Not the part that is reported: the best step on that would be optimistic.
  std::string_view selection_split() const override { return "validation"; }
  void batch(std::string_view split, Index first, Index count, TaskBatch& out) const override {
    require_split(*this, split);
    const bool train = split == "train";
    const std::vector<std::int32_t>& ids = part(split);
    if (first < 0 || count < 0 || (!train && first + count > windows(ids))) {
      throw Error(ErrorKind::kBadStudy, fmt::format("examples {} to {} of split \"{}\": it has {}",
                                                    first, first + count, split, windows(ids)));
    }
    const Index tokens = format_.tokens;
    out.examples = count;
    out.ids.resize(static_cast<std::size_t>(count * tokens));
    out.classes.resize(out.ids.size());
    for (Index i = 0; i < count; ++i) {
      const auto start =
          ids.begin() + (train ? train_start(first + i) : static_cast<Index>(first + i) * tokens);
      std::copy(start, start + tokens, out.ids.begin() + i * tokens);
      std::copy(start + 1, start + 1 + tokens, out.classes.begin() + i * tokens);
    }
  }

 private:
  const std::vector<std::int32_t>& part(std::string_view split) const {
    return split == "train"        ? text_->train
           : split == "validation" ? text_->validation
                                   : text_->held_out;
  }
  Index windows(const std::vector<std::int32_t>& ids) const {
    return (static_cast<Index>(ids.size()) - 1) / format_.tokens;
  }
  void check_sizes() const {
    for (const std::string& split : splits_) {
      if (windows(part(split)) >= 1) continue;
      throw OptionError(
          fmt::format("task.sequence_length = {}: the text has {} tokens to train on, {} for "
                      "validation and {} held out: each part must have at least one more than that",
                      format_.tokens, text_->train.size(), text_->validation.size(),
                      text_->held_out.size()),
          {"task.sequence_length"});
    }
  }
  void check_ids(const std::vector<std::int32_t>& ids) const {
    for (const std::int32_t id : ids) {
      if (id < 0 || id >= format_.vocabulary) {
        throw Error(ErrorKind::kBadStudy,
                    fmt::format("token id {}: must be from 0 to {}", id, format_.vocabulary - 1));
      }
    }
  }
  Index train_start(Index example) const {
    Rng rng(options_.seed, StreamPurpose::kTrainExamples, static_cast<std::uint64_t>(example));
    return static_cast<Index>(
        rng.uniform_index(text_->train.size() - static_cast<std::uint64_t>(format_.tokens)));
  }

  std::shared_ptr<const tasks::TokenizedText> text_;
  TextOptions options_;
  TaskFormat format_;
  std::vector<std::string> splits_ = {"train", "validation", "held_out"};
};

}  // namespace

const OptionTable<TextOptions>& TextOptions::table() {
  using T = TextOptions;
  constexpr std::int64_t kLongestSequence = 1'000'000;
  static const OptionTable<T> table = {{
      option("sequence_length", &T::sequence_length, integer<Index>(2, kLongestSequence),
             "tokens S of an example"),
      option("held_out", &T::held_out, real(0.0, 1.0, Ends::kOpen),
             "share of the bytes at the end of the text that training never sees"),
      option("validation", &T::validation, real(0.0, 1.0, Ends::kOpen),
             "share of the bytes before them, used to choose the best checkpoint"),
  }};
  return table;
}

std::unique_ptr<TrainingTask> make_text_task(std::shared_ptr<const tasks::TokenizedText> text,
                                             const TextOptions& options) {
  return std::make_unique<TextTask>(std::move(text), options);
}

std::unique_ptr<TrainingTask> make_byte_text_task(std::string_view text,
                                                  const TextOptions& options) {
  const tasks::TextCorpus corpus("text", std::string(text), options.shares());
  return make_text_task(
      std::make_shared<const tasks::TokenizedText>(tasks::tokenize(corpus, tasks::ByteTokenizer())),
      options);
}

}  // namespace headway::training
