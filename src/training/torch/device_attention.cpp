#include "training/torch/device_attention.hpp"

#include "training/torch/cuda_stream.hpp"
#include "training/torch/function_tools.hpp"
#include "training/torch/library_attention.hpp"

namespace headway::training::detail {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

namespace {

struct DeviceSettings {
  GpuAttentionLayer layer;
  GpuAttentionPlan plan;
  const GpuAttentionKernels* kernels;
};

template <typename T>
T* pointer(const Tensor& x) {
  return x.defined() ? static_cast<T*>(x.data_ptr()) : nullptr;
}

// query, key, value, bias, mixing, mask, dropout; then what the forward pass returned.
enum Saved : std::size_t { kQuery, kKey, kValue, kBias, kMixing, kPairMask, kPairDropout, kOutput };

GpuAttentionInputs inputs_of(const variable_list& x) {
  GpuAttentionInputs in;
  in.query = x[kQuery].data_ptr();
  in.key = x[kKey].data_ptr();
  in.value = x[kValue].data_ptr();
  in.bias = pointer<float>(x[kBias]);
  in.mixing = pointer<float>(x[kMixing]);
  in.key_mask = pointer<std::uint8_t>(x[kPairMask]);
  in.dropout.given = pointer<float>(x[kPairDropout]);
  return in;
}

GpuAttentionOutputs outputs_of(const variable_list& x) {
  return {x[kOutput].data_ptr(), pointer<float>(x[kOutput + 1])};
}

struct DeviceFunction : Function<DeviceFunction> {
  // NOLINTNEXTLINE(readability-function-size): LibTorch's signature
  static Tensor forward(AutogradContext* context, const Tensor& query, const Tensor& key,
                        const Tensor& value, const Maybe& bias, const Maybe& mixing,
                        const Maybe& mask, const Maybe& dropout, const DeviceSettings& s) {
    const AttentionShape& n = s.layer.shape;
    variable_list saved = listed(query, key, value, bias, mixing, mask, dropout);
    Tensor output = at::empty({n.batch, n.queries, n.heads, n.value_dim}, query.options());
    const bool sums = normalises_over_keys(s.layer.options.normalisation);
    saved.push_back(output);
    saved.push_back(sums ? floats(query, {n.batch, n.heads, n.queries}) : Tensor());
    s.kernels->forward(s.layer, s.plan, inputs_of(saved), outputs_of(saved),
                       current_stream(query.device()));
    context->save_for_backward(saved);
    keep_settings(context, s);
    return output;
  }

  static variable_list backward(AutogradContext* context, const variable_list& d) {
    const auto s = kept_settings<DeviceSettings>(context);
    const variable_list saved = context->get_saved_variables();
    const Tensor d_output = d[0].to(saved[kQuery].scalar_type()).contiguous();
    variable_list g;
    for (std::size_t i = 0; i < kPairMask; ++i) {
      g.push_back(saved[i].defined() ? at::empty_like(saved[i]) : Tensor());
    }
    if (s.plan.bias_sums == 0) g[kBias] = Tensor();
    const auto workspace = [&](Index count) {
      return count > 0 ? floats(saved[kQuery], {count}) : Tensor();
    };
    const variable_list work = {workspace(s.plan.query_sums), workspace(s.plan.bias_sums),
                                workspace(s.plan.mixing_sums), workspace(s.plan.over_keys)};
    GpuAttentionGradients gradients;
    gradients.query = g[kQuery].data_ptr();
    gradients.key = g[kKey].data_ptr();
    gradients.value = g[kValue].data_ptr();
    gradients.bias = pointer<float>(g[kBias]);
    gradients.mixing = pointer<float>(g[kMixing]);
    gradients.query_sums = pointer<float>(work[0]);
    gradients.bias_sums = pointer<float>(work[1]);
    gradients.mixing_sums = pointer<float>(work[2]);
    gradients.over_keys = pointer<float>(work[3]);
    s.kernels->backward(s.layer, s.plan, inputs_of(saved), {outputs_of(saved), d_output.data_ptr()},
                        gradients, current_stream(d_output.device()));
    g.resize(kOutput + 1);  // mask, dropout, settings
    return g;
  }

 private:
  static Tensor floats(const Tensor& where, at::IntArrayRef sizes) {
    return at::empty(sizes, where.options().dtype(at::kFloat));
  }
};

}  // namespace

const std::optional<GpuAttentionPlan>& DeviceAttention::plan_of(const GpuAttentionLayer& layer,
                                                                bool bias_gradient,
                                                                bool dropout) const {
  const AttentionShape& n = layer.shape;
  const Key key = {n.batch,
                   n.heads,
                   n.queries,
                   n.keys,
                   n.query_dim,
                   n.value_dim,
                   dropout ? 1 : 0,
                   bias_gradient ? 1 : 0,
                   layer.options.causal ? 1 : 0};
  const auto found = plans_.find(key);
  if (found != plans_.end()) return found->second;
  return plans_
      .emplace(key, plan_gpu_attention(n, layer.options, layer.arithmetic, bias_gradient, dropout,
                                       sizes()))
      .first->second;
}

bool DeviceAttention::by_library(const GpuAttentionLayer& layer, const PairTensors& in) const {
  return library_attention_takes(
      library_, layer, {in.distances.defined(), in.mask.defined(), in.dropout.defined()}, sizes());
}

Tensor DeviceAttention::attended(const AttentionShape& n, const AttentionOptions& options,
                                 const PairTensors& in) const {
  if (kernels_ == nullptr) return {};
  const bool half = precision_ == Precision::kBfloat16;
  const GpuArithmetic full =
      precision_ == Precision::kTf32 ? GpuArithmetic::kTf32 : GpuArithmetic::kFloat32;
  const GpuAttentionLayer layer = {n, options, half ? GpuArithmetic::kBf16 : full};
  const auto numbers = [half](const Tensor& x) {
    return x.to(half ? at::kBFloat16 : at::kFloat).contiguous();
  };
  if (by_library(layer, in)) {
    return library_attention_function(numbers(in.query), numbers(in.key), numbers(in.value),
                                      options.causal)
        .to(in.value.scalar_type());
  }
  const bool bias_gradient = in.distances.defined() && in.distances.requires_grad();
  const auto& plan = plan_of(layer, bias_gradient, in.dropout.defined());
  if (!plan) return {};
  const auto dense = [](const Tensor& x) { return maybe(x.defined() ? x.contiguous() : x); };
  const Tensor bias =
      in.distances.defined() ? numbers_of_pairs(in, n.queries, n.keys).to(at::kFloat) : Tensor();
  return DeviceFunction::apply(numbers(in.query), numbers(in.key), numbers(in.value), dense(bias),
                               dense(in.mixing), dense(in.mask), dense(in.dropout),
                               DeviceSettings{layer, *plan, kernels_})
      .to(in.value.scalar_type());
}

}  // namespace headway::training::detail
