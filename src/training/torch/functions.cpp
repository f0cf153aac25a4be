#include "training/torch/functions.hpp"

#include <utility>

#include "training/torch/function_tools.hpp"

namespace headway::training::detail {
namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::Variable;
using torch::autograd::variable_list;

// --- pointers -----------------------------------------------------------------------------------

const float* given(const Tensor& x) { return x.defined() ? x.data_ptr<float>() : nullptr; }
float* wanted(const Tensor& x) { return x.defined() ? x.data_ptr<float>() : nullptr; }
Tensor like(const Tensor& x) { return x.defined() ? at::empty_like(x) : Tensor(); }
Tensor numbers(at::IntArrayRef sizes) { return at::empty(sizes, at::kFloat); }

// --- linear -------------------------------------------------------------------------------------

struct LinearSettings {
  BlockContext context;
  LinearShape shape;
};

LinearArrays<const float> linear_arrays(const variable_list& x) {
  return {{given(x[1]), given(x[2])}, given(x[3]), given(x[4])};
}

struct LinearFunction : Function<LinearFunction> {
  // NOLINTNEXTLINE(readability-function-size): LibTorch's signature
  static Tensor forward(AutogradContext* context, const Tensor& x, const Maybe& scale,
                        const Maybe& norm_bias, const Tensor& weight, const Tensor& bias,
                        const LinearSettings& s) {
    const Tensor stats = scale ? numbers({s.shape.rows, 2}) : Tensor();
    std::vector<Index> sizes = x.sizes().vec();
    sizes.back() = s.shape.out;
    Tensor y = numbers(sizes);
    const variable_list in = {x, or_none(scale), or_none(norm_bias), weight, bias, stats};
    linear_forward(s.context, s.shape, linear_arrays(in), given(x), wanted(y), wanted(stats));
    context->save_for_backward(in);
    context->saved_data["input"] = x.requires_grad();
    keep_settings(context, s);
    return y;
  }
  static variable_list backward(AutogradContext* context, const variable_list& d) {
    const auto s = kept_settings<LinearSettings>(context);
    const variable_list in = context->get_saved_variables();
    const Tensor dy = d[0].contiguous();
    Tensor dx = context->saved_data["input"].toBool() ? like(in[0]) : Tensor();
    variable_list g = {dx, like(in[1]), like(in[2]), like(in[3]), like(in[4]), Tensor()};
    linear_backward(s.context, s.shape, linear_arrays(in), {given(in[0]), given(in[5])},
                    {given(dy), wanted(dx)},
                    {{wanted(g[1]), wanted(g[2])}, wanted(g[3]), wanted(g[4])});
    return g;
  }
};

// --- feed-forward -------------------------------------------------------------------------------

struct FeedForwardSettings {
  BlockContext context;
  FeedForwardShape shape;
};

template <typename Float, typename Pointer>
FeedForwardArrays<Float> feed_forward_arrays(const variable_list& x, const Pointer& of) {
  return {{of(x[1]), of(x[2])}, of(x[3]), of(x[4]), of(x[5]), of(x[6]), of(x[7])};
}

struct FeedForwardFunction : Function<FeedForwardFunction> {
  // NOLINTNEXTLINE(readability-function-size): LibTorch's signature
  static Tensor forward(AutogradContext* context, const Tensor& x, const Maybe& scale,
                        const Maybe& norm_bias, const Maybe& gate, const Tensor& up,
                        const Maybe& up_bias, const Tensor& down, const Maybe& down_bias,
                        const FeedForwardSettings& s) {
    const Tensor stats = scale ? numbers({s.shape.rows, 2}) : Tensor();
    const Tensor hidden = numbers({s.shape.gated ? 2 : 1, s.shape.rows, s.shape.hidden});
    Tensor y = at::empty_like(x);
    const variable_list in =
        listed(x, scale, norm_bias, gate, up, up_bias, down, down_bias, stats, hidden);
    feed_forward_forward(s.context, s.shape, feed_forward_arrays<const float>(in, given), given(x),
                         wanted(y), {wanted(stats), wanted(hidden)});
    context->save_for_backward(in);
    keep_settings(context, s);
    return y;
  }
  static variable_list backward(AutogradContext* context, const variable_list& d) {
    const auto s = kept_settings<FeedForwardSettings>(context);
    const variable_list in = context->get_saved_variables();
    const Tensor dy = d[0].contiguous();
    variable_list g;
    for (std::size_t i = 0; i < 8; ++i) g.push_back(like(in[i]));
    g.emplace_back();
    feed_forward_backward(s.context, s.shape, feed_forward_arrays<const float>(in, given),
                          {given(in[0]), {wanted(in[8]), wanted(in[9])}}, {given(dy), wanted(g[0])},
                          feed_forward_arrays<float>(g, wanted));
    return g;
  }
};

// --- attention ----------------------------------------------------------------------------------

struct AttentionSettings {
  BlockContext context;
  AttentionBlockShape shape;
};

// The first 13 arguments of AttentionFunction: x, then these.
template <typename Float, typename Pointer>
AttentionBlockArrays<Float> attention_arrays(const variable_list& x, const Pointer& of) {
  return {{of(x[1]), of(x[2])},
          of(x[3]),
          of(x[4]),
          of(x[5]),
          of(x[6]),
          of(x[7]),
          of(x[8]),
          of(x[9]),
          of(x[10]),
          of(x[11]),
          of(x[12])};
}
constexpr std::size_t kMask = 13;
constexpr std::size_t kDropout = 14;
constexpr std::size_t kSaved = 15;

AttentionBlockGiven attention_given(const variable_list& x) {
  return {given(x[0]), x[kMask].defined() ? x[kMask].data_ptr<std::uint8_t>() : nullptr,
          given(x[kDropout])};
}
AttentionBlockSaved attention_saved(const variable_list& x) {
  return {wanted(x[kSaved]),     wanted(x[kSaved + 1]), wanted(x[kSaved + 2]),
          wanted(x[kSaved + 3]), wanted(x[kSaved + 4]), wanted(x[kSaved + 5])};
}

// Memory for what attention_saved points to; the norm has `rows` an example.
void append_saved(const AttentionShape& n, Index rows, const AttentionOptions& options,
                  variable_list* in) {
  in->push_back(numbers({n.batch, rows, 2}));
  in->push_back(numbers({n.batch, n.queries, n.heads, n.query_dim}));
  in->push_back(numbers({n.batch, n.keys, n.heads, n.query_dim}));
  in->push_back(numbers({n.batch, n.keys, n.heads, n.value_dim}));
  in->push_back(numbers({n.batch, n.queries, n.heads, n.value_dim}));
  const bool softmax = normalises_over_keys(options.normalisation);
  in->push_back(softmax ? numbers({n.batch, n.heads, n.queries}) : Tensor());
}

struct AttentionFunction : Function<AttentionFunction> {
  // NOLINTNEXTLINE(readability-function-size): LibTorch's signature
  static Tensor forward(AutogradContext* context, const Tensor& x, const Tensor& scale,
                        const Maybe& norm_bias, const Tensor& query, const Tensor& query_bias,
                        const Tensor& key, const Tensor& key_bias, const Tensor& value,
                        const Tensor& value_bias, const Tensor& output, const Tensor& output_bias,
                        const Maybe& mixing, const Maybe& scores, const Maybe& mask,
                        const Maybe& dropout, const AttentionSettings& s) {
    const AttentionShape& n = s.shape.attention;
    variable_list in = listed(x, scale, norm_bias, query, query_bias, key, key_bias, value,
                              value_bias, output, output_bias, mixing, scores, mask, dropout);
    append_saved(n, n.keys, s.shape.options, &in);
    Tensor y = numbers({n.batch, n.queries, s.shape.dim});
    attention_block_forward(s.context, s.shape, attention_arrays<const float>(in, given),
                            attention_given(in), wanted(y), attention_saved(in));
    context->save_for_backward(in);
    keep_settings(context, s);
    return y;
  }
  static variable_list backward(AutogradContext* context, const variable_list& d) {
    const auto s = kept_settings<AttentionSettings>(context);
    const variable_list in = context->get_saved_variables();
    const Tensor dy = d[0].contiguous();
    variable_list g;
    for (std::size_t i = 0; i < kMask; ++i) g.push_back(like(in[i]));
    attention_block_backward(s.context, s.shape, attention_arrays<const float>(in, given),
                             {attention_given(in), attention_saved(in)}, {given(dy), wanted(g[0])},
                             attention_arrays<float>(g, wanted));
    g.resize(kSaved + 1);  // mask, dropout, settings
    return g;
  }
};

// --- cross-attention ----------------------------------------------------------------------------

struct CrossSettings {
  BlockContext context;
  CrossAttentionShape shape;
};

// After the arguments of AttentionFunction and what it saves: the memory, its norm and their stats.
constexpr std::size_t kMemory = kSaved + 6;

template <typename Float, typename Pointer>
CrossAttentionArrays<Float> cross_arrays(const variable_list& block, const variable_list& memory,
                                         const Pointer& of) {
  return {attention_arrays<Float>(block, of), {of(memory[1]), of(memory[2])}};
}

struct CrossAttentionFunction : Function<CrossAttentionFunction> {
  // NOLINTNEXTLINE(readability-function-size): LibTorch's signature
  static Tensor forward(AutogradContext* context, const Tensor& x, const Tensor& scale,
                        const Maybe& norm_bias, const Tensor& query, const Tensor& query_bias,
                        const Tensor& key, const Tensor& key_bias, const Tensor& value,
                        const Tensor& value_bias, const Tensor& output, const Tensor& output_bias,
                        const Maybe& mixing, const Maybe& scores, const Maybe& mask,
                        const Maybe& dropout, const Tensor& memory, const Maybe& memory_scale,
                        const Maybe& memory_bias, const CrossSettings& s) {
    const AttentionShape& n = s.shape.attention;
    variable_list in = listed(x, scale, norm_bias, query, query_bias, key, key_bias, value,
                              value_bias, output, output_bias, mixing, scores, mask, dropout);
    append_saved(n, n.queries, s.shape.options, &in);
    const Tensor memory_stats = memory_scale ? numbers({n.batch, n.keys, 2}) : Tensor();
    in.insert(in.end(), {memory, or_none(memory_scale), or_none(memory_bias), memory_stats});
    Tensor y = numbers({n.batch, n.queries, s.shape.dim});
    cross_attention_forward(s.context, s.shape, cross_arrays<const float>(in, memory_of(in), given),
                            {attention_given(in), given(memory)}, wanted(y),
                            {attention_saved(in), wanted(in[kMemory + 3])});
    context->save_for_backward(in);
    keep_settings(context, s);
    return y;
  }
  static variable_list backward(AutogradContext* context, const variable_list& d) {
    const auto s = kept_settings<CrossSettings>(context);
    const variable_list in = context->get_saved_variables();
    const Tensor dy = d[0].contiguous();
    variable_list g;
    for (std::size_t i = 0; i < kMask; ++i) g.push_back(like(in[i]));
    const variable_list memory = {like(in[kMemory]), like(in[kMemory + 1]), like(in[kMemory + 2])};
    cross_attention_backward(
        s.context, s.shape, cross_arrays<const float>(in, memory_of(in), given),
        {{attention_given(in), given(in[kMemory])}, {attention_saved(in), wanted(in[kMemory + 3])}},
        {{given(dy), wanted(g[0])}, wanted(memory[0])}, cross_arrays<float>(g, memory, wanted));
    g.resize(kSaved);  // mask, dropout
    g.insert(g.end(), memory.begin(), memory.end());
    g.emplace_back();  // settings
    return g;
  }

