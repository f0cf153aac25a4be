#pragma once

#include "training/kernels/cpu/lane_gemm.hpp"
#include "training/kernels/cpu/lane_nonlinearity.hpp"
#include "training/kernels/cpu/tile_memory.hpp"

// What the forward and the backward kernel share: the arrays of a job in lanes, the scores and
// weights of a tile (a few units by a few keys, all heads), and the value networks on it.
//
// Orders, last index fastest, of vectors: queries and their like [unit][head][dim]; keys and values
// [key][head][dim]; scores, weights and their gradients in a tile [head][unit][key]; what a value
// network computes in a tile [unit][key][dim]. A pair p is unit * keys + key of the tile.
namespace headway::training::HEADWAY_KERNELS {

template <LaneAxis axis>
class TiledAttention {
 public:
  using Element = typename KeyOperand<axis>::Element;

 protected:
  TiledAttention(const AttentionJob& job, TileLimits limits)
      : job_(job), limits_(limits), n_(job.shape) {}

  static constexpr bool kOverExamples = axis == LaneAxis::kExamples;

  [[nodiscard]] Index total_units() const {
    return kOverExamples ? n_.queries : (n_.queries + kLanes - 1) / kLanes;
  }
  [[nodiscard]] bool softmax() const { return normalises_over_keys(job_.options.normalisation); }
  [[nodiscard]] bool plain() const { return !is_generated(job_.options.value_network); }
  [[nodiscard]] bool deep() const { return has_mixing(job_.options.value_network); }
  [[nodiscard]] bool nonlinear() const {
    return job_.options.nonlinearity != Nonlinearity::kIdentity;
  }
  [[nodiscard]] bool masked() const { return job_.options.causal || job_.inputs.key_mask; }
  // Vectors from one unit or key to the next. A step of a multiple of 4 KiB would put all rows into
  // the same few sets of the first cache (measured: a third of the speed).
  [[nodiscard]] Index row() const { return spread(job_.heads * n_.query_dim); }
  [[nodiscard]] Index value_row() const { return spread(job_.heads * n_.value_dim); }
  static Index spread(Index length) { return length % 16 == 0 ? length + 4 : length; }

  // --- arrays ---------------------------------------------------------------------------------

  void take_shared(Arena* arena) {
    const Index pairs = limits_.units * limits_.keys;
    score_ = arena->take(job_.heads * pairs);
    factor_ = arena->take(pairs);
    visible_ = arena->take(pairs);
    if (!plain()) {
      hidden_ = arena->take(pairs * n_.value_dim);
      last_ = arena->take(pairs * n_.value_dim);
    }
    if (deep()) product_ = arena->take(pairs * n_.value_dim);
    if (kOverExamples) {
      packed_key_ = arena->take(n_.keys * row());
      packed_value_ = arena->take(n_.keys * value_row());
      if (job_.inputs.key_mask != nullptr) key_visible_ = arena->take(n_.keys);
    } else if (plain() && nonlinear()) {
      shared_value_ = arena->take_floats(n_.keys * value_row());
    }
  }

  /// Keys and values in lanes, or where they are; phi(v) in place of v for a plain network.
  void prepare_keys() {
    if constexpr (kOverExamples) {
      for (Index k = 0; k < n_.keys; ++k) {
        pack_key(job_.inputs.key, k, n_.query_dim, packed_key_ + k * row());
        Vec* value = packed_value_ + k * value_row();
        pack_key(job_.inputs.value, k, n_.value_dim, value);
        if (plain() && nonlinear()) {
          apply(job_.options.nonlinearity, job_.heads * n_.value_dim, value, value);
        }
      }
      if (job_.inputs.key_mask != nullptr) pack_key_mask();
      key_ = packed_key_;
      value_ = packed_value_;
      key_step_ = row();
      value_step_ = value_row();
    } else {
      const Index first = job_.first_example * n_.keys * n_.heads + job_.first_head;
      key_ = job_.inputs.key + first * n_.query_dim;
      value_ = job_.inputs.value + first * n_.value_dim;
      key_step_ = n_.heads * n_.query_dim;
      value_step_ = n_.heads * n_.value_dim;
      if (plain() && nonlinear()) {
        for (Index k = 0; k < n_.keys; ++k) {
          apply_to_floats(job_.options.nonlinearity, job_.heads * n_.value_dim,
                          value_ + k * value_step_, shared_value_ + k * value_row());
        }
        value_ = shared_value_;
        value_step_ = value_row();
      }
    }
  }

