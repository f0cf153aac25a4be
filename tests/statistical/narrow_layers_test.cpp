// Layers narrower than the number of paths, on few data. Two samplers that share no transition,
// NUTS on Wishart factors and Gibbs on the weights of the first layer, agree; and the second, which
// "auto" takes there, has many effective draws.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "catch.hpp"
#include "chance.hpp"
#include "headway/sample.hpp"
#include "headway/sampling/diagnostics.hpp"
#include "headway/study/task_kinds.hpp"
#include "headway/study_file.hpp"

using namespace headway;

namespace {

constexpr double kCompared = 2.0 * (16 + 4 + 2);  // of U_1, U_2, U_a and its square at two widths
// Draws of NUTS for an effective one, at most, are a matter of luck here, from four to twenty.
constexpr int kNutsDraws = 500;
constexpr double kFewestOfNuts = 100.0;
// Sweeps for an effective draw, of the entry that mixes slowest, at most.
constexpr int kSweeps = 8000;
constexpr double kSweepsOfDraw = 10.0;

SampleResult sampled(Sampler sampler, double temperature, int draws) {
  headway::Study study =
      io::read_study(HEADWAY_SOURCE_DIR "/data/studies/hmm-four-paths.toml").study;
  study.task.as<tasks::HiddenMarkovChainOptions>().train_examples = 60;
  study.task.as<tasks::HiddenMarkovChainOptions>().features = 8;
  study.task.as<tasks::HiddenMarkovChainOptions>().test_examples = 1;
  study.model.widths = {{2}, {3}};
  study.model.temperatures = {temperature};
  study.sample.sampler = sampler;
  study.sample.draws = draws;
  study.sample.warmup = 500;
  study.sample.predictor_draws = 0;
  Observer observer;
  return headway::sample(study, headway::make_dataset(study), observer);
}

/// Entries of U_1 and U_2, U_a and its square: draws x chains each.
std::vector<MatrixXd> entries_of(const SamplePoint& point) {
  std::vector<MatrixXd> all;
  const auto add = [&](const Tensor& draws, double power) {
    const Index chains = draws.shape[0], count = draws.shape[1];
    const Index entries = std::ssize(draws.values) / (chains * count);
    for (Index e = 0; e < entries; ++e) {
      MatrixXd series(count, chains);
      for (Index c = 0; c < chains; ++c) {
        for (Index i = 0; i < count; ++i) {
          series(i, c) = std::pow(
              draws.values[static_cast<std::size_t>((c * count + i) * entries + e)], power);
        }
      }
      all.push_back(std::move(series));
    }
  };
  for (const SampledMatrix& u : point.order_parameters) add(u.draws, 1.0);
  for (const double power : {1.0, 2.0}) add(point.readout_order_parameter.draws, power);
  return all;
}

}  // namespace

TEST_CASE("with little noise exact chains agree at widths below the number of paths") {
  // Chains that started in different places. In trapezoidal coordinates alone R-hat is 1.5 here.
  for (const SamplePoint& point : sampled(Sampler::kExact, 0.01, kNutsDraws).points) {
    INFO("N = " << point.widths.front() << ", effective draws " << point.ess_bulk_min);
    CHECK(point.rhat_max < headway::testing::largest_rhat(kFewestOfNuts, point.chains, 1));
    CHECK(point.evidence_reason.empty());
  }
}

TEST_CASE("at widths below the number of paths both exact samplers agree") {
  constexpr double kMuchNoise = 1.0;  // with little "auto" takes NUTS
  const SampleResult nuts = sampled(Sampler::kExact, kMuchNoise, kNutsDraws);
  const SampleResult chosen = sampled(Sampler::kAuto, kMuchNoise, kSweeps);
  // An estimate of tau from n draws has the relative error sqrt(2 (2 W + 1) / n) with a window of
  // W = 5 tau or so (Sokal).
  const double n = 4.0 * kSweeps;
  const double error = std::sqrt(2.0 * (10.0 * kSweepsOfDraw + 1.0) / n);
  const double fewest = n / kSweepsOfDraw * (1.0 - testing::largest_z(kCompared) * error);
  // That of NUTS' tau makes its standard error uncertain by half of sqrt(2 (10 tau + 1) / n) = 45 %
  // with tau = 20 and n = 2000: three deviations are two thirds of it.
  const double most = (1.0 + 3.0 * 0.5 * 0.45) * testing::largest_z(kCompared);
  for (std::size_t p = 0; p < nuts.points.size(); ++p) {
    const SamplePoint& one = nuts.points[p];
    const SamplePoint& other = chosen.points[p];
    const std::vector<MatrixXd> a = entries_of(one), b = entries_of(other);
    std::printf("N=%-2.0f R-hat %.4f %.4f   ESS %.0f %.0f   log p(y) %.2f +- %.2f\n",
                static_cast<double>(one.widths.front()), one.rhat_max, other.rhat_max,
                one.ess_bulk_min, other.ess_bulk_min, one.log_evidence, one.log_evidence_error);
    CHECK(one.sampler == "exact");
    CHECK(other.sampler == "collapsed");
    CHECK(one.rhat_max < testing::largest_rhat(kFewestOfNuts, one.chains, 1));
    CHECK(one.evidence_reason.empty());
    CHECK(other.ess_bulk_min > fewest);
    CHECK(other.rhat_max < testing::largest_rhat(fewest, other.chains, kCompared));
    REQUIRE(a.size() == b.size());
    for (std::size_t k = 0; k < a.size(); ++k) {
      const auto x = sampling::diagnose_quantity(a[k]), y = sampling::diagnose_quantity(b[k]);
      INFO("quantity " << k << ": " << x.mean << " +- " << x.mcse_mean << ", " << y.mean << " +- "
                       << y.mcse_mean);
      CHECK(std::abs(x.mean - y.mean) < most * std::hypot(x.mcse_mean, y.mcse_mean));
    }
  }
}
