// What a hand-written training step asks of a GPU, counted on its list of launches, and a model of
// its time. It needs no GPU. A launch takes a fixed time and then the longer of two: its flops at
// the rate of large products, its bytes at the rate of the memory. So the model is a floor: small
// launches fill no device, and attention does not reach the rate of products. In bf16 the list is
// another one: operands are bf16, and a launch rounds parameters.
// Of a stack of runs it counts one step of all, and what a run of it costs.
// Usage: step_model [launches], which also prints each launch.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

#include "headway/training/task_adapters.hpp"
#include "training/model/transformer_parameters.hpp"
#include "training/step/fused_step.hpp"
#include "training/step/step_operations.hpp"

namespace {

using namespace headway;                    // NOLINT: a program
using namespace headway::training;          // NOLINT
using namespace headway::training::detail;  // NOLINT

struct Chip {
  double launch = 2e-6;          ///< seconds from one launch of a graph to the next: an assumption
  double bytes = 3.35e12;        ///< a second, of an H100's memory by its data sheet
  double float32_flops = 47e12;  ///< a second, of large products
  double tf32_flops = 316e12;
  double bf16_flops = 632e12;  ///< twice those of TF32, as in its data sheet

  [[nodiscard]] double flops(Precision precision) const {
    switch (precision) {
      case Precision::kFloat32:
        break;
      case Precision::kTf32:
        return tf32_flops;
      case Precision::kBfloat16:
        return bf16_flops;
    }
    return float32_flops;
  }
};
constexpr std::array kPrecisions = {Precision::kFloat32, Precision::kTf32, Precision::kBfloat16};

enum class Work { kProducts, kAttention, kSums, kNorms, kTables, kUpdate, kOther };
constexpr std::array kNames = {"matrix products", "attention", "sums of copies and over rows",
                               "norms",           "positions", "loss and update",
                               "everything else"};

template <typename Operation, typename... Kinds>
constexpr bool kIsOneOf = (std::is_same_v<Operation, Kinds> || ...);

Work work_of(const StepOperation& operation) {
  return std::visit(
      [](const auto& one) {
        using O = std::decay_t<decltype(one)>;
        if (kIsOneOf<O, StepProduct>) return Work::kProducts;
        if (kIsOneOf<O, StepAttention, StepAttentionGradient>) return Work::kAttention;
        if (kIsOneOf<O, StepQuerySums, StepCopySums, StepColumnSums>) return Work::kSums;
        if (kIsOneOf<O, StepNorm, StepNormGradient>) return Work::kNorms;
        if (kIsOneOf<O, StepPositions, StepPositionsGradient, StepRotation>) return Work::kTables;
        if (kIsOneOf<O, StepLoss, StepSums, StepUpdate>) return Work::kUpdate;
        return Work::kOther;
      },
      operation);
}

struct Sum {
  StepCost cost = {0.0, 0.0, 0};
  double seconds = 0.0;

