#pragma once

#include "training/kernels/cuda/attention_arguments.hpp"

// The kernels of a training step that work row by row (training/step/step_operations.hpp says what
// each computes). Blocks have kStepThreads threads. Where a row is summed, a team of kTeam threads
// has it, and the first of them adds up what the others found: always in the same order.
//
// Sizes are those of one run. Of a stack of runs each has blocks of its own, which see its arrays
// alone.
namespace headway::training::HEADWAY_GPU {

constexpr int kStepThreads = 256;
constexpr int kTeam = 32;
constexpr int kTeams = kStepThreads / kTeam;
constexpr float kStepNormEpsilon = 1e-6F;

/// NumbersOfRuns: floats or bf16, the other is null. get and put convert.
template <typename Float>
struct Numbers {
  using Half = std::conditional_t<std::is_const_v<Float>, const Bf16, Bf16>;
  ArrayOfRuns<Float> floats;
  ArrayOfRuns<Half> halves;

  HEADWAY_DEVICE bool are_bf16() const { return !(halves == nullptr); }
  HEADWAY_DEVICE bool operator==(std::nullptr_t) const {
    return floats == nullptr && halves == nullptr;
  }
  /// A number that goes into a product with these.
  HEADWAY_DEVICE float operand(float x) const { return are_bf16() ? to_float(to_bf16(x)) : x; }
};
template <typename Float>
HEADWAY_DEVICE float get(const Numbers<Float>& x, std::int64_t i) {
  return x.are_bf16() ? get(x.halves, i) : get(x.floats, i);
}
template <typename Float>
HEADWAY_DEVICE void put(const Numbers<Float>& x, std::int64_t i, float value) {
  if (x.are_bf16()) {
    put(x.halves, i, value);
  } else {
    put(x.floats, i, value);
  }
}

/// Partial sums of a block's threads, and one number of each team.
struct TeamSums {
  Shared<float> partial;  // [threads]
  Shared<float> whole;    // [teams]

  template <typename Memory>
  HEADWAY_DEVICE TeamSums(Memory& memory, const char* name)
      : partial(memory.template take<float>(name, kStepThreads)),
        whole(memory.template take<float>(name, kTeams)) {}

  /// The sum of what the team of `thread` found; for its first thread, a phase later.
  HEADWAY_DEVICE float sum(int thread) const {
    float total = 0.0F;
    for (int i = 0; i < kTeam; ++i) total += get(partial, thread + i);
    return total;
  }
};

/// Threads of a block as teams of a row each: work(thread, team, lane, row) for rows that exist.
template <typename Work>
HEADWAY_DEVICE void for_rows(Block& block, std::int64_t first, std::int64_t end, const Work& work) {
  block.threads([&](int thread) {
    const std::int64_t row = first + thread / kTeam;
    if (row < end) work(thread, thread / kTeam, thread % kTeam, row);
  });
}

struct NormKernel {
  std::int64_t rows;
  int dim;
  bool centred;
  ArrayOfRuns<const float> x, scale, bias;
  Numbers<float> y;
  ArrayOfRuns<float> stats;

  template <typename Memory>
  HEADWAY_DEVICE void operator()(Block& block, Memory& memory) const {
    TeamSums means(memory, "means");
    TeamSums squares(memory, "squares");
    const std::int64_t first = static_cast<std::int64_t>(block.x_of_run()) * kTeams;
    const auto dims = static_cast<float>(dim);
    for_rows(block, first, rows, [&](int thread, int, int lane, std::int64_t row) {
      float sum = 0.0F;
      for (int c = lane; centred && c < dim; c += kTeam) sum += get(x, row * dim + c);
      put(means.partial, thread, sum);
    });
    for_rows(block, first, rows, [&](int thread, int team, int lane, std::int64_t) {
      if (lane == 0) put(means.whole, team, means.sum(thread) / dims);
    });
    for_rows(block, first, rows, [&](int thread, int team, int lane, std::int64_t row) {
      const float mean = get(means.whole, team);
      float sum = 0.0F;
      for (int c = lane; c < dim; c += kTeam) {
        const float d = get(x, row * dim + c) - mean;
        sum = fused(d, d, sum);
      }
      put(squares.partial, thread, sum);
    });
    for_rows(block, first, rows, [&](int thread, int team, int lane, std::int64_t row) {
      if (lane != 0) return;
      const float r = 1.0F / sqrtf(squares.sum(thread) / dims + kStepNormEpsilon);
      put(squares.whole, team, r);
      put(stats, 2 * row, get(means.whole, team));
      put(stats, 2 * row + 1, r);
    });
    for_rows(block, first, rows, [&](int, int team, int lane, std::int64_t row) {
      const float mean = get(means.whole, team);
      const float r = get(squares.whole, team);
      for (int c = lane; c < dim; c += kTeam) {
        const float shift = bias == nullptr ? 0.0F : get(bias, c);
        put(y, row * dim + c, (get(x, row * dim + c) - mean) * r * get(scale, c) + shift);
      }
    });
  }
};

/// Block x is a group of rows.
struct NormGradientKernel {
  std::int64_t rows;
  int dim, groups;
  bool centred;
  ArrayOfRuns<const float> x, stats, scale, base;
  Numbers<const float> dy;
  ArrayOfRuns<float> dx, scale_sums, bias_sums;
  ArrayOfRuns<Bf16> rounded;

