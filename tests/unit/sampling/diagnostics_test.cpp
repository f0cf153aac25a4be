// Known answers: fixed arrays with the numbers that ArviZ gives for them, small arrays by hand, and
// edge cases.
#include "headway/sampling/diagnostics.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "catch.hpp"
#include "headway/core/rng.hpp"
#include "monte_carlo_errors.hpp"

using namespace headway;            // NOLINT: a test
using namespace headway::sampling;  // NOLINT

namespace {

using Catch::Matchers::WithinAbs;
using Catch::Matchers::WithinRel;

nlohmann::json reference_cases() {
  std::ifstream file(HEADWAY_TEST_DATA "/sampling_diagnostics_reference.json");
  return nlohmann::json::parse(file).at("cases");
}

MatrixXd chains_of(const nlohmann::json& rows) {
  MatrixXd draws(rows.at(0).size(), rows.size());
  for (Index c = 0; c < draws.cols(); ++c) {
    for (Index i = 0; i < draws.rows(); ++i) draws(i, c) = rows[c][i].get<double>();
  }
  return draws;
}

MatrixXd white_noise(Index draws, Index chains, std::uint64_t stream) {
  MatrixXd values(draws, chains);
  Rng rng(11, StreamPurpose::kTests, stream);
  for (double& v : values.reshaped()) v = rng.normal();
  return values;
}

// [V21] equations 10-13 without shortcuts: every autocorrelation up to n - 1 first, then Geyer's
// two rules on pairs.
double slow_ess(const MatrixXd& chains) {
  const Index n = chains.rows();
  const Index m = chains.cols();
  const double n_real = static_cast<double>(n);
  std::vector<double> covariance(static_cast<std::size_t>(n), 0.0);
  double between = 0.0;
  const double grand = chains.mean();
  for (Index c = 0; c < m; ++c) {
    const double mean = chains.col(c).mean();
    between += (mean - grand) * (mean - grand) / static_cast<double>(m - 1);
    for (Index lag = 0; lag < n; ++lag) {
      for (Index i = 0; i + lag < n; ++i) {
        covariance[lag] += (chains(i, c) - mean) * (chains(i + lag, c) - mean) / (n_real * m);
      }
    }
  }
  const double within = covariance[0] * n_real / (n_real - 1.0);
  const double var_plus = covariance[0] + between;
  std::vector<double> rho;
  rho.reserve(covariance.size());
  for (double c : covariance) rho.push_back(1.0 - (within - c) / var_plus);
  rho[0] = 1.0;
  double tau = -1.0;
  double previous = std::numeric_limits<double>::infinity();
  Index t = 0;
  for (; t + 1 < n - 2; t += 2) {
    const double pair = rho[t] + rho[t + 1];
    if (t > 0 && pair < 0.0) break;
    previous = std::min(previous, pair);
    tau += 2.0 * previous;
  }
  if (rho[t] > 0.0) tau += rho[t];
  const double total = n_real * static_cast<double>(m);
  return total / std::max(tau, 1.0 / std::log10(total));
}

}  // namespace

