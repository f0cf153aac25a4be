#include "emulated_kernels.hpp"

#include <map>

#include "attention_problems.hpp"
#include "emulator/emulated_device.hpp"

namespace headway::testing {
namespace {

/// The emulated device with the arrays of one pass, each of which has bounds.
class PassDevice : public EmulatedDevice {
 public:
  PassDevice(const AttentionShape& shape, const training::GpuAttentionInputs& in,
             const training::GpuAttentionOutputs& out, bool is_forward)
      : n_(shape) {
    add("query", in.query, queries() * n_.query_dim, true);
    add("key", in.key, keys() * n_.query_dim, true);
    add("value", in.value, keys() * n_.value_dim, true);
    add("bias", in.bias, n_.heads * n_.queries * n_.keys, true);
    add("key_mask", in.key_mask, n_.batch * n_.keys, true);
    add("mixing", in.mixing, n_.heads * n_.value_dim * n_.value_dim, true);
    add("dropout", in.dropout.given, n_.queries * n_.keys, true);
    add("output", out.output, queries() * n_.value_dim, !is_forward);
    add("log_sum_exp", out.log_sum_exp, queries(), !is_forward);
  }
  void add_gradients(const void* d_output, const training::GpuAttentionGradients& g,
                     const training::GpuAttentionPlan& plan) {
    add("d_output", d_output, queries() * n_.value_dim, true);
    add("over_keys", g.over_keys, plan.over_keys, false);
    add("query_sums", g.query_sums, plan.query_sums, false);
    add("bias_sums", g.bias_sums, plan.bias_sums, false);
    add("mixing_sums", g.mixing_sums, plan.mixing_sums, false);
    add("d_query", g.query, queries() * n_.query_dim, false);
    add("d_key", g.key, keys() * n_.query_dim, false);
    add("d_value", g.value, keys() * n_.value_dim, false);
    add("d_bias", g.bias, n_.heads * n_.queries * n_.keys, false);
    add("d_mixing", g.mixing, n_.heads * n_.value_dim * n_.value_dim, false);
  }
  template <typename T>
  emulated::Global<T> bind(T* pointer) {
    if (pointer == nullptr) return {};
    return {arrays_.at(pointer), 0};
  }

 private:
  [[nodiscard]] Index queries() const { return n_.batch * n_.queries * n_.heads; }
  [[nodiscard]] Index keys() const { return n_.batch * n_.keys * n_.heads; }
  void add(const char* name, const void* data, Index count, bool written) {
    auto* const bytes = static_cast<std::byte*>(const_cast<void*>(data));  // NOLINT: some are read
    arrays_[data] = memory_.make(name, bytes, static_cast<std::size_t>(count), written).array;
  }

  AttentionShape n_;
  emulated::GlobalMemory memory_;
  std::map<const void*, emulated::Array*> arrays_;
};

void emulated_forward(const training::GpuAttentionLayer& layer,
                      const training::GpuAttentionPlan& plan,
                      const training::GpuAttentionInputs& in,
                      const training::GpuAttentionOutputs& out, void* /*stream*/) {
  ++emulated_calls().forward;
  emulated_calls().last = layer;
  PassDevice device(layer.shape, in, out, true);
  emulated::run_forward(device, layer, plan, in, out);
}

void emulated_backward(const training::GpuAttentionLayer& layer,
                       const training::GpuAttentionPlan& plan,
                       const training::GpuAttentionInputs& in,
                       const training::GpuAttentionPassedBack& passed,
                       const training::GpuAttentionGradients& gradients, void* /*stream*/) {
  ++emulated_calls().backward;
  PassDevice device(layer.shape, in, passed.outputs, false);
  device.add_gradients(passed.d_output, gradients, plan);
  emulated::run_backward(device, layer, plan, in, passed, gradients);
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
