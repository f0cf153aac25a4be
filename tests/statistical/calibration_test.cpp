// Calibration by ranks: right samplers pass, and one whose temperature is off is noticed.
#include "verbs/theory/calibration.hpp"

#include <memory>
#include <vector>

#include "catch.hpp"
#include "headway/posterior/collapsed_chain.hpp"
#include "headway/posterior/exact_chain.hpp"
#include "headway/posterior/weight_posterior.hpp"
#include "weight_problems.hpp"

using namespace headway;             // NOLINT: a test
using namespace headway::posterior;  // NOLINT

namespace {

using testing::WeightProblem;

/// Calibration of `Chain`, which takes the temperature to be `factor` times what it is.
template <class Chain>
SampledCalibration calibration_of(const WeightProblem& problem, sampling::SamplerOptions options,
                                  int networks, double factor = 1.0) {
  const testing::WeightData data = testing::random_weight_data(problem);
  const CalibrationProblem asked{
      problem.architecture, problem.temperature, *data.kernels, *data.test_features,
      [&](const MatrixXd& labels) -> std::unique_ptr<sampling::Target> {
        return std::make_unique<Chain>(problem.architecture, factor * problem.temperature,
                                       theory::make_path_kernels(data.kernels->features(), labels,
                                                                 problem.architecture.paths()),
                                       data.test_features);
      }};
  Observer observer;
  const auto result = calibrate(asked, options, networks, 3, observer);
  REQUIRE(result);
  return *result;
}

sampling::SamplerOptions options_of(sampling::SamplerKind kind, int warmup, int draws) {
  sampling::SamplerOptions options;
  options.sampler = kind;
  options.warmup = warmup;
  options.draws = draws;
  options.threads = 2;
  options.keep_draws = false;
  return options;
}

// Neyman's statistic is chi^2 only for many networks, so that far in the tail it has some more.
constexpr double kLeast = 1e-5;

}  // namespace

TEST_CASE(
    "Right samplers are calibrated, in networks of several outputs and layers, narrow or not") {
  for (const std::size_t which : {1, 2, 5}) {
    const WeightProblem problem = testing::weight_problems()[which];
    INFO(testing::describe(problem));
    CHECK(calibration_of<CollapsedChain>(problem,
                                         options_of(sampling::SamplerKind::kSweep, 50, 200), 300)
              .p_value > kLeast);
    CHECK(
        calibration_of<ExactChain>(problem, options_of(sampling::SamplerKind::kNuts, 150, 200), 200)
            .p_value > kLeast);
    CHECK(calibration_of<WeightPosterior>(problem,
                                          options_of(sampling::SamplerKind::kSweep, 200, 1000), 200)
              .p_value > kLeast);
  }
}

namespace {

// In each of 60 directions that the labels tell of, the squared residual is T chi^2_1: a wrong T
// moves it by (factor - 1) sqrt(60 / 2) of its deviations.
WeightProblem many_directions() { return {{{2}, {2, 3}, {1.0, 1.0, 1.0}, 1}, 0.05, 60, 40, 71}; }

void check_factors(const std::vector<double>& factors, int networks) {
  const auto options = options_of(sampling::SamplerKind::kSweep, 20, 60);
  CHECK(calibration_of<CollapsedChain>(many_directions(), options, networks).p_value > kLeast);
  for (const double factor : factors) {
    const SampledCalibration off =
        calibration_of<CollapsedChain>(many_directions(), options, networks, factor);
    INFO("factor " << factor << " p " << off.p_value);
    CHECK(off.p_value < 0.001);
    CHECK(off.p_values[0] < 0.001);  // the squared residual
  }
}

}  // namespace

TEST_CASE("A temperature that is wrong by an eighth is noticed") {
  check_factors({0.88, 1.12}, 400);
}

TEST_CASE("A temperature that is wrong by three per cent is noticed", "[.long]") {
  check_factors({0.97, 1.03}, 5000);
}
