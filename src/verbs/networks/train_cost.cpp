#include <fmt/format.h>

#include "headway/core/memory.hpp"
#include "headway/core/option_error.hpp"
#include "headway/core/parallel.hpp"
#include "headway/error.hpp"
#include "headway/train.hpp"
#include "headway/training/backend.hpp"

namespace headway {

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
  if (study.task.kind() == TaskKind::kText && !study.train.model.causal) {
    throw OptionError(
        "train.causal = false: must be true for task.kind = \"text\", where every token predicts "
        "the next",
        {"train.causal", "task.kind"});
  }
}

namespace {

/// Inputs of the layers that the backward pass needs, for the examples that are computed at a time.
/// The input of a linear-value network's first layer is the task's.
double kept_numbers(const TrainOptions& train, const training::TaskFormat& format) {
  const training::TransformerOptions model = train.model.widened();
  const bool linear = model.network == training::NetworkKind::kLinearValue;
  const Index read = model.encoder_layers > 0 ? format.scored : format.tokens;
  const Index rows = (model.layers - (linear ? 1 : 0)) * read +
                     model.encoder_layers * (format.tokens - format.scored);
  return static_cast<double>(train.run.piece()) * static_cast<double>(rows) *
         static_cast<double>(model.model_dim);
}

}  // namespace

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
  cost.least_bytes = sizeof(float) * (10.0 * static_cast<double>(cost.parameters) +
                                      kept_numbers(study.train, format));
  return cost;
}

void require_memory(const TrainCost& cost, int jobs, double memory_bytes) {
  const double needed = jobs * cost.least_bytes;
  if (cost.device != word_of(training::Device::kCpu) || needed <= memory_bytes) return;
  throw OptionError(
      fmt::format(
          "train.model_dim, train.layers, train.batch: {} parameters and a batch need {:.1f} "
          "GiB{}: must be at most {:.1f} GiB, the memory of this machine. Raise "
          "train.accumulation to compute a batch in smaller pieces",
          cost.parameters, needed / kGibibyte,
          jobs == 1 ? "" : fmt::format(", {} runs at once (--jobs)", jobs),
          memory_bytes / kGibibyte),
      {"train.model_dim", "train.layers", "train.batch", "train.accumulation"});
}

}  // namespace headway
