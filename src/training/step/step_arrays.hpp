// Arrays of a hand-written training step.
#pragma once

#include <cstddef>
#include <type_traits>

#include "headway/types.hpp"

namespace headway::training::detail {

/// An array of each run: that of run r begins at data + r step.
template <typename T>
struct OfRuns {
  T* data = nullptr;
  Index step = 0;

  template <typename U>
  requires(std::is_same_v<U, const T> && !std::is_same_v<U, T>) operator OfRuns<U>()
      const {  // NOLINT: as T* converts
    return {data, step};
  }
  friend OfRuns operator+(OfRuns p, Index n) { return {p.data + n, p.step}; }
  bool operator==(std::nullptr_t) const { return data == nullptr; }
};

/// `row` numbers from a row to the next, `batch` from one matrix of a run to the next.
template <typename Float>
struct StepMatrix {
  OfRuns<Float> data = {};
  Index row = 0;
  Index batch = 0;
};

}  // namespace headway::training::detail
