#pragma once

#include "training/kernels/cpu/attention_tiles.hpp"

namespace headway::training::HEADWAY_KERNELS {

/// Keys outer, units inner, so that the gradients of a tile of keys and values stay near while the
/// queries pass by; those of the queries are summed in lanes. Scores, weights and value networks
/// are computed again. Softmax needs sum_k b d_b of each head first: d_output . output for a plain
/// network, a sweep of its own for the others.
template <LaneAxis axis>
class BackwardTiles : private TiledAttention<axis> {
  using Base = TiledAttention<axis>;
  using Base::job_;
  using Base::limits_;
  using Base::n_;
  using Base::score_;
  using Element = typename Base::Element;

 public:
  BackwardTiles(const AttentionJob& job, TileLimits limits, Arena* arena) : Base(job, limits) {
    Base::take_shared(arena);
    const Index units = Base::total_units();
    const Index pairs = limits.units * limits.keys;
    query_ = arena->take(units * Base::row());
    d_query_ = arena->take(units * Base::row());
    d_output_ = arena->take(units * Base::value_row());
    d_key_ = arena->take(limits.keys * Base::row());
    d_value_ = arena->take(limits.keys * Base::value_row());
    d_weight_ = arena->take(job.heads * pairs);
    if (Base::softmax()) {
      log_sum_exp_ = arena->take(units * job.heads);
      over_keys_ = arena->take(units * job.heads);
      if (job.dropout != nullptr) dropped_ = arena->take(job.heads * pairs);
    } else {
      inverse_ = arena->take(pairs);
    }
    if (!Base::plain()) {
      slope_ = arena->take(pairs * n_.value_dim);
      d_last_ = arena->take(pairs * n_.value_dim);
    }
    if (Base::deep()) {
      hidden_slope_ = arena->take(pairs * n_.value_dim);
      d_hidden_ = arena->take(pairs * n_.value_dim);
      d_mixing_ = arena->take(job.heads * n_.value_dim * n_.value_dim);
    }
    spare_ = arena->take(2 * Base::value_row());
    if (job.d_bias != nullptr) bias_sums_ = arena->take_floats(job.heads * pairs);
  }

  void run() {
    Base::prepare_keys();
    prepare_units();
    if (Base::softmax() && !Base::plain()) {
      for_tiles_of_keys([this](Index key, Index keys) {
        for_tiles_of_units(key, keys, [this](const Tile& tile) { add_over_keys(tile); });
      });
    }
    for_tiles_of_keys([this](Index key, Index keys) { run_keys(key, keys); });
    const float scale = 1.0F / __builtin_sqrtf(static_cast<float>(n_.query_dim));
    for (Index q = 0; q < Base::total_units(); ++q) {
      Base::unpack_unit(d_query_ + q * Base::row(), q, n_.query_dim, scale, job_.gradients.query);
    }
    if (Base::deep()) add_mixing_sums();
  }

 private:
  template <typename Work>
  HEADWAY_INLINE void for_tiles_of_keys(const Work& work) {
    for (Index key = 0; key < n_.keys; key += limits_.keys) {
      const Index left = n_.keys - key;
      work(key, left < limits_.keys ? left : limits_.keys);
    }
  }

  template <typename Work>
  HEADWAY_INLINE void for_tiles_of_units(Index key, Index keys, const Work& work) {
    const Index units = Base::total_units();
    for (Index unit = 0; unit < units; unit += limits_.units) {
      const Index left = units - unit;
      const Index count = left < limits_.units ? left : limits_.units;
      if (Base::visible_keys(unit, count) <= key) continue;
      work(Tile{unit, count, key, keys});
    }
  }

  void add_mixing_sums() const {
    const Index count = job_.heads * n_.value_dim * n_.value_dim;
    for (Index i = 0; i < count; i += kLanes) {
      const Index some = count - i < kLanes ? count - i : kLanes;
      float sums[kLanes];
      sum_lanes_of(d_mixing_ + i, some, sums);
      for (Index j = 0; j < some; ++j) job_.d_mixing[i + j] += sums[j];
    }
  }

