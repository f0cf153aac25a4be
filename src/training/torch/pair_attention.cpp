#include "training/torch/pair_attention.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "training/torch/bfloat16_products.hpp"
#include "training/torch/function_tools.hpp"

namespace headway::training::detail {
namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

constexpr double kFarBelow = -1e30;  // any score; exp of it is 0

Tensor apply(Nonlinearity phi, const Tensor& x) {
  switch (phi) {
    case Nonlinearity::kIdentity:
      return x;
    case Nonlinearity::kRelu:
      return at::relu(x);
    case Nonlinearity::kGelu:
      return at::gelu(x, "tanh");
    case Nonlinearity::kSilu:
      return at::silu(x);
    case Nonlinearity::kTanh:
      return at::tanh(x);
    case Nonlinearity::kSquaredRelu:
      return at::square(at::relu(x));
  }
  return x;
}

// Queries first, ..., first + count - 1 of a layer, and the first keys, all that they may see.
struct Chunk {
  Index first, count, keys;
};

// 1 where a query of the chunk sees a key: [B or 1, 1, count, keys] of bool; undefined when every
// pair is seen.
Tensor visible_pairs(const AttentionShape& n, bool is_causal, const Chunk& c, const Tensor& mask,
                     const Tensor& x) {
  Tensor visible;
  if (mask.defined()) visible = mask.to(at::kBool).view({n.batch, 1, 1, c.keys});
  if (!is_causal) return visible;
  const Tensor causal = at::ones({c.count, c.keys}, x.options().dtype(at::kBool))
                            .tril(n.keys - n.queries + c.first)
                            .view({1, 1, c.count, c.keys});
  return visible.defined() ? at::logical_and(visible, causal) : causal;
}

Tensor weights_of(Normalisation normalisation, Tensor s, const Tensor& visible) {
  if (normalises_over_keys(normalisation)) {
    if (!visible.defined()) return at::softmax(s, 3);
    // Not -infinity: a query that sees no key has weights 0, and gradients that are numbers.
    const Tensor hidden = at::logical_not(visible);
    return at::softmax(s.masked_fill(hidden, kFarBelow), 3).masked_fill(hidden, 0.0);
  }
  if (visible.defined()) s = s.masked_fill(at::logical_not(visible), 0.0);
  switch (normalisation) {
    case Normalisation::kRmsHead:
      return s / at::sqrt(at::mean(at::square(s), {1}, true) + kRmsHeadEpsilon);
    case Normalisation::kNone:
    case Normalisation::kSoftmax:  // done above
      break;
  }
  return s;
}

// b [B, H, Sq, S], v [B, S, H, dv]; [B, Sq, H, dv].
Tensor attended(const AttentionOptions& options, const Tensor& b, const Tensor& v,
                const Tensor& mixing) {
  if (!is_generated(options.value_network)) {
    return at::einsum("bhqk,bkhe->bqhe", {b, apply(options.nonlinearity, v)});
  }
  Tensor u = at::einsum("bhqk,bkhe->bqke", {b, v});
  if (has_mixing(options.value_network)) {
    const Tensor mixed = at::einsum("hef,bqkf->bhqke", {mixing, apply(options.nonlinearity, u)});
    u = at::einsum("bhqk,bhqke->bqke", {b, mixed});
  }
  return at::einsum("bhqk,bqke->bqhe", {b, apply(options.nonlinearity, u)});
}

// The numbers of the pairs, [H, count, keys], from those of the distances of the chunk alone.
Tensor by_pair(const Tensor& distances, const Chunk& c) {
  return distances.unfold(1, c.keys, 1).flip({1});
}

// `in` holds the chunk's parts alone.
Tensor chunk_output(const AttentionShape& n, const AttentionOptions& options, const PairTensors& in,
                    const Chunk& c, Tensor* weights) {
  // Of bf16 products, too, weights are made in float32.
  Tensor s = at::einsum("bqhd,bkhd->bhqk", {in.query, in.key}).to(at::kFloat) /
             std::sqrt(static_cast<double>(n.query_dim));
  if (in.distances.defined()) s = s + by_pair(in.distances, c);
  const Tensor a =
      weights_of(options.normalisation, s, visible_pairs(n, options.causal, c, in.mask, s));
  if (weights != nullptr) *weights = a;
  return attended(options, in.dropout.defined() ? a * in.dropout : a, in.value, in.mixing);
}

Tensor narrowed(const Tensor& x, Index dim, Index first, Index count) {
  return x.defined() ? x.narrow(dim, first, count) : x;
}

// Views of what a chunk reads.
PairTensors part_of(const PairTensors& in, const Chunk& c) {
  PairTensors part;
  part.query = narrowed(in.query, 1, c.first, c.count);
  part.key = narrowed(in.key, 1, 0, c.keys);
  part.value = narrowed(in.value, 1, 0, c.keys);
  part.distances =
      narrowed(in.distances, 1, in.first - (c.first + c.count - 1), c.count + c.keys - 1);
  part.mask = narrowed(in.mask, 1, 0, c.keys);
  part.dropout = narrowed(narrowed(in.dropout, 0, c.first, c.count), 1, 0, c.keys);
  part.mixing = in.mixing;
  return part;
}

struct ChunkSettings {
  AttentionShape shape;
  AttentionOptions options;
  Index chunk;  // queries
  Index first;  // of PairTensors
  bool bfloat16;
};

Chunk chunk_at(const ChunkSettings& s, Index first) {
  const Index count = std::min(s.chunk, s.shape.queries - first);
  const Index seen = s.shape.keys - s.shape.queries + first + count;  // where it is causal
  return {first, count, s.options.causal ? std::clamp<Index>(seen, 1, s.shape.keys) : s.shape.keys};
}

// Five tensors that gradients are wanted of, then mask and dropout.
constexpr std::size_t kWithGradient = 5;
std::array<Tensor*, kWithGradient> with_gradient(PairTensors* in) {
  return {&in->query, &in->key, &in->value, &in->distances, &in->mixing};
}

struct ChunkedAttention : Function<ChunkedAttention> {
  // NOLINTNEXTLINE(readability-function-size): LibTorch's signature
  static Tensor forward(AutogradContext* context, const Tensor& query, const Tensor& key,
                        const Tensor& value, const Maybe& distances, const Maybe& mixing,
                        const Maybe& mask, const Maybe& dropout, const ChunkSettings& s) {
    const variable_list saved = listed(query, key, value, distances, mixing, mask, dropout);
    const PairTensors in = pairs_of(saved, s);
    // One output for all chunks. An array for each chunk would lie among the large ones that come
    // and go, and keep the heap from using their memory again.
    Tensor output;
    for (Index first = 0; first < s.shape.queries; first += s.chunk) {
      const Chunk c = chunk_at(s, first);
      const Tensor part = chunk_output(s.shape, s.options, part_of(in, c), c, nullptr);
      if (!output.defined()) {
        output = at::empty({s.shape.batch, s.shape.queries, s.shape.heads, s.shape.value_dim},
                           part.options());
      }
      output.narrow(1, c.first, c.count).copy_(part);
    }
    context->save_for_backward(saved);
    keep_settings(context, s);
    return output;
  }