  void add(const StepCost& one, double flops_a_second) {
    const Chip chip;
    cost.flops += one.flops;
    cost.bytes += one.bytes;
    cost.launches += one.launches;
    seconds +=
        one.launches * chip.launch + std::max(one.bytes / chip.bytes, one.flops / flops_a_second);
  }
};
using Sums = std::array<Sum, kNames.size()>;

constexpr double kMillion = 1e-6;
constexpr double kMilliseconds = 1e3;

// One of each precision.
void print_row(const char* name, const std::array<Sum, kPrecisions.size()>& sums) {
  const auto& [full, tf32, half] = sums;
  fmt::print("  {:30}{:9}{:10.1f}{:10.1f}{:10.3f}{:10.3f}{:9}{:10.1f}{:10.3f}\n", name,
             full.cost.launches, kMillion * full.cost.bytes, kMillion * full.cost.flops,
             kMilliseconds * full.seconds, kMilliseconds * tf32.seconds, half.cost.launches,
             kMillion * half.cost.bytes, kMilliseconds * half.seconds);
}

FusedStep planned_step(const TransformerOptions& model, const TaskFormat& format,
                       const StepBatchShape& batch, Precision precision) {
  EngineSetup setup;
  setup.precision = precision;
  setup.model = model.widened();
  setup.format = format;
  setup.shapes = parameter_shapes(setup.model, format);
  PlannedDevice device;
  return {setup, batch, {}, {}, &device};
}

// Of each kind of work, then of all.
std::pair<Sums, Sum> sums_of(const FusedStep& step, Precision precision) {
  std::pair<Sums, Sum> found;
  for (const StepLaunch& launch : step.launches()) {
    const StepCost cost = cost_of(launch.operation);
    const double flops = Chip().flops(precision);
    found.first[static_cast<std::size_t>(work_of(launch.operation))].add(cost, flops);
    found.second.add(cost, flops);
  }
  return found;
}

void print_stacks(const TransformerOptions& model, const TaskFormat& format, StepBatchShape batch) {
  fmt::print("  {:>4}{:>10}{:>10}{:>12}{:>14}{:>14}{:>10}{:>14}\n", "runs", "launches", "MB",
             "Mflop", "fp32 ms a run", "tf32 ms a run", "bf16 MB", "bf16 ms a run");
  for (batch.runs = 1; batch.runs <= 16; batch.runs *= 2) {
    std::array<Sum, kPrecisions.size()> sums;
    for (std::size_t i = 0; i < sums.size(); ++i) {
      sums[i] = sums_of(planned_step(model, format, batch, kPrecisions[i]), kPrecisions[i]).second;
    }
    const auto& [full, tf32, half] = sums;
    const double a_run = kMilliseconds / static_cast<double>(batch.runs);
    fmt::print("  {:4}{:10}{:10.0f}{:12.0f}{:14.3f}{:14.3f}{:10.0f}{:14.3f}\n", batch.runs,
               full.cost.launches, kMillion * full.cost.bytes, kMillion * full.cost.flops,
               a_run * full.seconds, a_run * tf32.seconds, kMillion * half.cost.bytes,
               a_run * half.seconds);
  }
  fmt::print("\n");
}

void print_step(const char* title, const TransformerOptions& model, const TaskFormat& format,
                const StepBatchShape& batch, bool each_launch) {
  fmt::print("{}, {}\n  {:30}{:>9}{:>10}{:>10}{:>10}{:>10}{:>9}{:>10}{:>10}\n", title,
             model.attention, "", "launches", "MB", "Mflop", "fp32 ms", "tf32 ms", "in bf16", "MB",
             "bf16 ms");
  std::array<Sums, kPrecisions.size()> sums;
  std::array<Sum, kPrecisions.size()> all;
  std::string tables;
  for (std::size_t p = 0; p < kPrecisions.size(); ++p) {
    const FusedStep step = planned_step(model, format, batch, kPrecisions[p]);
    std::tie(sums[p], all[p]) = sums_of(step, kPrecisions[p]);
    if (kPrecisions[p] == Precision::kFloat32) tables += "\n" + step.table();
    if (kPrecisions[p] == Precision::kBfloat16) tables += "\nin bf16\n" + step.table();
  }
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (sums[2][i].cost.launches > 0) print_row(kNames[i], {sums[0][i], sums[1][i], sums[2][i]});
  }
  print_row("all", all);
  if (each_launch) fmt::print("{}", tables);
  fmt::print("\n");
  print_stacks(model, format, batch);
}

}  // namespace

int main(int argc, char** argv) {
  const bool each_launch = argc > 1 && std::string(argv[1]) == "launches";  // NOLINT: argv
  TransformerOptions sraven;
  sraven.layers = 4;
  sraven.heads = 16;
  sraven.query_dim = sraven.value_dim = 64;
  const auto matrices = make_sraven_task({});
  TransformerOptions text = sraven;
  text.heads = 8;
  text.model_dim = text.query_dim = text.value_dim = 256;
  text.mlp_dim = 1024;
  text.positions = Positions::kRotary;
  text.causal = true;
  std::string words;
  for (int i = 0; i < 20000; ++i) words += fmt::format("{} ", i * i % 9973);
  const auto bytes = make_byte_text_task(words, {});
  for (const char* variant : {"hyla", "softmax"}) {
    sraven.attention = text.attention = variant;
    print_step("SRAVEN, batch 128, 36 tokens", sraven, matrices->format(), {128, false, true},
               each_launch);
    print_step("Text, batch 16, 256 tokens", text, bytes->format(), {16, false, false},
               each_launch);
  }
  return 0;
}
