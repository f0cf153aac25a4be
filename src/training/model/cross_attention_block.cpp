#include "training/model/cross_attention_block.hpp"

#include <vector>

#include "training/model/block_rows.hpp"
#include "training/model/row_pieces.hpp"

namespace headway::training::detail {
namespace {

// The linear maps of the block, and what both passes use.
struct Maps {
  AttentionOptions options;
  LinearShape query, key, value, output;

  explicit Maps(const CrossAttentionShape& n) : options(n.options) {
    const AttentionShape& s = n.attention;
    const Index targets = s.batch * s.queries;
    const Index memory = s.batch * s.keys;
    const Index dims = s.heads * s.query_dim;
    const Index value_dims = s.heads * s.value_dim;
    options.causal = false;
    query = {targets, n.dim, dims, n.centred};
    key = {memory, n.memory_dim, dims, n.centred};
    value = {memory, n.memory_dim, value_dims, n.centred};
    output = {targets, value_dims, n.dim, n.centred};
  }
};

void rotate(const BlockContext& context, const CrossAttentionShape& shape, bool inverse,
            float* query, float* key) {
  if (!shape.rotary) return;
  const AttentionShape& s = shape.attention;
  const RotaryTable table(s.keys + s.queries, s.query_dim);
  const Index dims = s.heads * s.query_dim;
  parallel_for(s.batch, context.threads, [&](Index b) {
    table.turn(s.queries, s.heads, s.keys, inverse, query + b * s.queries * dims);
    table.turn(s.keys, s.heads, 0, inverse, key + b * s.keys * dims);
  });
}

// y += x, rows of `dim`.
void add(const BlockContext& context, Index rows, Index dim, const float* x, float* y) {
  RowPieces(rows, 1, 0).for_chunks(context.threads, [&](Index first, Index count) {
    context.kernels->add(count * dim, x + first * dim, y + first * dim);
  });
}

// The memory with what came back to its keys and values, and where its gradient goes.
struct Memory {
  LinearPass pass;
  const float *d_key, *d_value;
  float* dx;
};

// Back through keys and values to the memory and its norm. Both add to these gradients.
void memory_backward(const BlockContext& context, const Maps& maps,
                     const CrossAttentionArrays<const float>& p, const Memory& memory,
                     const CrossAttentionArrays<float>& g) {
  const Index rows = maps.key.rows;
  const Index dim = maps.key.in;
  linear_backward(context, maps.key, {p.memory_norm, p.block.key, p.block.key_bias}, memory.pass,
                  {memory.d_key, memory.dx}, {g.memory_norm, g.block.key, g.block.key_bias});
  float* from_values = thread_buffer(3, rows * dim);
  std::vector<float> norm(static_cast<std::size_t>(2 * dim));
  const NormArrays<float> d_norm = {g.memory_norm.scale == nullptr ? nullptr : norm.data(),
                                    g.memory_norm.bias == nullptr ? nullptr : norm.data() + dim};
  linear_backward(context, maps.value, {p.memory_norm, p.block.value, p.block.value_bias},
                  memory.pass, {memory.d_value, from_values},
                  {d_norm, g.block.value, g.block.value_bias});
  add(context, rows, dim, from_values, memory.dx);
  if (d_norm.scale != nullptr) context.kernels->add(dim, d_norm.scale, g.memory_norm.scale);
  if (d_norm.bias != nullptr) context.kernels->add(dim, d_norm.bias, g.memory_norm.bias);
}

}  // namespace

void cross_attention_forward(const BlockContext& context, const CrossAttentionShape& shape,
                             const CrossAttentionArrays<const float>& p,
                             const CrossAttentionGiven& given, float* y,
                             const CrossAttentionSaved& saved) {
  const Maps maps(shape);
  const AttentionBlockSaved& s = saved.block;
  linear_forward(context, maps.query, {p.block.norm, p.block.query, p.block.query_bias},
                 given.block.x, s.query, s.stats);
  linear_forward(context, maps.key, {p.memory_norm, p.block.key, p.block.key_bias}, given.memory,
                 s.key, saved.memory_stats);
  linear_forward(context, maps.value, {p.memory_norm, p.block.value, p.block.value_bias},
                 given.memory, s.value, saved.memory_stats);
  rotate(context, shape, false, s.query, s.key);
  attention_forward(shape.attention, maps.options, attention_inputs(p.block, given.block, s),
                    {s.output, s.log_sum_exp}, context.threads);
  linear_forward(context, maps.output, {{}, p.block.output, p.block.output_bias}, s.output, y,
                 nullptr);
  add(context, maps.query.rows, shape.dim, given.block.x, y);
}

void cross_attention_backward(const BlockContext& context, const CrossAttentionShape& shape,
                              const CrossAttentionArrays<const float>& p,
                              const CrossAttentionPass& pass, const CrossPassedBack& passed,
                              const CrossAttentionArrays<float>& g) {
  const auto& [given, saved] = pass;
  const Maps maps(shape);
  const AttentionBlockSaved& s = saved.block;
  const auto [dy, dx] = passed.block;
  float* d_query = thread_buffer(4, maps.query.rows * maps.query.out);
  float* d_key = thread_buffer(5, maps.key.rows * maps.key.out);
  float* d_value = thread_buffer(6, maps.value.rows * maps.value.out);
  float* d_attended = thread_buffer(7, maps.output.rows * maps.output.in);
  linear_backward(context, maps.output, {{}, p.block.output, p.block.output_bias},
                  {s.output, nullptr}, {dy, d_attended}, {{}, g.block.output, g.block.output_bias});
  attention_backward(shape.attention, maps.options, attention_inputs(p.block, given.block, s),
                     {{s.output, s.log_sum_exp}, d_attended},
                     {d_query, d_key, d_value, g.block.scores, g.block.mixing}, context.threads);
  rotate(context, shape, true, d_query, d_key);
  linear_backward(context, maps.query, {p.block.norm, p.block.query, p.block.query_bias},
                  {given.block.x, s.stats}, {d_query, dx},
                  {g.block.norm, g.block.query, g.block.query_bias});
  add(context, maps.query.rows, shape.dim, dy, dx);  // the residual
  memory_backward(context, maps, p,
                  {{given.memory, saved.memory_stats}, d_key, d_value, passed.d_memory}, g);
}

}  // namespace headway::training::detail
