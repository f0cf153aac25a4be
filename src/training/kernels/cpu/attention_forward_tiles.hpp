#pragma once

#include "training/kernels/cpu/attention_tiles.hpp"

namespace headway::training::HEADWAY_KERNELS {

constexpr float kLeastScore = -1e30F;  // what the largest score is before any is seen

/// Units outer, keys inner. Softmax of a plain value network runs online (the largest score and the
/// sum so far, the output rescaled when the former grows; Milakov and Gimelshein 2018, Dao et al.
/// 2022); a hypernetwork needs the finished weights of all heads, so a first sweep finds the sums.
template <LaneAxis axis>
class ForwardTiles : private TiledAttention<axis> {
  using Base = TiledAttention<axis>;
  using Base::job_;
  using Base::limits_;
  using Base::n_;
  using Base::score_;

 public:
  ForwardTiles(const AttentionJob& job, TileLimits limits, Arena* arena) : Base(job, limits) {
    Base::take_shared(arena);
    query_ = arena->take(limits.units * Base::row());
    output_ = arena->take(limits.units * Base::value_row());
    largest_ = arena->take(limits.units * job.heads);
    sum_ = arena->take(limits.units * job.heads);
  }

  void run() {
    Base::prepare_keys();
    const Index end = job_.first_unit + job_.units;
    for (Index unit = job_.first_unit; unit < end; unit += limits_.units) {
      const Index left = end - unit;
      run_units(unit, left < limits_.units ? left : limits_.units);
    }
  }

 private:
  void run_units(Index first, Index units) {
    const float scale = 1.0F / __builtin_sqrtf(static_cast<float>(n_.query_dim));
    for (Index q = 0; q < units; ++q) {
      Base::pack_unit(job_.inputs.query, first + q, n_.query_dim, scale, query_ + q * Base::row());
    }
    for (Index i = 0; i < units * Base::value_row(); ++i) output_[i] = Vec{};
    for (Index i = 0; i < units * job_.heads; ++i) {
      largest_[i] = broadcast(kLeastScore);
      sum_[i] = Vec{};
    }
    const bool two_sweeps = Base::softmax() && !Base::plain();
    if (two_sweeps) {
      sweep(first, units, [this](const Tile& tile) { online_softmax(tile, false); });
      finish_sums(units);
    }
    sweep(first, units, [this](const Tile& tile) { add_output(tile); });
    if (Base::softmax() && !two_sweeps) {
      divide_output(units);
      finish_sums(units);
    }
    for (Index q = 0; q < units; ++q) {
      Base::unpack_unit(output_ + q * Base::value_row(), first + q, n_.value_dim, 1.0F,
                        job_.outputs.output);
    }
    if (Base::softmax()) store_log_sum_exp(first, units);
  }

  template <typename Work>
  HEADWAY_INLINE void sweep(Index first, Index units, const Work& work) {
    const Index end = Base::visible_keys(first, units);
    for (Index key = 0; key < end; key += limits_.keys) {
      const Index left = end - key;
      const Tile tile{first, units, key, left < limits_.keys ? left : limits_.keys};
      Base::compute_scores(tile, query_);
      work(tile);
    }
  }

  void add_output(const Tile& tile) {
    if (!Base::softmax()) {
      Base::linear_weights(tile, nullptr);
    } else {
      if (Base::plain()) {
        online_softmax(tile, true);
      } else {
        Base::softmax_weights(tile, largest_);
      }
      if (job_.dropout != nullptr) Base::drop(tile, score_);
    }
    if (Base::plain()) {
      add_plain(tile);
    } else {
      add_generated(tile);
    }
  }

  // score_ becomes exp(s - largest so far), and what was summed before is rescaled to that.
  void online_softmax(const Tile& tile, bool with_output) {
    Base::hide_scores(tile);
    const Index dv = n_.value_dim;
    for (Index h = 0; h < job_.heads; ++h) {
      for (Index q = 0; q < tile.units; ++q) {
        Vec* s = score_ + h * tile.pairs() + q * tile.keys;
        const Index at = q * job_.heads + h;
        Vec largest = largest_[at];
        for (Index k = 0; k < tile.keys; ++k) largest = maximum(s[k], largest);
        const Vec shrink = exponential(largest_[at] - largest);
        Vec sum = sum_[at] * shrink;
        for (Index k = 0; k < tile.keys; ++k) {
          s[k] = exponential(s[k] - largest);
          sum += s[k];
        }
        largest_[at] = largest;
        sum_[at] = sum;
        if (!with_output) continue;
        Vec* o = output_ + q * Base::value_row() + h * dv;
        for (Index e = 0; e < dv; ++e) o[e] *= shrink;
      }
    }
  }

  void divide_output(Index units) {
    for (Index i = 0; i < units * job_.heads; ++i) {
      const Vec factor = select(sum_[i] == Vec{}, Vec{}, 1.0F / sum_[i]);
      Vec* o = output_ + i / job_.heads * Base::value_row() + i % job_.heads * n_.value_dim;
      for (Index e = 0; e < n_.value_dim; ++e) o[e] *= factor;
    }
  }

  // largest_ becomes log sum_k exp s.
  void finish_sums(Index units) {
    for (Index i = 0; i < units * job_.heads; ++i) {
      largest_[i] =
          select(sum_[i] == Vec{}, broadcast(__builtin_inff()), largest_[i] + logarithm(sum_[i]));
    }
  }

  void store_log_sum_exp(Index first, Index units) {
    for (Index q = 0; q < units; ++q) {
      for (Index h = 0; h < job_.heads; ++h) {
        const auto rows = Base::head_rows_of(first + q, h);
        const Vec x = largest_[q * job_.heads + h];
        for (Index l = 0; l < rows.count; ++l) {
          job_.outputs.log_sum_exp[rows.offset + l * rows.stride] = x[l];
        }
      }
    }
  }

  // o[unit][head] += sum_k b phi(v[key][head])
  void add_plain(const Tile& tile) {
    const Index dv = n_.value_dim;
    lane_gemm<typename Base::Element>(
        {tile.units, dv, tile.keys, job_.heads}, {score_, tile.keys, 1, tile.pairs()},
        {Base::value_ + tile.first_key * Base::value_step_, Base::value_step_, 1, dv},
        {output_, Base::value_row(), 1, dv}, true);
  }

  // o[unit][head] += sum_k b phi(u[unit][key]), or of u2
  void add_generated(const Tile& tile) {
    const Index dv = n_.value_dim;
    const Index count = tile.pairs() * dv;
    const Nonlinearity phi = job_.options.nonlinearity;
    Base::generate(tile, score_);
    Vec* w = Base::hidden_;
    apply(phi, count, w, w);
    if (Base::deep()) {
      w = Base::last_;
      Base::mix(tile, score_, Base::hidden_, w);
      apply(phi, count, w, w);
    }
    lane_gemm<Vec>({job_.heads, dv, tile.keys, tile.units}, {score_, tile.pairs(), 1, tile.keys},
                   {w, dv, 1, tile.keys * dv}, {output_, dv, 1, Base::value_row()}, true);
  }

  Vec* query_;    // [unit][head][d], scaled
  Vec* output_;   // [unit][head][dv]
  Vec* largest_;  // [unit][head]: largest score, then log sum exp
  Vec* sum_;      // [unit][head]
};

}  // namespace headway::training::HEADWAY_KERNELS
