// Path features of softmax attention on the CPU, forward and backward, without LibTorch: the part
// of a linear-value network that is not linear in its weights. Never more than row vectors pass
// from layer to layer. The same bits come out on any number of threads.
#pragma once

#include <cstddef>

#include "training/transformer_blocks.hpp"

namespace headway::training::detail {

/// B examples of S tokens with F features; L layers of H heads, whose queries and keys have G dims.
struct HeadPathShape {
  Index batch, tokens, features;
  Index layers, heads, query_dim;

  /// p = H^L
  [[nodiscard]] Index paths() const { return rows_above(1); }
  /// Paths from layer l = 1..L+1 up: H^(L-l+1).
  [[nodiscard]] Index rows_above(Index layer) const;
  /// Numbers that a token is projected to: queries and keys of every layer and head, [L, 2, H, G].
  [[nodiscard]] Index projected() const { return layers * 2 * heads * query_dim; }
};

/// What the backward pass needs.
struct HeadPathSaved {
  float* projected = nullptr;  ///< [B, S, L, 2, H, G]
  float* attention = nullptr;  ///< [B, L, H, S, S], [query, key]
};

/// xi_pi = r Omega_L^{h_L} ... Omega_1^{h_1} x with r = 1/S everywhere (theory.md section 3,
/// readout mean), out [B, p, F], paths row-major with h_1 slowest. Omega_l^h = softmax over keys of
/// (Q x_s) . (K x_t) / sqrt(G), all from x [B, S, F]; projections [L, 2, H, G, F] holds every Q, K.
void head_paths_forward(const BlockContext& context, const HeadPathShape& shape,
                        const float* projections, const float* x, float* out,
                        const HeadPathSaved& saved);

/// From d_out = gradient of xi, that of the projections (overwritten); x gets none.
void head_paths_backward(const BlockContext& context, const HeadPathShape& shape, const float* x,
                         const HeadPathSaved& saved, const float* d_out, float* d_projections);

}  // namespace headway::training::detail
