// Replica exchange finds both modes of a distribution, where a single chain stays in one. Both
// estimates of the evidence are right.
#include <cmath>
#include <vector>

#include "catch.hpp"
#include "chance.hpp"
#include "headway/posterior/tempered_evidence.hpp"
#include "headway/sampling/sample.hpp"
#include "sampling_targets.hpp"

using namespace headway;
using headway::testing::TwoModesTarget;

namespace {

const double kLargestZ = testing::largest_chain_z(3);

sampling::SamplerOptions options_of(int replicas) {
  sampling::SamplerOptions options;
  options.chains = 4;
  options.warmup = 500;
  options.draws = 2000;
  options.seed = 9;
  options.replicas = replicas;
  return options;
}

// The share of draws in the mode at +distance.
sampling::QuantityDiagnostics share_of_mode(const sampling::SamplingResult& result) {
  const MatrixXd first = result.coordinate_draws(0);
  return sampling::diagnose_quantity((first.array() > 0.0).cast<double>().matrix());
}

std::vector<posterior::TemperedDraws> tempered(const sampling::SamplingResult& result) {
  std::vector<posterior::TemperedDraws> chains;
  for (const sampling::ChainState& chain : result.state.chains) {
    posterior::TemperedDraws one{chain.ladder.inverse_temperatures, {}};
    const auto draws = static_cast<Index>(chain.log_likelihoods.size());
    one.log_likelihoods.resize(draws, static_cast<Index>(chain.replicas.size()) + 1);
    one.log_likelihoods.col(0) = Eigen::Map<const VectorXd>(chain.log_likelihoods.data(), draws);
    for (std::size_t k = 0; k < chain.replicas.size(); ++k) {
      one.log_likelihoods.col(static_cast<Index>(k) + 1) =
          Eigen::Map<const VectorXd>(chain.replicas[k].log_likelihoods.data(), draws);
    }
    chains.push_back(std::move(one));
  }
  return chains;
}

// A wrong target, which ignores the inverse temperature.
class WrongTarget final : public TwoModesTarget {
 public:
  double log_likelihood(const Eigen::Ref<const VectorXd>& q) override {
    return TwoModesTarget::log_likelihood(q) + 0.3 * q[0];
  }
  [[nodiscard]] std::unique_ptr<Target> clone() const override {
    return std::make_unique<WrongTarget>(*this);
  }
};

}  // namespace

TEST_CASE("chains with replicas have both modes in the right shares, and the evidence") {
  const sampling::SamplingResult result = sampling::sample(TwoModesTarget(), options_of(6));
  const sampling::QuantityDiagnostics share = share_of_mode(result);
  INFO("share " << share.mean << " +- " << share.mcse_mean << ", R-hat " << share.rhat);
  CHECK(share.rhat < testing::largest_rhat(share.ess_bulk, 4, 1));
  CHECK(std::abs(share.mean - TwoModesTarget::kShare) < kLargestZ * share.mcse_mean);
  CHECK(share.mcse_mean < 0.03);
  const posterior::TemperedEvidence evidence = posterior::tempered_evidence(tempered(result));
  const double expected = TwoModesTarget::log_evidence();
  INFO("bridge " << evidence.bridge << " +- " << evidence.bridge_error << ", integral "
                 << evidence.integral << " +- " << evidence.integral_error << ", exact "
                 << expected);
  CHECK(std::abs(evidence.bridge - expected) < kLargestZ * evidence.bridge_error);
  CHECK(std::abs(evidence.integral - expected) < kLargestZ * evidence.integral_error);
  CHECK(evidence.bridge_error < 0.05);
}

TEST_CASE("chains without replicas stay in the mode where they began") {
  const sampling::SamplingResult result = sampling::sample(TwoModesTarget(), options_of(1));
  CHECK(share_of_mode(result).rhat > 1.1);
}

TEST_CASE("exchanges with a wrong likelihood are noticed") {
  const sampling::QuantityDiagnostics share =
      share_of_mode(sampling::sample(WrongTarget(), options_of(6)));
  CHECK(std::abs(share.mean - TwoModesTarget::kShare) > kLargestZ * share.mcse_mean);
}

TEST_CASE("errors of the evidence are those of repetitions") {
  // z of 40 short runs: their mean square is 1 within its own error. A quarter is added, since an
  // error from so short a run is itself off by a tenth.
  double squares = 0.0;
  double integral_squares = 0.0;
  constexpr int kRuns = 40;
  for (int run = 0; run < kRuns; ++run) {
    sampling::SamplerOptions options = options_of(6);
    options.warmup = 200;
    options.draws = 300;
    options.seed = 100 + static_cast<std::uint64_t>(run);
    const posterior::TemperedEvidence e =
        posterior::tempered_evidence(tempered(sampling::sample(TwoModesTarget(), options)));
    const double expected = TwoModesTarget::log_evidence();
    squares += std::pow((e.bridge - expected) / e.bridge_error, 2) / kRuns;
    integral_squares += std::pow((e.integral - expected) / e.integral_error, 2) / kRuns;
  }
  INFO("mean squares of z: " << squares << ", " << integral_squares);
  const testing::MeanSquare allowed = testing::mean_square_of_z(kRuns);
  CHECK(squares > allowed.least / 1.25);
  CHECK(squares < allowed.most * 1.25);
  CHECK(integral_squares < allowed.most * 1.25);
}
