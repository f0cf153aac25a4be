#include "headway/training/train_options.hpp"

#include <cmath>
#include <limits>
#include <numbers>

#include "training/named_values.hpp"

namespace headway::training {
namespace {

using detail::NamedValues;
using detail::require_real;
using detail::require_whole;

constexpr NamedValues<LearningRateSchedule, 2> kSchedules = {{
    {"cosine", LearningRateSchedule::kCosine},
    {"constant", LearningRateSchedule::kConstant},
}};
constexpr NamedValues<Device, 3> kDevices = {{
    {"auto", Device::kAuto},
    {"cpu", Device::kCpu},
    {"cuda", Device::kCuda},
}};
constexpr NamedValues<Precision, 2> kPrecisions = {{
    {"fp32", Precision::kFloat32},
    {"bf16", Precision::kBfloat16},
}};

void validate_optimiser(const TrainOptions& o) {
  const auto positive = [](double x) { return x > 0.0 && std::isfinite(x); };
  const auto share = [](double x) { return x >= 0.0 && x < 1.0; };
  require_real(positive(o.learning_rate), "learning_rate", o.learning_rate, "a number above 0");
  require_real(o.weight_decay >= 0.0 && std::isfinite(o.weight_decay), "weight_decay",
               o.weight_decay, "a number from 0");
  require_real(share(o.beta_1), "beta_1", o.beta_1, "a number from 0 to below 1");
  require_real(share(o.beta_2), "beta_2", o.beta_2, "a number from 0 to below 1");
  require_real(positive(o.epsilon), "epsilon", o.epsilon, "a number above 0");
  require_real(o.final_fraction >= 0.0 && o.final_fraction <= 1.0, "final_fraction",
               o.final_fraction, "a number from 0 to 1");
  require_real(o.gradient_clip >= 0.0 && std::isfinite(o.gradient_clip), "gradient_clip",
               o.gradient_clip, "a number from 0 (no clipping)");
}

}  // namespace

void TrainOptions::validate() const {
  constexpr long long kMost = 1LL << 40;
  require_whole("steps", steps, 1, kMost);
  require_whole("batch", batch, 1, 1 << 24);
  require_whole("accumulation", accumulation, 1, batch);
  if (batch % accumulation != 0) {
    throw Error(
        ErrorKind::kBadStudy,
        fmt::format("train.accumulation = {}: must divide train.batch = {}", accumulation, batch));
  }
  require_whole("warmup_steps", warmup_steps, 0, kMost);
  if (schedule == LearningRateSchedule::kCosine && steps > 1 && 2 * warmup_steps >= steps) {
    throw Error(ErrorKind::kBadStudy,
                fmt::format("train.warmup_steps = {}: must be below half of train.steps = {}, as "
                            "the cosine runs from the warm-up to as many steps before the end",
                            warmup_steps, steps));
  }
  require_whole("log_every", log_every, 0, kMost);
  require_whole("eval_every", eval_every, 0, kMost);
  require_whole("eval_examples", eval_examples, 1, kMost);
  require_whole("eval_batch", eval_batch, 0, 1 << 24);
  require_whole("checkpoint_every", checkpoint_every, 0, kMost);
  require_whole("threads", threads, 0, 4096);
  validate_optimiser(*this);
  if (precision == Precision::kBfloat16 && device == Device::kCpu) {
    throw Error(ErrorKind::kBadStudy,
                "train.precision = \"bf16\": only on CUDA; on the CPU it "
                "must be \"fp32\"");
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

LearningRateSchedule parse_schedule(std::string_view name) {
  return detail::parse_named(kSchedules, "train.schedule", name);
}
Device parse_device(std::string_view name) {
  return detail::parse_named(kDevices, "train.device", name);
}
Precision parse_precision(std::string_view name) {
  return detail::parse_named(kPrecisions, "train.precision", name);
}
std::string_view to_string(LearningRateSchedule value) {
  return detail::name_of(kSchedules, value);
}
std::string_view to_string(Device value) { return detail::name_of(kDevices, value); }
std::string_view to_string(Precision value) { return detail::name_of(kPrecisions, value); }

}  // namespace headway::training
