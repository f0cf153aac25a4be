#include "training/kernels/cpu/row_kernels.hpp"

#include <cmath>
#include <vector>

#include "catch.hpp"
#include "headway/core/cpu.hpp"
#include "headway/core/rng.hpp"
#include "headway/training/backend.hpp"
#include "training/attention/attention_reference.hpp"
#include "training/kernels/cpu/attention_kernels.hpp"

using namespace headway::training;          // NOLINT: a test
using namespace headway::training::detail;  // NOLINT
using Catch::Matchers::WithinAbs;
using headway::Index;

namespace {

std::vector<const RowKernels*> sets() {
  std::vector<const RowKernels*> result = {&baseline_row_kernels()};
#ifdef HEADWAY_X86_KERNELS
  using headway::InstructionSet;
  if (has_instruction_set(InstructionSet::kAvx2)) result.push_back(&avx2_row_kernels());
  if (has_instruction_set(InstructionSet::kAvx512)) result.push_back(&avx512_row_kernels());
#endif
  return result;
}

std::vector<float> draw(Index count, std::uint64_t stream) {
  std::vector<float> x(static_cast<std::size_t>(count));
  headway::Rng rng(11, headway::StreamPurpose::kTests, stream);
  for (float& value : x) value = static_cast<float>(rng.normal());
  return x;
}

double dot(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += static_cast<double>(a[i]) * b[i];
  return sum;
}

// The norm by its definition, in double.
double norm_loss(const NormRows& n, const std::vector<double>& x, const std::vector<double>& scale,
                 const std::vector<float>& dy) {
  double sum = 0.0;
  for (Index r = 0; r < n.rows; ++r) {
    double mean = 0.0;
    double square = 0.0;
    const double* row = x.data() + r * n.dim;
    for (Index i = 0; i < n.dim; ++i) mean += n.centred ? row[i] / static_cast<double>(n.dim) : 0.0;
    for (Index i = 0; i < n.dim; ++i) {
      square += (row[i] - mean) * (row[i] - mean) / static_cast<double>(n.dim);
    }
    for (Index i = 0; i < n.dim; ++i) {
      const auto at = static_cast<std::size_t>(i);
      sum += dy[static_cast<std::size_t>(r * n.dim) + at] *
             ((row[i] - mean) / std::sqrt(square + 1e-6) * scale[at]);
    }
  }
  return sum;
}

}  // namespace

TEST_CASE("Norms and their gradients follow the definitions, for every length of row") {
  for (const RowKernels* kernels : sets()) {
    for (const Index dim : {1, 3, 8, 16, 19, 64, 130}) {
      for (const bool centred : {true, false}) {
        INFO(kernels->name << " dim " << dim << " centred " << centred);
        const Index rows = 3;
        const std::vector<float> x = draw(rows * dim, 1);
        const std::vector<float> scale = draw(dim, 2);
        const std::vector<float> bias = draw(dim, 3);
        const std::vector<float> dy = draw(rows * dim, 4);
        NormRows n{rows, dim, scale.data(), bias.data(), centred};
        std::vector<float> y(x.size());
        std::vector<float> stats(2 * rows);
        kernels->norm(n, x.data(), y.data(), stats.data());
        const std::vector<double> xd(x.begin(), x.end());
        const std::vector<double> sd(scale.begin(), scale.end());
        double biased = norm_loss(n, xd, sd, dy);
        for (Index i = 0; i < rows * dim; ++i) {
          biased += static_cast<double>(dy[static_cast<std::size_t>(i)]) *
                    bias[static_cast<std::size_t>(i % dim)];
        }
        CHECK_THAT(dot(y, dy), WithinAbs(biased, 2e-5 * static_cast<double>(dim)));

        std::vector<float> dx = draw(rows * dim, 5);
        const std::vector<float> before = dx;
        std::vector<float> d_scale(scale.size());
        std::vector<float> d_bias(scale.size());
        kernels->norm_backward(n, x.data(), stats.data(), dy.data(), dx.data(), dx.data(),
                               d_scale.data(), d_bias.data());
        std::vector<float> alone(dx.size());
        std::vector<float> unused(scale.size());
        kernels->norm_backward(n, x.data(), stats.data(), dy.data(), nullptr, alone.data(),
                               unused.data(), nullptr);
        for (std::size_t i = 0; i < x.size(); ++i) CHECK(alone[i] + before[i] == dx[i]);
        for (std::size_t i = 0; i < x.size(); ++i) {
          std::vector<double> moved = xd;
          moved[i] += 1e-5;
          const double up = norm_loss(n, moved, sd, dy);
          moved[i] -= 2e-5;
          const double slope = (up - norm_loss(n, moved, sd, dy)) / 2e-5;
          CHECK_THAT(static_cast<double>(dx[i]) - before[i],
                     WithinAbs(slope, 1e-3 * (1 + std::abs(slope))));
        }
        for (std::size_t i = 0; i < scale.size(); ++i) {
          std::vector<double> one(scale.size(), 0.0);
          one[i] = 1.0;  // linear in the scale
          CHECK_THAT(d_scale[i], WithinAbs(norm_loss(n, xd, one, dy), 1e-4));
          double sum = 0.0;
          for (Index r = 0; r < rows; ++r) sum += dy[static_cast<std::size_t>(r * dim) + i];
          CHECK_THAT(d_bias[i], WithinAbs(sum, 1e-5));
        }
      }
    }
  }
}

