#pragma once

#include "training/kernels/cuda/step_rows.hpp"

// The kernels of the norms of a training step and of their gradients.
namespace headway::training::HEADWAY_GPU {

constexpr float kStepNormEpsilon = 1e-6F;

/// A warp has a row, and keeps it in registers if it is not too long.
struct NormKernel {
  static constexpr int kShort = 4, kLong = 8;  // columns of a lane

  std::int64_t rows;
  int dim;
  bool centred;
  ArrayOfRuns<const float> x, scale, bias;
  Numbers<float> y;
  ArrayOfRuns<float> stats;
  // Of what a product left to the norm (StepNorm::Added); `sums` is x, or null.
  ArrayOfRuns<float> sums;
  ArrayOfRuns<const float> product_bias, stream;
  int tokens;
  TokenSteps stream_steps;

  template <typename Memory>
  HEADWAY_DEVICE void operator()(Block& block, Memory&) const {
    block.warps([&](const Warp& warp) {
      const std::int64_t row = static_cast<std::int64_t>(block.x_of_run()) * kTeams + warp.index();
      if (row >= rows) return;
      if (dim <= kShort * kTeam) {
        of_row<kShort>(warp, row);
      } else {
        of_row<kLong>(warp, row);
      }
    });
  }

 private:
  template <int count>
  struct Row {
    OfLane<count> x;
    float mean, square;
  };

  // x of a row, from what a product left. Of a long row `to` has the last part then.
  template <int count>
  HEADWAY_DEVICE void add_stream(int lane, std::int64_t row, OfLane<count>& to) const {
    const auto number = static_cast<int>(row);
    const Global<const float> from =
        stream + (number / tokens * stream_steps.example + number % tokens * stream_steps.token);
    for (int c = lane; c - lane < dim; c += OfLane<count>::kColumns) {
      const Global<float> place = sums + (row * dim + c);
      OfLane<count> before, shift = {};
      load(place, dim - c, to);
      load(from + c, dim - c, before);
      if (!(product_bias == nullptr)) load(product_bias + c, dim - c, shift);
      for_columns<count>(dim - c, [&](int i, int at) {
        to.x[i] = to.x[i] + shift.x[i] + before.x[i];
        put(place, at, to.x[i]);
      });
    }
  }

  template <int count>
  HEADWAY_DEVICE void of_row(const Warp& warp, std::int64_t row) const {
    const Global<const float> from = x + row * dim;
    const auto dims = static_cast<float>(dim);
    Lanes<Row<count>> all;
    // work(lane, columns from there on, what it has of the row) for each part of the row.
    const auto for_parts = [&](const auto& work) {
      warp.lanes([&](int lane) {
        for (int c = lane; c - lane < dim; c += OfLane<count>::kColumns) {
          // A short row is loaded once.
          if (dim > OfLane<count>::kColumns) load(from + c, dim - c, all[lane].x);
          work(c, dim - c, all[lane]);
        }
      });
    };
    if (sums == nullptr) {
      warp.lanes([&](int lane) { load(from + lane, dim - lane, all[lane].x); });
    } else {
      warp.lanes([&](int lane) { add_stream(lane, row, all[lane].x); });
    }
    if (centred) {
      for_parts([&](int, int, Row<count>& mine) {
        HEADWAY_UNROLL
        for (const float number : mine.x.x) mine.mean += number;
      });
      add_up_lanes(warp, [&](int lane) -> float& { return all[lane].mean; });
      warp.lanes([&](int lane) { all[lane].mean /= dims; });
    }
    for_parts([&](int, int left, Row<count>& mine) {
      for_columns<count>(left, [&](int i, int) {
        const float d = mine.x.x[i] - mine.mean;
        mine.square = fused(d, d, mine.square);
      });
    });
    add_up_lanes(warp, [&](int lane) -> float& { return all[lane].square; });
    warp.lanes([&](int lane) {
      Row<count>& mine = all[lane];
      mine.square = 1.0F / sqrtf(mine.square / dims + kStepNormEpsilon);
      if (lane == 0) put(stats, 2 * row, mine.mean);
      if (lane == 1) put(stats, 2 * row + 1, mine.square);
    });
    for_parts([&](int c, int left, const Row<count>& mine) {
      OfLane<count> factor, shift = {};
      load(scale + c, left, factor);
      if (!(bias == nullptr)) load(bias + c, left, shift);
      const auto number = [&](int i) {
        return (mine.x.x[i] - mine.mean) * mine.square * factor.x[i] + shift.x[i];
      };
      if (y.are_bf16()) {
        const Global<Bf16> to = y.halves + (row * dim + c);
        for_columns<count>(left, [&](int i, int at) { put(to, at, number(i)); });
      } else {
        const Global<float> to = y.floats + (row * dim + c);
        for_columns<count>(left, [&](int i, int at) { put(to, at, number(i)); });
      }
    });
  }
};

/// Block x is a group of rows. A warp takes a few rows at a time, keeps them in registers, and
/// there adds up the gradients of scale and bias over its rows; the block adds up its warps. Of
/// rows longer than a warp keeps, it reads all columns of its rows once for each part that it
/// keeps.
struct NormGradientKernel {
  static constexpr int kMostThreads = 512;  // there are few groups: many warps for each
  static constexpr int kFewestBlocks = 1;   // a row takes more registers than two leave
  static constexpr int kWarps = kMostThreads / kTeam;
  static constexpr int kShort = 4, kLong = 8;  // columns of a lane

