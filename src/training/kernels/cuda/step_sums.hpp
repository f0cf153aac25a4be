#pragma once

#include "training/kernels/cuda/step_columns.hpp"
#include "training/kernels/cuda/step_elements.hpp"

// The kernels of a training step that work on all layers or all parameters at once.
namespace headway::training::HEADWAY_GPU {

constexpr int kMostStepLayers = detail::StepPositions::kMostLayers;

/// Block y is a layer.
struct PositionsKernel {
  struct Layer {
    int queries, keys, first;
    ArrayOfRuns<const float> table;
    ArrayOfRuns<float> out;
  };
  int heads, farthest;
  Global<const std::int32_t> bucket_of;
  Layer layers[kMostStepLayers];

  template <typename Memory>
  HEADWAY_DEVICE void operator()(Block& block, Memory&) const {
    const Layer& layer = layers[block.y()];
    const std::int64_t pairs = static_cast<std::int64_t>(layer.queries) * layer.keys;
    for_numbers(block, heads * pairs, [&](std::int64_t i) {
      const auto query = static_cast<int>(i % pairs / layer.keys);
      const auto key = static_cast<int>(i % layer.keys);
      const int bucket = get_bits(bucket_of, layer.first + query - key + farthest);
      put(layer.out, i, get(layer.table, bucket * heads + i / pairs));
    });
  }
};

/// Block x is a head, block y a layer. Threads add up the pairs of a distance, in slices of the
/// queries, then the slices, and then one the distances of a bucket.
struct PositionsGradientKernel {
  struct Layer {
    int queries, keys, first;
    ArrayOfRuns<const float> d_scores;
    ArrayOfRuns<float> d_table;
  };
  static constexpr int kSums = 1024;  // about so many are made at once
  static constexpr int kQueriesAtOnce = 4;

  int heads, buckets, farthest;
  Global<const std::int32_t> bucket_of;
  Layer layers[kMostStepLayers];

  static HEADWAY_BOTH int slices_of(int distances) {
    return distances < kSums ? kSums / distances : 1;
  }

  template <typename Memory>
  HEADWAY_DEVICE void operator()(Block& block, Memory& memory) const {
    const Layer& layer = layers[block.y()];
    const int head = block.x_of_run();
    const int distances = 2 * farthest + 1;
    const int slices = slices_of(distances);
    const Shared<float> sums = memory.template take<float>("of distance", slices * distances);
    const Shared<int> bucket = memory.template take<int>("bucket", distances);
    const Global<const float> scores =
        layer.d_scores + static_cast<std::int64_t>(head) * layer.queries * layer.keys;
    for_each(block, slices, distances, [&](int slice, int i) {
      put(sums, slice * distances + i, sum_of(layer, scores, slice, slices, farthest - i));
    });
    for_each(block, distances, [&](int i) {
      put_bits(bucket, i, get_bits(bucket_of, i));
      float sum = 0.0F;
      for (int slice = 0; slice < slices; ++slice) sum += get(sums, slice * distances + i);
      put(sums, i, sum);
    });
    for_each(block, buckets, [&](int b) {
      float sum = 0.0F;
      for (int i = 0; i < distances; ++i) sum += get_bits(bucket, i) == b ? get(sums, i) : 0.0F;
      put(layer.d_table, static_cast<std::int64_t>(b) * heads + head, sum);
    });
  }

 private:
  // Of a slice of the queries, each with the key so much further.
  static HEADWAY_DEVICE float sum_of(const Layer& layer, const Global<const float>& scores,
                                     int slice, int slices, int further) {
    float sum = 0.0F;
    for (int from = slice; from < layer.queries; from += kQueriesAtOnce * slices) {
      float x[kQueriesAtOnce];
      HEADWAY_UNROLL
      for (int j = 0; j < kQueriesAtOnce; ++j) {
        const int query = from + j * slices;
        const int key = layer.first + query + further;
        const bool there = query < layer.queries && key >= 0 && key < layer.keys;
        x[j] = there ? get(scores, static_cast<std::int64_t>(query) * layer.keys + key) : 0.0F;
      }
      HEADWAY_UNROLL
      for (const float one : x) sum += one;
    }
    return sum;
  }
};

/// Block y is a part.
struct BlocksKernel {
  struct Part {
    std::int64_t rows, row;
    int columns;
    ArrayOfRuns<const float> from;
    ArrayOfRuns<float> to;
  };
  Part parts[kMostStepLayers];

