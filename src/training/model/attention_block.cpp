#include <algorithm>

#include "training/model/block_rows.hpp"

namespace headway::training::detail {

namespace {

// The last `last` rows of each of `units` runs of `length` rows, to or from a dense array.
void gather_last(Index units, Index length, Index last, Index dim, const float* from, float* to) {
  for (Index u = 0; u < units; ++u) {
    std::copy_n(from + ((u + 1) * length - last) * dim, last * dim, to + u * last * dim);
  }
}
void scatter_last(Index units, Index length, Index last, Index dim, const float* from, float* to) {
  for (Index u = 0; u < units; ++u) {
    std::fill_n(to + u * length * dim, (length - last) * dim, 0.0F);
    std::copy_n(from + u * last * dim, last * dim, to + ((u + 1) * length - last) * dim);
  }
}

// Sizes of the block that both passes use.
struct Sizes {
  Index batch, tokens, queries, heads, d, dv, dim, q, v;
  explicit Sizes(const AttentionBlockShape& n)
      : batch(n.attention.batch),
        tokens(n.attention.keys),
        queries(n.attention.queries),
        heads(n.attention.heads),
        d(n.attention.query_dim),
        dv(n.attention.value_dim),
        dim(n.dim),
        q(heads * d),
        v(heads * dv) {}
};

// The table of a call; empty where nothing is turned.
RotaryTable rotary_table(const AttentionBlockShape& shape) {
  return {shape.rotary ? shape.attention.keys : Index{0}, shape.attention.query_dim};
}

void rotate(const AttentionBlockShape& shape, const RotaryTable& table, Index units, bool inverse,
            float* query, float* key) {
  if (!shape.rotary) return;
  const Sizes n(shape);
  for (Index u = 0; u < units; ++u) {
    table.turn(n.queries, n.heads, n.tokens - n.queries, inverse, query + u * n.queries * n.q);
    table.turn(n.tokens, n.heads, 0, inverse, key + u * n.tokens * n.q);
  }
}

// y = x W + bias, W [in, out].
void project(const BlockContext& context, const LinearShape& n, const TransposedWeight& weight,
             const float* bias, const float* x, float* y) {
  context.kernels->fill_rows(n.rows, n.out, bias, y);
  context.product(false, false, n.rows, n.out, n.in, x, n.in, weight.data(), n.out, 1.0F, y, n.out);
}

}  // namespace

void attention_block_forward(const BlockContext& context, const AttentionBlockShape& shape,
                             const AttentionBlockArrays<const float>& p,
                             const AttentionBlockGiven& given, float* y,
                             const AttentionBlockSaved& saved) {
  const float* x = given.x;
  const Sizes n(shape);
  const RowPieces pieces(n.batch, n.tokens, 0);
  const bool all = n.queries == n.tokens;
  const RotaryTable rotary = rotary_table(shape);
  const TransposedWeight to_query(p.query, n.q, n.dim);
  const TransposedWeight to_key(p.key, n.q, n.dim);
  const TransposedWeight to_value(p.value, n.v, n.dim);
  const TransposedWeight to_output(p.output, n.dim, n.v);
  pieces.for_chunks(context.threads, [&](Index first, Index units) {
    const Index row = first * n.tokens;
    const Index rows = units * n.tokens;
    float* query = saved.query + first * n.queries * n.q;
    float* key = saved.key + row * n.q;
    const float* z = normed(context, norm_rows(p.norm, rows, n.dim, shape.centred), x + row * n.dim,
                            saved.stats + 2 * row);
    project(context, {rows, n.dim, n.q}, to_key, p.key_bias, z, key);
    project(context, {rows, n.dim, n.v}, to_value, p.value_bias, z, saved.value + row * n.v);
    if (!all) {
      float* last = thread_buffer(1, units * n.queries * n.dim);
      gather_last(units, n.tokens, n.queries, n.dim, z, last);
      z = last;
    }
    project(context, {units * n.queries, n.dim, n.q}, to_query, p.query_bias, z, query);
    rotate(shape, rotary, units, false, query, key);
  });
  attention_forward(shape.attention, shape.options, attention_inputs(p, given, saved),
                    {saved.output, saved.log_sum_exp}, context.threads);
  RowPieces(n.batch, n.queries, 0).for_chunks(context.threads, [&](Index first, Index units) {
    const Index rows = units * n.queries;
    float* out = y + first * n.queries * n.dim;
    const float* in = x + first * n.tokens * n.dim;
    if (!all) {
      float* last = thread_buffer(1, rows * n.dim);
      gather_last(units, n.tokens, n.queries, n.dim, in, last);
      in = last;
    }
    context.kernels->add_rows(rows, n.dim, in, p.output_bias, out);
    context.product(false, false, rows, n.dim, n.v, saved.output + first * n.queries * n.v, n.v,
                    to_output.data(), n.dim, 1.0F, out, n.dim);
  });
}

namespace {

// Gradients of queries, keys, values and of the attention's output, and of the block's ends.
struct Inner {
  float *query, *key, *value, *output;
  PassedBack ends;
};

// Back through the output projection.
void output_backward(const BlockContext& context, const Sizes& n,
                     const AttentionBlockArrays<const float>& p, const float* attended,
                     const Inner& inner, const AttentionBlockArrays<float>& g) {
  const float* dy = inner.ends.dy;
  float* d_attended = inner.output;
  const RowPieces pieces(n.batch, n.queries, n.dim * n.v);
  PartialSums sums(pieces.groups, {{g.output, n.dim * n.v, kProduct}, {g.output_bias, n.dim}});
  pieces.for_groups(context.threads, [&](Index group, Index first, Index units) {
    const Index row = first * n.queries;
    const Index rows = units * n.queries;
    const float* d = dy + row * n.dim;
    const float beta = sums.begin_chunk(group);
    context.product(false, false, rows, n.v, n.dim, d, n.dim, p.output, n.v, 0.0F,
                    d_attended + row * n.v, n.v);
    context.product(true, false, n.dim, n.v, rows, d, n.dim, attended + row * n.v, n.v, beta,
                    sums.at(group, 0), n.v);
    context.kernels->column_sums(rows, n.dim, d, sums.at(group, 1));
  });
  sums.finish(context.threads);
}

// Gradients of all that comes before the attention, in this order.
PartialSums input_sums(Index groups, const Sizes& n, const AttentionBlockArrays<float>& g,
                       bool norm_has_bias) {
  return {groups,
          {{g.query, n.dim * n.q, kProduct},
           {g.query_bias, n.q},
           {g.key, n.dim * n.q, kProduct},
           {g.key_bias, n.q},
           {g.value, n.dim * n.v, kProduct},
           {g.value_bias, n.v},
           {g.norm.scale, n.dim},
           {g.norm.bias, norm_has_bias ? n.dim : 0}}};
}

// Back through the projections of queries, keys and values, the norm and the residual.
void input_backward(const BlockContext& context, const AttentionBlockShape& shape,
                    const AttentionBlockArrays<const float>& p, const LinearPass& pass,
                    const Inner& inner, const AttentionBlockArrays<float>& g) {
  const float* x = pass.x;
  const float* stats = pass.stats;
  const float* dy = inner.ends.dy;
  float* dx = inner.ends.dx;
  const Sizes n(shape);
  const bool all = n.queries == n.tokens;
  const RotaryTable rotary = rotary_table(shape);
  const RowPieces pieces(n.batch, n.tokens, n.dim * (2 * n.q + n.v));
  PartialSums sums = input_sums(pieces.groups, n, g, p.norm.bias != nullptr);
  pieces.for_groups(context.threads, [&](Index group, Index first, Index units) {
    const Index row = first * n.tokens;
    const Index rows = units * n.tokens;
    const Index query_rows = units * n.queries;
    const NormRows norm = norm_rows(p.norm, rows, n.dim, shape.centred);
    float* dq = inner.query + first * n.queries * n.q;
    float* dk = inner.key + row * n.q;
    const float* dv = inner.value + row * n.v;
    rotate(shape, rotary, units, true, dq, dk);
    const float beta = sums.begin_chunk(group);
    const float* z = normed(context, norm, x + row * n.dim, nullptr);
    float* dz = thread_buffer(1, rows * n.dim);
    const auto weight = [&](std::size_t part, Index count, Index out, const float* d,
                            const float* in) {
      context.product(true, false, out, n.dim, count, d, out, in, n.dim, beta, sums.at(group, part),
                      n.dim);
      context.kernels->column_sums(count, out, d, sums.at(group, part + 1));
    };
    const auto back = [&](Index count, Index out, const float* d, const float* w, float previous,
                          float* to) {
      context.product(false, false, count, n.dim, out, d, out, w, n.dim, previous, to, n.dim);
    };
    weight(2, rows, n.q, dk, z);
    weight(4, rows, n.v, dv, z);
    if (all) {
      weight(0, rows, n.q, dq, z);
      back(rows, n.q, dq, p.query, 0.0F, dz);
    } else {
      float* last = thread_buffer(2, query_rows * n.dim);
      gather_last(units, n.tokens, n.queries, n.dim, z, last);
      weight(0, query_rows, n.q, dq, last);
      back(query_rows, n.q, dq, p.query, 0.0F, last);
      scatter_last(units, n.tokens, n.queries, n.dim, last, dz);
      scatter_last(units, n.tokens, n.queries, n.dim, dy + first * n.queries * n.dim,
                   dx + row * n.dim);
    }
    back(rows, n.q, dk, p.key, 1.0F, dz);
    back(rows, n.v, dv, p.value, 1.0F, dz);
    const float* residual = all ? dy + row * n.dim : dx + row * n.dim;
    context.kernels->norm_backward(norm, x + row * n.dim, stats + 2 * row, dz, residual,
                                   dx + row * n.dim, sums.at(group, 6),
                                   norm.bias == nullptr ? nullptr : sums.at(group, 7));
  });
  sums.finish(context.threads);
}

}  // namespace

void attention_block_backward(const BlockContext& context, const AttentionBlockShape& shape,
                              const AttentionBlockArrays<const float>& p,
                              const AttentionBlockPass& pass, const PassedBack& passed,
                              const AttentionBlockArrays<float>& g) {
  const auto& [given, saved] = pass;
  const Sizes n(shape);
  const Index queries = n.batch * n.queries;
  const Index keys = n.batch * n.tokens;
  const Inner inner = {thread_buffer(4, queries * n.q), thread_buffer(5, keys * n.q),
                       thread_buffer(6, keys * n.v), thread_buffer(7, queries * n.v), passed};
  output_backward(context, n, p, saved.output, inner, g);
  attention_backward(shape.attention, shape.options, attention_inputs(p, given, saved),
                     {{saved.output, saved.log_sum_exp}, inner.output},
                     {inner.query, inner.key, inner.value, g.scores, g.mixing}, context.threads);
  input_backward(context, shape, p, {given.x, saved.stats}, inner, g);
}

}  // namespace headway::training::detail
