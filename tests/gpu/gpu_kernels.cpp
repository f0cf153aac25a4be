// The fused attention kernels on a real device, beside the plain reference in double precision.
//
//   gpu_kernels device    the device's name; exit code 69 where there is none
//   gpu_kernels check     every variant, shape and mask, in each arithmetic
//   gpu_kernels quick     some of them, for sanitizers, which are slow
//   gpu_kernels time [LAYER [VARIANT [PRECISION]]]   milliseconds of layers, in graphs of ten
//                         launches, beside the model's
//
// Layers that the kernels made for their shape take are checked and timed with these, too.
//
// The tests of the emulator know more of an access than a device does. This program knows what the
// emulator cannot: what nvcc made of the kernels, and how long they take.
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "attention_problems.hpp"
#include "device_layer.hpp"
#include "headway/core/parallel.hpp"
#include "training/kernels/cuda/attention_time.hpp"
#include "training/kernels/cuda/bf16.hpp"
#include "training/kernels/cuda/gpu_attention.hpp"

namespace headway::testing {
namespace {

using training::Bf16;
using training::GpuArithmetic;

constexpr int kNoDevice = 69;  // as the program headway ends without one

struct Arithmetic {
  GpuArithmetic kind;
  const char* name;
  // Bounds of the relative error: without and with a derivative that jumps, and where rounding is
  // divided by little.
  double smooth, jump, divided;
};
constexpr Arithmetic kArithmetics[] = {{GpuArithmetic::kFloat32, "fp32", 2e-5, 1e-4, 1e-4},
                                       {GpuArithmetic::kTf32, "tf32", 0.02, 0.1, 0.2},
                                       {GpuArithmetic::kBf16, "bf16", 0.15, 0.5, 0.8}};

/// The plan of a layer with the kernels for any shape, and where there are some with those made for
/// its shape.
std::vector<training::GpuAttentionPlan> plans_of(const AttentionProblem<float>& problem,
                                                 GpuArithmetic kind) {
  std::vector<training::GpuAttentionPlan> plans;
  for (const bool by_shape : {false, true}) {
    training::GpuDevice device = training::gpu_device(0);
    device.kernels_by_shape = by_shape;
    const auto plan =
        training::plan_gpu_attention(problem.shape, problem.options, kind, !problem.bias.empty(),
                                     !problem.dropout.empty(), device);
    if (!plan || (by_shape && plan->kernel == training::GpuAttentionKernel::kGeneral)) continue;
    plans.push_back(*plan);
  }
  return plans;
}

const char* name_of(const training::GpuAttentionPlan& plan) {
  switch (plan.kernel) {
    case training::GpuAttentionKernel::kGeneral:
      break;
    case training::GpuAttentionKernel::kNarrow:
      return "narrow";
    case training::GpuAttentionKernel::kLarge:
      return "large";
  }
  return "general";
}

template <typename T>
Outcome run_as(const AttentionProblem<float>& problem, GpuArithmetic kind,
               const training::GpuAttentionPlan& plan, int replays) {
  DeviceLayer<T> layer(problem, kind, plan);
  Outcome outcome = layer.run();
  if (replays > 0) {
    outcome.forward_ms = layer.median_ms([&] { layer.forward(); }, replays);
    outcome.backward_ms = layer.median_ms([&] { layer.backward(); }, replays);
  }
  return outcome;
}

Outcome run_layer(const AttentionProblem<float>& problem, GpuArithmetic kind,
                  const training::GpuAttentionPlan& plan, int replays = 0) {
  return kind == GpuArithmetic::kBf16 ? run_as<Bf16>(problem, kind, plan, replays)
                                      : run_as<float>(problem, kind, plan, replays);
}

struct WorstError {
  double size = 0.0;
  const char* array = "none";
};

WorstError worst_error(const AttentionProblem<float>& p, const AttentionAnswer<float>& answer,
                       const AttentionAnswer<double>& exact) {
  // With one head RMSHead's weights are signs: the gradient of the scores cancels.
  const bool cancels =
      p.shape.heads == 1 && p.options.normalisation == training::Normalisation::kRmsHead;
  const double floor = cancels ? 30.0 : 1e-30;
  WorstError worst;
  const auto see = [&](const char* array, double error) {
    if (error <= worst.size) return;  // false for NaN
    worst = {std::isnan(error) ? HUGE_VAL : error, array};
  };
  see("output", relative_distance(answer.output, exact.output));
  see("log_sum_exp", relative_distance(answer.log_sum_exp, exact.log_sum_exp));
  see("d_query", relative_distance(answer.d_query, exact.d_query, floor));
  see("d_key", relative_distance(answer.d_key, exact.d_key, floor));
  see("d_value", relative_distance(answer.d_value, exact.d_value));
  see("d_bias", relative_distance(answer.d_bias, exact.d_bias, floor));
  see("d_mixing", relative_distance(answer.d_mixing, exact.d_mixing));
  return worst;
}

struct CheckedLayer {
  std::string name;
  AttentionProblem<float> problem;
  std::unique_ptr<AttentionAnswer<double>> exact;
};

std::string shape_text(const AttentionProblem<float>& p) {
  return fmt::format("batch {}, heads {}, queries {}, keys {}, dims {} and {}{}", p.shape.batch,
                     p.shape.heads, p.shape.queries, p.shape.keys, p.shape.query_dim,
                     p.shape.value_dim, p.options.causal ? ", causal" : "");
}

bool is_quick(const std::string& variant) {
  return variant == "softmax" || variant == "hyla" || variant == "hyla_deep" ||
         variant == "linear_rms_head";
}

std::vector<CheckedLayer> checked_layers(bool quick) {
  std::vector<AttentionCase> cases = attention_shapes();
  if (quick) {
    constexpr std::size_t kFew = 6;
    cases.resize(kFew);
    cases.push_back({{1, 8, 20, 33, 16, 32}, {true, true, true}, true});  // a large one in bf16
  } else {  // the layers of the studies, and one that no tile divides
    cases.push_back({{16, 16, 36, 36, 4, 4}, {true, false, true}, false});
    cases.push_back({{9, 8, 32, 32, 16, 16}, {true, false, true}, true});
    cases.push_back({{1, 4, 130, 130, 64, 64}, {true, true, true}, true});
    cases.push_back({{1, 3, 257, 257, 32, 32}, {false, false, false}, false});
    cases.push_back({{2, 8, 100, 117, 48, 64}, {true, true, true}, true});  // a large one
  }
  constexpr Index kLongestDeep = 128;  // the reference would take minutes
  constexpr std::uint64_t kSeed = 11;
  std::vector<CheckedLayer> layers;
  for (auto& [name, options] : attention_cases()) {
    if (quick && !is_quick(name)) continue;
    for (const AttentionCase& one : cases) {
      const bool deep = options.value_network == training::ValueNetwork::kHylaDeep;
      if (deep && one.shape.queries > kLongestDeep) continue;
      AttentionOptions given = options;
      given.causal = one.causal;
      layers.push_back(
          {name, in_floats(attention_problem(one.shape, given, one.extras, kSeed)), nullptr});
    }
  }
#pragma omp parallel for schedule(dynamic)
  for (std::size_t i = 0; i < layers.size(); ++i) {  // NOLINT: OpenMP knows no ranges
    layers[i].exact =
        std::make_unique<AttentionAnswer<double>>(reference_answer(in_doubles(layers[i].problem)));
  }
  return layers;
}

/// What `check` has found so far.
struct Findings {
  int checked = 0, by_shape = 0, bad = 0, without_plan = 0;
  double worst[std::size(kArithmetics)] = {};
};

void check_plan(const CheckedLayer& layer, std::size_t which,
                const training::GpuAttentionPlan& plan, Findings* findings) {
  const Arithmetic& arithmetic = kArithmetics[which];
  const Outcome first = run_layer(layer.problem, arithmetic.kind, plan);
  const Outcome second = run_layer(layer.problem, arithmetic.kind, plan);
  ++findings->checked;
  if (plan.kernel != training::GpuAttentionKernel::kGeneral) ++findings->by_shape;
  const WorstError worst = worst_error(layer.problem, first.answer, *layer.exact);
  const AttentionOptions& options = layer.problem.options;
  const bool jumps = options.nonlinearity == training::Nonlinearity::kRelu;
  // With two heads both scores of a pair may be near 0. RMSHead divides what operands were rounded
  // by by something as small.
  const bool divides = which > 0 && layer.problem.shape.heads == 2 &&
                       options.normalisation == training::Normalisation::kRmsHead;
  const double bound = divides ? arithmetic.divided : jumps ? arithmetic.jump : arithmetic.smooth;
  const bool same = first.answer == second.answer;
  double& seen = findings->worst[which];
  if (which == 0 || !(jumps || divides)) seen = std::max(seen, worst.size);
  if (worst.size <= bound && first.guarded && same) return;
  ++findings->bad;
  fmt::print("wrong: {} {} {}, {}: {} is off by {:.3g}{}{}\n", name_of(plan), arithmetic.name,
             layer.name, shape_text(layer.problem), worst.array, worst.size,
             first.guarded ? "" : ", wrote outside its arrays",
             same ? "" : ", other bits the second time");
}

/// 0 where every layer agrees, keeps its guards and has the same bits twice.
int check(bool quick) {
  Findings found;
  for (const CheckedLayer& layer : checked_layers(quick)) {
    for (std::size_t k = 0; k < std::size(kArithmetics); ++k) {
      const auto plans = plans_of(layer.problem, kArithmetics[k].kind);
      if (plans.empty()) ++found.without_plan;
      for (const auto& plan : plans) check_plan(layer, k, plan, &found);
    }
  }
  fmt::print(
      "{} layers checked, {} of them with kernels made for their shape; {} wrong, {} fit no tile "
      "of "
      "this device; largest relative error: fp32 {:.2g}, tf32 {:.2g}, bf16 {:.2g}\n",
      found.checked, found.by_shape, found.bad, found.without_plan, found.worst[0], found.worst[1],
      found.worst[2]);
  return found.bad == 0 && found.checked > 0 ? 0 : 1;
}

struct TimedSize {
  const char* name;
  AttentionShape shape;
  bool bias, causal;
};

AttentionProblem<float> timed_problem(const char* variant, const TimedSize& size) {
  AttentionOptions options = training::attention_variant(variant);
  options.causal = size.causal;
  constexpr std::uint64_t kSeed = 5;
  return in_floats(attention_problem(size.shape, options, {size.bias, false, false}, kSeed));
}

/// Measured, and beside it what the model of the time says.
void time_plan(const char* size, const char* variant, const AttentionProblem<float>& problem,
               const Arithmetic& arithmetic, const training::GpuAttentionPlan& plan) {
  constexpr int kReplays = 10;
  const Outcome one = run_layer(problem, arithmetic.kind, plan, kReplays);
  const auto modelled = [&](training::GpuAttentionPass pass) {
    return training::gpu_attention_time({problem.shape, problem.options, arithmetic.kind}, plan,
                                        pass, training::gpu_device(0))
        .ms;
  };
  const training::MultiplyAdds work = training::count_multiply_adds(problem.shape, problem.options);
  const auto rate = [](double multiply_adds, double ms) { return 2e-9 * multiply_adds / ms; };
  fmt::print("{:8} {:18} {:5} {:8} {:11.4f} {:9.4f} {:12.4f} {:9.4f} {:9.2f} {:10.2f}\n", size,
             variant, arithmetic.name, name_of(plan), one.forward_ms,
             modelled(training::GpuAttentionPass::kForward), one.backward_ms,
             modelled(training::GpuAttentionPass::kBackward), rate(work.forward, one.forward_ms),
             rate(work.backward + work.recomputed, one.backward_ms));
  std::fflush(stdout);
}

/// Layer, variant and precision; those that are empty leave nothing out.
struct TimedOnly {
  std::string layer, variant, precision;
};

void time_layers(const TimedOnly& only) {
  const auto wanted = [](const std::string& which, const char* name) {
    return which.empty() || which == name;
  };
  const TimedSize sizes[] = {{"sraven", {128, 16, 36, 36, 4, 4}, true, false},
                             {"terms", {128, 8, 32, 32, 2, 2}, true, false},
                             {"fuzzy", {128, 8, 32, 32, 16, 16}, true, false},
                             {"text", {32, 8, 256, 256, 32, 32}, true, true},
                             {"large", {8, 8, 1024, 1024, 64, 64}, false, true}};
  fmt::print("{:8} {:18} {:5} {:8} {:>11} {:>9} {:>12} {:>9} {:>9} {:>10}\n", "layer", "variant",
             "", "kernels", "forward ms", "modelled", "backward ms", "modelled", "Tflop/s",
             "backward");
  for (const TimedSize& size : sizes) {
    if (!wanted(only.layer, size.name)) continue;
    for (const char* variant : {"softmax", "linear_rms_head", "hyla", "hyla_deep"}) {
      if (!wanted(only.variant, variant)) continue;
      const AttentionProblem<float> problem = timed_problem(variant, size);
      for (const Arithmetic& arithmetic : kArithmetics) {
        if (!wanted(only.precision, arithmetic.name)) continue;
        const auto plans = plans_of(problem, arithmetic.kind);
        for (const auto& plan : plans) time_plan(size.name, variant, problem, arithmetic, plan);
        if (plans.empty()) {
          fmt::print("{:8} {:18} {:5} fits no tile\n", size.name, variant, arithmetic.name);
        }
      }
    }
  }
}

int run(const std::string& what, const TimedOnly& only) {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    fmt::print("gpu_kernels: no CUDA device\n");
    return kNoDevice;
  }
  if (what == "device") {
    cudaDeviceProp properties{};
    require(cudaGetDeviceProperties(&properties, 0), "cudaGetDeviceProperties");
    fmt::print("{}, {} multiprocessors, compute capability {}.{}\n", properties.name,
               properties.multiProcessorCount, properties.major, properties.minor);
    return 0;
  }
  if (what == "check" || what == "quick") return check(what == "quick");
  if (what == "time") {
    time_layers(only);
    return 0;
  }
  fmt::print("usage: gpu_kernels device|check|quick|time [LAYER [VARIANT [PRECISION]]]\n");
  return 2;
}

}  // namespace
}  // namespace headway::testing

int main(int argc, char** argv) {
  const auto argument = [&](int i) {
    return std::string(i < argc ? argv[i] : "");
  };  // NOLINT: argv
  return headway::testing::run(argument(1), {argument(2), argument(3), argument(4)});
}