  HEADWAY_DEVICE float normed(std::int64_t row, int c) const {
    return (get(x, row * dim + c) - get(stats, 2 * row)) * get(stats, 2 * row + 1);
  }
  HEADWAY_DEVICE void write_row(std::int64_t row, int lane, float mean, float along) const {
    const float r = get(stats, 2 * row + 1);
    for (int c = lane; c < dim; c += kTeam) {
      const std::int64_t at = row * dim + c;
      const float d = r * (get(dy, at) * get(scale, c) - mean - normed(row, c) * along);
      const float sum = base == nullptr ? d : get(base, at) + d;
      put(dx, at, sum);
      if (!(rounded == nullptr)) put(rounded, at, sum);
    }
  }

  template <typename Memory>
  HEADWAY_DEVICE void operator()(Block& block, Memory& memory) const {
    TeamSums means(memory, "means");
    TeamSums along(memory, "along");
    const Shared<float> d_scale = memory.template take<float>("d_scale", dim);
    const Shared<float> d_bias = memory.template take<float>("d_bias", dim);
    fill(block, d_scale, dim, 0.0F);
    fill(block, d_bias, dim, 0.0F);
    const auto dims = static_cast<float>(dim);
    const std::int64_t end = (block.x_of_run() + 1) * rows / groups;
    for (std::int64_t first = block.x_of_run() * rows / groups; first < end; first += kTeams) {
      for_rows(block, first, end, [&](int thread, int, int lane, std::int64_t row) {
        float sum = 0.0F;
        float with_x = 0.0F;
        for (int c = lane; c < dim; c += kTeam) {
          const float g = get(dy, row * dim + c) * get(scale, c);
          sum += g;
          with_x = fused(g, normed(row, c), with_x);
        }
        put(means.partial, thread, sum);
        put(along.partial, thread, with_x);
      });
      for_rows(block, first, end, [&](int thread, int team, int lane, std::int64_t) {
        if (lane != 0) return;
        put(means.whole, team, centred ? means.sum(thread) / dims : 0.0F);
        put(along.whole, team, along.sum(thread) / dims);
      });
      for_rows(block, first, end, [&](int, int team, int lane, std::int64_t row) {
        write_row(row, lane, get(means.whole, team), get(along.whole, team));
      });
      const std::int64_t last = first + kTeams < end ? first + kTeams : end;
      for_each(block, dim, [&](int c) {
        for (std::int64_t row = first; row < last; ++row) {
          const float d = get(dy, row * dim + c);
          add(d_scale, c, d * normed(row, c));
          add(d_bias, c, d);
        }
      });
    }
    for_each(block, dim, [&](int c) {
      put(scale_sums, static_cast<std::int64_t>(block.x_of_run()) * dim + c, get(d_scale, c));
      if (bias_sums == nullptr) return;
      put(bias_sums, static_cast<std::int64_t>(block.x_of_run()) * dim + c, get(d_bias, c));
    });
  }
};

/// The loss of each row and its gradient, times `share`.
struct LossKernel {
  std::int64_t rows;
  int outputs;
  float share;
  ArrayOfRuns<const float> y, targets;
  ArrayOfRuns<const std::int32_t> classes;
  ArrayOfRuns<float> losses;
  Numbers<float> dy;

  template <typename Memory>
  HEADWAY_DEVICE void operator()(Block& block, Memory& memory) const {
    const std::int64_t first = static_cast<std::int64_t>(block.x_of_run()) * kTeams;
    TeamSums sums(memory, "sums");
    if (classes == nullptr) {
      squared_error(block, first, sums);
    } else {
      TeamSums largest(memory, "largest");
      cross_entropy(block, first, sums, largest);
    }
  }

