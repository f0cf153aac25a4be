// Kernels of the hand-written step one by one, on the emulator, beside plain sums in double
// precision: rows of every length, groups of every size, floats and bf16, and stacks of runs, whose
// arrays begin anywhere.
#include <cmath>
#include <deque>
#include <string>
#include <vector>

#include "catch.hpp"
#include "emulated_step.hpp"
#include "headway/core/rng.hpp"

using namespace headway::training;  // NOLINT: a test
using namespace headway::testing;   // NOLINT
using namespace detail;             // NOLINT
using headway::Index;

namespace {

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
    for (Bf16& one : x) one = to_bf16(static_cast<float>(rng_.normal()));
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
  template <typename T = float>
  OfRuns<T> unwritten(Index count) {
    return {device_.array<T>("output", size_of(count)), count + kGap};
  }
  void run(const StepOperation& operation) { device_.run(operation); }

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
  return to_float(x.data[run * x.step + i]);
}
double at(const OfRuns<const std::int32_t>& x, Index run, Index i) {
  return x.data[run * x.step + i];
}
double at(const NumbersOfRuns<const float>& x, Index run, Index i) {
  return x.is_bf16() ? at(x.halves, run, i) : at(x.floats, run, i);
}

/// The largest difference of two arrays of all runs, beside the largest number of the first.
class Difference {
 public:
  void add(double wanted, double found) {
    largest_ = std::max(largest_, std::abs(wanted));
    const double d = std::abs(wanted - found);
    if (!(d <= most_)) most_ = d;  // a NaN stays one
  }
  [[nodiscard]] double relative() const { return most_ / largest_; }

 private:
  double largest_ = 0.0, most_ = 0.0;
};

// Another norm, of what a product left to it, has made `x` in one run.
void check_added(const StepNorm& n, const std::vector<float>& sums, Index run) {
  const StepNorm::Added& a = n.added;
  for (Index row = 0; row < n.rows; ++row) {
    const Index from = row / a.tokens * a.steps.example + row % a.tokens * a.steps.token;
    for (Index c = 0; c < n.dim; ++c) {
      const Index i = row * n.dim + c;
      const double bias = a.bias == nullptr ? 0.0 : at(a.bias, run, c);
      const double wanted =
          sums[static_cast<std::size_t>(run * n.x.step + i)] + bias + at(a.stream, run, from + c);
      REQUIRE(std::abs(at(n.x, run, i) - wanted) < 1e-6 * (1.0 + std::abs(wanted)));
    }
  }
}

// `tokens`: rows of an example, whose stream has two more before them; 0: nothing is added.
void check_norm(Index rows, Index dim, bool centred, bool bf16, Index tokens = 0) {
  INFO("rows " << rows << " dim " << dim << " centred " << centred << " bf16 " << bf16 << " tokens "
               << tokens);
  Stack stack;
  StepNorm n;
  n.rows = rows;
  n.dim = dim;
  n.centred = centred;
  n.x = stack.numbers(rows * dim);
  n.scale = stack.numbers(dim);
  if (centred) n.bias = stack.numbers(dim);
  OfRuns<float> floats;
  OfRuns<Bf16> halves;
  if (bf16) {
    n.y = halves = stack.unwritten<Bf16>(rows * dim);
  } else {
    n.y = floats = stack.unwritten(rows * dim);
  }
  n.stats = stack.unwritten(2 * rows);
  n.runs = kRuns;
  const std::vector<float> sums(n.x.data, n.x.data + kRuns * n.x.step);
  if (tokens > 0) {
    const Index row = (tokens + 2) * dim;
    n.added = {{const_cast<float*>(n.x.data), n.x.step},  // NOLINT: the array is the test's
               centred ? stack.numbers(dim) : OfRuns<const float>(),
               stack.numbers(rows / tokens * row) + 2 * dim,
               tokens,
               {dim, row}};
  }
  stack.run(n);

  Difference y, stats;
  for (Index run = 0; run < kRuns; ++run) {
    if (tokens > 0) check_added(n, sums, run);
    for (Index row = 0; row < rows; ++row) {
      double mean = 0.0;
      double square = 0.0;
      for (Index c = 0; centred && c < dim; ++c) {
        mean += at(n.x, run, row * dim + c) / static_cast<double>(dim);
      }
      for (Index c = 0; c < dim; ++c) {
        square += std::pow(at(n.x, run, row * dim + c) - mean, 2) / static_cast<double>(dim);
      }
      const double r = 1.0 / std::sqrt(square + 1e-6);
      stats.add(mean, at(n.stats, run, 2 * row));
      stats.add(r, at(n.stats, run, 2 * row + 1));
      for (Index c = 0; c < dim; ++c) {
        const Index i = row * dim + c;
        const double shift = centred ? at(n.bias, run, c) : 0.0;
        y.add((at(n.x, run, i) - mean) * r * at(n.scale, run, c) + shift,
              bf16 ? at(halves, run, i) : at(floats, run, i));
      }
    }
  }
  CHECK(stats.relative() < 1e-5);
  CHECK(y.relative() < (bf16 ? 0x1p-8 : 1e-5));
}

