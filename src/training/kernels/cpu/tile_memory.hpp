#pragma once

#include "training/kernels/cpu/attention_kernels.hpp"
#include "training/kernels/cpu/lane_vector.hpp"

// Tiles of an attention job and the memory that they work in.
namespace headway::training::HEADWAY_KERNELS {

using detail::AttentionJob;
using detail::LaneAxis;

// Operands that are vectors where lanes are examples, and numbers that all lanes share where lanes
// are queries: keys and values.
template <LaneAxis axis>
struct KeyOperand {
  using Element = float;
};
template <>
struct KeyOperand<LaneAxis::kExamples> {
  using Element = Vec;
};

struct Tile {
  Index first_unit, units, first_key, keys;
  [[nodiscard]] Index pairs() const { return units * keys; }
};

// Hands out pieces of the workspace; from a null base it only counts.
class Arena {
 public:
  explicit Arena(float* base) : base_(reinterpret_cast<Vec*>(base)) {}
  Vec* take(Index count) {
    Vec* piece = base_ == nullptr ? nullptr : base_ + taken_;
    taken_ += count;
    return piece;
  }
  float* take_floats(Index count) {
    return reinterpret_cast<float*>(take((count + kLanes - 1) / kLanes));
  }
  [[nodiscard]] Index floats() const { return taken_ * kLanes; }

 private:
  Vec* base_;
  Index taken_ = 0;
};

struct TileLimits {
  Index units, keys;
};

}  // namespace headway::training::HEADWAY_KERNELS
