// Every transition leaves its target invariant, shown without a chain. Draw the parameters from the
// prior and data from the likelihood: the parameters are then one exact posterior draw. Apply the
// transition a few times. The result must be an exact posterior draw again, so its posterior
// distribution function is uniform over independent repetitions (simulation-based calibration with
// an exact start, Gandy and Scott 2020). The same test rejects samplers broken on purpose.
#include <boost/math/distributions/chi_squared.hpp>
#include <boost/math/special_functions/gamma.hpp>
#include <functional>
#include <memory>
#include <vector>

#include "catch.hpp"
#include "chance.hpp"
#include "sampling/nuts.hpp"
#include "sampling/static_hmc.hpp"
#include "sampling_targets.hpp"

using namespace headway;            // NOLINT: a test
using namespace headway::sampling;  // NOLINT

namespace {

using testing::GammaPoissonTarget;
using testing::GibbsPairTarget;

constexpr int kRepetitions = 40000;
constexpr int kBins = 20;
constexpr int kTransitions = 3;
// The samplers have 15 tests here, each with the smaller p-value of two coordinates.
constexpr double kAlpha = testing::kChance / 30.0;

// Collects posterior distribution functions and tests them for uniformity.
class Uniformity {
 public:
  explicit Uniformity(Index coordinates) : counts_(MatrixXd::Zero(kBins, coordinates)) {}
  void add(Index coordinate, double p) {
    const auto bin = std::min<Index>(kBins - 1, static_cast<Index>(p * kBins));
    counts_(bin, coordinate) += 1.0;
  }
  /// The smallest p-value of Pearson's test over the coordinates.
  [[nodiscard]] double p_value() const {
    double smallest = 1.0;
    const boost::math::chi_squared distribution(kBins - 1);
    for (Index i = 0; i < counts_.cols(); ++i) {
      const double expected = counts_.col(i).sum() / kBins;
      const double statistic = (counts_.col(i).array() - expected).square().sum() / expected;
      smallest = std::min(smallest, boost::math::cdf(complement(distribution, statistic)));
    }
    return smallest;
  }

 private:
  MatrixXd counts_;
};

using MakeTransition = std::function<std::unique_ptr<Transition>(Hamiltonian&)>;

struct Case {
  MetricKind metric = MetricKind::kDiagonal;
  double step_size = 0.5;
};

double gamma_poisson_p_value(const Case& setting, const MakeTransition& make) {
  GammaPoissonTarget target;
  Metric metric(setting.metric, 2);
  if (setting.metric == MetricKind::kDiagonal) metric.set_inverse(Eigen::Vector2d(0.8, 0.3));
  if (setting.metric == MetricKind::kDense) {
    metric.set_inverse(Eigen::Matrix2d{{0.9, -0.4}, {-0.4, 0.5}});
  }
  Hamiltonian hamiltonian(target, metric);
  const std::unique_ptr<Transition> transition = make(hamiltonian);
  Uniformity uniformity(2);
  TransitionStatistics done;
  for (int r = 0; r < kRepetitions; ++r) {
    Rng rng(99, StreamPurpose::kTests, static_cast<std::uint64_t>(r));
    PhasePoint point(2);
    point.position = target.simulate(rng);
    hamiltonian.evaluate(point);
    for (int t = 0; t < kTransitions; ++t) transition->move(point, setting.step_size, rng, done);
    for (Index i = 0; i < 2; ++i) {
      const double rate = target.rate() * GammaPoissonTarget::lambda(point.position, i);
      uniformity.add(i, boost::math::gamma_p(target.shape(i), rate));
    }
  }
  return uniformity.p_value();
}

template <typename Sampler>
MakeTransition make(const SamplerOptions& options) {
  return [options](Hamiltonian& hamiltonian) {
    return std::make_unique<Sampler>(hamiltonian, options, Index{2}, nullptr);
  };
}

SamplerOptions of_kind(SamplerKind kind) {
  SamplerOptions options;
  options.sampler = kind;
  return options;
}

// Broken on purpose.
class NutsTakesEverySubtree : public Nuts {
 public:
  using Nuts::Nuts;
  bool take_subtree(double, double, Rng&) override { return true; }
};
class NutsIgnoresWeightsInSubtrees : public Nuts {
 public:
  using Nuts::Nuts;
  bool take_half(double, double, Rng& rng) override { return rng.uniform() < 0.5; }
};
class NutsPrefersLateHalves : public Nuts {
 public:
  using Nuts::Nuts;
  // Uses the biased rule of the outer level where the draw must be uniform.
  bool take_half(double half, double both, Rng& rng) override {
    const double log_first = both + std::log1p(-std::exp(std::min(half - both, -1e-15)));
    return half > log_first || rng.uniform() < std::exp(half - log_first);
  }
};
class NutsIgnoresTurnsInSubtrees : public Nuts {
 public:
  using Nuts::Nuts;
  [[nodiscard]] bool subtree_goes_on(const Subtree&, const Subtree&) const override { return true; }
};
class HmcAcceptsEverything : public StaticHmc {
 public:
  using StaticHmc::StaticHmc;
  bool accept(double, Rng&) override { return true; }
};
class HmcAcceptsTooOften : public StaticHmc {
 public:
  using StaticHmc::StaticHmc;
  bool accept(double log_ratio, Rng& rng) override {
    return StaticHmc::accept(0.5 * log_ratio, rng);
  }
};
}  // namespace

