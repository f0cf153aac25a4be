// Options and priors are refused with field, value and what is allowed.
#include "headway/sampling/options.hpp"

#include <cmath>
#include <functional>
#include <limits>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "headway/core/error.hpp"
#include "headway/sampling/target.hpp"

namespace headway::sampling {
namespace {

using Catch::Matchers::WithinRel;

template <typename Action>
std::string bad_study(const Action& action) {
  try {
    action();
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kBadStudy);
    return error.what();
  }
  return "(accepted)";
}

}  // namespace

TEST_CASE("the defaults are valid for every sampler") {
  for (const SamplerKind kind :
       {SamplerKind::kNuts, SamplerKind::kStaticHmc, SamplerKind::kMala, SamplerKind::kLangevin,
        SamplerKind::kEllipticalSlice, SamplerKind::kSweep}) {
    SamplerOptions options;
    options.sampler = kind;
    CHECK_NOTHROW(options.validate(3));
    CHECK_FALSE(sampler_name(kind).empty());
  }
}

TEST_CASE("each bad option is named with its value") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  using Change = std::function<void(SamplerOptions&)>;
  const std::vector<std::pair<std::string, Change>> cases = {
      {"chains = 0", [](auto& o) { o.chains = 0; }},
      {"chains = -3", [](auto& o) { o.chains = -3; }},
      {"warmup = -1", [](auto& o) { o.warmup = -1; }},
      {"draws = 0", [](auto& o) { o.draws = 0; }},
      {"draws = 2000000000", [](auto& o) { o.draws = 2000000000; }},
      {"thin = 0", [](auto& o) { o.thin = 0; }},
      {"thin = 1000000", [](auto& o) { o.thin = 1000000; }},
      {"threads = -1", [](auto& o) { o.threads = -1; }},
      {"max_tree_depth = 0", [](auto& o) { o.max_tree_depth = 0; }},
      {"max_tree_depth = 25", [](auto& o) { o.max_tree_depth = 25; }},
      {"max_leapfrog_steps = 0", [](auto& o) { o.max_leapfrog_steps = 0; }},
      {"start_attempts = 0", [](auto& o) { o.start_attempts = 0; }},
      {"target_accept = 0", [](auto& o) { o.target_accept = 0.0; }},
      {"target_accept = 1", [](auto& o) { o.target_accept = 1.0; }},
      {"target_accept = nan", [nan](auto& o) { o.target_accept = nan; }},
      {"step_size = 0", [](auto& o) { o.step_size = 0.0; }},
      {"step_size = inf", [infinity](auto& o) { o.step_size = infinity; }},
      {"divergence_threshold = -1", [](auto& o) { o.divergence_threshold = -1.0; }},
      {"integration_time = nan", [nan](auto& o) { o.integration_time = nan; }},
      {"step_size_jitter = 1", [](auto& o) { o.step_size_jitter = 1.0; }},
      {"step_size_jitter = -0.1", [](auto& o) { o.step_size_jitter = -0.1; }},
      {"initial_radius = 0", [](auto& o) { o.initial_radius = 0.0; }},
      {"checkpoint_seconds = -1", [](auto& o) { o.checkpoint_seconds = -1.0; }},
      {"starts = 1 positions", [](auto& o) { o.starts = {VectorXd::Zero(3)}; }},
      {"starts[2]", [](auto& o) { o.starts.assign(4, VectorXd::Zero(3)), o.starts[1].resize(2); }},
      {"starts[3]",
       [nan](auto& o) { o.starts.assign(4, VectorXd::Zero(3)), o.starts[2].setConstant(nan); }},
      {"estimate_langevin_bias = true", [](auto& o) { o.estimate_langevin_bias = true; }},
      {"sampler = 99", [](auto& o) { o.sampler = static_cast<SamplerKind>(99); }},
      {"metric = 99", [](auto& o) { o.metric = static_cast<MetricKind>(99); }},
      {"keep_draws = false",
       [](auto& o) {
         o.sampler = SamplerKind::kLangevin;
         o.estimate_langevin_bias = true;
         o.keep_draws = false;
       }},
  };
  for (const auto& [field, change] : cases) {
    SamplerOptions options;
    change(options);
    const std::string message = bad_study([&] { options.validate(3); });
    INFO(message);
    CHECK(message.find(field) != std::string::npos);
    CHECK(message.find("must be") != std::string::npos);
  }
  CHECK(bad_study([] { SamplerOptions().validate(0); }).find("dimension = 0") != std::string::npos);
}

TEST_CASE("acceptance defaults follow the sampler") {
  SamplerOptions options;
  CHECK(resolved_target_accept(options) == 0.8);
  options.sampler = SamplerKind::kMala;
  CHECK(resolved_target_accept(options) == 0.574);
  options.target_accept = 0.7;
  CHECK(resolved_target_accept(options) == 0.7);
}

TEST_CASE("a Gaussian prior: density, gradient, draws and faults") {
  GaussianPrior diagonal{Eigen::Vector2d(1.0, -2.0), Eigen::Vector2d(0.5, 3.0), {}};
  GaussianPrior dense{diagonal.mean, {}, Eigen::Matrix2d{{0.5, 0.0}, {0.0, 3.0}}};
  CHECK_NOTHROW(diagonal.validate());
  CHECK_NOTHROW(dense.validate());
  const Eigen::Vector2d at(1.4, 0.1);
  VectorXd gradient(2);
  // log N(0.4; 0, 0.5) + log N(2.1; 0, 3)
  const double expected =
      -0.5 * (0.64 + 0.49) - std::log(0.5 * 3.0) - std::log(2.0 * std::numbers::pi);
  CHECK_THAT(diagonal.log_density(at, gradient), WithinRel(expected, 1e-14));
  CHECK_THAT(gradient[0], WithinRel(-1.6, 1e-14));
  CHECK_THAT(gradient[1], WithinRel(-2.1 / 9.0, 1e-14));
  VectorXd other(2);
  CHECK_THAT(dense.log_density(at, other), WithinRel(expected, 1e-14));
  CHECK((gradient - other).norm() < 1e-14);
  Rng first(1, StreamPurpose::kTests);
  Rng second(1, StreamPurpose::kTests);
  diagonal.draw_centred(first, gradient);
  dense.draw_centred(second, other);
  CHECK((gradient - other).norm() < 1e-14);

  const auto refused = [](GaussianPrior prior) { return bad_study([&] { prior.validate(); }); };
  const VectorXd mean = diagonal.mean;
  CHECK(refused({}).find("mean") != std::string::npos);
  CHECK(refused({mean, {}, {}}).find("exactly one") != std::string::npos);
  CHECK(refused({mean, VectorXd::Ones(3), {}}).find("3 entries") != std::string::npos);
  CHECK(refused({mean, Eigen::Vector2d(1.0, 0.0), {}}).find("above 0") != std::string::npos);
  CHECK(refused({mean, {}, MatrixXd::Ones(2, 3)}).find("2 x 3") != std::string::npos);
  CHECK(refused({mean, {}, -MatrixXd::Identity(2, 2)}).find("diagonal") != std::string::npos);
}

}  // namespace headway::sampling
