#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "headway/core/error.hpp"
#include "headway/core/memory.hpp"
#include "headway/core/option_error.hpp"
#include "headway/core/parallel.hpp"
#include "headway/core/sha256.hpp"
#include "headway/studies/task_kinds.hpp"
#include "headway/studies/training.hpp"
#include "headway/training/backend.hpp"

namespace headway::studies {
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
  const TaskDescription& task = description_of(study.task.kind);
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
  const TaskDescription& description = description_of(study.task.kind);
  if (description.make_task == nullptr) {
    throw OptionError(
        fmt::format("task.kind = \"{}\": must be {} for headway train; this kind is "
                    "for solve, align, prune and sample",
                    word_of(study.task.kind), kinds_in_words(Side::kTraining, " or ")),
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

void check_train_run(const Study& study, const training::TrainingTask& task) {
  study.train.model.validate();
  resolved_run(study).validate();
  const std::string& best = study.train.run.best_split;
  if (!best.empty()) {
    try {
      training::require_split(task, best);
    } catch (const Error& error) {
      throw OptionError(fmt::format("train.best_split = \"{}\": {}", best, error.what()),
                        {"train.best_split"});
    }
    if (best == "train") {
      throw OptionError(
          "train.best_split = \"train\": must be a split that is evaluated, not trained on",
          {"train.best_split"});
    }
  }
  if (study.task.kind == TaskKind::kText && !study.train.model.causal) {
    throw OptionError(
        "train.causal = false: must be true for task.kind = \"text\", where every token predicts "
        "the next",
        {"train.causal", "task.kind"});
  }
}

TrainCost train_cost(const Study& study, const training::TaskFormat& format) {
  TrainCost cost;
  cost.parameters = training::count_parameters(study.train.model, format);
  const training::StepFlops flops =
      training::flops_per_step(study.train.model, format, study.train.run.batch);
  cost.flops_per_step = flops.total();
  cost.attention_flops_per_step = flops.attention;
  // Sizes are known without LibTorch too; only a wish for CUDA cannot be met then.
  const training::Device wanted = study.train.run.device;
  const bool asks = wanted == training::Device::kCuda ||
                    (wanted == training::Device::kAuto && training::cuda_available());
  cost.device =
      std::string(word_of(asks ? training::resolve_device(wanted) : training::Device::kCpu));
  const training::TransformerOptions& model = study.train.model;
  const double stream = static_cast<double>(study.train.run.batch * format.tokens) *
                        static_cast<double>(model.model_dim);
  cost.least_bytes = sizeof(float) * (10.0 * static_cast<double>(cost.parameters) +
                                      static_cast<double>(model.layers) * stream);
  return cost;
}

void require_memory(const TrainCost& cost, int jobs, double memory_bytes) {
  const double needed = jobs * cost.least_bytes;
  if (cost.device != word_of(training::Device::kCpu) || needed <= memory_bytes) return;
  throw OptionError(
      fmt::format(
          "train.model_dim, train.layers, train.batch: {} parameters and a batch need {:.1f} "
          "GiB{}: must be at most {:.1f} GiB, the memory of this machine",
          cost.parameters, needed / kGibibyte,
          jobs == 1 ? "" : fmt::format(", {} runs at once (--jobs)", jobs),
          memory_bytes / kGibibyte),
      {"train.model_dim", "train.layers", "train.batch"});
}

}  // namespace headway::studies