TEST_CASE("NUTS leaves the posterior invariant", "[invariance]") {
  for (const MetricKind metric : {MetricKind::kUnit, MetricKind::kDiagonal, MetricKind::kDense}) {
    for (const double step : {0.15, 0.5, 1.2}) {
      INFO(metric_name(metric) << " step " << step);
      CHECK(gamma_poisson_p_value({metric, step}, make<Nuts>(SamplerOptions{})) > kAlpha);
    }
  }
  SamplerOptions shallow;
  shallow.max_tree_depth = 2;
  CHECK(gamma_poisson_p_value({}, make<Nuts>(shallow)) > kAlpha);
}

TEST_CASE("a broken NUTS is noticed", "[invariance]") {
  const SamplerOptions options;
  const Case coarse{MetricKind::kDiagonal, 1.2};
  CHECK(gamma_poisson_p_value(coarse, make<NutsTakesEverySubtree>(options)) < kAlpha);
  CHECK(gamma_poisson_p_value(coarse, make<NutsIgnoresWeightsInSubtrees>(options)) < kAlpha);
  const Case fine{MetricKind::kUnit, 0.15};
  CHECK(gamma_poisson_p_value(fine, make<NutsPrefersLateHalves>(options)) < kAlpha);
  CHECK(gamma_poisson_p_value(fine, make<NutsIgnoresTurnsInSubtrees>(options)) < kAlpha);
}

TEST_CASE("static HMC leaves the posterior invariant", "[invariance]") {
  SamplerOptions options = of_kind(SamplerKind::kStaticHmc);
  CHECK(gamma_poisson_p_value({}, make<StaticHmc>(options)) > kAlpha);
  options.step_size_jitter = 0.0;
  CHECK(gamma_poisson_p_value({MetricKind::kDense, 0.7}, make<StaticHmc>(options)) > kAlpha);
  options.max_leapfrog_steps = 2;
  CHECK(gamma_poisson_p_value({}, make<StaticHmc>(options)) > kAlpha);
}

TEST_CASE("MALA leaves the posterior invariant", "[invariance]") {
  const SamplerOptions options = of_kind(SamplerKind::kMala);
  CHECK(gamma_poisson_p_value({}, make<StaticHmc>(options)) > kAlpha);
  CHECK(gamma_poisson_p_value({MetricKind::kUnit, 1.0}, make<StaticHmc>(options)) > kAlpha);
}

TEST_CASE("a broken HMC or MALA is noticed", "[invariance]") {
  const Case coarse{MetricKind::kDiagonal, 1.0};
  for (const SamplerKind kind : {SamplerKind::kStaticHmc, SamplerKind::kMala}) {
    INFO(sampler_name(kind));
    CHECK(gamma_poisson_p_value(coarse, make<HmcAcceptsEverything>(of_kind(kind))) < kAlpha);
    CHECK(gamma_poisson_p_value(coarse, make<HmcAcceptsTooOften>(of_kind(kind))) < kAlpha);
  }
}

TEST_CASE("unadjusted Langevin is biased, as it says", "[invariance]") {
  const auto langevin = [](Hamiltonian& hamiltonian) {
    auto sampler = std::make_unique<StaticHmc>(hamiltonian, of_kind(SamplerKind::kLangevin),
                                               Index{2}, nullptr);
    sampler->set_corrected(false);
    return sampler;
  };
  CHECK(gamma_poisson_p_value({MetricKind::kDiagonal, 1.0}, langevin) < kAlpha);
}
