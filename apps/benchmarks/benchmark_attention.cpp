// Times the fused attention kernels: each variant at the sizes of the experiments, beside the
// machine's peak of multiply-adds measured in the same run and the plain reference; then how memory
// grows with the number of tokens. One thread unless a number is given.
// Usage: benchmark_attention [threads] [section ...] with sections sraven, fuzzy, text, memory (all
// by default).
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "core/process_memory.hpp"
#include "headway/core/rng.hpp"
#include "headway/training/attention.hpp"
#include "headway/training/backend.hpp"
#include "timing.hpp"
#include "training/attention/attention_reference.hpp"

namespace {

using namespace headway;            // NOLINT: a program
using namespace headway::training;  // NOLINT

/// Median over repeats of about a third of a second in all.
double median_seconds(const std::function<void()>& work) {
  const double first = seconds_of(work);
  const int repeats = std::clamp(static_cast<int>(0.3 / first), 1, 101);
  return median_of(repeats, [&] { return seconds_of(work); });
}

// --- layers -------------------------------------------------------------------------------------

struct Layer {
  AttentionShape shape;
  AttentionOptions options;
  std::vector<float> query, key, value, bias, mixing, d_output, output, log_sum_exp;
  std::vector<float> d_query, d_key, d_value, d_bias, d_mixing;