  template <typename Memory>
  HEADWAY_DEVICE void operator()(Block& block, Memory&) const {
    const Part& part = parts[block.y()];
    for_numbers(block, part.rows * part.columns, [&](std::int64_t i) {
      put(part.to, i, get(part.from, i / part.columns * part.row + i % part.columns));
    });
  }
};

constexpr int kSumColumns = 7;  // of the table of StepSums

/// Parameters that lie beside each other: row `block` of the table.
struct ParameterRow {
  std::int64_t first_copy, copies, step, first;
  int count;
  bool decayed;
  float rate;
};
HEADWAY_DEVICE ParameterRow row_of(Global<const std::int64_t> table, int block) {
  const std::int64_t row = static_cast<std::int64_t>(block) * kSumColumns;
  return {get_bits(table, row),
          get_bits(table, row + 1),
          get_bits(table, row + 2),
          get_bits(table, row + 3),
          static_cast<int>(get_bits(table, row + 4)),
          get_bits(table, row + 5) != 0,
          float_of(static_cast<std::uint32_t>(get_bits(table, row + 6)))};
}

/// of_warps becomes the sums of number(thread) over the lanes of each warp.
template <typename Number>
HEADWAY_DEVICE void add_up(Block& block, Shared<double> of_warps, const Number& number) {
  block.warps([&](const Warp& warp) {
    Lanes<double> sum;
    warp.lanes([&](int lane) { sum[lane] = number(warp.index() * kTeam + lane); });
    add_up_lanes(warp, [&](int lane) -> double& { return sum[lane]; });
    warp.lanes([&](int lane) {
      if (lane == 0) put_bits(of_warps, warp.index(), sum[lane]);
    });
  });
}
/// Of all threads, a phase later.
HEADWAY_DEVICE double total(Shared<double> of_warps) {
  double sum = 0.0;
  HEADWAY_UNROLL
  for (int i = 0; i < kTeams; ++i) sum += get_bits(of_warps, i);
  return sum;
}

/// Block x has a row of the table; the last one has the loss.
struct SumsKernel {
  static_assert(detail::StepSums::kNumbersOfBlock <= ColumnsOfBlock::kMostColumns);

  int blocks;
  Global<const std::int64_t> table;
  Global<const float> copies;
  ArrayOfRuns<float> gradients;
  ArrayOfRuns<double> squares;
  std::int64_t losses_count;
  double loss_scale;
  ArrayOfRuns<const float> losses;
  ArrayOfRuns<double> loss;

  template <typename Memory>
  HEADWAY_DEVICE void operator()(Block& block, Memory& memory) const {
    const Shared<double> of_warps = memory.template take<double>("sums of warps", kTeams);
    const Shared<float> partial =
        memory.template take<float>("partial", ColumnsOfBlock::kSharedFloats);
    const bool last = block.x_of_run() == blocks;
    if (last) {
      add_up(block, of_warps, [&](int thread) {
        double sum = 0.0;
        for (std::int64_t i = thread; i < losses_count; i += kStepThreads) sum += get(losses, i);
        return sum;
      });
    } else {
      sum_row(block, partial, of_warps);
    }
    block.threads([&](int thread) {
      if (thread != 0) return;
      if (last) {
        put_bits(loss, 0, total(of_warps) * loss_scale);
      } else {
        put_bits(squares, block.x_of_run(), total(of_warps));
      }
    });
  }

  // Gradients, and the sums of their squares.
  HEADWAY_DEVICE void sum_row(Block& block, Shared<float> partial, Shared<double> of_warps) const {
    const ParameterRow row = row_of(table, block.x_of_run());
    const ColumnsOfBlock mine(row.count);
    mine.add_rows(block, copies + (row.first_copy + run_of_block() * row.copies * row.step),
                  row.copies, row.step, partial);
    const Global<float> to = gradients + row.first;
    add_up(block, of_warps, [&](int thread) {
      double square = 0.0;
      for (int i = thread; i < row.count; i += kStepThreads) {
        const float sum = mine.sum(partial, i);
        put(to, i, sum);
        square += static_cast<double>(sum) * static_cast<double>(sum);
      }
      return square;
    });
  }
};

/// Each block finds the norm and whether all is finite for itself, from what earlier launches
/// wrote, and then has every row of the table that is a multiple of kMostBlocks further: the norm
/// is as much to read as some rows.
struct UpdateKernel {
  static constexpr int kMostBlocks = 528;  // of a run: four on each multiprocessor of an H100