TEST_CASE("diagnostics agree with ArviZ on fixed arrays") {
  for (const nlohmann::json& c : reference_cases()) {
    const MatrixXd draws = chains_of(c.at("chains"));
    INFO("case " << c.at("name").get<std::string>());
    const auto same = [&c](const char* key, double value) {
      INFO(key);
      CHECK_THAT(value, WithinRel(c.at(key).get<double>(), 1e-9));
    };
    if (draws.cols() > 1) {  // ArviZ leaves R-hat of one chain undefined; splitting defines it
      same("rhat_bulk", bulk_rhat(draws));
      same("rhat_folded", folded_rhat(draws));
      same("rhat_rank", rank_normalized_rhat(draws));
    } else {
      CHECK(rank_normalized_rhat(draws) > 1.0);
    }
    same("ess_bulk", ess_bulk(draws));
    same("ess_tail", ess_tail(draws));
    same("ess_mean", ess_mean(draws));
    same("ess_sd", testing::ess_sd(draws));
    same("ess_median", ess_quantile(draws, 0.5));
    same("ess_quantile_10", ess_quantile(draws, 0.1));
    same("mcse_mean", mcse_mean(draws));
    same("mcse_sd", testing::mcse_sd(draws));
    CHECK_THAT(testing::mcse_quantile(draws, 0.1),
               WithinAbs(c.at("mcse_quantile_10").get<double>(), 1e-9));
    CHECK_THAT(testing::mcse_quantile(draws, 0.5),
               WithinAbs(c.at("mcse_median").get<double>(), 1e-9));
    for (Index chain = 0; chain < draws.cols(); ++chain) {
      const std::span<const double> energies(draws.col(chain).data(), draws.rows());
      CHECK_THAT(energy_bfmi(energies), WithinRel(c.at("bfmi")[chain].get<double>(), 1e-9));
      EnergySums sums;
      for (const double energy : energies) add(sums, energy);
      CHECK_THAT(bfmi_of_sums(sums), WithinRel(c.at("bfmi")[chain].get<double>(), 1e-9));
    }
  }
}

TEST_CASE("summed energies have no E-BFMI if there are fewer than 4, or all equal, or one is NaN") {
  const auto bfmi = [](const std::vector<double>& energies) {
    EnergySums sums;
    for (const double energy : energies) add(sums, energy);
    return bfmi_of_sums(sums);
  };
  CHECK(std::isnan(bfmi({})));
  CHECK(std::isnan(bfmi({1.0, 2.0, 3.0})));
  CHECK(std::isnan(bfmi({0.1, 0.1, 0.1, 0.1, 0.1})));
  CHECK(std::isnan(bfmi({1.0, 2.0, std::nan(""), 3.0, 4.0})));
  CHECK(std::isnan(bfmi({1.0, 2.0, std::numeric_limits<double>::infinity(), 3.0, 4.0})));
  // A constant that is large does not cost digits.
  CHECK_THAT(bfmi({1e9, 1e9 + 1, 1e9, 1e9 + 1}), WithinRel(3.0, 1e-12));
}

TEST_CASE("effective sample size agrees with the slow implementation") {
  const double phi = GENERATE(-0.5, 0.0, 0.5, 0.9);
  MatrixXd draws = white_noise(200, 3, 1);
  for (Index c = 0; c < draws.cols(); ++c) {
    for (Index i = 1; i < draws.rows(); ++i) draws(i, c) += phi * draws(i - 1, c);
  }
  MatrixXd halves(100, 6);
  for (Index c = 0; c < 3; ++c) {
    halves.col(2 * c) = draws.col(c).head(100);
    halves.col(2 * c + 1) = draws.col(c).tail(100);
  }
  CHECK_THAT(ess_mean(draws), WithinRel(slow_ess(halves), 1e-9));
}

TEST_CASE("R-hat of a small array has the value computed by hand") {
  // Halves (0, 1), (1, 0), (0, 1), (1, 0): each value has the same mean rank in every half, so
  // their means agree and var_plus / W = 1/2.
  MatrixXd draws(4, 2);
  draws << 0, 0, 1, 1, 1, 1, 0, 0;
  CHECK_THAT(bulk_rhat(draws), WithinRel(std::sqrt(0.5), 1e-14));
}

TEST_CASE("R-hat sees another scale, which is no other location") {
  MatrixXd wider = white_noise(500, 4, 2);
  wider.col(0) *= 3.0;  // the same mean, another scale
  CHECK(bulk_rhat(wider) < 1.01);
  CHECK(rank_normalized_rhat(wider) > 1.1);
  // A monotone map changes no rank.
  const MatrixXd mapped = wider.array().exp().matrix();
  CHECK_THAT(bulk_rhat(mapped), WithinRel(bulk_rhat(wider), 1e-12));
  CHECK_THAT(ess_bulk(mapped), WithinRel(ess_bulk(wider), 1e-12));
}

