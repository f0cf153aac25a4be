// Whole runs, warm-up and adaptation included, against distributions with known moments and
// quantiles. Deviations are measured in Monte Carlo standard errors; the bound is Bonferroni's over
// all comparisons of this file.
#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "catch.hpp"
#include "chance.hpp"
#include "headway/sampling/sample.hpp"
#include "larger.hpp"
#include "monte_carlo_errors.hpp"
#include "sampling_targets.hpp"

using namespace headway;            // NOLINT: a test
using namespace headway::sampling;  // NOLINT

namespace {

using testing::FunctionTarget;
using testing::GaussianTarget;
using testing::GibbsPairTarget;

// Five comparisons a dimension: of 72 with four metrics, of 28 more, and some others.
constexpr double kComparisons = 1700.0;

// Gathers |estimate - truth| / standard error and compares the largest with the bound.
class Comparison {
 public:
  void add(double estimate, double truth, double error) {
    largest_ = headway::testing::larger(largest_, std::abs(estimate - truth) / error);
    finite_ = finite_ && std::isfinite(estimate) && error > 0.0;
  }
  void add_gaussian(const SamplingResult& result, const VectorXd& mean,
                    const MatrixXd& covariance) {
    for (Index i = 0; i < mean.size(); ++i) {
      const QuantityDiagnostics& q = result.coordinates.at(static_cast<std::size_t>(i));
      const MatrixXd draws = result.coordinate_draws(i);
      const double sd = std::sqrt(covariance(i, i));
      constexpr double kNormal95 = 1.6448536269514722;
      add(q.mean, mean[i], q.mcse_mean);
      add(q.sd, sd, testing::mcse_sd(draws));
      add_quantile(draws, 0.05, mean[i] - kNormal95 * sd);
      add_quantile(draws, 0.5, mean[i]);
      add_quantile(draws, 0.95, mean[i] + kNormal95 * sd);
    }
  }
  void add_quantile(const MatrixXd& draws, double probability, double truth) {
    add(quantile(draws, probability), truth, testing::mcse_quantile(draws, probability));
  }
  [[nodiscard]] bool holds() const {
    return finite_ && largest_ < testing::largest_chain_z(kComparisons);
  }
  [[nodiscard]] double largest() const { return largest_; }

 private:
  double largest_ = 0.0;
  bool finite_ = true;
};

SamplerOptions one_thread(SamplerKind kind, MetricKind metric = MetricKind::kDiagonal) {
  SamplerOptions options;
  options.sampler = kind;
  options.metric = metric;
  options.threads = 1;
  options.seed = 2024;
  return options;
}

// As a summary without warnings, but R-hat and effective draws have limits that chance leaves
// alone.
void check_healthy(const SamplingResult& result) {
  const SamplingSummary& s = result.summary;
  INFO(s.full_report());
  for (const Index divergences : s.divergences) CHECK(divergences == 0);
  CHECK(s.saturated == 0);
  for (const double energies : s.ebfmi) CHECK_FALSE(energies < 0.3);
  CHECK(s.rhat_max <
        testing::largest_rhat(std::min(s.ess_bulk_min, s.ess_tail_min), s.chains, 500));
  CHECK(s.ess_bulk_min > 200.0);
  CHECK(s.ess_tail_min > 200.0);
}

}  // namespace

TEST_CASE("NUTS draws correlated Gaussians of 1 to 50 dimensions") {
  for (const Index d : {1, 2, 5, 14, 50}) {
    const GaussianTarget target = testing::correlated_gaussian(d);
    for (const MetricKind metric :
         {MetricKind::kUnit, MetricKind::kDiagonal, MetricKind::kDense, MetricKind::kInformation}) {
      INFO("dimension " << d << ", " << metric_name(metric));
      const SamplingResult result = sample(target, one_thread(SamplerKind::kNuts, metric));
      Comparison comparison;
      comparison.add_gaussian(result, target.mean(), target.covariance());
      INFO("largest deviation " << comparison.largest() << " standard errors");
      CHECK(comparison.holds());
      check_healthy(result);
      for (const double acceptance : result.summary.mean_acceptance) {
        CHECK(acceptance > 0.72);  // dual averaging errs towards small steps in few dimensions
        CHECK(acceptance < 0.96);
      }
    }
  }
}

TEST_CASE("static HMC and MALA draw correlated Gaussians") {
  for (const SamplerKind kind : {SamplerKind::kStaticHmc, SamplerKind::kMala}) {
    for (const Index d : {1, 3, 10}) {
      const GaussianTarget target = testing::correlated_gaussian(d);
      INFO(sampler_name(kind) << ", dimension " << d);
      SamplerOptions options = one_thread(kind, MetricKind::kDense);
      if (kind == SamplerKind::kMala) {  // short steps: slow to learn the covariance and to move
        options.warmup = 4000;
        options.draws = 5000;
      }
      const SamplingResult result = sample(target, options);
      Comparison comparison;
      comparison.add_gaussian(result, target.mean(), target.covariance());
      INFO("largest deviation " << comparison.largest() << " standard errors");
      CHECK(comparison.holds());
      check_healthy(result);
    }
  }
}

