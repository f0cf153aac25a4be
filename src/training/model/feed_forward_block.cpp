#include <algorithm>

#include "training/model/block_rows.hpp"

namespace headway::training::detail {

void feed_forward_forward(const BlockContext& context, const FeedForwardShape& n,
                          const FeedForwardArrays<const float>& p, const float* x, float* y,
                          const FeedForwardSaved& saved) {
  const RowKernels& kernels = *context.kernels;
  const RowPieces pieces(n.rows, 1, 0);
  const Index d = n.dim;
  const Index m = n.hidden;
  const TransposedWeight gate(p.gate, n.gated ? m : 0, d);
  const TransposedWeight up(p.up, m, d);
  const TransposedWeight down(p.down, d, m);
  pieces.for_chunks(context.threads, [&](Index first, Index rows) {
    const float* in = x + first * d;
    float* out = y + first * d;
    const float* z = normed(context, norm_rows(p.norm, rows, d, n.centred), in,
                            saved.stats == nullptr ? nullptr : saved.stats + 2 * first);
    float* hidden = saved.hidden + first * m;
    float* active = thread_buffer(1, rows * m);
    if (n.gated) {
      float* factor = hidden + n.rows * m;
      context.product(false, false, rows, m, d, z, d, gate.data(), m, 0.0F, hidden, m);
      context.product(false, false, rows, m, d, z, d, up.data(), m, 0.0F, factor, m);
      kernels.swiglu(rows * m, hidden, factor, active);
      if (n.residual) {
        std::copy_n(in, rows * d, out);
      } else {
        std::fill_n(out, rows * d, 0.0F);
      }
    } else {
      context.product(false, false, rows, m, d, z, d, up.data(), m, 0.0F, hidden, m);
      kernels.gelu(rows, m, p.up_bias, hidden, active);
      if (n.residual) {
        kernels.add_rows(rows, d, in, p.down_bias, out);
      } else {
        kernels.fill_rows(rows, d, p.down_bias, out);
      }
    }
    context.product(false, false, rows, d, m, active, m, down.data(), d, 1.0F, out, d);
  });
}

void feed_forward_backward(const BlockContext& context, const FeedForwardShape& n,
                           const FeedForwardArrays<const float>& p, const FeedForwardPass& pass,
                           const PassedBack& passed, const FeedForwardArrays<float>& g) {
  const float* x = pass.x;
  const FeedForwardSaved& saved = pass.saved;
  const float* dy = passed.dy;
  float* dx = passed.dx;
  const RowKernels& kernels = *context.kernels;
  const Index d = n.dim;
  const Index m = n.hidden;
  const Index biases = n.gated ? 0 : 1;
  const RowPieces pieces(n.rows, 1, (n.gated ? 3 : 2) * d * m);
  PartialSums sums(pieces.groups, {{g.up, d * m, kProduct},
                                   {g.down, d * m, kProduct},
                                   {g.gate, n.gated ? d * m : 0, kProduct},
                                   {g.up_bias, biases * m},
                                   {g.down_bias, biases * d},
                                   {g.norm.scale, p.norm.scale == nullptr ? 0 : d},
                                   {g.norm.bias, p.norm.bias == nullptr ? 0 : d}});
  pieces.for_groups(context.threads, [&](Index group, Index first, Index rows) {
    const NormRows norm = norm_rows(p.norm, rows, d, n.centred);
    const float* in = x + first * d;
    const float* out = dy + first * d;
    float* in_gradient = dx + first * d;
    const float* hidden = saved.hidden + first * m;
    const float* z = normed(context, norm, in, nullptr);
    const float beta = sums.begin_chunk(group);
    float* active = thread_buffer(1, rows * m);
    float* d_active = thread_buffer(2, rows * m);
    float* dz = norm.scale == nullptr && !n.residual ? in_gradient : thread_buffer(3, rows * d);
    context.product(false, false, rows, m, d, out, d, p.down, m, 0.0F, d_active, m);
    if (n.gated) {
      float* d_gate = thread_buffer(4, rows * m);
      float* d_up = thread_buffer(5, rows * m);
      kernels.swiglu_backward(rows * m, hidden, hidden + n.rows * m, d_active, active, d_gate,
                              d_up);
      context.product(true, false, m, d, rows, d_gate, m, z, d, beta, sums.at(group, 2), d);
      context.product(false, false, rows, d, m, d_gate, m, p.gate, d, 0.0F, dz, d);
      d_active = d_up;
    } else {
      kernels.gelu_backward(rows, m, p.up_bias, hidden, active, d_active);
      kernels.column_sums(rows, m, d_active, sums.at(group, 3));
      kernels.column_sums(rows, d, out, sums.at(group, 4));
    }
    context.product(true, false, d, m, rows, out, d, active, m, beta, sums.at(group, 1), m);
    context.product(true, false, m, d, rows, d_active, m, z, d, beta, sums.at(group, 0), d);
    context.product(false, false, rows, d, m, d_active, m, p.up, d, n.gated ? 1.0F : 0.0F, dz, d);
    if (norm.scale != nullptr) {
      kernels.norm_backward(norm, in, saved.stats + 2 * first, dz, n.residual ? out : nullptr,
                            in_gradient, sums.at(group, 5),
                            norm.bias == nullptr ? nullptr : sums.at(group, 6));
    } else if (n.residual) {
      std::copy_n(out, rows * d, in_gradient);
      kernels.add(rows * d, dz, in_gradient);
    }
  });
  sums.finish(context.threads);
}

}  // namespace headway::training::detail
