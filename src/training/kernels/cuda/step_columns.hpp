#pragma once

#include "training/kernels/cuda/step_rows.hpp"
#include "training/step/step_operations.hpp"

// The kernels of a training step that add up rows of matrices, column by column: of a gradient, or
// copies of one that several blocks or products left.
namespace headway::training::HEADWAY_GPU {

/// How a block adds up the rows of a matrix of at most kMostColumns columns. A lane has kOfLane
/// columns; warps beside each other cover a row, and where that leaves warps, slices of them share
/// the rows. Several rows are loaded at once: memory is far, and waits for nobody.
struct ColumnsOfBlock {
  static constexpr int kOfLane = 4;
  static constexpr int kOfWarp = kOfLane * kTeam;
  static constexpr int kMostColumns = kTeams * kOfWarp;
  static constexpr int kSharedFloats = kMostColumns;  // the most that all slices have
  static constexpr int kRowsAtOnce = 4;

  int columns, wide, slices;

  HEADWAY_DEVICE explicit ColumnsOfBlock(int count)
      : columns(count), wide(ceiling(count, kOfWarp)), slices(kTeams / wide) {}

  /// Sums of each slice. From a row of `from` to the next are `step` numbers.
  template <typename Array>
  HEADWAY_DEVICE void add_rows(Block& block, const Array& from, std::int64_t rows,
                               std::int64_t step, Shared<float> partial) const {
    block.warps([&](const Warp& warp) {
      const int slice = warp.index() / wide;
      if (slice >= slices) return;
      const int first = warp.index() % wide * kOfWarp;
      warp.lanes([&](int lane) {
        const int left = columns - first - lane;
        OfLane<kOfLane> sum = {};
        for (std::int64_t row = slice; row < rows; row += kRowsAtOnce * slices) {
          OfLane<kOfLane> x[kRowsAtOnce];
          HEADWAY_UNROLL
          for (int r = 0; r < kRowsAtOnce; ++r) {
            const std::int64_t mine = row + r * slices;
            load(from + (mine * step + first + lane), mine < rows ? left : 0, x[r]);
          }
          HEADWAY_UNROLL
          for (int r = 0; r < kRowsAtOnce; ++r) {
            HEADWAY_UNROLL
            for (int i = 0; i < kOfLane; ++i) sum.x[i] += x[r].x[i];
          }
        }
        const Shared<float> to = partial + (slice * columns + first + lane);
        for_columns<kOfLane>(left, [&](int i, int at) { put(to, at, sum.x[i]); });
      });
    });
  }
  /// Of all rows; a phase after add_rows.
  HEADWAY_DEVICE float sum(Shared<float> partial, int column) const {
    float total = 0.0F;
    for (int slice = 0; slice < slices; ++slice) total += get(partial, slice * columns + column);
    return total;
  }
};

/// Block y is a part; block x a group of its rows and kColumns of its columns.
struct ColumnSumsKernel {
  struct Part {
    Numbers<const float> x;
    int columns, groups;
    RowGroups rows;
    ArrayOfRuns<float> sums;
  };
  static constexpr int kMostParts = detail::StepColumnSums::kMostParts;
  static constexpr int kColumns = 512;
  Part parts[kMostParts];

  template <typename Memory>
  HEADWAY_DEVICE void operator()(Block& block, Memory& memory) const {
    const Part& part = parts[block.y()];
    const Shared<float> partial =
        memory.template take<float>("partial", ColumnsOfBlock::kSharedFloats);
    const int pieces = ceiling(part.columns, kColumns);
    const int group = block.x_of_run() / pieces;
    if (group >= part.groups) return;
    const int first = block.x_of_run() % pieces * kColumns;
    const ColumnsOfBlock mine(part.columns - first < kColumns ? part.columns - first : kColumns);
    const std::int64_t row = part.rows.first(group);
    const std::int64_t rows = part.rows.first(group + 1) - row;
    const std::int64_t from = row * part.columns + first;
    if (part.x.are_bf16()) {
      mine.add_rows(block, part.x.halves + from, rows, part.columns, partial);
    } else {
      mine.add_rows(block, part.x.floats + from, rows, part.columns, partial);
    }
    const Global<float> to = part.sums + (static_cast<std::int64_t>(group) * part.columns + first);
    for_each(block, mine.columns, [&](int c) { put(to, c, mine.sum(partial, c)); });
  }
};

/// Block y is a part, block x has kColumns of its numbers.
struct CopySumsKernel {
  struct Part {
    int copies;
    float factor;
    std::int64_t count;
    ArrayOfRuns<const float> from;
    Numbers<float> out;
  };
  static constexpr int kMostParts = detail::StepPositions::kMostLayers;
  static constexpr int kColumns = ColumnsOfBlock::kOfWarp;
  Part parts[kMostParts];