TEST_CASE("Gelu and SwiGLU follow the definitions") {
  for (const RowKernels* kernels : sets()) {
    INFO(kernels->name);
    const Index rows = 3;
    const Index dim = 37;
    const Index count = rows * dim;
    std::vector<float> x = draw(count, 1);
    x[5] = 9.0F;  // where the slope is 1, and 0
    x[6] = -9.0F;
    x[7] = -60.0F;
    const std::vector<float> bias = draw(dim, 4);
    const std::vector<float> u = draw(count, 2);
    const std::vector<float> dy = draw(count, 3);
    std::vector<float> y(count);
    std::vector<float> again(count);
    std::vector<float> d = dy;
    kernels->gelu(rows, dim, bias.data(), x.data(), y.data());
    kernels->gelu_backward(rows, dim, bias.data(), x.data(), again.data(), d.data());
    CHECK(y == again);
    std::vector<float> product(count);
    std::vector<float> dg(count);
    std::vector<float> du(count);
    kernels->swiglu(count, x.data(), u.data(), product.data());
    kernels->swiglu_backward(count, x.data(), u.data(), dy.data(), again.data(), dg.data(),
                             du.data());
    CHECK(product == again);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double at = x[i];
      const double biased = at + bias[i % static_cast<std::size_t>(dim)];
      CHECK_THAT(y[i], WithinAbs(reference::nonlinearity(Nonlinearity::kGelu, biased), 1e-6));
      CHECK_THAT(
          d[i],
          WithinAbs(dy[i] * reference::nonlinearity_derivative(Nonlinearity::kGelu, biased), 2e-6));
      const double silu = reference::nonlinearity(Nonlinearity::kSilu, at);
      const double slope = reference::nonlinearity_derivative(Nonlinearity::kSilu, at);
      CHECK_THAT(product[i], WithinAbs(silu * u[i], 1e-6));
      CHECK_THAT(dg[i], WithinAbs(dy[i] * u[i] * slope, 3e-6));
      CHECK_THAT(du[i], WithinAbs(dy[i] * silu, 1e-6));
    }
  }
}

TEST_CASE("Rows of softmax and their gradient follow the definition, for every length") {
  constexpr double kScale = 0.7;
  for (const RowKernels* kernels : sets()) {
    for (const Index dim : {1, 5, 16, 21, 48}) {
      INFO(kernels->name << " dim " << dim);
      const Index rows = 3;
      std::vector<float> x = draw(rows * dim, 1);
      for (Index i = 0; i < dim; ++i) x[static_cast<std::size_t>(i)] += 300.0F;  // of one row
      const std::vector<float> dy = draw(rows * dim, 2);
      std::vector<float> y = x;
      y.push_back(9.0F);
      std::vector<float> d = dy;
      d.push_back(9.0F);
      kernels->softmax(rows, dim, static_cast<float>(kScale), y.data());
      kernels->softmax_backward(rows, dim, static_cast<float>(kScale), y.data(), d.data());
      for (Index r = 0; r < rows; ++r) {
        double sum = 0.0;
        double products = 0.0;
        const auto at = [&](Index i) { return static_cast<std::size_t>(r * dim + i); };
        const auto power = [&](Index i) {
          return std::exp(kScale * (static_cast<double>(x[at(i)]) - x[at(0)]));
        };
        for (Index i = 0; i < dim; ++i) sum += power(i);
        for (Index i = 0; i < dim; ++i) products += dy[at(i)] * power(i) / sum;
        for (Index i = 0; i < dim; ++i) {
          CHECK_THAT(y[at(i)], WithinAbs(power(i) / sum, 2e-6));
          CHECK_THAT(d[at(i)], WithinAbs(kScale * power(i) / sum * (dy[at(i)] - products), 4e-6));
        }
      }
      CHECK(y.back() == 9.0F);
      CHECK(d.back() == 9.0F);
    }
  }
}