  // Key k of an array [B, Sk, H, dim], lanes over examples.
  void pack_key(const float* array, Index key, Index dim, Vec* out) const {
    const Index length = n_.heads * dim;
    pack(array + (job_.first_example * n_.keys + key) * length, n_.keys * length, job_.examples,
         length, 1.0F, out);
  }
  void unpack_key(const Vec* in, Index key, Index dim, float* array) const {
    const Index length = n_.heads * dim;
    unpack(in, 1.0F, length, job_.examples, n_.keys * length,
           array + (job_.first_example * n_.keys + key) * length);
  }

  void pack_key_mask() {
    for (Index k = 0; k < n_.keys; ++k) {
      Vec x = {};
      for (Index l = 0; l < job_.examples; ++l) {
        x[l] = job_.inputs.key_mask[(job_.first_example + l) * n_.keys + k] != 0 ? 1.0F : 0.0F;
      }
      key_visible_[k] = x;
    }
  }

  /// Where unit u of an array [B, Sq, H, dim] starts, the step from lane to lane, and how many
  /// lanes there are.
  struct UnitRows {
    Index offset, stride, count;
  };
  [[nodiscard]] UnitRows rows_of(Index unit, Index dim) const {
    if constexpr (kOverExamples) {
      return {(job_.first_example * n_.queries + unit) * n_.heads * dim,
              n_.queries * n_.heads * dim, job_.examples};
    } else {
      const Index query = unit * kLanes;
      const Index left = n_.queries - query;
      return {((job_.first_example * n_.queries + query) * n_.heads + job_.first_head) * dim,
              n_.heads * dim, left < kLanes ? left : kLanes};
    }
  }
  void pack_unit(const float* array, Index unit, Index dim, float scale, Vec* out) const {
    const UnitRows rows = rows_of(unit, dim);
    pack(array + rows.offset, rows.stride, rows.count, job_.heads * dim, scale, out);
  }
  void unpack_unit(const Vec* in, Index unit, Index dim, float scale, float* array) const {
    const UnitRows rows = rows_of(unit, dim);
    unpack(in, scale, job_.heads * dim, rows.count, rows.stride, array + rows.offset);
  }
  /// The same for an array [B, H, Sq], in lanes [head].
  [[nodiscard]] UnitRows head_rows_of(Index unit, Index head) const {
    if constexpr (kOverExamples) {
      return {(job_.first_example * n_.heads + job_.first_head + head) * n_.queries + unit,
              n_.heads * n_.queries, job_.examples};
    } else {
      const Index query = unit * kLanes;
      const Index left = n_.queries - query;
      return {(job_.first_example * n_.heads + job_.first_head + head) * n_.queries + query, 1,
              left < kLanes ? left : kLanes};
    }
  }

  // --- masks ----------------------------------------------------------------------------------

  /// Keys from the first one on that some query of the tile's units may see.
  [[nodiscard]] Index visible_keys(Index first_unit, Index units) const {
    if (!job_.options.causal) return n_.keys;
    const Index queries = kOverExamples ? first_unit + units : (first_unit + units) * kLanes;
    const Index last = (queries < n_.queries ? queries : n_.queries) - 1;
    const Index count = last + n_.keys - n_.queries + 1;
    return count < 0 ? 0 : count < n_.keys ? count : n_.keys;
  }

  /// 1 in the lanes where query and key may meet.
  [[nodiscard]] Vec visible(Index unit, Index key) const {
    Vec result = broadcast(1.0F);
    if (job_.inputs.key_mask != nullptr) {
      if constexpr (kOverExamples) {
        result = key_visible_[key];
      } else if (job_.inputs.key_mask[job_.first_example * n_.keys + key] == 0) {
        return Vec{};
      }
    }
    if (job_.options.causal) {
      const Index least = key - n_.keys + n_.queries;  // the first query that sees the key
      if constexpr (kOverExamples) {
        if (unit < least) return Vec{};
      } else {
        const Index hidden = least - unit * kLanes;
        if (hidden >= kLanes) return Vec{};
        if (hidden > 0) result = result * (broadcast(1.0F) - leading_ones(hidden));
      }
    }
    return result;
  }