TEST_CASE("a target's own sweeps are run and diagnosed") {
  const SamplingResult result = sample(GibbsPairTarget(), one_thread(SamplerKind::kSweep));
  Comparison comparison;
  const double rho = GibbsPairTarget::kRho;
  comparison.add_gaussian(result, Eigen::Vector2d::Zero(), Eigen::Matrix2d{{1, rho}, {rho, 1}});
  CHECK(comparison.holds());
  check_healthy(result);
}

TEST_CASE("NUTS draws a heavy-tailed target: five Student t with 4 degrees of freedom") {
  static constexpr double kDegrees = 4.0;
  const FunctionTarget target(5, [](const auto& q, Eigen::Ref<VectorXd> gradient) {
    gradient.array() = -(kDegrees + 1.0) * q.array() / (kDegrees + q.array().square());
    return -0.5 * (kDegrees + 1.0) * (1.0 + q.array().square() / kDegrees).log().sum();
  });
  SamplerOptions options = one_thread(SamplerKind::kNuts);
  options.draws = 4000;
  const SamplingResult result = sample(target, options);
  const double q95 = boost::math::quantile(boost::math::students_t(kDegrees), 0.95);
  Comparison comparison;
  for (Index i = 0; i < target.dimension(); ++i) {
    const MatrixXd draws = result.coordinate_draws(i);
    comparison.add_quantile(draws, 0.5, 0.0);
    comparison.add_quantile(draws, 0.05, -q95);
    comparison.add_quantile(draws, 0.95, q95);
  }
  INFO("largest deviation " << comparison.largest() << " standard errors");
  CHECK(comparison.holds());
  CHECK(result.summary.rhat_max < testing::largest_rhat(result.summary.ess_tail_min, 4, 5));
}

TEST_CASE("a sampler of another distribution is noticed") {
  // The draws are of a Gaussian 5 per cent too wide.
  const GaussianTarget target = testing::correlated_gaussian(5);
  const GaussianTarget wide(target.mean(), 1.1025 * target.covariance());
  SamplerOptions options = one_thread(SamplerKind::kNuts);
  options.draws = 4000;
  Comparison comparison;
  comparison.add_gaussian(sample(wide, options), target.mean(), target.covariance());
  CHECK_FALSE(comparison.holds());
}

TEST_CASE(
    "Neal's funnel gives divergences and slow energies, and its reparametrisation gives none") {
  const FunctionTarget funnel(8, [](const auto& q, Eigen::Ref<VectorXd> gradient) {
    const double v = q[0];
    const double precision = std::exp(-v);
    const double squares = q.tail(7).squaredNorm();
    gradient.tail(7) = -precision * q.tail(7);
    gradient[0] = -v / 9.0 - 3.5 + 0.5 * precision * squares;
    return -v * v / 18.0 - 3.5 * v - 0.5 * precision * squares;
  });
  const SamplingResult bad = sample(funnel, one_thread(SamplerKind::kNuts));
  INFO(bad.summary.full_report());
  Index divergences = 0;
  for (const Index n : bad.summary.divergences) divergences += n;
  CHECK(divergences > 0);
  std::string all;
  for (const std::string& warning : bad.summary.warnings) all += warning + "\n";
  CHECK(all.find("divergent trajectory") != std::string::npos);
  CHECK(all.find("E-BFMI") != std::string::npos);
  // q_i = exp(v / 2) z_i: independent Gaussians.
  const FunctionTarget flat(8, [](const auto& q, Eigen::Ref<VectorXd> gradient) {
    gradient = -q;
    gradient[0] /= 9.0;
    return 0.5 * q.dot(gradient);
  });
  const SamplingResult good = sample(flat, one_thread(SamplerKind::kNuts));
  check_healthy(good);
  MatrixXd covariance = MatrixXd::Identity(8, 8);
  covariance(0, 0) = 9.0;
  Comparison comparison;
  comparison.add_gaussian(good, VectorXd::Zero(8), covariance);
  CHECK(comparison.holds());
}

TEST_CASE("unadjusted Langevin shows its bias") {
  // For N(0, 1) the chain x' = (1 - e^2/2) x + e z has variance 1 / (1 - e^2/4) instead of 1.
  const FunctionTarget target(1, [](const auto& q, Eigen::Ref<VectorXd> gradient) {
    gradient = -q;
    return -0.5 * q.squaredNorm();
  });
  SamplerOptions options = one_thread(SamplerKind::kLangevin, MetricKind::kUnit);
  options.warmup = 0;
  options.step_size = 0.8;
  options.draws = 100000;
  const SamplingResult result = sample(target, options);
  CHECK(result.summary.biased);
  const std::string& warning = result.summary.warnings.at(0);
  CHECK(warning.find("biased, by an unknown amount") != std::string::npos);
  CHECK(warning.find("estimate_langevin_bias") == std::string::npos);  // no study has that key
  const QuantityDiagnostics& q = result.coordinates[0];
  const double biased_sd = std::sqrt(1.0 / (1.0 - 0.16));
  const double error = testing::mcse_sd(result.coordinate_draws(0));
  CHECK(std::abs(q.sd - biased_sd) < testing::largest_chain_z(1) * error);
  CHECK(q.sd - 1.0 > 8.0 * error);
}
