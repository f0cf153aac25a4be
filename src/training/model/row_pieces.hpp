// How the rows of a batch are cut for threads and caches, never depending on the number of threads.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "headway/core/parallel.hpp"
#include "headway/types.hpp"

namespace headway::training::detail {

inline constexpr Index kChunkRows = 256;                     // a chunk stays in the second cache
inline constexpr Index kMostGroups = 16;                     // most threads that sum gradients
inline constexpr Index kMostPartialFloats = Index{1} << 26;  // 256 MiB of partial sums

/// `units` of `unit_rows` rows that stay together (the tokens of an example), in chunks of several
/// units, in groups of several chunks: a group has a partial sum of its own.
struct RowPieces {
  Index units, unit_rows, chunk_units, chunks, groups;

  RowPieces(Index unit_count, Index rows_of_unit, Index partial_floats)
      : units(unit_count), unit_rows(rows_of_unit) {
    chunk_units = std::max(Index{1}, std::min(units, (kChunkRows + unit_rows - 1) / unit_rows));
    chunks = (units + chunk_units - 1) / chunk_units;
    groups = std::min(chunks, kMostGroups);
    if (partial_floats > 0) groups = std::min(groups, kMostPartialFloats / partial_floats);
    groups = std::max(Index{1}, groups);
  }
  [[nodiscard]] Index chunk_rows() const { return chunk_units * unit_rows; }

  /// body(first unit, number of units) for each chunk, in parallel.
  template <typename Body>
  void for_chunks(int threads, const Body& body) const {
    parallel_for(chunks, threads, [&](Index c) { run_chunk(c, body); });
  }
  /// body(group, first unit, units): groups in parallel, the chunks of a group in order.
  template <typename Body>
  void for_groups(int threads, const Body& body) const {
    parallel_for(groups, threads, [&](Index g) {
      for (Index c = g * chunks / groups; c < (g + 1) * chunks / groups; ++c) {
        run_chunk(c, [&](Index first, Index count) { body(g, first, count); });
      }
    });
  }

 private:
  template <typename Body>
  void run_chunk(Index chunk, const Body& body) const {
    const Index first = chunk * chunk_units;
    body(first, std::min(chunk_units, units - first));
  }
};

/// Memory of a thread that is used again by the next call: fresh pages would cost as much as a
/// layer. Slots are apart from each other.
float* thread_buffer(int slot, Index floats);

/// W^T of a row-major W [rows, columns], made once for the products of all chunks. These are a
/// seventh faster if their second factor need not be transposed.
class TransposedWeight {
 public:
  TransposedWeight(const float* weight, Index rows, Index columns);
  /// [columns, rows].
  [[nodiscard]] const float* data() const { return data_.get(); }

 private:
  std::unique_ptr<float[]> data_;
};

/// Where the gradients of parameters are summed: one copy for each group, added in index order.
class PartialSums {
 public:
  /// How a sum begins: with zeros, or with the first matrix product that is written to it.
  enum class Begins { kZero, kProduct };
  struct Part {
    float* out;  ///< overwritten by finish(); null: nobody wants it
    Index floats;
    Begins begins = Begins::kZero;
  };
  PartialSums(Index groups, std::vector<Part> parts);
  /// To be called before each chunk of `group`: the beta of the products that write its sums, 0 at
  /// the first chunk, which must write them whole, and 1 at the others.
  float begin_chunk(Index group);
  /// The copy of part `part` of `group`.
  float* at(Index group, std::size_t part) {
    return sums_.get() + group * stride_ + offsets_[part];
  }
  void finish(int threads) const;

 private:
  std::vector<Part> parts_;
  std::vector<Index> offsets_;
  std::vector<char> begun_;
  Index stride_ = 0;
  Index groups_;
  std::unique_ptr<float[]> sums_;
};

}  // namespace headway::training::detail