  [[nodiscard]] Vec dropout(Index unit, Index key) const {
    if constexpr (kOverExamples) return broadcast(job_.dropout[unit * n_.keys + key]);
    return load(job_.dropout + (unit * n_.keys + key) * kLanes);
  }

  /// visible_ of the tile's pairs, where there are masks.
  void mark_visible(const Tile& tile) {
    if (!masked()) return;
    for (Index q = 0; q < tile.units; ++q) {
      for (Index k = 0; k < tile.keys; ++k) {
        visible_[q * tile.keys + k] = visible(tile.first_unit + q, tile.first_key + k);
      }
    }
  }

  // --- scores and weights ---------------------------------------------------------------------

  /// score_ = query . key + bias; the queries are scaled already.
  void compute_scores(const Tile& tile, const Vec* query) {
    const Index d = n_.query_dim;
    const Index pairs = tile.pairs();
    const bool biased = job_.bias != nullptr;
    if (biased) start_with_bias(tile);
    lane_gemm<Element>({tile.units, tile.keys, d, job_.heads}, {query, row(), 1, d},
                       {key_ + tile.first_key * key_step_, 1, key_step_, d},
                       {score_, tile.keys, 1, pairs}, biased);
  }

  void start_with_bias(const Tile& tile) {
    Vec* out = score_;
    for (Index h = 0; h < job_.heads; ++h) {
      for (Index q = 0; q < tile.units; ++q) {
        const Index at = ((job_.first_head + h) * total_units() + tile.first_unit + q) * n_.keys +
                         tile.first_key;
        for (Index k = 0; k < tile.keys; ++k) {
          *out++ =
              kOverExamples ? broadcast(job_.bias[at + k]) : load(job_.bias + (at + k) * kLanes);
        }
      }
    }
  }

  /// Without softmax: score_ becomes b = factor_ s, factor_ = r dropout visible with r of RMSHead
  /// or 1. If `inverse` is given, it becomes r visible / dropout (0 for dropped pairs), for the
  /// gradient.
  void linear_weights(const Tile& tile, Vec* inverse) {
    const Index pairs = tile.pairs();
    mark_visible(tile);
    for (Index p = 0; p < pairs; ++p) factor_[p] = broadcast(1.0F);
    switch (job_.options.normalisation) {
      case Normalisation::kRmsHead:
        for (Index p = 0; p < pairs; p += 4) rms_factors(p, pairs);
        break;
      case Normalisation::kNone:
      case Normalisation::kSoftmax:  // never here
        break;
    }
    if (inverse != nullptr) {
      for (Index p = 0; p < pairs; ++p) inverse[p] = factor_[p];
    }
    if (masked() || job_.dropout != nullptr) restrict_factors(tile, inverse);
    for (Index h = 0; h < job_.heads; ++h) {
      Vec* s = score_ + h * pairs;
      for (Index p = 0; p < pairs; ++p) s[p] *= factor_[p];
    }
  }

  // 1 / sqrt(mean_h s^2 + epsilon) of up to four pairs, side by side to hide latencies.
  void rms_factors(Index first, Index pairs) {
    const Index count = pairs - first < 4 ? pairs - first : 4;
    Vec sum[4] = {};
    if (count == 4) {
      for (Index h = 0; h < job_.heads; ++h) {
        const Vec* s = score_ + h * pairs + first;
        for (int j = 0; j < 4; ++j) sum[j] += s[j] * s[j];
      }
    } else {
      for (Index h = 0; h < job_.heads; ++h) {
        const Vec* s = score_ + h * pairs + first;
        for (Index j = 0; j < count; ++j) sum[j] += s[j] * s[j];
      }
    }
    const float mean = 1.0F / static_cast<float>(job_.heads);
    for (Index j = 0; j < count; ++j) {
      factor_[first + j] = 1.0F / square_root(sum[j] * mean + static_cast<float>(kRmsHeadEpsilon));
    }
  }

  void restrict_factors(const Tile& tile, Vec* inverse) {
    for (Index p = 0; p < tile.pairs(); ++p) {
      Vec keep = masked() ? visible_[p] : broadcast(1.0F);
      Vec back = keep;
      if (job_.dropout != nullptr) {
        const Vec rate = dropout(tile.first_unit + p / tile.keys, tile.first_key + p % tile.keys);
        keep *= rate;
        back *= select(rate > Vec{}, 1.0F / rate, Vec{});
      }
      factor_[p] *= keep;
      if (inverse != nullptr) inverse[p] *= back;
    }
  }