  HEADWAY_DEVICE void squared_error(Block& block, std::int64_t first, const TeamSums& sums) const {
    for_rows(block, first, rows, [&](int thread, int, int lane, std::int64_t row) {
      float sum = 0.0F;
      for (int c = lane; c < outputs; c += kTeam) {
        const float d = get(y, row * outputs + c) - get(targets, row * outputs + c);
        sum = fused(d, d, sum);
        put(dy, row * outputs + c, 2.0F * d * share);
      }
      put(sums.partial, thread, sum);
    });
    for_rows(block, first, rows, [&](int thread, int, int lane, std::int64_t row) {
      if (lane == 0) put(losses, row, sums.sum(thread));
    });
  }

  HEADWAY_DEVICE void cross_entropy(Block& block, std::int64_t first, const TeamSums& sums,
                                    const TeamSums& largest) const {
    for_rows(block, first, rows, [&](int thread, int, int lane, std::int64_t row) {
      float most = -INFINITY;
      for (int c = lane; c < outputs; c += kTeam) {
        const float number = get(y, row * outputs + c);
        if (!(number <= most)) most = number;  // a NaN stays one
      }
      put(largest.partial, thread, most);
    });
    for_rows(block, first, rows, [&](int thread, int team, int lane, std::int64_t) {
      if (lane != 0) return;
      float most = get(largest.partial, thread);
      for (int i = 1; i < kTeam; ++i) {
        const float number = get(largest.partial, thread + i);
        if (!(number <= most)) most = number;
      }
      put(largest.whole, team, most);
    });
    for_rows(block, first, rows, [&](int thread, int team, int lane, std::int64_t row) {
      float sum = 0.0F;
      for (int c = lane; c < outputs; c += kTeam) {
        sum += expf(get(y, row * outputs + c) - get(largest.whole, team));
      }
      put(sums.partial, thread, sum);
    });
    for_rows(block, first, rows, [&](int thread, int team, int lane, std::int64_t row) {
      if (lane != 0) return;
      const float log_sum = get(largest.whole, team) + logf(sums.sum(thread));
      put(sums.whole, team, log_sum);
      put(losses, row, log_sum - get(y, row * outputs + get_bits(classes, row)));
    });
    for_rows(block, first, rows, [&](int, int team, int lane, std::int64_t row) {
      const int right = get_bits(classes, row);
      for (int c = lane; c < outputs; c += kTeam) {
        const float p = expf(get(y, row * outputs + c) - get(sums.whole, team));
        put(dy, row * outputs + c, (p - (c == right ? 1.0F : 0.0F)) * share);
      }
    });
  }
};

/// Block y is a part; block x a group of its rows and kTeam of its columns.
struct ColumnSumsKernel {
  struct Part {
    Numbers<const float> x;
    std::int64_t rows;
    int columns, groups;
    ArrayOfRuns<float> sums;
  };
  static constexpr int kMostParts = 40;
  Part parts[kMostParts];

  template <typename Memory>
  HEADWAY_DEVICE void operator()(Block& block, Memory& memory) const {
    const Part& part = parts[block.y()];
    const Shared<float> partial = memory.template take<float>("partial", kStepThreads);
    const int runs = ceiling(part.columns, kTeam);
    const int group = block.x_of_run() / runs;
    if (group >= part.groups) return;
    const int first_column = block.x_of_run() % runs * kTeam;
    const std::int64_t end = (group + 1) * part.rows / part.groups;
    block.threads([&](int thread) {
      const int column = first_column + thread % kTeam;
      float sum = 0.0F;
      if (column < part.columns) {
        for (std::int64_t row = group * part.rows / part.groups + thread / kTeam; row < end;
             row += kTeams) {
          sum += get(part.x, row * part.columns + column);
        }
      }
      put(partial, thread, sum);
    });
    block.threads([&](int thread) {
      const int column = first_column + thread;
      if (thread >= kTeam || column >= part.columns) return;
      float sum = 0.0F;
      for (int i = 0; i < kTeams; ++i) sum += get(partial, i * kTeam + thread);
      put(part.sums, static_cast<std::int64_t>(group) * part.columns + column, sum);
    });
  }
};

}  // namespace headway::training::HEADWAY_GPU
