#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "headway/types.hpp"

namespace headway::training {

/// How the scores s[h, q, k] of a query-key pair become its weights a[h, q, k].
enum class Normalisation {
  kSoftmax,  ///< exp(s) / sum over keys; masked pairs have s = -inf
  kNone,     ///< a = s; masked pairs have s = 0
  kRmsHead,  ///< a = s / sqrt(mean over heads of s^2 + kRmsHeadEpsilon); masked pairs have s = 0
};

/// Whether the weights of a query are normalised over its keys. If so, the forward pass keeps log
/// sum exp of each query for the backward pass.
constexpr bool normalises_over_keys(Normalisation normalisation) {
  switch (normalisation) {
    case Normalisation::kSoftmax:
      return true;
    case Normalisation::kNone:
    case Normalisation::kRmsHead:
      break;
  }
  return false;
}

/// Whether a weight depends on the scores of all heads of its pair.
constexpr bool normalises_over_heads(Normalisation normalisation) {
  switch (normalisation) {
    case Normalisation::kRmsHead:
      return true;
    case Normalisation::kSoftmax:
    case Normalisation::kNone:
      break;
  }
  return false;
}

/// What the weights of a query-key pair do with the values; phi is the nonlinearity.
enum class ValueNetwork {
  /// o[q, h] = sum_k a[h, q, k] phi(v[k, h]); phi is the identity in the usual attention.
  kPlain,
  /// Hypernetwork attention ([S25] equation 6; src/training/README.md, eq. 6): the latent code
  /// (a[1, q, k], ..., a[H, q, k]) of a pair generates both layers of a value network,
  ///   u[q, k] = sum_h a[h, q, k] v[k, h],    o[q, h] = sum_k a[h, q, k] phi(u[q, k]).
  kHyla,
  /// With one more layer between, from the same code and a learned matrix M_h for each head,
  ///   u2[q, k] = sum_h a[h, q, k] M_h phi(u[q, k]),    o[q, h] = sum_k a[h, q, k] phi(u2[q, k]).
  kHylaDeep,
};

/// Whether the weights of all heads of a pair generate a network that the values go through.
constexpr bool is_generated(ValueNetwork network) {
  switch (network) {
    case ValueNetwork::kHyla:
    case ValueNetwork::kHylaDeep:
      return true;
    case ValueNetwork::kPlain:
      break;
  }
  return false;
}

/// Whether the network has the learned matrices M_h.
constexpr bool has_mixing(ValueNetwork network) {
  switch (network) {
    case ValueNetwork::kHylaDeep:
      return true;
    case ValueNetwork::kPlain:
    case ValueNetwork::kHyla:
      break;
  }
  return false;
}

enum class Nonlinearity { kIdentity, kRelu, kGelu, kSilu, kTanh, kSquaredRelu };

constexpr double kRmsHeadEpsilon = 1e-6;  ///< keeps RMSHead finite where all scores are 0

struct AttentionOptions {
  Normalisation normalisation = Normalisation::kSoftmax;
  ValueNetwork value_network = ValueNetwork::kPlain;
  Nonlinearity nonlinearity = Nonlinearity::kIdentity;
  /// Query q sees keys k <= q + keys - queries: the last query sees every key.
  bool causal = false;

  bool operator==(const AttentionOptions&) const = default;
};

/// Sizes of one attention layer, dims per head.
struct AttentionShape {
  Index batch = 1;
  Index heads = 1;
  Index queries = 1;
  Index keys = 1;
  Index query_dim = 1;  ///< d: of queries and keys
  Index value_dim = 1;  ///< dv

  /// Throws Error{kBadStudy} naming the size unless each is from 1 to 2^20 and no array passes
  /// 2^40 numbers.
  void validate() const;
  /// Query-key pairs of one example that no causal mask hides.
  [[nodiscard]] Index visible_pairs(bool causal) const;
};

/// The variants (src/training/README.md, "Attention") by name: softmax, linear, linear_rms_head,
/// hyla, hyla_linear_value, hyla_no_rms_head, hyla_linear_value_no_rms_head, softmax_hyla,
/// linear_rms_head_nonlinear_value, hyla_deep. Those with a nonlinearity have relu, which another
/// nonlinearity may replace.
const std::vector<std::string>& attention_variant_names();

/// Options of a variant; Error{kBadStudy} for an unknown name, with the nearest known one.
AttentionOptions attention_variant(std::string_view name);

const std::vector<std::string>& nonlinearity_names();
Nonlinearity parse_nonlinearity(std::string_view name);  ///< Error{kBadStudy} as above

/// Multiply-adds of the contractions over heads, dims, queries or keys (a multiply-add is two
/// flops; exponentials, nonlinearities, masks and normalisation are not counted).
struct MultiplyAdds {
  double forward = 0.0;
  double backward = 0.0;    ///< of the gradients, given everything the forward pass had
  double recomputed = 0.0;  ///< what the fused backward pass computes again in place of keeping it
};

/// With P = batch * visible_pairs, per pair and head:
///   plain      forward d + dv               backward 2 d + 2 dv             recomputed d
///   hyla       forward d + 2 dv             backward 2 d + 4 dv             recomputed d + dv
///   hyla_deep  forward d + 3 dv + dv^2      backward 2 d + 6 dv + 2 dv^2    recomputed
///              d + 2 dv + 2 dv^2
/// Softmax with a value network needs one more sweep, for the sum over keys in its gradient. It
/// adds d + 4 dv to recomputed, and another 4 dv + 3 dv^2 if the network is deep.
MultiplyAdds count_multiply_adds(const AttentionShape& shape, const AttentionOptions& options);

}  // namespace headway::training
