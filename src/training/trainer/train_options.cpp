#include "headway/training/train_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "headway/core/option_error.hpp"
#include "headway/core/option_table.hpp"
#include "headway/error.hpp"

namespace headway::training {
namespace {

constexpr std::int64_t kMostSteps = 1'000'000'000;
constexpr std::int64_t kLargestBatch = 1'000'000;
constexpr int kMostThreads = 4096;
constexpr double kLeastEpsilon = 1e-30;  // a smaller one may be 0 as a float, and 0 / 0 is no step

/// Left out where it is 1, so that studies without it keep their hashes.
OptionType<Index> unless_one(OptionType<Index> type) {
  type.write = [write = type.write](const Index& n) { return n == 1 ? std::string() : write(n); };
  return type;
}

OptionTable<TrainOptions> optimiser_table() {
  using R = TrainOptions;
  const OptionType<Index> steps = integer<Index>(0, kMostSteps);
  return {{
      option("learning_rate", &R::learning_rate, real(0.0, 1e3, Ends::kOpenBelow),
             "largest learning rate of AdamW. Lower it if the loss diverges."),
      option("weight_decay", &R::weight_decay, real(0.0, 1e3),
             "weight decay of AdamW; parameters of one dimension have none"),
      option("beta_1", &R::beta_1, real(0.0, 1.0, Ends::kOpenAbove),
             "decay of AdamW's mean gradient"),
      option("beta_2", &R::beta_2, real(0.0, 1.0, Ends::kOpenAbove),
             "decay of AdamW's mean squared gradient"),
      option("epsilon", &R::epsilon, real(kLeastEpsilon, 1.0),
             "number that AdamW adds to the denominator of a step"),
      option("schedule", &R::schedule, choice<LearningRateSchedule>(),
             "learning rate after warm-up: a cosine down to final_fraction, or constant"),
      option(
          "warmup_steps", &R::warmup_steps, steps,
          "steps in which the learning rate rises linearly from 0. Raise it if the loss diverges "
          "early."),
      option("final_fraction", &R::final_fraction, real(0.0, 1.0),
             "learning rate at the end of the cosine, as a share of learning_rate"),
      option("gradient_clip", &R::gradient_clip, real(0.0, 1e9),
             "largest 2-norm of the gradient; longer ones are shortened to it; 0 = none"),
  }};
}

}  // namespace

Words<LearningRateSchedule> words_of(LearningRateSchedule) {
  static constexpr Word<LearningRateSchedule> kWords[] = {
      {"cosine", LearningRateSchedule::kCosine}, {"constant", LearningRateSchedule::kConstant}};
  return kWords;
}

Words<Device> words_of(Device) {
  static constexpr Word<Device> kWords[] = {
      {"auto", Device::kAuto}, {"cpu", Device::kCpu}, {"cuda", Device::kCuda}};
  return kWords;
}

Words<Precision> words_of(Precision) {
  static constexpr Word<Precision> kWords[] = {
      {"fp32", Precision::kFloat32}, {"tf32", Precision::kTf32}, {"bf16", Precision::kBfloat16}};
  return kWords;
}

const OptionTable<TrainOptions>& TrainOptions::table() {
  using R = TrainOptions;
  const OptionType<Index> every = integer<Index>(0, kMostSteps);
  static const OptionTable<R> table = joined<R>({
      {{option("steps", &R::steps, integer<Index>(1, kMostSteps), "updates of the weights"),
        option("batch", &R::batch, integer<Index>(1, kLargestBatch), "examples of each step"),
        option("accumulation", &R::accumulation, integer<Index>(1, kLargestBatch),
               "pieces that a micro-batch is cut into. Raise it if memory is short."),
        option(
            "micro_batches", &R::micro_batches, unless_one(integer<Index>(1, kLargestBatch)),
            "parts of a batch, which the ranks of mpirun share; 1 unless given. Set it to train "
            "one network on several ranks. micro_batches times accumulation must divide batch.")}},
      optimiser_table(),
      {{option("log_every", &R::log_every, every,
               "steps between records of the training loss; 0 = none"),
        option("eval_every", &R::eval_every, every,
               "steps between evaluations; 0 = at the end only"),
        option("eval_examples", &R::eval_examples, integer<Index>(1, kMostSteps),
               "examples of each split but train, the same ones every time"),
        option("eval_batch", &R::eval_batch, integer<Index>(0, kLargestBatch),
               "examples evaluated at a time; 0 = as in training. Lower it if memory is short."),
        option("checkpoint_every", &R::checkpoint_every, every,
               "steps between checkpoints, if -o is given; 0 = best and last only"),
        option("best_split", &R::best_split, text(40, true),
               "split whose loss decides which checkpoint is the best; absent: the task's own"),
        option("device", &R::device, choice<Device>(),
               "auto takes CUDA if LibTorch finds a device, else the CPU"),
        option("precision", &R::precision, choice<Precision>(),
               "what operands of products are rounded to; parameters stay fp32. tf32 and bf16 need "
               "CUDA."),
        option("eager", &R::eager, flag(),
               "use LibTorch's own operations in place of the fused kernels: slow, for comparison. "
               "On the CPU results then depend on --threads and --jobs.")}},
  });
  return table;
}

void TrainOptions::validate() const {
  check_options(table(), *this, "train");
  integer<int>(0, kMostThreads).check(threads, "threads");
  if (batch % micro_batches != 0) {
    throw OptionError(
        fmt::format("train.micro_batches = {}: must divide train.batch = {}", micro_batches, batch),
        {"train.micro_batches", "train.batch"});
  }
  if (batch / micro_batches % accumulation != 0) {
    const char* part = micro_batches == 1 ? "" : " / train.micro_batches";
    throw OptionError(fmt::format("train.accumulation = {}: must divide train.batch{} = {}",
                                  accumulation, part, batch / micro_batches),
                      {"train.accumulation", "train.batch"});
  }
  if (schedule == LearningRateSchedule::kCosine && steps > 1 && 2 * warmup_steps >= steps) {
    throw OptionError(
        fmt::format("train.warmup_steps = {}: must be below half of train.steps = "
                    "{}, for example {}: the cosine ends as many steps before the end",
                    warmup_steps, steps, steps / 10),
        {"train.warmup_steps", "train.steps"});
  }
  if (precision != Precision::kFloat32 && device == Device::kCpu) {
    throw OptionError(
        fmt::format("train.precision = \"{}\": must be \"fp32\" on the CPU", word_of(precision)),
        {"train.precision", "train.device"});
  }
}

double learning_rate_at(const TrainOptions& o, Index step) {
  if (step < o.warmup_steps) {
    return o.learning_rate * static_cast<double>(step) / static_cast<double>(o.warmup_steps);
  }
  if (o.schedule == LearningRateSchedule::kConstant) return o.learning_rate;
  const Index length = o.steps - 2 * o.warmup_steps;
  const double done =
      length <= 0
          ? 1.0
          : std::min(1.0, static_cast<double>(step - o.warmup_steps) / static_cast<double>(length));
  const double cosine = 0.5 * (1.0 + std::cos(std::numbers::pi * done));
  return o.learning_rate * (o.final_fraction + (1.0 - o.final_fraction) * cosine);
}

}  // namespace headway::training
