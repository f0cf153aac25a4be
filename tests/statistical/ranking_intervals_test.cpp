// Intervals of rankings, on drawn problems whose true rises are measured on many fresh examples.
// The seeds fix all of it, and rounding moves an interval by no more than itself.
#include <array>
#include <cmath>
#include <optional>
#include <vector>

#include "catch.hpp"
#include "headway/analysis/head_ranking.hpp"
#include "headway/core/rng.hpp"

using namespace headway;

namespace {

constexpr Index kHeads = 6, kFeatures = 20, kOfHead = 3, kFresh = 4000;
constexpr int kProblems = 120;

MatrixXd normal(Index rows, Index columns, Rng& rng) {
  MatrixXd out(rows, columns);
  for (double& x : out.reshaped()) x = rng.normal();
  return out;
}

/// Embeddings as a sum of a residual stream and heads of different size.
struct Network {
  explicit Network(Rng& rng) : stream(normal(kFeatures, kFeatures, rng)), weights(kFeatures) {
    for (Index h = 0; h < kHeads; ++h) {
      heads.push_back(std::exp(0.6 * rng.normal()) * normal(kOfHead, kFeatures, rng));
    }
    weights = normal(kFeatures, 1, rng) / 12.0;
  }
  MatrixXd stream;
  std::vector<MatrixXd> heads;
  VectorXd weights;
};

struct Examples {
  Examples(const Network& network, Index count, Rng& rng) {
    x = normal(count, kFeatures, rng) * network.stream / std::sqrt(1.0 * kFeatures);
    for (const MatrixXd& head : network.heads) {
      parts.push_back(normal(count, kOfHead, rng) * head);
      x += parts.back();
    }
    y = x * network.weights + normal(count, 1, rng);
  }
  [[nodiscard]] double error(const MatrixXd& answers) const {
    return (y - answers).squaredNorm() / static_cast<double>(y.rows());
  }
  MatrixXd x, y;
  std::vector<MatrixXd> parts;
};

/// Shares of the heads whose true rise the 90 % interval holds: of the readout as it is, and fitted
/// again.
std::array<double, 2> held(Index examples, std::uint64_t seed) {
  Rng rng(seed, StreamPurpose::kTests);
  const Network network(rng);
  const Examples own(network, examples, rng), fresh(network, kFresh, rng);
  const analysis::RankedReadout ranked(own.x, own.y, std::nullopt, seed);
  const analysis::RidgeReadout& readout = ranked.readout();
  std::array<std::vector<analysis::RemovalChanges>, 2> changes;
  std::array<VectorXd, 2> rises = {VectorXd(kHeads), VectorXd(kHeads)};
  const double whole = fresh.error(readout.answers(fresh.x));
  for (Index h = 0; h < kHeads; ++h) {
    const auto head = static_cast<std::size_t>(h);
    const MatrixXd removed = own.x - own.parts[head];
    const MatrixXd unseen = fresh.x - fresh.parts[head];
    const auto both = ranked.without(removed);
    for (std::size_t i = 0; i < 2; ++i) changes[i].push_back(both[i]);
    rises[0][h] = fresh.error(readout.answers(unseen)) - whole;
    const analysis::RidgeReadout again(removed, own.y, readout.penalty);
    rises[1][h] = fresh.error(again.answers(unseen)) - whole;
  }
  std::array<double, 2> shares{};
  for (std::size_t i = 0; i < 2; ++i) {
    const auto [low, high] = combine(analysis::stacked(changes[i]), seed).interval(0.9);
    shares[i] =
        (rises[i].array() >= low.array() && rises[i].array() <= high.array()).cast<double>().mean();
  }
  return shares;
}

}  // namespace

TEST_CASE("intervals of 90 % hold about nine of ten true rises") {
  for (const Index examples : {32, 100}) {
    std::array<double, 2> share{};
    for (int problem = 0; problem < kProblems; ++problem) {
      const auto found = held(examples, static_cast<std::uint64_t>(1000 * examples + problem));
      for (std::size_t i = 0; i < 2; ++i) share[i] += found[i] / kProblems;
    }
    CAPTURE(examples, share[0], share[1]);
    for (const double one : share) {
      CHECK(one > 0.85);
      CHECK(one < 0.95);
    }
  }
}
