// A checkpoint is accepted only by its own run, and only when its parts fit together.
#include "headway/sampling/checkpoint.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "catch.hpp"
#include "headway/error.hpp"
#include "headway/sampling/sample.hpp"
#include "sampling_targets.hpp"

using namespace headway;            // NOLINT: a test
using namespace headway::sampling;  // NOLINT

namespace {

bool says(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a checkpoint of other settings is refused, naming the first line that differs") {
  const auto target = testing::correlated_gaussian(2);
  SamplerOptions options;
  options.chains = 2;
  options.warmup = 30;
  options.draws = 10;
  options.threads = 1;
  const Checkpoint state = sample(target, options).state;
  const auto refused = [&](const SamplerOptions& other, const Target& on) -> std::string {
    try {
      sample(on, other, {.resume = &state});
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::kBadStudy);
      return error.what();
    }
    return "(accepted)";
  };
  CHECK(refused(options, target) == "(accepted)");
  SamplerOptions other = options;
  other.seed = 2;
  CHECK(refused(other, target) ==
        "the checkpoint belongs to another run: it has \"seed = 1\", this run has \"seed = 2\"");
  other = options;
  other.sampler = SamplerKind::kMala;
  CHECK(says(refused(other, target), "sampler = nuts"));
  other = options;
  other.target_accept = 0.9;
  CHECK(says(refused(other, target), "target_accept = 0.9"));
  CHECK(says(refused(options, testing::correlated_gaussian(3)), "dimension = 2"));
  // threads and checkpoint times do not change the draws
  other = options;
  other.threads = 2;
  other.checkpoint_seconds = 5.0;
  CHECK(refused(other, target) == "(accepted)");
  other = options;
  other.draws = 9;
  CHECK(refused(other, target) ==
        "sampler option draws = 9: chain 1 of the checkpoint already has 10");
  // A line that only this run has.
  Checkpoint older = state;
  older.settings.erase(older.settings.rfind("keep_draws"));
  CHECK_THROWS_WITH(require_matching(older, options, 2, target.fingerprint()),
                    "the checkpoint belongs to another run: it has \"(nothing)\", this run has "
                    "\"keep_draws = true\"");
}

TEST_CASE("every setting that changes the draws is in a checkpoint, in its own line") {
  using Change = void (*)(SamplerOptions&);
  const std::pair<std::string, Change> changes[] = {
      {"sampler = mala", [](SamplerOptions& o) { o.sampler = SamplerKind::kMala; }},
      {"chains = 5", [](SamplerOptions& o) { o.chains = 5; }},
      {"warmup = 7", [](SamplerOptions& o) { o.warmup = 7; }},
      {"thin = 3", [](SamplerOptions& o) { o.thin = 3; }},
      {"seed = 12", [](SamplerOptions& o) { o.seed = 12; }},
      {"first_stream = 9", [](SamplerOptions& o) { o.first_stream = 9; }},
      {"metric = dense", [](SamplerOptions& o) { o.metric = MetricKind::kDense; }},
      {"target_accept = 0.7", [](SamplerOptions& o) { o.target_accept = 0.7; }},
      {"step_size = 0.25", [](SamplerOptions& o) { o.step_size = 0.25; }},
      {"max_tree_depth = 4", [](SamplerOptions& o) { o.max_tree_depth = 4; }},
      {"divergence_threshold = 50", [](SamplerOptions& o) { o.divergence_threshold = 50.0; }},
      {"integration_time = 2.5", [](SamplerOptions& o) { o.integration_time = 2.5; }},
      {"step_size_jitter = 0.125", [](SamplerOptions& o) { o.step_size_jitter = 0.125; }},
      {"max_leapfrog_steps = 33", [](SamplerOptions& o) { o.max_leapfrog_steps = 33; }},
      {"initial_radius = 1.5", [](SamplerOptions& o) { o.initial_radius = 1.5; }},
      {"start_attempts = 6", [](SamplerOptions& o) { o.start_attempts = 6; }},
      {"keep_draws = false", [](SamplerOptions& o) { o.keep_draws = false; }},
  };
  const std::string before = describe_settings({}, 2, "t");
  CHECK(says(before, "dimension = 2\ntarget = t\n"));
  for (const auto& [line, change] : changes) {
    CAPTURE(line);
    SamplerOptions options;
    change(options);
    const std::string text = describe_settings(options, 2, "t");
    CHECK(says("\n" + text, "\n" + line + "\n"));
    CHECK_FALSE(says("\n" + before, "\n" + line + "\n"));
    CHECK(std::count(text.begin(), text.end(), '\n') ==
          std::count(before.begin(), before.end(), '\n'));
  }
}

