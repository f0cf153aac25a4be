#pragma once

#include "training/kernels/cuda/step_elements.hpp"

// The kernels of a training step that work on all layers or all parameters at once.
namespace headway::training::HEADWAY_GPU {

constexpr int kMostStepLayers = 40;

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

/// Block x is a head, block y a layer. A thread sums the pairs of a distance, then one those of a
/// bucket.
struct PositionsGradientKernel {
  struct Layer {
    int queries, keys, first;
    ArrayOfRuns<const float> d_scores;
    ArrayOfRuns<float> d_table;
  };
  int heads, buckets, farthest;
  Global<const std::int32_t> bucket_of;
  Layer layers[kMostStepLayers];

  template <typename Memory>
  HEADWAY_DEVICE void operator()(Block& block, Memory& memory) const {
    const Layer& layer = layers[block.y()];
    const int head = block.x_of_run();
    const int distances = 2 * farthest + 1;
    const Shared<float> of_distance = memory.template take<float>("of distance", distances);
    for_each(block, distances, [&](int i) {
      float sum = 0.0F;
      for (int query = 0; query < layer.queries; ++query) {
        const int key = layer.first + query - (i - farthest);
        if (key < 0 || key >= layer.keys) continue;
        const std::int64_t row = static_cast<std::int64_t>(head) * layer.queries + query;
        sum += get(layer.d_scores, row * layer.keys + key);
      }
      put(of_distance, i, sum);
    });
    for_each(block, buckets, [&](int bucket) {
      float sum = 0.0F;
      for (int i = 0; i < distances; ++i) {
        if (get_bits(bucket_of, i) == bucket) sum += get(of_distance, i);
      }
      put(layer.d_table, static_cast<std::int64_t>(bucket) * heads + head, sum);
    });
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

/// Block y is a part.
struct CopySumsKernel {
  struct Part {
    int copies;
    float factor;
    std::int64_t count;
    ArrayOfRuns<const float> from;
    Numbers<float> out;
  };
  Part parts[kMostStepLayers];

  template <typename Memory>
  HEADWAY_DEVICE void operator()(Block& block, Memory&) const {
    const Part& part = parts[block.y()];
    for_numbers(block, part.count, [&](std::int64_t i) {
      float sum = 0.0F;
      for (int c = 0; c < part.copies; ++c) sum += get(part.from, c * part.count + i);
      put(part.out, i, part.factor * sum);
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

/// partial[0] becomes the sum of all, which are as many as a block has threads.
HEADWAY_DEVICE void add_up(Block& block, Shared<double> partial) {
  for (int half = kStepThreads / 2; half > 0; half /= 2) {
    block.threads([&](int thread) {
      if (thread >= half) return;
      put_bits(partial, thread, get_bits(partial, thread) + get_bits(partial, thread + half));
    });
  }
}

/// Block x has a row of the table; the last one has the loss.
struct SumsKernel {
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
    const Shared<double> partial = memory.template take<double>("partial", kStepThreads);
    const bool last = block.x_of_run() == blocks;
    if (last) {
      block.threads([&](int thread) {
        double sum = 0.0;
        for (std::int64_t i = thread; i < losses_count; i += kStepThreads) sum += get(losses, i);
        put_bits(partial, thread, sum);
      });
    } else {
      const ParameterRow row = row_of(table, block.x_of_run());
      block.threads([&](int thread) { put_bits(partial, thread, sum_row(row, thread)); });
    }
    add_up(block, partial);
    block.threads([&](int thread) {
      if (thread != 0) return;
      if (last) {
        put_bits(loss, 0, get_bits(partial, 0) * loss_scale);
      } else {
        put_bits(squares, block.x_of_run(), get_bits(partial, 0));
      }
    });
  }

  // The gradients of a thread; returns the sum of their squares.
  HEADWAY_DEVICE double sum_row(const ParameterRow& row, int thread) const {
    double square = 0.0;
    const std::int64_t first = row.first_copy + run_of_block() * row.copies * row.step;
    for (int i = thread; i < row.count; i += kStepThreads) {
      float sum = 0.0F;
      for (std::int64_t c = 0; c < row.copies; ++c) {
        sum += get(copies, first + c * row.step + i);
      }
      put(gradients, row.first + i, sum);
      square += static_cast<double>(sum) * static_cast<double>(sum);
    }
    return square;
  }
};

/// Block x has a row of the table. Each finds the norm and whether all is finite for itself, from
/// what earlier launches wrote.
struct UpdateKernel {
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
    const Shared<double> partial = memory.template take<double>("partial", kStepThreads);
    const Shared<double> dead = memory.template take<double>("dead", kStepThreads);
    const auto place = static_cast<int>(get(numbers, 3));
    if (place < 0) return;  // the run makes no update now
    block.threads([&](int thread) {
      double sum = 0.0;
      for (int i = thread; i < blocks; i += kStepThreads) sum += get_bits(squares, i);
      put_bits(partial, thread, sum);
      // Of a number that is not finite the difference is not 0.
      double before = 0.0;
      if (thread < 2 * place) {
        const double x = get_bits(history, thread);
        before = x - x == 0.0 ? 0.0 : 1.0;
      }
      put_bits(dead, thread, before);
    });
    add_up(block, partial);
    add_up(block, dead);
    block.threads([&](int thread) {
      const double norm = sqrt(get_bits(partial, 0));
      const double value = get_bits(loss, 0);
      const bool finite = norm - norm == 0.0 && value - value == 0.0;
      if (finite && get_bits(dead, 0) == 0.0)
        update_row(row_of(table, block.x_of_run()), thread, norm);
      if (block.x_of_run() != 0 || thread != 0) return;
      put_bits(history, 2 * place, value);
      put_bits(history, 2 * place + 1, norm);
    });
  }

  HEADWAY_DEVICE void update_row(const ParameterRow& row, int thread, double norm) const {
    const float clip =
        most_norm > 0.0 && norm > most_norm ? static_cast<float>(most_norm / norm) : 1.0F;
    const float shrink = row.decayed ? 1.0F - row.rate * get(numbers, 2) : 1.0F;
    const float rate = row.rate * get(numbers, 0);
    for (int i = thread; i < row.count; i += kStepThreads) {
      const std::int64_t at = row.first + i;
      const float g = clip * get(gradients, at);
      const float m = get(first, at) * beta_1 + g * rest_1;
      const float v = get(second, at) * beta_2 + g * g * rest_2;
      put(first, at, m);
      put(second, at, v);
      put(values, at, get(values, at) * shrink - m / (sqrtf(v * get(numbers, 1)) + epsilon) * rate);
    }
  }
};

}  // namespace headway::training::HEADWAY_GPU