  void prepare_units() {
    const float scale = 1.0F / __builtin_sqrtf(static_cast<float>(n_.query_dim));
    const Index units = Base::total_units();
    for (Index q = 0; q < units; ++q) {
      Base::pack_unit(job_.inputs.query, q, n_.query_dim, scale, query_ + q * Base::row());
      Base::pack_unit(job_.d_output, q, n_.value_dim, 1.0F, d_output_ + q * Base::value_row());
    }
    for (Index i = 0; i < units * Base::row(); ++i) d_query_[i] = Vec{};
    if (Base::deep()) {
      const Index count = job_.heads * n_.value_dim * n_.value_dim;
      for (Index i = 0; i < count; ++i) d_mixing_[i] = Vec{};
    }
    if (Base::softmax()) prepare_softmax(units);
  }

  void prepare_softmax(Index units) {
    const Index dv = n_.value_dim;
    for (Index q = 0; q < units; ++q) {
      if (Base::plain()) Base::pack_unit(job_.outputs.output, q, dv, 1.0F, spare_);
      for (Index h = 0; h < job_.heads; ++h) {
        const auto rows = Base::head_rows_of(q, h);
        Vec x = {};
        for (Index l = 0; l < rows.count; ++l) {
          x[l] = job_.outputs.log_sum_exp[rows.offset + l * rows.stride];
        }
        Vec sum = {};
        const Vec* d_o = d_output_ + q * Base::value_row() + h * dv;
        for (Index e = 0; Base::plain() && e < dv; ++e) sum += d_o[e] * spare_[h * dv + e];
        log_sum_exp_[q * job_.heads + h] = x;
        over_keys_[q * job_.heads + h] = sum;
      }
    }
  }

  // --- tiles ----------------------------------------------------------------------------------

  void run_keys(Index key, Index keys) {
    for (Index i = 0; i < keys * Base::row(); ++i) d_key_[i] = Vec{};
    for (Index i = 0; i < keys * Base::value_row(); ++i) d_value_[i] = Vec{};
    for_tiles_of_units(key, keys, [this](const Tile& tile) {
      const Vec* b = weights(tile);
      value_gradient(tile, b, true);
      score_gradient(tile, b);
      if (job_.d_bias != nullptr) add_bias_gradient(tile);
      add_query_and_key_gradient(tile);
    });
    store_keys(key, keys);
  }

  // b of the tile; score_ holds a with softmax.
  const Vec* weights(const Tile& tile) {
    Base::compute_scores(tile, query_ + tile.first_unit * Base::row());
    if (!Base::softmax()) {
      Base::linear_weights(tile, inverse_);
      return score_;
    }
    Base::softmax_weights(tile, log_sum_exp_ + tile.first_unit * job_.heads);
    if (job_.dropout == nullptr) return score_;
    Base::drop(tile, dropped_);
    return dropped_;
  }

  // over_keys_ += sum_k b d_b
  void add_over_keys(const Tile& tile) {
    const Vec* b = weights(tile);
    value_gradient(tile, b, false);
    for (Index h = 0; h < job_.heads; ++h) {
      for (Index q = 0; q < tile.units; ++q) {
        const Index at = h * tile.pairs() + q * tile.keys;
        Vec sum = over_keys_[(tile.first_unit + q) * job_.heads + h];
        for (Index k = 0; k < tile.keys; ++k) sum += b[at + k] * d_weight_[at + k];
        over_keys_[(tile.first_unit + q) * job_.heads + h] = sum;
      }
    }
  }

