#include "training/trainer/example_order.hpp"

#include <algorithm>
#include <bit>

namespace headway::training::detail {
namespace {

constexpr unsigned kEpochBits = 32;

/// The finaliser of splitmix64 (Steele, Lea and Flood, OOPSLA 2014).
std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31U);
}

}  // namespace

RandomPermutation::RandomPermutation(Index size, Rng& rng)
    : size_(static_cast<std::uint64_t>(size)) {
  const auto bits = static_cast<unsigned>(std::bit_width(size_ - 1));
  half_bits_ = (std::max(bits, 2U) + 1) / 2;
  for (std::uint64_t& key : keys_) key = rng.next_u64();
}

std::uint64_t RandomPermutation::step(std::uint64_t value) const {
  const std::uint64_t half = (std::uint64_t{1} << half_bits_) - 1;
  std::uint64_t left = value >> half_bits_, right = value & half;
  for (const std::uint64_t key : keys_) {
    const std::uint64_t next = left ^ (mixed(right ^ key) & half);
    left = right;
    right = next;
  }
  return (left << half_bits_) | right;
}

Index RandomPermutation::operator()(Index i) const {
  auto value = static_cast<std::uint64_t>(i);
  do {
    value = step(value);
  } while (value >= size_);
  return static_cast<Index>(value);
}

Index ExampleOrder::row(Index example) const {
  const Index place = example % rows_;
  return walk_ == Walk::kInOrder ? place : shuffled(example / rows_, place);
}

Index ExampleOrder::shuffled(Index epoch, Index place) const {
  Rng rng(seed_, StreamPurpose::kTrainExamples, static_cast<std::uint64_t>(epoch));
  if (rows_ <= window_) return RandomPermutation(rows_, rng)(place);
  const Index whole_blocks = rows_ / kBlock;
  const RandomPermutation blocks(whole_blocks, rng);
  const Index window = place / window_, first = window * window_;
  Rng of_window(
      seed_, StreamPurpose::kTrainExamples,
      (static_cast<std::uint64_t>(window + 1) << kEpochBits) + static_cast<std::uint64_t>(epoch));
  const RandomPermutation inside(std::min(window_, rows_ - first), of_window);
  const Index at = first + inside(place - first);
  const Index block = at / kBlock;
  return (block < whole_blocks ? blocks(block) : block) * kBlock + at % kBlock;
}

}  // namespace headway::training::detail