  /// Scores of masked pairs become -inf.
  void hide_scores(const Tile& tile) {
    if (!masked()) return;
    const Index pairs = tile.pairs();
    const Vec least = broadcast(-__builtin_inff());
    mark_visible(tile);
    for (Index h = 0; h < job_.heads; ++h) {
      for (Index p = 0; p < pairs; ++p) {
        score_[h * pairs + p] = select(visible_[p] > Vec{}, score_[h * pairs + p], least);
      }
    }
  }

  /// With softmax: score_ becomes a = exp(s - log_sum_exp[unit][head]).
  void softmax_weights(const Tile& tile, const Vec* log_sum_exp) {
    hide_scores(tile);
    for (Index h = 0; h < job_.heads; ++h) {
      for (Index q = 0; q < tile.units; ++q) {
        Vec* s = score_ + h * tile.pairs() + q * tile.keys;
        const Vec shift = log_sum_exp[q * job_.heads + h];
        for (Index k = 0; k < tile.keys; ++k) s[k] = exponential(s[k] - shift);
      }
    }
  }

  /// out = dropout a of the tile; in place where out is score_.
  void drop(const Tile& tile, Vec* out) {
    const Index pairs = tile.pairs();
    for (Index q = 0; q < tile.units; ++q) {
      for (Index k = 0; k < tile.keys; ++k) {
        const Vec rate = dropout(tile.first_unit + q, tile.first_key + k);
        const Index p = q * tile.keys + k;
        for (Index h = 0; h < job_.heads; ++h) out[h * pairs + p] = rate * score_[h * pairs + p];
      }
    }
  }

  // --- value networks -------------------------------------------------------------------------

  /// hidden_ = u[unit][key] = sum_h b_h v_h
  void generate(const Tile& tile, const Vec* b) {
    const Index dv = n_.value_dim;
    lane_gemm<Element>({tile.units, dv, job_.heads, tile.keys}, {b, tile.keys, tile.pairs(), 1},
                       {value_ + tile.first_key * value_step_, dv, 1, value_step_},
                       {hidden_, tile.keys * dv, 1, dv}, false);
  }

  /// out[pair] = sum_h b_h M_h z[pair]
  void mix(const Tile& tile, const Vec* b, const Vec* z, Vec* out) {
    const Index dv = n_.value_dim;
    const Index pairs = tile.pairs();
    for (Index h = 0; h < job_.heads; ++h) {
      weigh(pairs, b + h * pairs, z, product_);
      const float* m = job_.inputs.mixing + h * dv * dv;
      lane_gemm<float>({pairs, dv, dv, 1}, {product_, dv, 1, 0}, {m, 1, dv, 0}, {out, dv, 1, 0},
                       h > 0);
    }
  }

  /// out[pair] = weight[pair] z[pair]
  void weigh(Index pairs, const Vec* weight, const Vec* z, Vec* out) const {
    const Index dv = n_.value_dim;
    for (Index p = 0; p < pairs; ++p) {
      for (Index e = 0; e < dv; ++e) out[p * dv + e] = weight[p] * z[p * dv + e];
    }
  }

  const AttentionJob& job_;
  const TileLimits limits_;
  const AttentionShape n_;
  const Element* key_ = nullptr;
  const Element* value_ = nullptr;
  Index key_step_ = 0;
  Index value_step_ = 0;
  Vec* packed_key_ = nullptr;
  Vec* packed_value_ = nullptr;
  Vec* key_visible_ = nullptr;
  float* shared_value_ = nullptr;
  Vec* score_ = nullptr;    // [head][pair]: s, then the weights
  Vec* factor_ = nullptr;   // [pair]
  Vec* visible_ = nullptr;  // [pair]
  Vec* hidden_ = nullptr;   // [pair][dv]: u, then phi(u)
  Vec* last_ = nullptr;     // [pair][dv]: u2, then phi(u2); gradients
  Vec* product_ = nullptr;  // [pair][dv]
};

}  // namespace headway::training::HEADWAY_KERNELS