  // d_weight_ = d_b and, where asked for, the gradients of values and of M_h.
  void value_gradient(const Tile& tile, const Vec* b, bool with_parameters) {
    if (Base::plain()) return plain_gradient(tile, b, with_parameters);
    const Index dv = n_.value_dim;
    const Index count = tile.pairs() * dv;
    const Nonlinearity phi = job_.options.nonlinearity;
    Base::generate(tile, b);
    Vec* w = Base::last_;
    if (Base::deep()) {
      apply(phi, count, Base::hidden_, Base::hidden_, hidden_slope_);
      Base::mix(tile, b, Base::hidden_, w);
      apply(phi, count, w, w, slope_);
    } else {
      apply(phi, count, Base::hidden_, w, slope_);
    }
    last_layer_gradient(tile, b, w);
    const Vec* d_u = d_last_;
    if (Base::deep()) {
      mixing_gradient(tile, b, with_parameters);
      d_u = d_hidden_;
    }
    lane_gemm<Element>(
        {tile.units, job_.heads, dv, tile.keys}, {d_u, tile.keys * dv, 1, dv},
        {Base::value_ + tile.first_key * Base::value_step_, 1, dv, Base::value_step_},
        {d_weight_, tile.keys, tile.pairs(), 1}, true);
    if (!with_parameters) return;
    lane_gemm<Vec>({job_.heads, dv, tile.units, tile.keys}, {b, tile.pairs(), tile.keys, 1},
                   {d_u, tile.keys * dv, 1, dv}, {d_value_, dv, 1, Base::value_row()}, true);
  }

  void plain_gradient(const Tile& tile, const Vec* b, bool with_parameters) {
    const Index dv = n_.value_dim;
    const Vec* d_o = d_output_ + tile.first_unit * Base::value_row();
    lane_gemm<Element>(
        {tile.units, tile.keys, dv, job_.heads}, {d_o, Base::value_row(), 1, dv},
        {Base::value_ + tile.first_key * Base::value_step_, 1, Base::value_step_, dv},
        {d_weight_, tile.keys, 1, tile.pairs()}, false);
    if (!with_parameters) return;
    lane_gemm<Vec>({tile.keys, dv, tile.units, job_.heads}, {b, 1, tile.keys, tile.pairs()},
                   {d_o, Base::value_row(), 1, dv}, {d_value_, Base::value_row(), 1, dv}, true);
  }

  // o[h] = sum_k b_h w: d_weight_ = d_o . w, d_last_ = phi' sum_h b_h d_o[h].
  void last_layer_gradient(const Tile& tile, const Vec* b, const Vec* w) {
    const Index dv = n_.value_dim;
    const Vec* d_o = d_output_ + tile.first_unit * Base::value_row();
    lane_gemm<Vec>({job_.heads, tile.keys, dv, tile.units}, {d_o, dv, 1, Base::value_row()},
                   {w, 1, dv, tile.keys * dv}, {d_weight_, tile.pairs(), 1, tile.keys}, false);
    lane_gemm<Vec>({tile.keys, dv, job_.heads, tile.units}, {b, 1, tile.pairs(), tile.keys},
                   {d_o, dv, 1, Base::value_row()}, {d_last_, dv, 1, tile.keys * dv}, false);
    if (!Base::nonlinear()) return;
    const Index count = tile.pairs() * dv;
    for (Index i = 0; i < count; ++i) d_last_[i] *= slope_[i];
  }

  // u2 = sum_h b_h M_h z: adds to d_weight_ and the gradient of M_h, and d_hidden_ = phi' d_z.
  void mixing_gradient(const Tile& tile, const Vec* b, bool with_parameters) {
    const Index dv = n_.value_dim;
    const Index pairs = tile.pairs();
    const Vec* z = Base::hidden_;
    Vec* product = Base::product_;
    for (Index h = 0; h < job_.heads; ++h) {
      const float* m = job_.inputs.mixing + h * dv * dv;
      lane_gemm<float>({pairs, dv, dv, 1}, {z, dv, 1, 0}, {m, 1, dv, 0}, {product, dv, 1, 0},
                       false);
      for (Index p = 0; p < pairs; ++p) {
        Vec sum = d_weight_[h * pairs + p];
        for (Index e = 0; e < dv; ++e) sum += product[p * dv + e] * d_last_[p * dv + e];
        d_weight_[h * pairs + p] = sum;
      }
      Base::weigh(pairs, b + h * pairs, d_last_, product);
      lane_gemm<float>({pairs, dv, dv, 1}, {product, dv, 1, 0}, {m, dv, 1, 0},
                       {d_hidden_, dv, 1, 0}, h > 0);
      if (!with_parameters) continue;
      lane_gemm<Vec>({dv, dv, pairs, 1}, {product, 1, dv, 0}, {z, dv, 1, 0},
                     {d_mixing_ + h * dv * dv, dv, 1, 0}, true);
    }
    if (!Base::nonlinear()) return;
    for (Index i = 0; i < pairs * dv; ++i) d_hidden_[i] *= hidden_slope_[i];
  }

