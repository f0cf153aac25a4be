// Operations of a hand-written training step that mixtures of experts and linear-value networks
// have alone (step_operations.hpp).
#pragma once

#include <vector>

#include "training/step/step_arrays.hpp"

namespace headway::training::detail {

// Mixtures of experts. The hidden layers of all experts lie beside each other in a row, [E, M], and
// all are computed. So each of the experts' layers is one product, and no host deals out tokens.

/// Gates of each row: a softmax over the `active` largest of its logits, 0 elsewhere.
struct StepGates {
  Index rows = 0, experts = 0, active = 0;
  OfRuns<const float> logits;  ///< [rows, E]
  OfRuns<float> gates;         ///< [rows, E]
  OfRuns<Bf16> rounded;        ///< gates for products; null: they read the gates themselves
  // For the loss that keeps experts busy; null without it.
  OfRuns<float> chosen;  ///< [rows, E]: 1 where the expert is among the active ones
  OfRuns<float> likely;  ///< [rows, E]: softmax over all
  Index runs = 1;
};
/// Of each expert: its share of all choices.
struct StepExpertShares {
  Index rows = 0, experts = 0, active = 0;
  OfRuns<const float> chosen;  ///< [rows, E]
  OfRuns<float> shares;        ///< [E]
  Index runs = 1;
};
/// scaled[r, e, m] = gates[r, e] active[r, e, m].
struct StepScaledExperts {
  Index rows = 0, experts = 0, hidden = 0;
  OfRuns<const float> gates;
  NumbersOfRuns<const float> active;  ///< [rows, E, M]
  NumbersOfRuns<float> scaled;
  Index runs = 1;
};
/// From the gradient of `scaled` in d_hidden, that of what gelu had, in its place; and that of the
/// gates is added to d_gates.
struct StepScaledExpertsGradient {
  Index rows = 0, experts = 0, hidden = 0;
  OfRuns<const float> gates;
  NumbersOfRuns<const float> before;  ///< [rows, E, M]: what gelu had
  NumbersOfRuns<float> d_hidden;      ///< [rows, E, M]
  OfRuns<float> d_gates;              ///< [rows, E]
  Index runs = 1;
};
/// The gradient of the logits, with that of balance E sum_e shares[e] mean over rows likely[e].
struct StepGatesGradient {
  Index rows = 0, experts = 0;
  double balance = 0.0;
  OfRuns<const float> gates, d_gates;  ///< [rows, E]
  OfRuns<const float> likely;          ///< [rows, E]; null without balance
  OfRuns<const float> shares;          ///< [E]
  NumbersOfRuns<float> d_logits;       ///< [rows, E]
  Index runs = 1;
};

/// Of several arrays: to[b, a, i] = from[a, b, i].
struct StepSwap {
  struct Part {
    OfRuns<const float> from;
    NumbersOfRuns<float> to;
  };
  Index first = 0, second = 0, inner = 0;  ///< of `from`
  std::vector<Part> parts;                 ///< at most StepPositions::kMostLayers
  Index runs = 1;
};
/// Of several arrays: to[c, i] = factor from[i], of each copy c.
struct StepScaledCopies {
  struct Part {
    Index count = 0, copies = 1;
    double factor = 1.0;
    OfRuns<const float> from;
    NumbersOfRuns<float> to;
  };
  std::vector<Part> parts;  ///< at most StepPositions::kMostLayers
  Index runs = 1;
};

// Linear-value networks (training/contributions/head_paths.hpp). Of a path only the averages over
// tokens that its heads take pass from layer to layer, a row of S numbers. In bf16 kernels round
// Omega and its gradient on their way into a product.

/// Omega of every layer and head: softmax over keys of (query . key) / sqrt(dim).
struct StepPathAttention {
  Index layers = 0, examples = 0, tokens = 0, heads = 0, dim = 0;
  NumbersOfRuns<const float> projected;  ///< [L, B, S, 2, H, G]: queries and keys
  OfRuns<float> omega;                   ///< [L, B, H, S, S]
  Index runs = 1;
};
struct StepPathAttentionGradient {
  Index layers = 0, examples = 0, tokens = 0, heads = 0, dim = 0;
  NumbersOfRuns<const float> projected;
  OfRuns<const float> omega;
  OfRuns<float> d_omega;             ///< of omega; becomes that of the logits
  NumbersOfRuns<float> d_projected;  ///< as projected
  Index runs = 1;
};
/// out[b, h, g, k] = sum over q of above[b, g, q] omega[b, h, q, k].
struct StepPathRows {
  Index examples = 0, tokens = 0, heads = 0, rows = 0;  ///< rows above
  NumbersOfRuns<const float> above;  ///< [B, rows, S]; null: one row, 1 / S everywhere
  OfRuns<const float> omega;         ///< [B, H, S, S]
  NumbersOfRuns<float> out;          ///< [B, H, rows, S]
  Index runs = 1;
};
struct StepPathRowsGradient {
  Index examples = 0, tokens = 0, heads = 0, rows = 0;
  NumbersOfRuns<const float> above;
  OfRuns<const float> omega;
  NumbersOfRuns<const float> d_out;
  OfRuns<float> d_omega;
  NumbersOfRuns<float> d_above;  ///< null where `above` is
  Index runs = 1;
};

}  // namespace headway::training::detail
