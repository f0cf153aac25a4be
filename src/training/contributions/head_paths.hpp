// Path features of softmax attention on the CPU, forward and backward, without LibTorch: the part
// of a linear-value network that is not linear in its weights. Never more than row vectors pass
// from layer to layer. The same bits come out on any number of threads.
#pragma once

#include <cstddef>

#include "training/model/transformer_blocks.hpp"

namespace headway::training::detail {

/// B examples of S tokens with F features; L layers of H heads, whose queries and keys have G dims.
/// The logits of a head, (Q x_s) . (K x_t) / sqrt(G), are taken in one of two ways:
///   projected  a token is projected to queries and keys, R = 2 G numbers a head
///   merged     x_t . (M x_s) with M = K^T Q, R = F numbers a head: less work where G is above some
///              half of F, and the backward pass needs no projected tokens
struct HeadPathShape {
  Index batch, tokens, features;
  Index layers, heads, query_dim;
  bool merged = false;

  /// Whether merged takes fewer operations, forward and backward, the products K^T Q included.
  [[nodiscard]] bool merging_pays() const;
  /// p = H^L
  [[nodiscard]] Index paths() const { return rows_above(1); }
  /// Paths from layer l = 1..L+1 up: H^(L-l+1).
  [[nodiscard]] Index rows_above(Index layer) const;
  /// Numbers that a token is projected to, of all layers and heads: [L, 2, H, G], or [L, H, F].
  [[nodiscard]] Index projected() const {
    return layers * heads * (merged ? features : 2 * query_dim);
  }
};

/// Multiply-adds of one step, forward and backward: of the projections and the gradient of their
/// weights, and of the logits and their gradient.
struct HeadPathCosts {
  double projections = 0.0;
  double logits = 0.0;
};
HeadPathCosts head_path_costs(const HeadPathShape& shape);

/// What the backward pass needs.
struct HeadPathSaved {
  float* projected = nullptr;  ///< [B, S, L, 2, H, G]; null where merged
  float* attention = nullptr;  ///< [B, L, H, S, S], [query, key]
};

/// xi_pi = r Omega_L^{h_L} ... Omega_1^{h_1} x with r = 1/S everywhere (eqs. 7 and 8, readout
/// mean), out [B, p, F], paths row-major with h_1 slowest. Omega_l^h = softmax over keys of the
/// logits, all from x [B, S, F]. projections: every Q and K, [L, 2, H, G, F], or every M, [L, H, F,
/// F].
void head_paths_forward(const BlockContext& context, const HeadPathShape& shape,
                        const float* projections, const float* x, float* out,
                        const HeadPathSaved& saved);

/// From d_out = gradient of xi, that of the projections (overwritten); x gets none.
void head_paths_backward(const BlockContext& context, const HeadPathShape& shape, const float* x,
                         const HeadPathSaved& saved, const float* d_out, float* d_projections);

}  // namespace headway::training::detail