  // d_weight_ becomes d_s. With b = dropout a, d_a = dropout d_b:
  //   softmax   a (d_a - sum_k a d_a) = b d_b - a sum_k b d_b
  //   RMSHead   r (d_a - a mean_h a d_a) = factor d_b - inverse b mean_h b d_b
  //   none      factor d_b
  void score_gradient(const Tile& tile, const Vec* b) {
    const Index pairs = tile.pairs();
    switch (job_.options.normalisation) {
      case Normalisation::kSoftmax:
        return softmax_gradient(tile, b);
      case Normalisation::kRmsHead:
        for (Index p = 0; p < pairs; p += 4) subtract_radial_part(p, pairs, b);
        return;
      case Normalisation::kNone:
        break;
    }
    for (Index h = 0; h < job_.heads; ++h) {
      for (Index p = 0; p < pairs; ++p) d_weight_[h * pairs + p] *= Base::factor_[p];
    }
  }

  void softmax_gradient(const Tile& tile, const Vec* b) {
    for (Index h = 0; h < job_.heads; ++h) {
      for (Index q = 0; q < tile.units; ++q) {
        const Vec sum = over_keys_[(tile.first_unit + q) * job_.heads + h];
        const Index at = h * tile.pairs() + q * tile.keys;
        for (Index i = at; i < at + tile.keys; ++i) {
          d_weight_[i] = b[i] * d_weight_[i] - score_[i] * sum;
        }
      }
    }
  }

  // Of RMSHead's gradient, for up to four pairs side by side.
  void subtract_radial_part(Index first, Index pairs, const Vec* b) {
    const Index count = pairs - first < 4 ? pairs - first : 4;
    if (count == 4) {
      radial_part<4>(first, pairs, b);
    } else {
      for (Index p = first; p < first + count; ++p) radial_part<1>(p, pairs, b);
    }
  }

  template <int N>
  HEADWAY_INLINE void radial_part(Index first, Index pairs, const Vec* b) {
    Vec sum[N] = {};
    for (Index h = 0; h < job_.heads; ++h) {
      const Index at = h * pairs + first;
      for (int j = 0; j < N; ++j) sum[j] += b[at + j] * d_weight_[at + j];
    }
    const float mean = 1.0F / static_cast<float>(job_.heads);
    Vec factor[N];
    for (int j = 0; j < N; ++j) {
      factor[j] = Base::factor_[first + j];
      sum[j] *= mean * inverse_[first + j];
    }
    for (Index h = 0; h < job_.heads; ++h) {
      const Index at = h * pairs + first;
      for (int j = 0; j < N; ++j) {
        d_weight_[at + j] = factor[j] * d_weight_[at + j] - sum[j] * b[at + j];
      }
    }
  }

  void add_bias_gradient(const Tile& tile) {
    const Index pairs = tile.pairs();
    if (Base::kOverExamples) sum_lanes_of(d_weight_, job_.heads * pairs, bias_sums_);
    for (Index h = 0; h < job_.heads; ++h) {
      for (Index q = 0; q < tile.units; ++q) {
        const Index from = h * pairs + q * tile.keys;
        const Index to =
            ((job_.first_head + h) * Base::total_units() + tile.first_unit + q) * n_.keys +
            tile.first_key;
        if constexpr (Base::kOverExamples) {
          for (Index k = 0; k < tile.keys; ++k) job_.d_bias[to + k] += bias_sums_[from + k];
        } else {
          float* out = job_.d_bias + to * kLanes;
          for (Index k = 0; k < tile.keys; ++k) {
            store(out + k * kLanes, load(out + k * kLanes) + d_weight_[from + k]);
          }
        }
      }
    }
  }

