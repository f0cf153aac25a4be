#include "headway/train_task.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "headway/core/memory.hpp"
#include "headway/core/option_error.hpp"
#include "headway/core/parallel.hpp"
#include "headway/core/sha256.hpp"
#include "headway/error.hpp"
#include "headway/study/task_kinds.hpp"
#include "headway/study/train_run.hpp"
#include "headway/training/backend.hpp"

namespace headway {
namespace {

constexpr Index kHashedExamples = 16;  // of each split

template <class T>
void add(Sha256& hash, const std::vector<T>& values) {
  const std::uint64_t count = values.size();
  hash.update(&count, sizeof count);
  hash.update(values.data(), values.size() * sizeof(T));
}

}  // namespace

std::uint64_t task_seed(const Study& study) { return study.task.seed.value_or(study.seed); }

std::string examples_hash(const training::TrainingTask& task) {
  Sha256 hash;
  training::TaskBatch batch;
  for (const std::string& split : task.splits()) {
    const Index size = task.size(split);
    const Index count = size == 0 ? kHashedExamples : std::min(size, kHashedExamples);
    task.batch(split, 0, count, batch);
    hash.update(split);
    add(hash, batch.inputs);
    add(hash, batch.ids);
    add(hash, batch.targets);
    add(hash, batch.classes);
  }
  return hash.hex_digest();
}

std::string combined_data_hash(std::vector<std::string> hashes) {
  std::sort(hashes.begin(), hashes.end());
  hashes.erase(std::unique(hashes.begin(), hashes.end()), hashes.end());
  if (hashes.size() == 1) return hashes.front();
  std::string all;
  for (const std::string& hash : hashes) all += hash + "\n";
  return sha256_hex(all);
}

std::vector<SplitCeiling> split_ceilings(const Study& study) {
  const TaskDescription& task = description_of(study.task.kind());
  return task.ceilings != nullptr ? task.ceilings(study) : std::vector<SplitCeiling>();
}

const std::vector<CeilingNumber>& ceiling_numbers() {
  using tasks::SravenCeiling;
  constexpr const char* kError = "its standard error";
  static const std::vector<CeilingNumber> all = {
      {"accuracy", &SravenCeiling::accuracy, "best accuracy: all answers right"},
      {"accuracy_error", &SravenCeiling::accuracy_error, kError},
      {"accuracy_per_feature", &SravenCeiling::accuracy_per_feature, "best accuracy of one answer"},
      {"accuracy_per_feature_error", &SravenCeiling::accuracy_per_feature_error, kError},
      {"several_answers", &SravenCeiling::several_answers,
       "share of the instances with several possible answers"},
      {"several_answers_error", &SravenCeiling::several_answers_error, kError},
      {"every_feature_wrong", &SravenCeiling::every_feature_wrong,
       "share of the instances with an explanation that is wrong everywhere"},
      {"every_feature_wrong_error", &SravenCeiling::every_feature_wrong_error, kError}};
  return all;
}

TrainTask make_generated_task(const Study& study) {
  const TaskDescription& description = description_of(study.task.kind());
  if (description.make_task == nullptr) {
    throw OptionError(
        fmt::format("task.kind = \"{}\": must be {} for headway train; this kind is "
                    "for solve, align, prune and sample",
                    word_of(study.task.kind()), kinds_in_words(Side::kTraining, " or ")),
        {"task.kind"});
  }
  TrainTask out;
  out.task = description.make_task(study);
  out.content_hash = examples_hash(*out.task);
  return out;
}

training::TrainOptions resolved_run(const Study& study) {
  training::TrainOptions run = study.train.run;
  run.seed = study.seed;
  run.threads = resolve_threads(study.threads);
  return run;
}

}  // namespace headway