  Layer(const AttentionShape& n, const AttentionOptions& o, bool with_bias) : shape(n), options(o) {
    Rng rng(1, StreamPurpose::kTests);
    const auto draw = [&](Index count) {
      std::vector<double> x(static_cast<std::size_t>(count));
      rng.fill_normal(x);
      return std::vector<float>(x.begin(), x.end());
    };
    query = draw(n.batch * n.queries * n.heads * n.query_dim);
    key = draw(n.batch * n.keys * n.heads * n.query_dim);
    value = draw(n.batch * n.keys * n.heads * n.value_dim);
    d_output = draw(n.batch * n.queries * n.heads * n.value_dim);
    if (with_bias) bias = draw(n.heads * n.queries * n.keys);
    if (o.value_network == ValueNetwork::kHylaDeep) {
      mixing = draw(n.heads * n.value_dim * n.value_dim);
    }
    if (o.normalisation == Normalisation::kSoftmax) {
      log_sum_exp.resize(static_cast<std::size_t>(n.batch * n.heads * n.queries));
    }
    output.resize(d_output.size());
    d_query.resize(query.size());
    d_key.resize(key.size());
    d_value.resize(value.size());
    d_bias.resize(bias.size());
    d_mixing.resize(mixing.size());
  }
  static float* given(std::vector<float>& x) { return x.empty() ? nullptr : x.data(); }
  AttentionInputs<float> inputs() {
    return {query.data(), key.data(), value.data(), given(bias), nullptr, nullptr, given(mixing)};
  }
  void forward(int threads) {
    attention_forward(shape, options, inputs(), {output.data(), given(log_sum_exp)}, threads);
  }
  AttentionGradients<float> gradients() {
    return {d_query.data(), d_key.data(), d_value.data(), given(d_bias), given(d_mixing)};
  }
  void backward(int threads) {
    attention_backward(shape, options, inputs(),
                       {{output.data(), given(log_sum_exp)}, d_output.data()}, gradients(),
                       threads);
  }
};

struct Setting {
  double peak;
  int threads;
};

void heading(const char* title) {
  fmt::print("\n{}\n  {:<32} {:>10} {:>7} {:>6} {:>10} {:>7} {:>6} {:>6} {:>12}\n", title, "",
             "forward ms", "GF/s", "peak%", "backward", "GF/s", "peak%", "all%", "reference ms");
}

/// Forward and backward pass of the plain reference, from one example.
double reference_seconds(Layer* layer) {
  AttentionShape one = layer->shape;
  one.batch = 1;
  const AttentionOutputs<float> outputs{layer->output.data(), Layer::given(layer->log_sum_exp)};
  const double seconds = median_seconds([&] {
    reference::attention_forward(one, layer->options, layer->inputs(), outputs);
    reference::attention_backward(one, layer->options, layer->inputs(), layer->d_output.data(),
                                  layer->gradients());
  });
  return seconds * static_cast<double>(layer->shape.batch);
}

// GF/s of what the gradients need; "all%" counts what the backward pass computes again, too. The
// reference is left out where it takes minutes.
void row(const std::string& name, const AttentionShape& shape, bool causal, bool with_bias,
         const Setting& setting) {
  AttentionOptions options = attention_variant(name);
  options.causal = causal;
  Layer layer(shape, options, with_bias);
  const double forward = median_seconds([&] { layer.forward(setting.threads); });
  const double backward = median_seconds([&] { layer.backward(setting.threads); });
  const bool small = shape.keys * shape.value_dim <= 1024;
  const std::string beside =
      small ? fmt::format("{:.0f}", 1e3 * reference_seconds(&layer)) : std::string("-");
  const MultiplyAdds count = count_multiply_adds(shape, options);
  const double percent = 200.0 / (setting.peak * setting.threads);
  fmt::print("  {:<32} {:>10.3f} {:>7.1f} {:>6.1f} {:>10.3f} {:>7.1f} {:>6.1f} {:>6.1f} {:>12}\n",
             name, 1e3 * forward, 2e-9 * count.forward / forward, percent * count.forward / forward,
             1e3 * backward, 2e-9 * count.backward / backward, percent * count.backward / backward,
             percent * (count.backward + count.recomputed) / backward, beside);
}

void table(const char* title, const AttentionShape& shape, bool causal, bool with_bias,
           const Setting& setting) {
  heading(title);
  for (const std::string& name : attention_variant_names()) {
    row(name, shape, causal, with_bias, setting);
  }
}

// --- memory -------------------------------------------------------------------------------------

void memory() {
  fmt::print(
      "\nMemory of one thread beside the arguments, B=1 H=8 d=dv=64 (a layer of pairs [H, S, S] "
      "beside)\n");
  fmt::print("  {:<12} {:>6} {:>14} {:>14} {:>12}\n", "", "S", "measured MiB", "counted MiB",
             "pairs MiB");
  for (const char* name : {"softmax", "hyla"}) {
    for (const Index tokens : {256, 512, 1024, 2048, 4096}) {
      const AttentionShape shape{1, 8, tokens, tokens, 64, 64};
      Layer layer(shape, attention_variant(name), false);
      std::ofstream("/proc/self/clear_refs") << 5 << std::flush;  // forget the peak so far
      const double before = process_memory_mib("VmRSS:");
      std::thread fresh([&] {  // whose workspace is gone at its end
        layer.forward(1);
        layer.backward(1);
      });
      fresh.join();
      const std::size_t counted = attention_workspace_bytes(shape, layer.options, false, false, 1);
      fmt::print("  {:<12} {:>6} {:>14.1f} {:>14.1f} {:>12.1f}\n", name, tokens,
                 process_memory_mib("VmHWM:") - before, static_cast<double>(counted) / 0x1p20,
                 32.0 * static_cast<double>(tokens * tokens) / 0x1p20);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  Setting setting{measure_peak_flops(1), 1};
  std::set<std::string> sections;
  for (int i = 1; i < argc; ++i) {
    const int number = std::atoi(argv[i]);
    if (number > 0) {
      setting.threads = number;
    } else {
      sections.insert(argv[i]);
    }
  }
  const auto wanted = [&](const char* name) { return sections.empty() || sections.count(name); };
  fmt::print("{}, peak {:.1f} GF/s on one thread; {} thread(s)\n", attention_instruction_set(),
             setting.peak / 1e9, setting.threads);
  if (wanted("sraven")) {
    table("SRAVEN reference: B=128 S=36 H=16 d=4 dv=4, bias", {128, 16, 36, 36, 4, 4}, false, true,
          setting);
  }
  if (wanted("fuzzy")) {
    table("Fuzzy logic: B=128 S=32 H=8 d=16 dv=16, bias", {128, 8, 32, 32, 16, 16}, false, true,
          setting);
  }
  if (wanted("text")) {
    table("Text: B=8 S=256 H=8 d=64 dv=64, causal", {8, 8, 256, 256, 64, 64}, true, false, setting);
    heading("Text: B=8 S=1024 H=8 d=64 dv=64, causal");
    for (const char* name : {"softmax", "linear_rms_head", "hyla"}) {
      row(name, {8, 8, 1024, 1024, 64, 64}, true, false, setting);
    }
  }
  if (wanted("memory")) memory();
  return 0;
}
