// Errors of the evidence by bridge sampling, on many short samples of posteriors whose evidence is
// known.
#include <cmath>
#include <cstdio>
#include <memory>
#include <numbers>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "chance.hpp"
#include "headway/posterior/evidence.hpp"
#include "headway/sampling/sample.hpp"
#include "theory_problems.hpp"

using namespace headway;
using posterior::Evidence;
using posterior::ExactChain;

namespace {

constexpr Index kExamples = 5;
constexpr int kChains = 4;
constexpr Index kRepeats = 200;

ExactChain chain_of(std::vector<int> heads, const std::vector<Index>& widths, Index n0) {
  test::TheoryCase c = test::random_case(std::move(heads), 1, kExamples, n0, 23);
  c.architecture.widths = widths;
  return {c.architecture, 0.2, test::kernels_of(c, theory::KernelForm::kStored),
          std::make_shared<MatrixXd>(0, c.features.cols())};
}

/// Draws of each chain, far enough apart that they are independent.
std::vector<MatrixXd> long_chains(ExactChain& target, Index draws) {
  sampling::SamplerOptions options;
  options.chains = kChains;
  options.draws = static_cast<int>(draws);
  options.thin = 4;
  options.threads = 1;
  const sampling::SamplingResult run = sampling::sample(target, options);
  std::vector<MatrixXd> out;
  for (const auto& chain : run.state.chains) out.emplace_back(chain.draw_matrix());
  return out;
}

/// Of draws [first, first + count) of each chain.
Evidence evidence_of(const ExactChain& target, const std::vector<MatrixXd>& chains, Index first,
                     Index count, std::uint64_t stream) {
  MatrixXd draws(chains.front().rows(), kChains * count);
  for (int c = 0; c < kChains; ++c) {
    draws.middleCols(c * count, count) =
        chains[static_cast<std::size_t>(c)].middleCols(first, count);
  }
  Rng rng(1, StreamPurpose::kPrior, stream);
  return posterior::bridge_evidence(target, draws, kChains, kExamples, rng);
}

/// log p(y) on a grid of the two unknowns.
double on_a_grid(ExactChain& target) {
  constexpr double kStep = 0.05;
  VectorXd x(2), gradient(2);
  double total = 0.0;
  for (double a = -20; a < 10; a += kStep) {
    for (double b = -20; b < 10; b += kStep) {
      x << a, b;
      total += std::exp(target.log_density(x, gradient)) * kStep * kStep;
    }
  }
  return std::log(total) - 0.5 * kExamples * std::log(2.0 * std::numbers::pi);
}

struct Deviations {
  double mean = 0.0, mean_square = 0.0, mean_error = 0.0;
};

/// Of samples of `count` draws a chain: log p(y) - exact in units of its error.
Deviations deviations(const ExactChain& target, const std::vector<MatrixXd>& chains, double exact,
                      Index count) {
  Deviations out;
  constexpr auto kCount = static_cast<double>(kRepeats);
  for (Index r = 0; r < kRepeats; ++r) {
    const Evidence e = evidence_of(target, chains, r * count, count, static_cast<std::uint64_t>(r));
    REQUIRE(e.reliable);
    const double z = (e.log_evidence - exact) / e.error;
    out.mean += z / kCount;
    out.mean_square += z * z / kCount;
    out.mean_error += e.error / kCount;
  }
  return out;
}

/// Of 200 normal numbers the mean has a deviation of 0.07, the mean square one of 0.1. A tenth is
/// added to the mean square, since an error that few draws estimate is itself off by some per cent.
void check(const Deviations& z) {
  const testing::MeanSquare allowed = testing::mean_square_of_z(kRepeats);
  CHECK(std::abs(z.mean) < testing::largest_z(2) / std::sqrt(1.0 * kRepeats));
  CHECK(z.mean_square > allowed.least / 1.1);
  CHECK(z.mean_square < allowed.most * 1.1);
}

}  // namespace

TEST_CASE("errors of the evidence are those over repeated samples") {
  constexpr Index kDraws = 100;
  ExactChain target = chain_of({1}, {4, 3}, 8);
  const Deviations z =
      deviations(target, long_chains(target, kDraws * kRepeats), on_a_grid(target), kDraws);
  std::printf("two unknowns: z has mean %+.3f, mean square %.3f\n", z.mean, z.mean_square);
  check(z);
}

TEST_CASE("the evidence of few draws is not biased by the fit of its proposal") {
  constexpr Index kDraws = 36;  // half of them are hardly enough for a fit
  ExactChain target = chain_of({2, 2}, {8, 6, 7}, 4);
  const std::vector<MatrixXd> chains = long_chains(target, kDraws * kRepeats);
  const Evidence exact = evidence_of(target, chains, 0, kDraws * kRepeats, 1);
  const Deviations z = deviations(target, chains, exact.log_evidence, kDraws);
  std::printf("%ld unknowns: error %.4f, of few draws %.3f; z has mean %+.3f, mean square %.3f\n",
              static_cast<long>(target.dimension()), exact.error, z.mean_error, z.mean,
              z.mean_square);
  CHECK(exact.error < 0.1 * z.mean_error);
  check(z);
}
