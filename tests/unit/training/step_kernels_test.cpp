// Kernels of the hand-written step one by one, on the emulator, beside plain sums in double
// precision: rows of every length, groups of every size, floats and bf16, and stacks of runs, whose
// arrays begin anywhere.
#include <cmath>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "step_stack.hpp"

using namespace headway::training;         // NOLINT: a test
using namespace headway::testing::stacks;  // NOLINT
using namespace detail;                    // NOLINT
using headway::Index;

namespace {

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

struct Matrix {
  Index rows, columns, groups;
};
void check_column_sums(const std::vector<Matrix>& matrices, bool bf16) {
  Stack stack;
  StepColumnSums s;
  s.runs = kRuns;
  std::vector<OfRuns<float>> sums;
  for (const Matrix& m : matrices) {
    sums.push_back(stack.unwritten(m.groups * m.columns));
    s.parts.push_back(
        {stack.either(m.rows * m.columns, bf16), m.rows, m.columns, m.groups, sums.back()});
  }
  stack.run(s);
  for (std::size_t p = 0; p < matrices.size(); ++p) {
    const auto [rows, columns, groups] = matrices[p];
    INFO("rows " << rows << " columns " << columns << " groups " << groups << " bf16 " << bf16);
    Difference difference;
    for (Index run = 0; run < kRuns; ++run) {
      for (Index c = 0; c < columns; ++c) {
        double wanted = 0.0;
        double found = 0.0;
        for (Index r = 0; r < rows; ++r) wanted += at(s.parts[p].x, run, r * columns + c);
        for (Index g = 0; g < groups; ++g) found += at(sums[p], run, g * columns + c);
        difference.add(wanted, found);
      }
    }
    CHECK(difference.relative() < 1e-5);
  }
}

void check_copy_sums(const std::vector<std::pair<Index, Index>>& parts, bool bf16) {
  Stack stack;
  StepCopySums s;
  s.runs = kRuns;
  std::vector<OfRuns<float>> floats(parts.size());
  std::vector<OfRuns<Bf16>> halves(parts.size());
  for (std::size_t p = 0; p < parts.size(); ++p) {
    const auto [copies, count] = parts[p];
    s.parts.push_back({copies, count, 0.5, stack.numbers(copies * count), {}});
    if (bf16) {
      s.parts[p].out = halves[p] = stack.unwritten<Bf16>(count);
    } else {
      s.parts[p].out = floats[p] = stack.unwritten(count);
    }
  }
  stack.run(s);
  for (std::size_t p = 0; p < parts.size(); ++p) {
    const auto [copies, count] = parts[p];
    INFO("copies " << copies << " count " << count << " bf16 " << bf16);
    Difference difference;
    for (Index run = 0; run < kRuns; ++run) {
      for (Index i = 0; i < count; ++i) {
        double sum = 0.0;
        for (Index c = 0; c < copies; ++c) sum += 0.5 * at(s.parts[p].from, run, c * count + i);
        difference.add(sum, bf16 ? at(halves[p], run, i) : at(floats[p], run, i));
      }
    }
    CHECK(difference.relative() < (bf16 ? 0x1p-8 : 1e-5));
  }
}

void check_look_up_gradient(Index rows, Index dim, Index entries) {
  INFO("rows " << rows << " dim " << dim << " entries " << entries);
  Stack stack;
  const auto ids = stack.ids(rows, entries - 1);
  const auto dy = stack.numbers(rows * dim);
  const auto d_table = stack.unwritten(entries * dim);
  stack.run(StepLookUpGradient{rows, dim, entries, ids, dy, d_table, kRuns});
  Difference difference;
  for (Index run = 0; run < kRuns; ++run) {
    std::vector<double> sums(static_cast<std::size_t>(entries * dim));
    for (Index r = 0; r < rows; ++r) {
      const auto entry = static_cast<Index>(at(ids, run, r));
      for (Index c = 0; c < dim; ++c) {
        sums[static_cast<std::size_t>(entry * dim + c)] += at(dy, run, r * dim + c);
      }
    }
    for (Index i = 0; i < entries * dim; ++i) {
      difference.add(sums[static_cast<std::size_t>(i)], at(d_table, run, i));
    }
  }
  CHECK(difference.relative() < 1e-5);
}

// Sums of copies of any number, for parameters of any number.
void check_sums(const std::vector<std::pair<Index, Index>>& parts) {
  Stack stack;
  std::vector<std::int64_t> table;
  Index copies_size = 0;
  Index parameters = 0;
  for (const auto& [copies, count] : parts) {
    for (const Index number : {copies_size, copies, count, parameters, count, Index{0}, Index{0}}) {
      table.push_back(number);
    }
    copies_size += kRuns * copies * count;
    parameters += count;
  }
  StepSums s;
  s.runs = kRuns;
  s.blocks = static_cast<Index>(parts.size());
  s.table = stack.table(table);
  s.copies = stack.numbers(copies_size).data;
  s.copies_size = copies_size;
  s.gradients = stack.unwritten(parameters);
  s.squares = stack.unwritten<double>(s.blocks);
  s.losses_count = 300;
  s.loss_scale = 0.5;
  s.losses = stack.numbers(s.losses_count);
  s.loss = stack.unwritten<double>(1);
  stack.run(s);
  Difference gradients, squares, losses;
  for (Index run = 0; run < kRuns; ++run) {
    Index first = 0;
    Index parameter = 0;
    for (std::size_t p = 0; p < parts.size(); ++p) {
      const auto [copies, count] = parts[p];
      double square = 0.0;
      for (Index i = 0; i < count; ++i) {
        double sum = 0.0;
        for (Index c = 0; c < copies; ++c) {
          sum += static_cast<double>(s.copies[first + (run * copies + c) * count + i]);
        }
        gradients.add(sum, at(s.gradients, run, parameter + i));
        square += sum * sum;
      }
      squares.add(square, s.squares.data[run * s.squares.step + static_cast<Index>(p)]);
      first += kRuns * copies * count;
      parameter += count;
    }
    double loss = 0.0;
    for (Index i = 0; i < s.losses_count; ++i) loss += 0.5 * at(s.losses, run, i);
    losses.add(loss, s.loss.data[run * s.loss.step]);
  }
  CHECK(gradients.relative() < 1e-5);
  CHECK(squares.relative() < 1e-5);
  CHECK(losses.relative() < 1e-12);
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

TEST_CASE("Columns of matrices of every size are added up") {
  for (const bool bf16 : {false, true}) {
    check_column_sums({{36, 192, 5}, {7, 1, 1}, {33, 130, 2}, {3, 600, 3}, {21, 1100, 4}}, bf16);
    check_column_sums({{70, 128, 1}}, bf16);
    check_copy_sums({{1, 300}, {37, 128}, {9, 1}, {64, 129}}, bf16);
  }
}

TEST_CASE("The gradient of a table of embeddings is the sum over the rows of each entry") {
  check_look_up_gradient(5, 3, 4);
  check_look_up_gradient(300, 70, 9);
  check_look_up_gradient(5000, 2, 3);  // more than are looked through at once
}

TEST_CASE("Gradients are sums of copies, for few parameters with many copies and the opposite") {
  check_sums({{128, 5}, {33, 128}, {7, 129}, {16, 1024}, {1, 700}, {2, 300}});
}
