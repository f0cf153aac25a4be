#pragma once

#include "training/kernels/cuda/attention_arguments.hpp"

// The kernels of a training step that work row by row (training/step/step_operations.hpp says what
// each computes). Blocks have kStepThreads threads, if nothing else is said. Where a row is summed,
// a team of kTeam threads has it, a warp, and adds up always in the same order.
//
// Sizes are those of one run. Of a stack of runs each has blocks of its own, which see its arrays
// alone.
namespace headway::training::HEADWAY_GPU {

constexpr int kStepThreads = 256;
constexpr int kTeam = 32;
constexpr int kTeams = kStepThreads / kTeam;

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

/// Some numbers of a row: lane l of a warp has those in columns first + l, first + l + kTeam, ...
/// and 0 for columns that the row does not have. They stay in registers.
template <int count>
struct OfLane {
  static constexpr int kColumns = count * kTeam;  // that a warp has
  float x[count];
};

/// work(i, i kTeam) for the columns of a lane, of `left` from its first one on. An array from there
/// on and a step that the compiler knows make an address without arithmetic.
template <int count, typename Work>
HEADWAY_DEVICE void for_columns(int left, const Work& work) {
  HEADWAY_UNROLL
  for (int i = 0; i < count; ++i) {
    if (i * kTeam < left) work(i, i * kTeam);
  }
}
template <int count, typename Array>
HEADWAY_DEVICE void load(const Array& from, int left, OfLane<count>& to) {
  HEADWAY_UNROLL
  for (float& x : to.x) x = 0.0F;
  for_columns<count>(left, [&](int i, int at) { to.x[i] = get(from, at); });
}
/// Asks once, and not for each number, what they are: a load that is asked about waits for its
/// number before the next one starts.
template <int count>
HEADWAY_DEVICE void load(const Numbers<const float>& x, std::int64_t at, int left,
                         OfLane<count>& to) {
  if (x.are_bf16()) {
    load(x.halves + at, left, to);
  } else {
    load(x.floats + at, left, to);
  }
}

/// number(lane, j), j < numbers, becomes its sum over all lanes, the same for each. The numbers go
/// side by side, since each step of one waits for the step before.
template <int numbers, typename Number>
HEADWAY_DEVICE void add_up_lanes(const Warp& warp, const Number& number) {
  HEADWAY_UNROLL
  for (int mask = 1; mask < kTeam; mask *= 2) {
    HEADWAY_UNROLL
    for (int j = 0; j < numbers; ++j) {
      exchange(
          warp, mask, [&](int lane) { return number(lane, j); },
          [&](int lane, auto other) { number(lane, j) += other; });
    }
  }
}
template <typename Number>
HEADWAY_DEVICE void add_up_lanes(const Warp& warp, const Number& number) {
  add_up_lanes<1>(
      warp, [&](int lane, int) -> auto& { return number(lane); });
}

/// Rows that are cut into groups of the same size, or a row more: the first ones.
struct RowGroups {
  std::int64_t each;
  int longer;

  RowGroups() = default;
  RowGroups(std::int64_t rows, int groups)
      : each(rows / groups), longer(static_cast<int>(rows % groups)) {}
  HEADWAY_DEVICE std::int64_t first(int group) const {
    return group * each + (group < longer ? group : longer);
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

}  // namespace headway::training::HEADWAY_GPU