TEST_CASE("a checkpoint whose parts do not fit is refused") {
  const auto target = testing::correlated_gaussian(2);
  SamplerOptions options;
  options.chains = 1;
  options.warmup = 30;
  options.draws = 10;
  const Checkpoint good = sample(target, options).state;
  const auto refused = [&](const auto& spoil) -> std::string {
    Checkpoint bad = good;
    spoil(bad);
    try {
      sample(target, options, {.resume = &bad});
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::kBadData);
      return error.what();
    }
    return "(accepted)";
  };
  CHECK(says(refused([](Checkpoint& c) { c.chains[0].position.resize(3); }), "position"));
  CHECK(says(refused([](Checkpoint& c) { c.chains[0].gradient.resize(0); }), "gradient"));
  CHECK(says(refused([](Checkpoint& c) { c.chains[0].draws.pop_back(); }), "draws"));
  CHECK(says(refused([](Checkpoint& c) { c.chains[0].statistics.pop_back(); }), "chain 1"));
  CHECK(says(refused([](Checkpoint& c) { c.chains[0].inverse_metric.resize(1, 1); }), "metric"));
  CHECK(refused([](Checkpoint& c) { c.chains[0].chain = 4; }) ==
        "checkpoint: chain 5 stands in the place of chain 1");
  CHECK(refused([](Checkpoint& c) { c.chains[0].iteration = -1; }) ==
        "checkpoint, chain 1: iteration has size -1, expected 0");
  CHECK(refused([](Checkpoint& c) { c.chains.clear(); }) ==
        "checkpoint, chain 0: chains has size 0, expected 1");
}

namespace {

/// What a run says of its own checkpoint after `spoil`.
template <class Spoil>
std::string refusal(const Target& target, const SamplerOptions& options, const Checkpoint& good,
                    const Spoil& spoil) {
  Checkpoint bad = good;
  spoil(bad.chains[1]);
  try {
    require_matching(bad, options, target.dimension(), target.fingerprint());
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kBadData);
    return error.what();
  }
  return "none";
}

std::string size_fault(const std::string& field, int has, int needs) {
  return "checkpoint, chain 2: " + field + " has size " + std::to_string(has) + ", expected " +
         std::to_string(needs);
}

}  // namespace