TEST_CASE("Sums over rows are exact on whole numbers, and leave what lies behind them") {
  for (const RowKernels* kernels : sets()) {
    for (const Index dim : {1, 7, 16, 64, 100}) {
      INFO(kernels->name << " dim " << dim);
      std::vector<float> x;
      for (Index i = 0; i < 5 * dim; ++i) x.push_back(static_cast<float>(i % 13 - 6));
      std::vector<float> sums(static_cast<std::size_t>(dim) + 1, 2.0F);
      kernels->column_sums(5, dim, x.data(), sums.data());
      std::vector<float> y(x.size() + 1, 9.0F);
      kernels->add_rows(5, dim, x.data(), x.data() + dim, y.data());
      for (Index i = 0; i < dim; ++i) {
        float sum = 2.0F;
        for (Index r = 0; r < 5; ++r) sum += x[static_cast<std::size_t>(r * dim + i)];
        CHECK(sums[static_cast<std::size_t>(i)] == sum);
        CHECK(y[static_cast<std::size_t>(i)] ==
              x[static_cast<std::size_t>(i)] + x[static_cast<std::size_t>(i + dim)]);
      }
      CHECK(sums.back() == 2.0F);
      CHECK(y.back() == 9.0F);
    }
  }
}

TEST_CASE("An AdamW update is that of its formula") {
  const double rate = 0.01;
  const double decay = 0.3;
  const int t = 3;
  for (const RowKernels* kernels : sets()) {
    INFO(kernels->name);
    const Index count = 21;
    const std::vector<float> g = draw(count, 1);
    std::vector<float> m = draw(count, 2);
    std::vector<float> v = draw(count, 3);
    for (float& x : v) x *= x;
    std::vector<float> p = draw(count, 4);
    const std::vector<float> m0 = m;
    const std::vector<float> v0 = v;
    const std::vector<float> p0 = p;
    const AdamWRates rates{0.9F,
                           0.999F,
                           0.1F,
                           0.001F,
                           static_cast<float>(rate / (1 - std::pow(0.9, t))),
                           static_cast<float>(1 / (1 - std::pow(0.999, t))),
                           1e-8F,
                           static_cast<float>(1 - rate * decay),
                           0.5F};
    kernels->adamw(count, rates, g.data(), m.data(), v.data(), p.data());
    for (std::size_t i = 0; i < p.size(); ++i) {
      const double gradient = 0.5 * g[i];
      const double first = 0.9 * m0[i] + 0.1 * gradient;
      const double second = 0.999 * v0[i] + 0.001 * gradient * gradient;
      const double step =
          first / (1 - std::pow(0.9, t)) / (std::sqrt(second / (1 - std::pow(0.999, t))) + 1e-8);
      CHECK_THAT(m[i], WithinAbs(first, 1e-6));
      CHECK_THAT(v[i], WithinAbs(second, 1e-6 * (1 + second)));
      CHECK_THAT(p[i], WithinAbs(p0[i] - rate * (step + decay * p0[i]), 1e-6));
    }
  }
}

TEST_CASE("The measured peak is that of one processor of today, for each thread") {
  if (!headway::has_instruction_set(headway::InstructionSet::kAvx2)) {
    CHECK(measure_peak_flops(1) == 0.0);
    return;
  }
  // From 8 lanes of half a multiply-add at 0.2 GHz to 16 lanes of four at 8 GHz.
  for (const int threads : {1, 3}) {
    const double peak = measure_peak_flops(threads);
    CHECK(peak > 1.6e9);
    CHECK(peak < threads * 1.1e12);
  }
}