  int dim;
  RowGroups groups;
  bool centred;
  ArrayOfRuns<const float> x, stats, scale, base;
  Numbers<const float> dy;
  ArrayOfRuns<float> dx, scale_sums, bias_sums;
  ArrayOfRuns<Bf16> rounded;

  /// Columns that are kept at once.
  static HEADWAY_BOTH int kept(int dim) {
    const int most = (dim <= kShort * kTeam ? kShort : kLong) * kTeam;
    return dim < most ? dim : most;
  }
  static HEADWAY_BOTH int shared_floats(int dim) { return 2 * kWarps * kept(dim); }

  template <typename Memory>
  HEADWAY_DEVICE void operator()(Block& block, Memory& memory) const {
    const Shared<float> sums = memory.template take<float>("sums of warps", shared_floats(dim));
    for (int first = 0; first < dim; first += kept(dim)) {
      if (dim <= kShort * kTeam) {
        sum_rows<kShort>(block, first, sums);
      } else {
        sum_rows<kLong>(block, first, sums);
      }
      const int columns = dim - first < kept(dim) ? dim - first : kept(dim);
      for_each(block, 2 * columns, [&](int i) {
        const bool of_scale = i < columns;
        const int c = of_scale ? i : i - columns;
        const ArrayOfRuns<float>& to = of_scale ? scale_sums : bias_sums;
        if (to == nullptr) return;
        float sum = 0.0F;
        HEADWAY_UNROLL
        for (int w = 0; w < kWarps; ++w) sum += get(sums, place(w, of_scale ? 0 : 1) + c);
        put(to, static_cast<std::int64_t>(block.x_of_run()) * dim + first + c, sum);
      });
    }
  }

 private:
  template <int count>
  struct Row {
    OfLane<count> normed, dy, before;
    float r;       // 1 / deviation
    float sum[2];  // of dy scale, and of that times normed
  };
  /// That a warp has at once: kWarps lie between one and the next.
  template <int count>
  struct Rows {
    static constexpr int kAtOnce = 2 * kLong / count;
    Row<count> of[kAtOnce];
  };
  template <int count>
  struct Sums {
    OfLane<count> scale, bias;
  };

  HEADWAY_DEVICE int place(int warp, int which) const { return (2 * warp + which) * kept(dim); }

  // work(r, row) for the rows of a warp.
  template <int count, typename Work>
  static HEADWAY_DEVICE void for_rows_at_once(std::int64_t first, std::int64_t end,
                                              const Work& work) {
    HEADWAY_UNROLL
    for (int r = 0; r < Rows<count>::kAtOnce; ++r) {
      if (first + r * kWarps < end) work(r, first + r * kWarps);
    }
  }

  template <int count>
  HEADWAY_DEVICE void load_rows(std::int64_t first, std::int64_t end, int c,
                                Rows<count>& to) const {
    float mean[Rows<count>::kAtOnce] = {};
    for_rows_at_once<count>(first, end, [&](int r, std::int64_t row) {
      load(x + (row * dim + c), dim - c, to.of[r].normed);
      const Global<const float> of_row = stats + 2 * row;
      mean[r] = get(of_row, 0);
      to.of[r].r = get(of_row, 1);
    });
    // Asked once for all rows, or each would wait for its numbers before the next one starts.
    if (dy.are_bf16()) {
      for_rows_at_once<count>(first, end, [&](int r, std::int64_t row) {
        load(dy.halves + (row * dim + c), dim - c, to.of[r].dy);
      });
    } else {
      for_rows_at_once<count>(first, end, [&](int r, std::int64_t row) {
        load(dy.floats + (row * dim + c), dim - c, to.of[r].dy);
      });
    }
    HEADWAY_UNROLL
    for (int r = 0; r < Rows<count>::kAtOnce; ++r) {
      HEADWAY_UNROLL
      for (float& number : to.of[r].normed.x) number = (number - mean[r]) * to.of[r].r;
    }
  }