  template <typename Memory>
  HEADWAY_DEVICE void operator()(Block& block, Memory& memory) const {
    const Part& part = parts[block.y()];
    const Shared<float> partial =
        memory.template take<float>("partial", ColumnsOfBlock::kSharedFloats);
    const std::int64_t first = static_cast<std::int64_t>(block.x_of_run()) * kColumns;
    if (first >= part.count) return;
    const ColumnsOfBlock mine(part.count - first < kColumns ? static_cast<int>(part.count - first)
                                                            : kColumns);
    mine.add_rows(block, part.from + first, part.copies, part.count, partial);
    for_each(block, mine.columns,
             [&](int c) { put(part.out, first + c, part.factor * mine.sum(partial, c)); });
  }
};

/// Block x is an entry of the table, block y kColumns of its columns. Warps look through the ids
/// for rows of the entry and write down which they are; then each adds up those that it found.
struct LookUpGradientKernel {
  static constexpr int kOfLane = 2;
  static constexpr int kColumns = kOfLane * kTeam;
  static constexpr int kIdsOfLane = 16;  // that are looked through at once
  static constexpr int kIdsOfWarp = kIdsOfLane * kTeam;
  static constexpr int kRowsAtOnce = 8;

  std::int64_t rows;
  int dim;
  ArrayOfRuns<const std::int32_t> ids;
  ArrayOfRuns<const float> dy;
  ArrayOfRuns<float> d_table;

  template <typename Memory>
  HEADWAY_DEVICE void operator()(Block& block, Memory& memory) const {
    const Shared<int> found = memory.template take<int>("rows found", kTeams * kIdsOfWarp);
    const Shared<float> partial = memory.template take<float>("partial", kTeams * kColumns);
    const int first = block.y() * kColumns;
    const int columns = dim - first < kColumns ? dim - first : kColumns;
    WarpLanes<int, kTeams> counts;
    WarpLanes<OfLane<kOfLane>, kTeams> sums;
    for (std::int64_t start = 0; start < rows; start += kTeams * kIdsOfWarp) {
      block.warps([&](const Warp& warp) {
        const int count = look_through(warp, block.x_of_run(), start, found);
        warp.lanes([&](int lane) { counts[warp][lane] = count; });
      });
      block.warps([&](const Warp& warp) {
        warp.lanes([&](int lane) {
          add_rows(dy + (start * dim + first + lane), columns - lane,
                   found + warp.index() * kIdsOfWarp, counts[warp][lane], sums[warp][lane]);
        });
      });
    }
    block.warps([&](const Warp& warp) {
      warp.lanes([&](int lane) {
        const Shared<float> to = partial + (warp.index() * kColumns + lane);
        for_columns<kOfLane>(columns - lane,
                             [&](int i, int at) { put(to, at, sums[warp][lane].x[i]); });
      });
    });
    const Global<float> to = d_table + (static_cast<std::int64_t>(block.x_of_run()) * dim + first);
    for_each(block, columns, [&](int c) {
      float sum = 0.0F;
      HEADWAY_UNROLL
      for (int w = 0; w < kTeams; ++w) sum += get(partial, w * kColumns + c);
      put(to, c, sum);
    });
  }

 private:
  struct Ids {
    std::int32_t of[kIdsOfLane];
  };
  // Id j of a lane, counted from `start`: warps take turns.
  static HEADWAY_DEVICE int place(const Warp& warp, int lane, int j) {
    return (j * kTeams + warp.index()) * kTeam + lane;
  }

  // How many of the warp's ids are the entry; found[n] is then where, from `start` on.
  HEADWAY_DEVICE int look_through(const Warp& warp, int entry, std::int64_t start,
                                  Shared<int> found) const {
    const Global<const std::int32_t> from = ids + start;
    Lanes<Ids> all;
    warp.lanes([&](int lane) {
      HEADWAY_UNROLL
      for (int j = 0; j < kIdsOfLane; ++j) {
        const int i = place(warp, lane, j);
        all[lane].of[j] = i < rows - start ? get_bits(from, i) : -1;
      }
    });
    int count = 0;
    HEADWAY_UNROLL
    for (int j = 0; j < kIdsOfLane; ++j) {
      const std::uint32_t which = votes(warp, [&](int lane) { return all[lane].of[j] == entry; });
      warp.lanes([&](int lane) {
        if ((which >> lane & 1U) == 0) return;
        const int before = count_bits(which & ((1U << lane) - 1U));
        put_bits(found, warp.index() * kIdsOfWarp + count + before, place(warp, lane, j));
      });
      count += count_bits(which);
    }
    return count;
  }

  HEADWAY_DEVICE void add_rows(const Global<const float>& from, int left, const Shared<int>& found,
                               int count, OfLane<kOfLane>& sum) const {
    for (int n = 0; n < count; n += kRowsAtOnce) {
      OfLane<kOfLane> x[kRowsAtOnce];
      HEADWAY_UNROLL
      for (int r = 0; r < kRowsAtOnce; ++r) {
        const bool there = n + r < count;
        const std::int64_t row = there ? get_bits(found, n + r) : 0;
        load(from + row * dim, there ? left : 0, x[r]);
      }
      HEADWAY_UNROLL
      for (int r = 0; r < kRowsAtOnce; ++r) {
        HEADWAY_UNROLL
        for (int i = 0; i < kOfLane; ++i) sum.x[i] += x[r].x[i];
      }
    }
  }
};

}  // namespace headway::training::HEADWAY_GPU