void check_norm_gradient(Index rows, Index dim, Index groups, bool centred, bool bf16, bool based) {
  INFO("rows " << rows << " dim " << dim << " groups " << groups << " centred " << centred
               << " bf16 " << bf16 << " base " << based);
  Stack stack;
  StepNormGradient n;
  n.rows = rows;
  n.dim = dim;
  n.groups = groups;
  n.centred = centred;
  n.x = stack.numbers(rows * dim);
  n.stats = stack.numbers(2 * rows);
  n.scale = stack.numbers(dim);
  n.dy = stack.either(rows * dim, bf16);
  if (based) n.base = stack.numbers(rows * dim);
  n.dx = stack.unwritten(rows * dim);
  if (bf16) n.rounded = stack.unwritten<Bf16>(rows * dim);
  n.scale_sums = stack.unwritten(groups * dim);
  if (centred) n.bias_sums = stack.unwritten(groups * dim);
  n.runs = kRuns;
  stack.run(n);

  Difference dx, rounded, scale, bias;
  for (Index run = 0; run < kRuns; ++run) {
    std::vector<double> d_scale(static_cast<std::size_t>(dim)), d_bias(d_scale);
    for (Index row = 0; row < rows; ++row) {
      const double r = at(n.stats, run, 2 * row + 1);
      const auto normed = [&](Index c) {
        return (at(n.x, run, row * dim + c) - at(n.stats, run, 2 * row)) * r;
      };
      double mean = 0.0;
      double along = 0.0;
      for (Index c = 0; c < dim; ++c) {
        const double dy = at(n.dy, run, row * dim + c);
        const double g = dy * at(n.scale, run, c);
        if (centred) mean += g / static_cast<double>(dim);
        along += g * normed(c) / static_cast<double>(dim);
        d_scale[static_cast<std::size_t>(c)] += dy * normed(c);
        d_bias[static_cast<std::size_t>(c)] += dy;
      }
      for (Index c = 0; c < dim; ++c) {
        const Index i = row * dim + c;
        const double g = at(n.dy, run, i) * at(n.scale, run, c);
        const double before = based ? at(n.base, run, i) : 0.0;
        dx.add(before + r * (g - mean - normed(c) * along), at(n.dx, run, i));
        if (bf16) rounded.add(at(n.dx, run, i), at(n.rounded, run, i));
      }
    }
    for (Index c = 0; c < dim; ++c) {
      double of_scale = 0.0;
      double of_bias = 0.0;
      for (Index g = 0; g < groups; ++g) {
        of_scale += at(n.scale_sums, run, g * dim + c);
        if (centred) of_bias += at(n.bias_sums, run, g * dim + c);
      }
      scale.add(d_scale[static_cast<std::size_t>(c)], of_scale);
      if (centred) bias.add(d_bias[static_cast<std::size_t>(c)], of_bias);
    }
  }
  CHECK(dx.relative() < 1e-5);
  CHECK(scale.relative() < 1e-5);
  if (centred) CHECK(bias.relative() < 1e-5);
  if (bf16) CHECK(rounded.relative() < 0x1p-8);
}

}  // namespace

TEST_CASE("A norm follows the definition, for rows of every length") {
  check_norm(5, 2, true, false);
  check_norm(17, 19, false, false);
  check_norm(8, 128, true, true);
  check_norm(3, 256, true, false);
  for (const bool centred : {true, false}) check_norm(9, 300, centred, centred);
}

TEST_CASE("A norm adds bias and stream to a product before, for rows of every length") {
  check_norm(6, 19, true, false, 3);
  check_norm(8, 128, false, false, 1);
  check_norm(4, 256, true, true, 2);
  check_norm(9, 300, true, false, 3);
}

TEST_CASE("The gradient of a norm follows the definition, for rows of every length") {
  check_norm_gradient(5, 1, 1, true, false, true);
  check_norm_gradient(37, 19, 2, true, false, false);
  check_norm_gradient(40, 128, 3, true, true, true);
  check_norm_gradient(36, 130, 2, false, false, true);
  check_norm_gradient(33, 256, 1, true, true, false);
  for (const bool centred : {true, false}) {
    check_norm_gradient(21, 300, 2, centred, centred, true);
    check_norm_gradient(2, 700, 2, centred, false, true);
  }
}
