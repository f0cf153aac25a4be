#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "headway/types.hpp"

namespace headway {

/// Which of the four forms of a data set (src/io/README.md, "Data-set file") gives the attention
/// (eq. 5).
enum class AttentionForm {
  kWeights,       ///< one N_0 x N_0 matrix a head: logits[query s, key t] = x_s^T W x_t
  kQueryKey,      ///< N_QK x N_0 each: logits = (W_Q x_s) . (W_K x_t) / sqrt(N_QK)
  kSupplied,      ///< the attention matrices themselves, for every example
  kPathFeatures,  ///< path features xi_pi, inputs already averaged along every path
};

/// How attention logits become weights over keys. kHardmax is the limit beta -> infinity; ties
/// share equally.
enum class AttentionKind { kSoftmax, kHardmax };

/// Which query position(s) the readout takes (eq. 3): with a mask, last_token is the
/// last real one and mean runs over the real ones.
enum class Readout { kLastToken, kFirstToken, kMean };

/// The heads of one attention layer, as matrices that act on the input tokens. Exactly one of
/// `weights` and (`query`, `key`) is filled, or neither when the attention is supplied for every
/// example.
struct LayerHeads {
  std::vector<MatrixXd> weights;   ///< H_l matrices N_0 x N_0, [query feature, key feature]
  std::vector<MatrixXd> query;     ///< H_l matrices G_l x N_0
  std::vector<MatrixXd> key;       ///< H_l matrices G_l x N_0
  std::vector<std::string> names;  ///< one per head, or empty
};

/// Examples served in blocks, so that a data set never has to be in memory as a whole. Arrays are
/// row-major. Reading is const and may be called from several threads only where `thread_safe()`
/// says so.
class ExampleSource {
 public:
  ExampleSource() = default;
  ExampleSource(const ExampleSource&) = delete;
  ExampleSource& operator=(const ExampleSource&) = delete;
  virtual ~ExampleSource() = default;

  [[nodiscard]] virtual Index size() const = 0;      ///< P
  [[nodiscard]] virtual Index tokens() const = 0;    ///< S
  [[nodiscard]] virtual Index features() const = 0;  ///< N_0
  [[nodiscard]] virtual bool has_mask() const { return false; }
  [[nodiscard]] virtual bool thread_safe() const { return false; }
  /// out: [count, S, N_0]
  virtual void read_inputs(Index begin, Index count, double* out) const = 0;
  /// out: [count, S], 1 = real token. Only if has_mask().
  virtual void read_mask(Index begin, Index count, std::uint8_t* out) const;
  /// Heads of each layer whose attention the examples supply; empty if they supply none.
  [[nodiscard]] virtual std::vector<int> supplied_heads() const { return {}; }
  /// Supplied attention of layer l = 1..L, out: [count, H_l, S, S] as [head, query, key].
  virtual void read_attention(int layer, Index begin, Index count, double* out) const;

 protected:
  /// Error{kInternal} unless [begin, begin + count) are examples.
  void check_range(Index begin, Index count) const;
};

}  // namespace headway
