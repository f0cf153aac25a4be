// Arrays of a hand-written training step.
#pragma once

#include <cstddef>
#include <type_traits>

#include "headway/types.hpp"
#include "training/kernels/cuda/bf16.hpp"

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

/// An array of each run of what products read or write: floats, or bf16 where that is the step's
/// precision. The other of the two is null. Float is float or const float.
template <typename Float>
struct NumbersOfRuns {
  using Half = std::conditional_t<std::is_const_v<Float>, const Bf16, Bf16>;
  using Void = std::conditional_t<std::is_const_v<Float>, const void, void>;
  OfRuns<Float> floats = {};
  OfRuns<Half> halves = {};

  NumbersOfRuns() = default;
  template <typename T>
  requires std::is_convertible_v<OfRuns<T>, OfRuns<Float>> NumbersOfRuns(OfRuns<T> x)  // NOLINT
      : floats(x) {}
  template <typename T>
  requires std::is_convertible_v<OfRuns<T>, OfRuns<Half>> NumbersOfRuns(OfRuns<T> x)  // NOLINT
      : halves(x) {}
  template <typename T>
  requires(std::is_same_v<Float, const T> && !std::is_same_v<Float, T>)
      NumbersOfRuns(const NumbersOfRuns<T>& x)  // NOLINT: as T* converts
      : floats(x.floats), halves(x.halves) {}

  [[nodiscard]] bool is_bf16() const { return halves.data != nullptr; }
  /// Of one number.
  [[nodiscard]] Index bytes() const { return is_bf16() ? 2 : 4; }
  [[nodiscard]] Index step() const { return is_bf16() ? halves.step : floats.step; }
  [[nodiscard]] Void* data() const {
    return is_bf16() ? static_cast<Void*>(halves.data) : static_cast<Void*>(floats.data);
  }
  bool operator==(std::nullptr_t) const { return data() == nullptr; }
  friend NumbersOfRuns operator+(const NumbersOfRuns& x, Index n) {
    if (x.is_bf16()) return {x.halves + n};
    return {x.floats + n};
  }
};

/// `row` numbers from a row to the next, `batch` from one matrix of a run to the next.
template <typename Float>
struct StepMatrix {
  NumbersOfRuns<Float> data = {};
  Index row = 0;
  Index batch = 0;
};

}  // namespace headway::training::detail