  // dx of columns `first` on, and sums over the rows of each warp.
  template <int count>
  HEADWAY_DEVICE void sum_rows(Block& block, int first, Shared<float> sums) const {
    constexpr int kColumns = OfLane<count>::kColumns;
    constexpr int kAtOnce = Rows<count>::kAtOnce;
    block.warps([&](const Warp& warp) {
      const std::int64_t end = groups.first(block.x_of_run() + 1);
      std::int64_t row = groups.first(block.x_of_run()) + warp.index();
      Lanes<Sums<count>> of_rows;
      for (; row < end; row += kAtOnce * kWarps) {
        Lanes<Rows<count>> rows;
        warp.lanes([&](int lane) {
          Rows<count>& mine = rows[lane];
          const int own = first + lane;
          if (!(base == nullptr)) {
            for_rows_at_once<count>(row, end, [&](int r, std::int64_t one) {
              load(base + (one * dim + own), dim - own, mine.of[r].before);
            });
          }
          for (int c = lane; c - lane < dim; c += kColumns) {
            OfLane<count> factor;
            load(scale + c, dim - c, factor);
            load_rows(row, end, c, mine);
            HEADWAY_UNROLL
            for (Row<count>& one : mine.of) add_to_sums(factor, one);
          }
        });
        add_up_lanes<2 * kAtOnce>(
            warp, [&](int lane, int j) -> float& { return rows[lane].of[j / 2].sum[j % 2]; });
        warp.lanes([&](int lane) {
          Rows<count>& mine = rows[lane];
          if (dim > kColumns) load_rows(row, end, first + lane, mine);
          write_rows(row, end, first + lane, mine);
          HEADWAY_UNROLL
          for (const Row<count>& one : mine.of) {
            HEADWAY_UNROLL
            for (int i = 0; i < count; ++i) {
              of_rows[lane].scale.x[i] += one.dy.x[i] * one.normed.x[i];
              of_rows[lane].bias.x[i] += one.dy.x[i];
            }
          }
        });
      }
      warp.lanes([&](int lane) {
        const Shared<float> of_scale = sums + (place(warp.index(), 0) + lane);
        const Shared<float> of_bias = sums + (place(warp.index(), 1) + lane);
        for_columns<count>(dim - first - lane, [&](int i, int at) {
          put(of_scale, at, of_rows[lane].scale.x[i]);
          put(of_bias, at, of_rows[lane].bias.x[i]);
        });
      });
    });
  }

  template <int count>
  static HEADWAY_DEVICE void add_to_sums(const OfLane<count>& factor, Row<count>& row) {
    HEADWAY_UNROLL
    for (int i = 0; i < count; ++i) {
      const float g = row.dy.x[i] * factor.x[i];
      row.sum[0] += g;
      row.sum[1] = fused(g, row.normed.x[i], row.sum[1]);
    }
  }

  template <int count>
  HEADWAY_DEVICE void write_rows(std::int64_t first, std::int64_t end, int c,
                                 const Rows<count>& rows) const {
    const auto dims = static_cast<float>(dim);
    OfLane<count> factor;
    load(scale + c, dim - c, factor);
    for_rows_at_once<count>(first, end, [&](int r, std::int64_t row) {
      const Row<count>& mine = rows.of[r];
      const float mean = centred ? mine.sum[0] / dims : 0.0F;
      const float along = mine.sum[1] / dims;
      const auto number = [&](int i) {
        const float d = mine.dy.x[i] * factor.x[i] - mean - mine.normed.x[i] * along;
        return mine.before.x[i] + mine.r * d;
      };
      const Global<float> to = dx + (row * dim + c);
      for_columns<count>(dim - c, [&](int i, int at) { put(to, at, number(i)); });
      if (rounded == nullptr) return;
      const Global<Bf16> halves = rounded + (row * dim + c);
      for_columns<count>(dim - c, [&](int i, int at) { put(halves, at, number(i)); });
    });
  }
};

}  // namespace headway::training::HEADWAY_GPU
