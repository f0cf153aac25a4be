#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "headway/core/error.hpp"
#include "headway/core/rng.hpp"
#include "headway/training/task_adapters.hpp"

namespace headway::training {
namespace {

class TextTask final : public TrainingTask {
 public:
  TextTask(std::vector<std::int32_t> ids, Index vocabulary, std::vector<double> class_bytes,
           const TextOptions& options)
      : ids_(std::move(ids)), options_(options) {
    format_.tokens = options.sequence_length;
    format_.vocabulary = vocabulary;
    format_.outputs = vocabulary;
    format_.loss = LossKind::kCrossEntropy;
    format_.scored = options.sequence_length;
    format_.class_bytes = std::move(class_bytes);
    format_.validate();
    cut();
    check_ids();
  }
  const TaskFormat& format() const override { return format_; }
  const std::vector<std::string>& splits() const override { return splits_; }
  Index size(std::string_view split) const override {
    require_split(*this, split);
    return split == "train" ? Index{0} : windows_;
  }
  std::string_view selection_split() const override { return "held_out"; }
  void batch(std::string_view split, Index first, Index count, TaskBatch& out) const override {
    require_split(*this, split);
    const bool train = split == "train";
    if (first < 0 || count < 0 || (!train && first + count > windows_)) {
      throw Error(ErrorKind::kBadStudy, fmt::format("examples {} to {} of split \"{}\": it has {}",
                                                    first, first + count, split, windows_));
    }
    const Index tokens = format_.tokens;
    out.examples = count;
    out.ids.resize(static_cast<std::size_t>(count * tokens));
    out.classes.resize(out.ids.size());
    for (Index i = 0; i < count; ++i) {
      const auto start =
          ids_.begin() + (train ? train_start(first + i) : held_out_start_ + (first + i) * tokens);
      std::copy(start, start + tokens, out.ids.begin() + i * tokens);
      std::copy(start + 1, start + 1 + tokens, out.classes.begin() + i * tokens);
    }
  }

 private:
  void cut() {
    const auto& share = options_.held_out;
    if (!(share > 0.0 && share < 1.0)) {
      throw Error(ErrorKind::kBadStudy,
                  fmt::format("task.held_out = {}: must be a number between 0 and 1", share));
    }
    const auto length = static_cast<Index>(ids_.size());
    held_out_start_ = length - static_cast<Index>(std::floor(share * static_cast<double>(length)));
    windows_ = (length - held_out_start_ - 1) / format_.tokens;
    if (windows_ < 1 || held_out_start_ < format_.tokens + 1) {
      throw Error(ErrorKind::kBadStudy,
                  fmt::format("task.sequence_length = {}: the text has {} tokens, {} of them held "
                              "out, and both parts must have at least one more than that",
                              format_.tokens, length, length - held_out_start_));
    }
  }
  void check_ids() const {
    for (const std::int32_t id : ids_) {
      if (id < 0 || id >= format_.vocabulary) {
        throw Error(ErrorKind::kBadStudy,
                    fmt::format("token id {}: must be from 0 to {}", id, format_.vocabulary - 1));
      }
    }
  }
  Index train_start(Index example) const {
    Rng rng(options_.seed, StreamPurpose::kTrainExamples, static_cast<std::uint64_t>(example));
    return static_cast<Index>(
        rng.uniform_index(static_cast<std::uint64_t>(held_out_start_ - format_.tokens)));
  }

  std::vector<std::int32_t> ids_;
  TextOptions options_;
  TaskFormat format_;
  Index held_out_start_ = 0;
  Index windows_ = 0;
  std::vector<std::string> splits_ = {"train", "held_out"};
};

}  // namespace

std::unique_ptr<TrainingTask> make_text_task(std::vector<std::int32_t> ids, Index vocabulary,
                                             std::vector<double> class_bytes,
                                             const TextOptions& options) {
  return std::make_unique<TextTask>(std::move(ids), vocabulary, std::move(class_bytes), options);
}

std::unique_ptr<TrainingTask> make_byte_text_task(std::string_view text,
                                                  const TextOptions& options) {
  std::vector<std::int32_t> ids;
  ids.reserve(text.size());
  for (const char c : text) ids.push_back(static_cast<unsigned char>(c));
  return make_text_task(std::move(ids), 256, std::vector<double>(256, 1.0), options);
}

}  // namespace headway::training