  void add_query_and_key_gradient(const Tile& tile) {
    const Index d = n_.query_dim;
    const Index first = tile.first_unit * Base::row();
    lane_gemm<Element>({tile.units, d, tile.keys, job_.heads},
                       {d_weight_, tile.keys, 1, tile.pairs()},
                       {Base::key_ + tile.first_key * Base::key_step_, Base::key_step_, 1, d},
                       {d_query_ + first, Base::row(), 1, d}, true);
    lane_gemm<Vec>({tile.keys, d, tile.units, job_.heads}, {d_weight_, 1, tile.keys, tile.pairs()},
                   {query_ + first, Base::row(), 1, d}, {d_key_, Base::row(), 1, d}, true);
  }

  // --- results --------------------------------------------------------------------------------

  void store_keys(Index key, Index keys) {
    const bool sloped = Base::plain() && Base::nonlinear();  // d_value_ is that of phi(v) so far
    const Index length = job_.heads * n_.value_dim;
    for (Index k = 0; k < keys; ++k) {
      Vec* d_key = d_key_ + k * Base::row();
      Vec* d_value = d_value_ + k * Base::value_row();
      if constexpr (Base::kOverExamples) {
        if (sloped) {
          Base::pack_key(job_.inputs.value, key + k, n_.value_dim, spare_);
          apply(job_.options.nonlinearity, length, spare_, spare_, spare_ + Base::value_row());
          for (Index i = 0; i < length; ++i) d_value[i] *= spare_[Base::value_row() + i];
        }
        Base::unpack_key(d_key, key + k, n_.query_dim, job_.gradients.key);
        Base::unpack_key(d_value, key + k, n_.value_dim, job_.gradients.value);
      } else {
        const Index first = (job_.first_example * n_.keys + key + k) * n_.heads + job_.first_head;
        float* out = job_.gradients.value + first * n_.value_dim;
        sum_lanes_of(d_key, job_.heads * n_.query_dim, job_.gradients.key + first * n_.query_dim);
        sum_lanes_of(d_value, length, out);
        if (!sloped) continue;
        float* value = reinterpret_cast<float*>(spare_);
        float* slope = value + length;
        apply_to_floats(job_.options.nonlinearity, length, job_.inputs.value + first * n_.value_dim,
                        value, slope);
        for (Index i = 0; i < length; ++i) out[i] *= slope[i];
      }
    }
  }

  Vec* query_;                   // [all units][head][d], scaled
  Vec* d_query_;                 // [all units][head][d], of the scaled queries
  Vec* d_output_;                // [all units][head][dv]
  Vec* d_key_;                   // [key][head][d] of the tile
  Vec* d_value_;                 // [key][head][dv] of the tile
  Vec* d_weight_;                // [head][pair]: d_b, then d_s
  Vec* spare_;                   // two rows of [head][dv]
  Vec* log_sum_exp_ = nullptr;   // [all units][head]
  Vec* over_keys_ = nullptr;     // [all units][head]
  Vec* dropped_ = nullptr;       // [head][pair]
  Vec* inverse_ = nullptr;       // [pair]
  Vec* slope_ = nullptr;         // [pair][dv]: phi' of the last layer
  Vec* d_last_ = nullptr;        // [pair][dv]
  Vec* hidden_slope_ = nullptr;  // [pair][dv]
  Vec* d_hidden_ = nullptr;      // [pair][dv]
  Vec* d_mixing_ = nullptr;      // [head][dv][dv]
  float* bias_sums_ = nullptr;   // [head][pair]
};

}  // namespace headway::training::HEADWAY_KERNELS
