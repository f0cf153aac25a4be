#pragma once

#include <array>
#include <cstdint>

#include "headway/core/rng.hpp"
#include "headway/types.hpp"

namespace headway::training::detail {

/// A random permutation of 0, ..., size - 1 of which any entry can be had at any time, in memory
/// that does not grow: a Feistel network on the least even number of bits that holds size - 1,
/// walked until it lands below `size` (Black and Rogaway, CT-RSA 2002; at most four steps on
/// average).
class RandomPermutation {
 public:
  /// size >= 1; the keys of the rounds are the next numbers of `rng`.
  RandomPermutation(Index size, Rng& rng);
  /// 0 <= i < size
  [[nodiscard]] Index operator()(Index i) const;

 private:
  static constexpr std::size_t kRounds = 8;

  [[nodiscard]] std::uint64_t step(std::uint64_t value) const;

  std::uint64_t size_;
  unsigned half_bits_ = 1;
  std::array<std::uint64_t, kRounds> keys_{};
};

/// How the examples of a set follow each other.
enum class Walk { kShuffled, kInOrder };

/// The row of every example of an endless walk through a set. In each epoch every row comes once.
///
/// Shuffled: the order of an epoch is drawn from the stream (seed, kTrainExamples, epoch). A set of
/// at most `window` rows is permuted as a whole. In a larger one, blocks of kBlock consecutive rows
/// are permuted, the shorter one at the end apart, and cut into windows of `window` rows; the rows
/// of window w are permuted, from the stream of index (w + 1) 2^32 + epoch. So whoever holds one
/// window reads every block once an epoch.
class ExampleOrder {
 public:
  static constexpr Index kBlock = 64;

  /// `window`: a multiple of kBlock
  ExampleOrder(Walk walk, Index rows, Index window, std::uint64_t seed)
      : walk_(walk), rows_(rows), window_(window), seed_(seed) {}

  [[nodiscard]] Index row(Index example) const;

 private:
  [[nodiscard]] Index shuffled(Index epoch, Index place) const;

  Walk walk_;
  Index rows_, window_;
  std::uint64_t seed_;
};

}  // namespace headway::training::detail
