// Options are refused with field, value and what is allowed.
#include "headway/sampling/options.hpp"

#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "headway/error.hpp"

using namespace headway;            // NOLINT: a test
using namespace headway::sampling;  // NOLINT

namespace {

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
  for (const SamplerKind kind : {SamplerKind::kNuts, SamplerKind::kStaticHmc, SamplerKind::kMala,
                                 SamplerKind::kLangevin, SamplerKind::kSweep}) {
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
      {"sampler = 99", [](auto& o) { o.sampler = static_cast<SamplerKind>(99); }},
      {"metric = 99", [](auto& o) { o.metric = static_cast<MetricKind>(99); }},
  };
  for (const auto& [field, change] : cases) {
    SamplerOptions options;
    change(options);
    const std::string message = bad_study([&] { options.validate(3); });
    INFO(message);
    CHECK(message.starts_with("sampler." + field));
    CHECK(message.find(": must be ") != std::string::npos);
  }
  SamplerOptions thin;
  thin.thin = 0;
  CHECK(bad_study([&] { thin.validate(3); }) ==
        "sampler.thin = 0: must be an integer from 1 to 10000");
  CHECK(bad_study([] { SamplerOptions().validate(0); }) ==
        "target dimension = 0: must be 1 or more");
  SamplerOptions starts;
  starts.starts = {VectorXd::Zero(3)};
  CHECK(bad_study([&] { starts.validate(3); }) ==
        "sampler.starts = 1 positions: must be none, or one for each of the 4 chains");
  starts.starts.assign(4, VectorXd::Zero(3));
  CHECK(bad_study([&] { starts.validate(3); }) == "(accepted)");
  CHECK(bad_study([&] { starts.validate(2); }) ==
        "sampler.starts[1] = 3 numbers: must be 2 finite numbers");
}

TEST_CASE("options are accepted at the ends of their ranges") {
  using Change = std::function<void(SamplerOptions&)>;
  const std::vector<Change> changes = {
      [](auto& o) { o.chains = 1; },          [](auto& o) { o.warmup = 0; },
      [](auto& o) { o.draws = 1; },           [](auto& o) { o.thin = 1; },
      [](auto& o) { o.threads = 0; },         [](auto& o) { o.max_tree_depth = 1; },
      [](auto& o) { o.max_tree_depth = 20; }, [](auto& o) { o.max_leapfrog_steps = 1; },
      [](auto& o) { o.start_attempts = 1; },  [](auto& o) { o.step_size_jitter = 0.0; },
      [](auto& o) { o.replicas = 1; },        [](auto& o) { o.checkpoint_seconds = 0.0; },
      [](auto& o) { o.target_accept = 1e-9; }};
  for (std::size_t i = 0; i < changes.size(); ++i) {
    CAPTURE(i);
    SamplerOptions options;
    changes[i](options);
    CHECK_NOTHROW(options.validate(1));
  }
}

TEST_CASE("acceptance defaults follow the sampler") {
  SamplerOptions options;
  CHECK(resolved_target_accept(options) == 0.8);
  options.sampler = SamplerKind::kMala;
  CHECK(resolved_target_accept(options) == 0.574);
  options.target_accept = 0.7;
  CHECK(resolved_target_accept(options) == 0.7);
}
