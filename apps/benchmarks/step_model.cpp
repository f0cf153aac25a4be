// What a hand-written training step asks of a GPU, counted on its list of launches, and a model of
// its time. It needs no GPU. A launch takes a fixed time and then the longer of two: its flops at
// the rate of large products, its bytes at the rate of the memory. So the model is a floor: small
// launches fill no device, and attention does not reach the rate of products.
// Of a stack of runs it counts one step of all, and what a run of it costs.
// Usage: step_model [launches], which also prints each launch.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <type_traits>
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
};

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
  double float32_seconds = 0.0;
  double tf32_seconds = 0.0;

  void add(const StepCost& one, const Chip& chip) {
    cost.flops += one.flops;
    cost.bytes += one.bytes;
    cost.launches += one.launches;
    const double fixed = one.launches * chip.launch;
    const double memory = one.bytes / chip.bytes;
    float32_seconds += fixed + std::max(memory, one.flops / chip.float32_flops);
    tf32_seconds += fixed + std::max(memory, one.flops / chip.tf32_flops);
  }
};

void print_row(const char* name, const Sum& sum) {
  constexpr double kMillion = 1e-6;
  constexpr double kMilliseconds = 1e3;
  fmt::print("  {:30}{:9}{:10.1f}{:10.1f}{:10.3f}{:10.3f}\n", name, sum.cost.launches,
             kMillion * sum.cost.bytes, kMillion * sum.cost.flops,
             kMilliseconds * sum.float32_seconds, kMilliseconds * sum.tf32_seconds);
}

FusedStep planned_step(const TransformerOptions& model, const TaskFormat& format,
                       const StepBatchShape& batch) {
  EngineSetup setup;
  setup.model = model.widened();
  setup.format = format;
  setup.shapes = parameter_shapes(setup.model, format);
  PlannedDevice device;
  return {setup, batch, {}, {}, &device};
}

Sum sum_of(const FusedStep& step) {
  Sum all;
  for (const StepLaunch& launch : step.launches()) all.add(cost_of(launch.operation), Chip());
  return all;
}

void print_stacks(const TransformerOptions& model, const TaskFormat& format, StepBatchShape batch) {
  fmt::print("  {:>4}{:>10}{:>10}{:>12}{:>14}{:>14}\n", "runs", "launches", "MB", "Mflop",
             "fp32 ms a run", "tf32 ms a run");
  constexpr double kMillion = 1e-6;
  constexpr double kMilliseconds = 1e3;
  for (batch.runs = 1; batch.runs <= 16; batch.runs *= 2) {
    const Sum all = sum_of(planned_step(model, format, batch));
    const double a_run = kMilliseconds / static_cast<double>(batch.runs);
    fmt::print("  {:4}{:10}{:10.0f}{:12.0f}{:14.3f}{:14.3f}\n", batch.runs, all.cost.launches,
               kMillion * all.cost.bytes, kMillion * all.cost.flops, a_run * all.float32_seconds,
               a_run * all.tf32_seconds);
  }
  fmt::print("\n");
}

void print_step(const char* title, const TransformerOptions& model, const TaskFormat& format,
                const StepBatchShape& batch, bool each_launch) {
  const FusedStep step = planned_step(model, format, batch);
  fmt::print("{}, {}\n  {:30}{:>9}{:>10}{:>10}{:>10}{:>10}\n", title, model.attention, "",
             "launches", "MB", "Mflop", "fp32 ms", "tf32 ms");
  std::array<Sum, kNames.size()> sums;
  Sum all;
  for (const StepLaunch& launch : step.launches()) {
    const StepCost cost = cost_of(launch.operation);
    sums[static_cast<std::size_t>(work_of(launch.operation))].add(cost, Chip());
    all.add(cost, Chip());
  }
  for (std::size_t i = 0; i < sums.size(); ++i) {
    if (sums[i].cost.launches > 0) print_row(kNames[i], sums[i]);
  }
  print_row("all", all);
  if (each_launch) fmt::print("\n{}", step.table());
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