TEST_CASE("each part of a ladder of replicas is as long as the run says") {
  const testing::TwoModesTarget target;
  SamplerOptions options;
  options.chains = 2;
  options.replicas = 3;
  options.warmup = 20;
  options.draws = 5;
  options.threads = 1;
  const Checkpoint good = sample(target, options).state;
  const auto fault = [&](const auto& spoil) { return refusal(target, options, good, spoil); };
  using State = ChainState;
  CHECK(fault([](State&) {}) == "none");
  CHECK(fault([](State& s) { s.ladder.inverse_temperatures.pop_back(); }) ==
        size_fault("ladder.inverse_temperatures", 2, 3));
  CHECK(fault([](State& s) { s.ladder.log_likelihood.push_back(0.0); }) ==
        size_fault("ladder.log_likelihood", 4, 3));
  CHECK(fault([](State& s) { s.ladder.rejected.pop_back(); }) ==
        size_fault("ladder.rejected", 1, 2));
  CHECK(fault([](State& s) { s.ladder.attempts.clear(); }) == size_fault("ladder.attempts", 0, 2));
  CHECK(fault([](State& s) { s.log_likelihoods.pop_back(); }) ==
        size_fault("log_likelihoods", 4, 5));
  CHECK(fault([](State& s) { s.replicas.pop_back(); }) == size_fault("replicas", 1, 2));
  CHECK(fault([](State& s) { s.replicas[1].position.resize(3); }) ==
        size_fault("replica's position", 3, 2));
  // A hotter replica may be one draw ahead of its chain, and neither more nor less.
  const auto ahead = [&](int draws) {
    return fault([&](State& s) {
      s.replicas[1].log_likelihoods.resize(static_cast<std::size_t>(5 + draws), 0.0);
    });
  };
  CHECK(ahead(0) == "none");
  CHECK(ahead(1) == "none");
  CHECK(ahead(2) == size_fault("replica's log_likelihoods", 7, 5));
  CHECK(ahead(-1) == size_fault("replica's log_likelihoods", 4, 5));
}

TEST_CASE("metric and adaptation window have the sizes of their metric") {
  const auto target = testing::correlated_gaussian(3);
  const std::pair<MetricKind, int> numbers[] = {{MetricKind::kUnit, 0},
                                                {MetricKind::kDiagonal, 3},
                                                {MetricKind::kDense, 9},
                                                {MetricKind::kInformation, 9}};
  for (const auto& [metric, size] : numbers) {
    CAPTURE(metric_name(metric));
    SamplerOptions options;
    options.chains = 2;
    options.metric = metric;
    options.warmup = 20;
    options.draws = 5;
    options.thin = 2;
    options.threads = 1;
    const Checkpoint good = sample(target, options).state;
    const auto fault = [&](const auto& spoil) { return refusal(target, options, good, spoil); };
    CHECK(fault([](ChainState&) {}) == "none");
    CHECK(fault([](ChainState& s) { s.inverse_metric.resize(2, 2); }) ==
          size_fault("inverse_metric", 4, size));
    const auto window = [&](Index mean, Index rows, Index columns) {
      return fault([&](ChainState& s) {
        s.window.mean = VectorXd::Zero(mean);
        s.window.squares = MatrixXd::Zero(rows, columns);
      });
    };
    CHECK(window(2, 1, 1) == size_fault("window.mean", 2, 3));
    CHECK(window(3, 1, 1) == size_fault("window.squares", 1, size));
    CHECK(window(2, 0, 0) == "none");  // no window is open
    CHECK(fault([](ChainState& s) { s.iteration = 27; }) == size_fault("statistics", 5, 3));
    CHECK(fault([](ChainState& s) { s.iteration = 10; }) == size_fault("statistics", 5, 0));
    CHECK(fault([](ChainState& s) {
            s = {};  // has not begun: nothing to check
            s.chain = 1;
          }) == "none");
  }
}

TEST_CASE("a schedule of temperatures that is given is a setting, and so are all others") {
  SamplerOptions options;
  options.replicas = 3;
  const std::string adapted = describe_settings(options, 2, "t");
  CHECK(says(adapted, "replicas = 3\ninverse_temperatures = adapted\n"));
  options.inverse_temperatures = {1.0, 0.1, 0.0};
  CHECK(
      says(describe_settings(options, 2, "t"), "inverse_temperatures = 1 0.10000000000000001 0\n"));
  options.replicas = 1;
  CHECK_FALSE(says(describe_settings(options, 2, "t"), "replicas"));
  options.starts = {VectorXd::Zero(2), VectorXd::Ones(2)};
  const std::string started = describe_settings(options, 2, "t");
  std::swap(options.starts[0], options.starts[1]);
  CHECK(describe_settings(options, 2, "t") != started);
  CHECK(describe_settings(options, 2, "t") != describe_settings(options, 2, "u"));
}
