// A checkpoint is accepted only by its own run, and only when its parts fit together.
#include "headway/sampling/checkpoint.hpp"

#include <string>

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
  CHECK(says(refused(other, target), "\"seed = 1\", this run has \"seed = 2\""));
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
  CHECK(says(refused([](Checkpoint& c) { c.chains[0].chain = 4; }), "chain 5"));
  CHECK(refused([](Checkpoint& c) { c.chains[0].iteration = -1; }) ==
        "checkpoint, chain 1: iteration has size -1, expected 0");
  CHECK(says(refused([](Checkpoint& c) { c.chains.clear(); }), "chains"));
}
