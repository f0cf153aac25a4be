#include "training/model/block_rows.hpp"

namespace headway::training::detail {

void linear_forward(const BlockContext& context, const LinearShape& n,
                    const LinearArrays<const float>& p, const float* x, float* y, float* stats) {
  const RowPieces pieces(n.rows, 1, 0);
  const TransposedWeight weight(p.weight, n.out, n.in);
  pieces.for_chunks(context.threads, [&](Index first, Index rows) {
    const NormRows norm = norm_rows(p.norm, rows, n.in, n.centred);
    const float* z =
        normed(context, norm, x + first * n.in, stats == nullptr ? nullptr : stats + 2 * first);
    float* out = y + first * n.out;
    context.kernels->fill_rows(rows, n.out, p.bias, out);
    context.product(false, false, rows, n.out, n.in, z, n.in, weight.data(), n.out, 1.0F, out,
                    n.out);
  });
}

void linear_backward(const BlockContext& context, const LinearShape& n,
                     const LinearArrays<const float>& p, const LinearPass& pass,
                     const PassedBack& passed, const LinearArrays<float>& g) {
  const float* x = pass.x;
  const float* stats = pass.stats;
  const float* dy = passed.dy;
  float* dx = passed.dx;
  const Index norm_floats = p.norm.scale == nullptr ? 0 : n.in;
  const RowPieces pieces(n.rows, 1, n.in * n.out);
  PartialSums sums(pieces.groups, {{g.weight, n.in * n.out, kProduct},
                                   {g.bias, n.out},
                                   {g.norm.scale, norm_floats},
                                   {g.norm.bias, p.norm.bias == nullptr ? 0 : n.in}});
  pieces.for_groups(context.threads, [&](Index group, Index first, Index rows) {
    const NormRows norm = norm_rows(p.norm, rows, n.in, n.centred);
    const float* in = x + first * n.in;
    const float* d = dy + first * n.out;
    const float* z = normed(context, norm, in, nullptr);
    const float beta = sums.begin_chunk(group);
    context.product(true, false, n.out, n.in, rows, d, n.out, z, n.in, beta, sums.at(group, 0),
                    n.in);
    context.kernels->column_sums(rows, n.out, d, sums.at(group, 1));
    if (norm.scale == nullptr) {
      if (dx == nullptr) return;
      context.product(false, false, rows, n.in, n.out, d, n.out, p.weight, n.in, 0.0F,
                      dx + first * n.in, n.in);
      return;
    }
    float* dz = thread_buffer(1, rows * n.in);
    context.product(false, false, rows, n.in, n.out, d, n.out, p.weight, n.in, 0.0F, dz, n.in);
    float* out = dx == nullptr ? dz : dx + first * n.in;
    context.kernels->norm_backward(norm, in, stats + 2 * first, dz, nullptr, out, sums.at(group, 2),
                                   norm.bias == nullptr ? nullptr : sums.at(group, 3));
  });
  sums.finish(context.threads);
}

}  // namespace headway::training::detail
