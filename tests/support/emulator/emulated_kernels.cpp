#include "emulated_kernels.hpp"

#include "attention_problems.hpp"
#include "emulator/emulated_device.hpp"
#include "training/kernels/cuda/attention_binding.hpp"

namespace headway::testing {
namespace {

template <emulated::Arithmetic kind, typename T>
class EmulatedPass {
 public:
  EmulatedPass(const training::GpuAttentionLayer& layer, const training::GpuAttentionPlan& plan,
               const training::GpuAttentionInputs& in, const training::GpuAttentionOutputs& out,
               bool is_forward)
      : plan_(plan), n_(layer.shape) {
    x_ = emulated::arguments_of<T>(layer.shape, layer.options);
    x_.query = input<T>("query", in.query, queries() * n_.query_dim);
    x_.key = input<T>("key", in.key, keys() * n_.query_dim);
    x_.value = input<T>("value", in.value, keys() * n_.value_dim);
    x_.bias = input<float>("bias", in.bias, n_.heads * n_.queries * n_.keys);
    x_.key_mask = input<std::uint8_t>("key_mask", in.key_mask, n_.batch * n_.keys);
    x_.mixing = input<float>("mixing", in.mixing, n_.heads * n_.value_dim * n_.value_dim);
    x_.dropout.given = input<float>("dropout", in.dropout.given, n_.queries * n_.keys);
    x_.output = array<T>("output", out.output, queries() * n_.value_dim, !is_forward);
    x_.log_sum_exp = array<float>("log_sum_exp", out.log_sum_exp, queries(), !is_forward);
  }

  void forward() {
    EmulatedDevice device;
    emulated::launch_forward<kind>(device, plan_, x_);
  }

  void backward(const void* d_output, const training::GpuAttentionGradients& g) {
    emulated::GradientArguments<T> y = {};
    y.output = x_.output;
    y.log_sum_exp = x_.log_sum_exp;
    y.d_output = input<T>("d_output", d_output, queries() * n_.value_dim);
    y.over_keys = array<float>("over_keys", g.over_keys, plan_.over_keys);
    y.query_sums = array<float>("query_sums", g.query_sums, plan_.query_sums);
    y.bias_sums = array<float>("bias_sums", g.bias_sums, plan_.bias_sums);
    y.mixing_sums = array<float>("mixing_sums", g.mixing_sums, plan_.mixing_sums);
    y.key = array<T>("d_key", g.key, keys() * n_.query_dim);
    y.value = array<T>("d_value", g.value, keys() * n_.value_dim);
    EmulatedDevice device;
    emulated::launch_backward<kind>(
        device, plan_, x_, y,
        emulated::SummedGradients<T>{
            array<T>("d_query", g.query, queries() * n_.query_dim),
            array<float>("d_bias", g.bias, n_.heads * n_.queries * n_.keys),
            array<float>("d_mixing", g.mixing, n_.heads * n_.value_dim * n_.value_dim)});
  }

 private:
  [[nodiscard]] Index queries() const { return n_.batch * n_.queries * n_.heads; }
  [[nodiscard]] Index keys() const { return n_.batch * n_.keys * n_.heads; }

  template <typename U>
  auto array(const char* name, void* data, Index count, bool written = false) {
    return memory_.make(name, static_cast<U*>(data), static_cast<std::size_t>(count), written);
  }
  template <typename U>
  emulated::Global<const U> input(const char* name, const void* data, Index count) {
    return array<U>(name, const_cast<void*>(data), count, true);  // NOLINT: handed out as const
  }

  training::GpuAttentionPlan plan_;
  AttentionShape n_;
  emulated::GlobalMemory memory_;
  emulated::AttentionArguments<T> x_;
};

void emulated_forward(const training::GpuAttentionLayer& layer,
                      const training::GpuAttentionPlan& plan,
                      const training::GpuAttentionInputs& in,
                      const training::GpuAttentionOutputs& out, void* /*stream*/) {
  ++emulated_calls().forward;
  emulated_calls().last = layer;
  with_arithmetic(layer.arithmetic, [&]<emulated::Arithmetic kind, typename T>() {
    EmulatedPass<kind, T>(layer, plan, in, out, true).forward();
  });
}

void emulated_backward(const training::GpuAttentionLayer& layer,
                       const training::GpuAttentionPlan& plan,
                       const training::GpuAttentionInputs& in,
                       const training::GpuAttentionPassedBack& passed,
                       const training::GpuAttentionGradients& gradients, void* /*stream*/) {
  ++emulated_calls().backward;
  with_arithmetic(layer.arithmetic, [&]<emulated::Arithmetic kind, typename T>() {
    EmulatedPass<kind, T>(layer, plan, in, passed.outputs, false)
        .backward(passed.d_output, gradients);
  });
}

}  // namespace

EmulatedCalls& emulated_calls() {
  static EmulatedCalls calls;
  return calls;
}

const training::detail::GpuAttentionKernels kEmulatedKernels = {
    [] { return training::GpuDevice{}; }, emulated_forward, emulated_backward};

const training::detail::GpuAttentionKernels kTinyKernels = {[] {
                                                              return training::GpuDevice{1, 16, 16};
                                                            },
                                                            emulated_forward, emulated_backward};

}  // namespace headway::testing
