// Replicas choose their inverse temperatures in the warm-up so that neighbours reject equally
// often.
#include "sampling/ladder.hpp"

#include <cmath>
#include <memory>
#include <vector>

#include "catch.hpp"
#include "headway/sampling/sample.hpp"
#include "sampling_targets.hpp"

using namespace headway;            // NOLINT: a test
using namespace headway::sampling;  // NOLINT

namespace {

using Catch::Matchers::WithinAbs;

/// The likelihood is exp(value): exchanges are never rejected.
class FlatTarget : public testing::TwoModesTarget {
 public:
  double log_likelihood(const Eigen::Ref<const VectorXd>& /*q*/) override { return 1.0; }
  [[nodiscard]] std::unique_ptr<Target> clone() const override {
    return std::make_unique<FlatTarget>(*this);
  }
};

/// Likelihoods exp(-s x^2 / 2) of a standard normal x: the posterior at beta has the variance
/// 1 / (1 + beta s), and a sweep draws from it.
class NormalTarget : public testing::TwoModesTarget {
 public:
  static constexpr double kScale = 400.0;
  double log_likelihood(const Eigen::Ref<const VectorXd>& q) override {
    return -0.5 * kScale * q.squaredNorm();
  }
  double sweep(Rng& rng, Eigen::Ref<VectorXd> q) override {
    for (double& x : q) x = rng.normal() / std::sqrt(1.0 + beta_ * kScale);
    return 0.0;
  }
  [[nodiscard]] std::unique_ptr<Target> clone() const override {
    return std::make_unique<NormalTarget>(*this);
  }
};

LadderState ladder_after(const Target& target, int warmup, int draws) {
  SamplerOptions options;
  options.sampler = SamplerKind::kSweep;
  options.chains = 1;
  options.warmup = warmup;
  options.draws = draws;
  options.replicas = 5;
  options.seed = 3;
  options.threads = 1;
  return sample(target, options).state.chains.at(0).ladder;
}

std::vector<double> cubes() {
  std::vector<double> beta;
  for (int k = 0; k < 5; ++k) beta.push_back(std::pow(1.0 - 0.25 * k, 3));
  return beta;
}

}  // namespace

TEST_CASE("a summary counts every evaluation of all replicas and of their exchanges") {
  struct Counts {
    std::int64_t densities = 0, likelihoods = 0, sweeps = 0;
  };
  class CountedTarget final : public testing::TwoModesTarget {
   public:
    explicit CountedTarget(Counts& counts) : counts_(counts) {}
    double log_density(const Eigen::Ref<const VectorXd>& q,
                       Eigen::Ref<VectorXd> gradient) override {
      ++counts_.densities;
      return testing::TwoModesTarget::log_density(q, gradient);
    }
    double log_likelihood(const Eigen::Ref<const VectorXd>& q) override {
      ++counts_.likelihoods;
      return testing::TwoModesTarget::log_likelihood(q);
    }
    double sweep(Rng& rng, Eigen::Ref<VectorXd> q) override {
      ++counts_.sweeps;
      return testing::TwoModesTarget::sweep(rng, q);
    }
    [[nodiscard]] std::unique_ptr<Target> clone() const override {
      return std::make_unique<CountedTarget>(*this);
    }

   private:
    Counts& counts_;
  };
  SamplerOptions options;
  options.chains = 2;
  options.warmup = 60;  // inverse temperatures are chosen after 25 rounds
  options.draws = 40;
  options.threads = 1;
  options.replicas = 4;
  for (const SamplerKind kind : {SamplerKind::kNuts, SamplerKind::kMala}) {
    options.sampler = kind;
    Counts counts;
    const SamplingResult result = sample(CountedTarget(counts), options);
    CHECK(result.state.chains[0].ladder.exchanges > 0);
    CHECK(counts.densities > 100 * 2 * 4 / 2);
    CHECK(result.summary.evaluations == counts.densities + counts.likelihoods + counts.sweeps);
  }
}

TEST_CASE("a warm-up too short for a choice keeps inverse temperatures at cubes of even shares") {
  const LadderState ladder = ladder_after(NormalTarget(), 41, 10);  // 25 > 0.6 * 41
  REQUIRE(ladder.inverse_temperatures.size() == 5);
  for (std::size_t k = 0; k < 5; ++k) {
    CHECK_THAT(ladder.inverse_temperatures[k], WithinAbs(cubes()[k], 1e-15));
  }
}

TEST_CASE("replicas that never reject keep their inverse temperatures") {
  // All neighbours count the same smallest rejection, so that even shares are where they stand.
  const LadderState ladder = ladder_after(FlatTarget(), 100, 10);  // choices after 25 and 50
  for (std::size_t k = 0; k < 5; ++k) {
    CHECK_THAT(ladder.inverse_temperatures[k], WithinAbs(cubes()[k], 1e-14));
  }
}

TEST_CASE("chosen inverse temperatures keep their ends and order, and even out rejections") {
  const LadderState ladder = ladder_after(NormalTarget(), 3000, 3000);  // last choice after 1600
  const std::vector<double>& beta = ladder.inverse_temperatures;
  CHECK(beta.front() == 1.0);
  CHECK(beta.back() == 0.0);
  for (std::size_t k = 0; k + 1 < 5; ++k) CHECK(beta[k] > beta[k + 1]);
  std::vector<double> rate;
  for (std::size_t k = 0; k + 1 < 5; ++k) {
    // Rounds since the last choice alone: 6000 - 1600, half of them for each pair.
    CHECK(ladder.attempts[k] == 2200.0);
    rate.push_back(ladder.rejected[k] / ladder.attempts[k]);
  }
  for (const double r : rate) CHECK_THAT(r, WithinAbs(rate[0], 0.06));
}