TEST_CASE("the quantities without a value are NaN, not an exception") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  SECTION("few draws") {
    const MatrixXd draws = white_noise(3, 4, 3);
    CHECK(std::isnan(rank_normalized_rhat(draws)));
    CHECK(std::isnan(ess_bulk(draws)));
    const QuantityDiagnostics d = diagnose_quantity(draws);
    CHECK_THAT(d.mean, WithinAbs(draws.mean(), 1e-15));
    CHECK(std::isnan(d.rhat));
  }
  SECTION("no draws") {
    CHECK(std::isnan(diagnose_quantity(MatrixXd(0, 0)).mean));
    CHECK(std::isnan(diagnose_quantity(MatrixXd(0, 4)).rhat));
    CHECK(std::isnan(quantile(MatrixXd(0, 4), 0.5)));
    CHECK(std::isnan(energy_bfmi({})));
  }
  SECTION("NaN and infinity") {
    for (const double bad : {nan, std::numeric_limits<double>::infinity()}) {
      MatrixXd draws = white_noise(50, 2, 4);
      draws(7, 1) = bad;
      CHECK(std::isnan(rank_normalized_rhat(draws)));
      CHECK(std::isnan(ess_tail(draws)));
      CHECK(std::isnan(ess_quantile(draws, 0.1)));
      CHECK(diagnose_quantity(draws).not_finite);
    }
  }
  SECTION("one value everywhere") {
    const QuantityDiagnostics d = diagnose_quantity(MatrixXd::Constant(50, 4, 0.1));
    CHECK(d.constant);
    CHECK_THAT(d.mean, WithinRel(0.1, 1e-12));
    CHECK_THAT(d.sd, WithinAbs(0.0, 1e-12));
    CHECK(std::isnan(d.rhat));
    CHECK(std::isnan(d.ess_bulk));
  }
  SECTION("every chain stands still at its own place") {
    MatrixXd draws(20, 3);
    for (Index c = 0; c < 3; ++c) draws.col(c).setConstant(static_cast<double>(c));
    CHECK(rank_normalized_rhat(draws) > 1e3);
    CHECK(ess_bulk(draws) < 7.0);
  }
  SECTION("one chain") {
    const QuantityDiagnostics d = diagnose_quantity(white_noise(400, 1, 5));
    CHECK(d.rhat < 1.05);
    CHECK(d.ess_bulk > 100.0);
  }
  SECTION("two values") {
    MatrixXd draws = (white_noise(100, 2, 6).array() > 0.0).cast<double>();
    CHECK(rank_normalized_rhat(draws) < 1.2);
    CHECK(ess_mean(draws) > 50.0);
  }
}

TEST_CASE("diagnose_quantity gathers the single functions") {
  const MatrixXd draws = white_noise(120, 4, 7);
  const QuantityDiagnostics d = diagnose_quantity(draws);
  CHECK_THAT(d.rhat, WithinRel(rank_normalized_rhat(draws), 1e-14));
  CHECK_THAT(d.ess_bulk, WithinRel(ess_bulk(draws), 1e-14));
  CHECK_THAT(d.ess_tail, WithinRel(ess_tail(draws), 1e-14));
  CHECK_THAT(d.mcse_mean, WithinRel(mcse_mean(draws), 1e-14));
}

TEST_CASE("quantiles interpolate between order statistics") {
  MatrixXd draws(5, 1);
  draws << 4, 1, 3, 0, 2;
  CHECK_THAT(quantile(draws, 0.0), WithinAbs(0.0, 0.0));
  CHECK_THAT(quantile(draws, 1.0), WithinAbs(4.0, 0.0));
  CHECK_THAT(quantile(draws, 0.3), WithinAbs(1.2, 1e-14));
  CHECK(std::isnan(quantile(draws, 1.5)));
}
