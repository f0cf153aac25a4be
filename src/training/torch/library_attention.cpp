#include "training/torch/library_attention.hpp"

#include <torch/csrc/api/include/torch/version.h>

#include <array>
#include <limits>
#include <tuple>
#include <utility>

#include "training/torch/function_tools.hpp"

namespace headway::training::detail {
namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

// --- on a GPU --------------------------------------------------------------------------------

#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 6)

constexpr bool kOnGpu = true;
// LibTorch's numbers for what is hidden.
constexpr std::int64_t kNothingHides = 0;
constexpr std::int64_t kCausal = 1;
constexpr Index kRowOfSums = 32;  // log sum exp: queries of a head are rounded up to it

LibraryAttended gpu_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                              bool causal) {
  const auto all =
      at::_efficient_attention_forward(query, key, value, {}, {}, {}, std::nullopt, std::nullopt,
                                       0.0, causal ? kCausal : kNothingHides, true);
  return {std::get<0>(all), std::get<1>(all).narrow(2, 0, query.size(1))};
}

LibraryGradients gpu_attention_gradient(const Tensor& d_output, const Tensor& query,
                                        const Tensor& key, const Tensor& value,
                                        const LibraryAttended& attended, bool causal) {
  const Index queries = query.size(1);
  const Index beyond = (kRowOfSums - queries % kRowOfSums) % kRowOfSums;
  const Tensor sums = at::constant_pad_nd(attended.log_sum_exp, {0, beyond},
                                          std::numeric_limits<double>::infinity())
                          .contiguous();
  const Tensor no_seed = at::empty({}, at::kLong);  // nothing is drawn
  const auto g = at::_efficient_attention_backward(
      d_output, query, key, value, {}, attended.output, {}, {}, queries, key.size(1), sums, 0.0,
      no_seed, no_seed, causal ? kCausal : kNothingHides, false, std::nullopt,
      1);  // part of the keys: a query's gradient is summed in one order
  return {std::get<0>(g), std::get<1>(g), std::get<2>(g)};
}

#else

constexpr bool kOnGpu = false;
LibraryAttended gpu_attention(const Tensor&, const Tensor&, const Tensor&, bool) { return {}; }
LibraryGradients gpu_attention_gradient(const Tensor&, const Tensor&, const Tensor&, const Tensor&,
                                        const LibraryAttended&, bool) {
  return {};
}

#endif

// --- on the CPU ------------------------------------------------------------------------------

Tensor by_head(const Tensor& x) { return x.transpose(1, 2); }

Tensor cpu_attention(const Tensor& query, const Tensor& key, const Tensor& value, bool causal) {
#if TORCH_VERSION_MAJOR >= 2
  return by_head(at::scaled_dot_product_attention(by_head(query), by_head(key), by_head(value), {},
                                                  0.0, causal));
#else
  return by_head(std::get<0>(at::_scaled_dot_product_attention(
      by_head(query), by_head(key), by_head(value), {}, 0.0, false, causal)));
#endif
}

LibraryGradients cpu_attention_gradient(const Tensor& d_output, const Tensor& query,
                                        const Tensor& key, const Tensor& value, bool causal) {
  const at::AutoGradMode gradients(true);
  variable_list leaves;
  for (const Tensor& x : {query, key, value}) leaves.push_back(x.detach().requires_grad_(true));
  const Tensor output = cpu_attention(leaves[0], leaves[1], leaves[2], causal);
  const variable_list g = torch::autograd::grad({output}, leaves, {d_output});
  return {g[0], g[1], g[2]};
}

struct LibraryFunction : Function<LibraryFunction> {
  static Tensor forward(AutogradContext* context, const Tensor& query, const Tensor& key,
                        const Tensor& value, bool causal) {
    const LibraryAttended attended = library_attention(query, key, value, causal);
    context->save_for_backward({query, key, value, attended.output, attended.log_sum_exp});
    context->saved_data["causal"] = causal;
    return attended.output;
  }
  static variable_list backward(AutogradContext* context, const variable_list& d) {
    const variable_list x = context->get_saved_variables();
    const LibraryGradients g =
        library_attention_gradient(d[0].to(x[0].scalar_type()).contiguous(), x[0], x[1], x[2],
                                   {x[3], x[4]}, context->saved_data["causal"].toBool());
    return {g.query, g.key, g.value, Tensor()};
  }
};

// --- in a hand-written step ------------------------------------------------------------------

class LibraryAttentionDevice final : public StepDevice {
 public:
  LibraryAttentionDevice(const EngineSetup& setup, std::unique_ptr<StepDevice> device)
      : setup_(setup),
        device_(std::move(device)),
        where_(setup.device == Device::kCuda ? at::kCUDA : at::kCPU) {}

  [[nodiscard]] GpuDevice sizes() const override { return device_->sizes(); }
  void run(const StepOperation& operation) override {
    if (const auto* forward = std::get_if<StepAttention>(&operation)) {
      if (takes(forward->layer, forward->in)) return attend(*forward);
    }
    if (const auto* backward = std::get_if<StepAttentionGradient>(&operation)) {
      if (takes(backward->layer, backward->in)) return pass_back(*backward);
    }
    device_->run(operation);
  }
  void run_aside(const StepOperation& operation) override { device_->run_aside(operation); }
  void join() override { device_->join(); }
  void adopt(const char* name, const void* data, Index count, std::size_t size) override {
    device_->adopt(name, data, count, size);
  }
  void was_written(const void* data) override { device_->was_written(data); }
  [[nodiscard]] double free_bytes() const override { return device_->free_bytes(); }
  void* allocate(const char* name, Index count, std::size_t size, const void* numbers) override {
    return device_->allocate(name, count, size, numbers);
  }

