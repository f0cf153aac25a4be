// Arrays of a stack of runs on the emulator, for operations of the hand-written step one by one.
#pragma once

#include <algorithm>
#include <cmath>
#include <deque>
#include <vector>

#include "emulated_step.hpp"
#include "headway/core/rng.hpp"
#include "larger.hpp"

namespace headway::testing::stacks {

using training::Bf16;
using training::detail::NumbersOfRuns;
using training::detail::OfRuns;

constexpr Index kRuns = 2;
constexpr Index kGap = 3;  // between the arrays of two runs: the second begins off every grid

/// Arrays of a stack of runs on the emulator.
class Stack {
 public:
  OfRuns<const float> numbers(Index count) {
    std::vector<float>& x = floats_.emplace_back(static_cast<std::size_t>(size_of(count)));
    for (float& one : x) one = static_cast<float>(rng_.normal());
    return adopt(x, count);
  }
  OfRuns<const Bf16> halves(Index count) {
    std::vector<Bf16>& x = halves_.emplace_back(static_cast<std::size_t>(size_of(count)));
    for (Bf16& one : x) one = training::to_bf16(static_cast<float>(rng_.normal()));
    return adopt(x, count);
  }
  NumbersOfRuns<const float> either(Index count, bool bf16) {
    if (bf16) return halves(count);
    return numbers(count);
  }
  OfRuns<const std::int32_t> ids(Index count, Index below) {
    std::vector<std::int32_t>& x = ids_.emplace_back(static_cast<std::size_t>(size_of(count)));
    // The first ones are frequent, as letters of a text are.
    for (auto& one : x) {
      const double u = rng_.uniform();
      one = static_cast<std::int32_t>(u * u * static_cast<double>(below));
    }
    return adopt(x, count);
  }
  template <typename T>
  const T* table(const std::vector<T>& numbers) {
    return device_.array("table", numbers);
  }
  template <typename T = float>
  OfRuns<T> unwritten(Index count) {
    return {device_.array<T>("output", size_of(count)), count + kGap};
  }
  void run(const training::detail::StepOperation& operation) { device_.run(operation); }

 private:
  static Index size_of(Index count) { return kRuns * (count + kGap); }
  template <typename T>
  OfRuns<const T> adopt(const std::vector<T>& x, Index count) {
    device_.adopt("input", x.data(), size_of(count), sizeof(T));
    return {x.data(), count + kGap};
  }

  EmulatedStepDevice device_;
  headway::Rng rng_{3, headway::StreamPurpose::kTests};
  std::deque<std::vector<float>> floats_;
  std::deque<std::vector<Bf16>> halves_;
  std::deque<std::vector<std::int32_t>> ids_;
};

template <typename T>
double at(const OfRuns<T>& x, Index run, Index i) {
  return training::to_float(x.data[run * x.step + i]);
}
inline double at(const OfRuns<const std::int32_t>& x, Index run, Index i) {
  return x.data[run * x.step + i];
}
inline double at(const NumbersOfRuns<const float>& x, Index run, Index i) {
  return x.is_bf16() ? at(x.halves, run, i) : at(x.floats, run, i);
}

/// The largest difference of two arrays of all runs, beside the largest number of the first.
class Difference {
 public:
  void add(double wanted, double found) {
    largest_ = larger(largest_, std::abs(wanted));
    const double d = std::abs(wanted - found);
    most_ = larger(most_, d);
  }
  [[nodiscard]] double relative() const { return most_ / largest_; }

 private:
  double largest_ = 0.0, most_ = 0.0;
};

}  // namespace headway::testing::stacks