 private:
  static variable_list memory_of(const variable_list& in) {
    return {in[kMemory], in[kMemory + 1], in[kMemory + 2]};
  }
};

Index rows_of(const Tensor& x) { return x.numel() / x.size(-1); }

}  // namespace

Tensor fused_linear(const BlockContext& context, bool centred, const Tensor& x,
                    const NormTensors& norm, const Tensor& weight, const Tensor& bias) {
  const LinearShape shape{rows_of(x), weight.size(1), weight.size(0), centred};
  return LinearFunction::apply(x.contiguous(), maybe(norm.scale), maybe(norm.bias), weight, bias,
                               LinearSettings{context, shape});
}

Tensor fused_feed_forward(const BlockContext& context, bool centred, bool residual, const Tensor& x,
                          const FeedForwardTensors& p) {
  const FeedForwardShape shape{rows_of(x), x.size(-1),       p.up.size(0),
                               centred,    p.gate.defined(), residual};
  return FeedForwardFunction::apply(x.contiguous(), maybe(p.norm.scale), maybe(p.norm.bias),
                                    maybe(p.gate), p.up.contiguous(), maybe(p.up_bias),
                                    p.down.contiguous(), maybe(p.down_bias),
                                    FeedForwardSettings{context, shape});
}

Tensor fused_attention(const BlockContext& context, const AttentionBlockShape& shape,
                       const Tensor& x, const AttentionTensors& p, const ScoreTensors& pairs) {
  const Tensor& scores = pairs.scores;
  return AttentionFunction::apply(
      x.contiguous(), p.norm.scale, maybe(p.norm.bias), p.query, p.query_bias, p.key, p.key_bias,
      p.value, p.value_bias, p.output, p.output_bias, maybe(p.mixing),
      maybe(scores.defined() ? scores.contiguous() : scores), maybe(pairs.mask),
      maybe(pairs.dropout), AttentionSettings{context, shape});
}

Tensor fused_cross_attention(const BlockContext& context, const CrossAttentionShape& shape,
                             const Tensor& x, const MemoryTensors& memory,
                             const AttentionTensors& p, const ScoreTensors& pairs) {
  const Tensor& scores = pairs.scores;
  return CrossAttentionFunction::apply(
      x.contiguous(), p.norm.scale, maybe(p.norm.bias), p.query, p.query_bias, p.key, p.key_bias,
      p.value, p.value_bias, p.output, p.output_bias, maybe(p.mixing),
      maybe(scores.defined() ? scores.contiguous() : scores), maybe(pairs.mask),
      maybe(pairs.dropout), memory.x.contiguous(), maybe(memory.norm.scale),
      maybe(memory.norm.bias), CrossSettings{context, shape});
}

}  // namespace headway::training::detail