  int blocks;
  Global<const std::int64_t> table;
  ArrayOfRuns<const float> gradients;
  ArrayOfRuns<const double> squares, loss;
  ArrayOfRuns<const float> numbers;
  ArrayOfRuns<float> first, second, values;
  ArrayOfRuns<double> history;
  double most_norm;
  float beta_1, beta_2, rest_1, rest_2, epsilon;

  template <typename Memory>
  HEADWAY_DEVICE void operator()(Block& block, Memory& memory) const {
    const Shared<double> of_warps = memory.template take<double>("sums of warps", kTeams);
    const Shared<double> dead = memory.template take<double>("dead", kTeams);
    const auto place = static_cast<int>(get(numbers, 3));
    if (place < 0) return;  // the run makes no update now
    add_up(block, of_warps, [&](int thread) {
      double sum = 0.0;
      for (int i = thread; i < blocks; i += kStepThreads) sum += get_bits(squares, i);
      return sum;
    });
    add_up(block, dead, [&](int thread) {
      if (thread >= 2 * place) return 0.0;
      // Of a number that is not finite the difference is not 0.
      const double x = get_bits(history, thread);
      return x - x == 0.0 ? 0.0 : 1.0;
    });
    block.threads([&](int thread) {
      const double norm = sqrt(total(of_warps));
      const double value = get_bits(loss, 0);
      const bool finite = norm - norm == 0.0 && value - value == 0.0;
      if (finite && total(dead) == 0.0) {
        const Change change = change_of(norm);
        for (int i = block.x_of_run(); i < blocks; i += kMostBlocks) {
          update_row(row_of(table, i), thread, change);
        }
      }
      if (block.x_of_run() != 0 || thread != 0) return;
      put_bits(history, 2 * place, value);
      put_bits(history, 2 * place + 1, norm);
    });
  }

 private:
  struct Change {
    float clip, rate, decay, correction;
  };
  HEADWAY_DEVICE Change change_of(double norm) const {
    const float clip =
        most_norm > 0.0 && norm > most_norm ? static_cast<float>(most_norm / norm) : 1.0F;
    return {clip, get(numbers, 0), get(numbers, 2), get(numbers, 1)};
  }

  HEADWAY_DEVICE void update_row(const ParameterRow& row, int thread, const Change& change) const {
    constexpr int kOfThread = 4;
    static_assert(detail::StepSums::kNumbersOfBlock <= kOfThread * kStepThreads);
    const float shrink = row.decayed ? 1.0F - row.rate * change.decay : 1.0F;
    const float rate = row.rate * change.rate;
    const std::int64_t start = row.first + thread;
    const Global<const float> d = gradients + start;
    const Global<float> at_first = first + start;
    const Global<float> at_second = second + start;
    const Global<float> at_value = values + start;
    // All numbers are loaded before the first is written: a load does not wait for another.
    float g[kOfThread], m[kOfThread], v[kOfThread], x[kOfThread];
    HEADWAY_UNROLL
    for (int k = 0; k < kOfThread; ++k) {
      const int i = k * kStepThreads;
      if (thread + i >= row.count) continue;
      g[k] = get(d, i);
      m[k] = get(at_first, i);
      v[k] = get(at_second, i);
      x[k] = get(at_value, i);
    }
    HEADWAY_UNROLL
    for (int k = 0; k < kOfThread; ++k) {
      const int i = k * kStepThreads;
      if (thread + i >= row.count) continue;
      g[k] *= change.clip;
      m[k] = m[k] * beta_1 + g[k] * rest_1;
      v[k] = v[k] * beta_2 + g[k] * g[k] * rest_2;
      put(at_first, i, m[k]);
      put(at_second, i, v[k]);
      put(at_value, i, x[k] * shrink - m[k] / (sqrtf(v[k] * change.correction) + epsilon) * rate);
    }
  }
};

}  // namespace headway::training::HEADWAY_GPU