 private:
  [[nodiscard]] bool takes(const GpuAttentionLayer& layer, const GpuAttentionInputs& in) const {
    const AttentionExtras extras = {in.bias != nullptr, in.key_mask != nullptr,
                                    in.dropout.given != nullptr || in.dropout.index != nullptr};
    return library_attention_takes(setup_.library_attention, layer, extras, sizes());
  }
  // Tokens of all heads: a view of the device's array.
  [[nodiscard]] Tensor view(const void* data, at::ScalarType type, std::array<Index, 4> n,
                            TokenSteps steps) const {
    if (steps.token == 0) steps = {n[2] * n[3], n[1] * n[2] * n[3]};
    return at::from_blob(const_cast<void*>(data), n,  // NOLINT: inputs are only read
                         {steps.example, steps.token, n[3], 1}, at::dtype(type).device(where_));
  }
  [[nodiscard]] Tensor sums(const GpuAttentionLayer& layer, float* data) const {
    const AttentionShape& n = layer.shape;
    return at::from_blob(data, {n.batch, n.heads, n.queries}, at::dtype(at::kFloat).device(where_));
  }
  static at::ScalarType numbers_of_layer(const GpuAttentionLayer& layer) {
    return layer.arithmetic == GpuArithmetic::kBf16 ? at::kBFloat16 : at::kFloat;
  }
  struct Views {
    Tensor query, key, value;
  };
  [[nodiscard]] Views inputs(const GpuAttentionLayer& layer, const GpuAttentionInputs& in) const {
    const AttentionShape& n = layer.shape;
    const at::ScalarType type = numbers_of_layer(layer);
    return {view(in.query, type, {n.batch, n.queries, n.heads, n.query_dim}, in.query_steps),
            view(in.key, type, {n.batch, n.keys, n.heads, n.query_dim}, in.key_steps),
            view(in.value, type, {n.batch, n.keys, n.heads, n.value_dim}, in.value_steps)};
  }
  [[nodiscard]] Tensor output(const GpuAttentionLayer& layer, const void* data) const {
    const AttentionShape& n = layer.shape;
    return view(data, numbers_of_layer(layer), {n.batch, n.queries, n.heads, n.value_dim}, {});
  }
  void put(const Tensor& from, const Tensor& to) const {
    to.copy_(from);
    device_->was_written(to.data_ptr());
  }

  void attend(const StepAttention& a) const {
    const at::NoGradGuard no_gradient;
    const Views x = inputs(a.layer, a.in);
    const LibraryAttended o = library_attention(x.query, x.key, x.value, a.layer.options.causal);
    put(o.output, output(a.layer, a.out.output));
    if (o.log_sum_exp.defined()) put(o.log_sum_exp, sums(a.layer, a.out.log_sum_exp));
  }

  void pass_back(const StepAttentionGradient& a) const {
    const at::NoGradGuard no_gradient;
    const AttentionShape& n = a.layer.shape;
    const at::ScalarType type = numbers_of_layer(a.layer);
    const Views x = inputs(a.layer, a.in);
    const LibraryAttended passed = {output(a.layer, a.passed.outputs.output),
                                    sums(a.layer, a.passed.outputs.log_sum_exp)};
    const LibraryGradients g =
        library_attention_gradient(output(a.layer, a.passed.d_output), x.query, x.key, x.value,
                                   passed, a.layer.options.causal);
    const GpuAttentionGradients& to = a.gradients;
    const std::array<Index, 4> queries = {n.batch, n.queries, n.heads, n.query_dim};
    // The plan has one copy of the gradient of queries (plan_step_attention). Without `query` the
    // step wants floats.
    put(g.query, to.query != nullptr
                     ? view(to.query, type, queries, a.in.query_steps)
                     : view(to.query_sums, at::kFloat, queries, to.query_sum_steps));
    put(g.key, view(to.key, type, {n.batch, n.keys, n.heads, n.query_dim}, a.in.key_steps));
    put(g.value, view(to.value, type, {n.batch, n.keys, n.heads, n.value_dim}, a.in.value_steps));
  }

  const EngineSetup& setup_;
  std::unique_ptr<StepDevice> device_;
  at::Device where_;
};

}  // namespace

bool has_library_attention(at::DeviceType device) { return device == at::kCPU || kOnGpu; }

LibraryAttended library_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                  bool causal) {
  if (!query.device().is_cpu()) return gpu_attention(query, key, value, causal);
  return {cpu_attention(query, key, value, causal), Tensor()};
}

LibraryGradients library_attention_gradient(const Tensor& d_output, const Tensor& query,
                                            const Tensor& key, const Tensor& value,
                                            const LibraryAttended& attended, bool causal) {
  if (!query.device().is_cpu()) {
    return gpu_attention_gradient(d_output, query, key, value, attended, causal);
  }
  return cpu_attention_gradient(d_output, query, key, value, causal);
}

Tensor library_attention_function(const Tensor& query, const Tensor& key, const Tensor& value,
                                  bool causal) {
  return LibraryFunction::apply(query, key, value, causal);
}

std::unique_ptr<StepDevice> with_library_attention(const EngineSetup& setup,
                                                   std::unique_ptr<StepDevice> device) {
  if (setup.library_attention == LibraryAttentionUse::kNever) return device;
  return std::make_unique<LibraryAttentionDevice>(setup, std::move(device));
}

}  // namespace headway::training::detail