  static variable_list backward(AutogradContext* context, const variable_list& d) {
    const auto s = kept_settings<ChunkSettings>(context);
    const variable_list saved = context->get_saved_variables();
    const PairTensors in = pairs_of(saved, s);
    PairTensors sums = in;
    for (Tensor* sum : with_gradient(&sums)) {
      if (sum->defined()) *sum = at::zeros_like(*sum, sum->options().dtype(at::kFloat));
    }
    for (Index first = 0; first < s.shape.queries; first += s.chunk) {
      const Chunk c = chunk_at(s, first);
      add_chunk(s, c, part_of(in, c), d[0].narrow(1, c.first, c.count), part_of(sums, c));
    }
    variable_list g;
    for (const Tensor* sum : with_gradient(&sums)) {
      g.push_back(sum->defined() ? sum->to(saved[g.size()].scalar_type()) : Tensor());
    }
    g.resize(saved.size() + 1);  // mask, dropout, settings
    return g;
  }

 private:
  static PairTensors pairs_of(const variable_list& x, const ChunkSettings& s) {
    return {x[0], x[1], x[2], x[3], s.first, x[5], x[6], x[4]};
  }

  // Computes the chunk again and adds its gradients to the views of `sums`.
  static void add_chunk(const ChunkSettings& s, const Chunk& c, PairTensors part,
                        const Tensor& d_output, PairTensors sums) {
    variable_list leaves;
    for (Tensor* x : with_gradient(&part)) {
      if (!x->defined()) continue;
      *x = x->detach().set_requires_grad(true);
      leaves.push_back(*x);
    }
    Tensor output;
    {
      const at::AutoGradMode gradients(true);
      const Bfloat16Products products(s.bfloat16, part.query.device().type());
      output = chunk_output(s.shape, s.options, part, c, nullptr);
    }
    const variable_list found = torch::autograd::grad({output}, leaves, {d_output});
    std::size_t i = 0;
    for (Tensor* sum : with_gradient(&sums)) {
      if (sum->defined()) sum->add_(found[i++]);
    }
  }
};

}  // namespace

Tensor numbers_of_pairs(const PairTensors& in, Index queries, Index keys) {
  const Chunk whole = {0, queries, keys};
  return by_pair(part_of(in, whole).distances, whole);
}

Tensor attended_pairs(const AttentionShape& n, const AttentionOptions& options,
                      const PairTensors& in, const PairMemory& memory, Tensor* weights) {
  const double of_query = pair_bytes_of_query(n, options);
  if (weights != nullptr || of_query * static_cast<double>(n.queries) <= memory.kept) {
    const Chunk whole = {0, n.queries, n.keys};
    return chunk_output(n, options, part_of(in, whole), whole, weights);
  }
  const auto chunk = static_cast<Index>(std::max(1.0, std::floor(memory.chunk / of_query)));
  const ChunkSettings settings = {n, options, chunk, in.first,
                                  Bfloat16Products::are_on(in.query.device().type())};
  return ChunkedAttention::apply(in.query, in.key, in.value, maybe(in.distances), maybe(in.mixing),
                                 maybe(in.mask), maybe(in.dropout), settings);
}

}  // namespace headway::training::detail
