// The byte form: every field survives, nothing damaged or foreign is taken.
#include "headway/sampling/checkpoint.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "catch.hpp"
#include "headway/core/error.hpp"
#include "headway/sampling/sample.hpp"
#include "sampling_targets.hpp"

namespace headway::sampling {
namespace {

using Bytes = std::vector<std::uint8_t>;

// Every field different from its default and from its neighbours.
Checkpoint full_checkpoint() {
  Checkpoint checkpoint;
  checkpoint.settings = "sampler = nuts\ndimension = 2\n";
  ChainState s;
  s.chain = 3;
  s.started = true;
  s.iteration = 1234567890123;
  Rng rng(5, StreamPurpose::kTests);
  rng.normal();
  rng.next_u32();
  s.rng = rng.state();
  s.position = Eigen::Vector2d(0.1, -0.0);
  s.gradient = Eigen::Vector2d(-1e-308, 1e300);
  s.log_density = -std::numeric_limits<double>::infinity();
  s.step_size = 0.3;
  s.dual_averaging = {1.5, -2.5, 3.5, 77};
  s.inverse_metric = Eigen::Matrix2d{{1.0, 0.25}, {0.25, 2.0}};
  s.window.count = 9;
  s.window.mean = Eigen::Vector2d(4.0, 5.0);
  s.window.squares = Eigen::Matrix2d{{6.0, 7.0}, {8.0, 9.0}};
  s.pending = {0.5, 0.6, 0.7, 0.8, 9, 10, true, false};
  s.evaluations = 4242;
  s.warmup_divergences = 17;
  s.statistics = {{-1.0, 2.0, 0.25, 0.5, 3, 7, false, true},
                  {-2.0, 3.0, 0.5, 0.5, 2, 3, true, false}};
  s.draws = {1.0, 2.0, 3.0, std::numeric_limits<double>::denorm_min()};
  checkpoint.chains = {s, ChainState{}};
  return checkpoint;
}

std::string refusal(const Bytes& bytes) {
  try {
    checkpoint_from_bytes(bytes, "run.ckpt");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kBadData);
    CHECK(std::string(error.what()).find("run.ckpt") != std::string::npos);
    return error.what();
  }
  return "(accepted)";
}

bool says(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a checkpoint round trips to the same bits") {
  const Checkpoint before = full_checkpoint();
  const Bytes bytes = checkpoint_to_bytes(before);
  const Checkpoint after = checkpoint_from_bytes(bytes, "test");
  CHECK(checkpoint_to_bytes(after) == bytes);
  CHECK(after.settings == before.settings);
  REQUIRE(after.chains.size() == 2);
  const ChainState& a = after.chains[0];
  const ChainState& b = before.chains[0];
  CHECK(a.chain == b.chain);
  CHECK(a.started == b.started);
  CHECK(a.iteration == b.iteration);
  CHECK(a.rng == b.rng);
  CHECK(a.position == b.position);
  CHECK(std::signbit(a.position[1]));
  CHECK(a.gradient == b.gradient);
  CHECK(a.log_density == b.log_density);
  CHECK(a.step_size == b.step_size);
  CHECK(a.dual_averaging == b.dual_averaging);
  CHECK(a.inverse_metric == b.inverse_metric);
  CHECK(a.window.count == b.window.count);
  CHECK(a.window.mean == b.window.mean);
  CHECK(a.window.squares == b.window.squares);
  CHECK(a.pending == b.pending);
  CHECK(a.evaluations == b.evaluations);
  CHECK(a.warmup_divergences == b.warmup_divergences);
  CHECK(a.statistics == b.statistics);
  CHECK(a.draws == b.draws);
  CHECK(a.draw_matrix() ==
        Eigen::Matrix2d{{1.0, 3.0}, {2.0, std::numeric_limits<double>::denorm_min()}});
  CHECK_FALSE(after.chains[1].started);
}

TEST_CASE("the byte layout is fixed") {
  // "HEADWAYC", version 1, payload of 16 bytes (empty text, no chains), FNV-1a of the 36 bytes
  // before.
  const std::string magic = "HEADWAYC";
  Bytes expected(36, 0);
  std::copy(magic.begin(), magic.end(), expected.begin());
  expected[8] = 1;
  expected[12] = 16;
  std::uint64_t hash = 14695981039346656037ULL;
  for (const std::uint8_t b : expected) hash = (hash ^ b) * 1099511628211ULL;
  for (int i = 0; i < 8; ++i) expected.push_back(static_cast<std::uint8_t>(hash >> (8 * i)));
  CHECK(checkpoint_to_bytes(Checkpoint{}) == expected);
}

TEST_CASE("truncated, lengthened, damaged and foreign bytes are refused") {
  const Bytes bytes = checkpoint_to_bytes(full_checkpoint());
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    REQUIRE(refusal(Bytes(bytes.begin(), bytes.begin() + static_cast<long>(length))) !=
            "(accepted)");
  }
  Bytes longer = bytes;
  longer.push_back(0);
  CHECK(says(refusal(longer), "truncated or has something added"));
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    for (const int bit : {0, 7}) {
      Bytes damaged = bytes;
      damaged[i] = static_cast<std::uint8_t>(damaged[i] ^ (1U << bit));
      REQUIRE(refusal(damaged) != "(accepted)");
    }
  }
  Bytes late = bytes;
  late[50] ^= 1;
  CHECK(says(refusal(late), "checksum"));
  CHECK(says(refusal(Bytes(200, 'x')), "not a Headway chain checkpoint"));
  Bytes newer = bytes;
  newer[8] = 2;
  CHECK(says(refusal(newer), "version 2"));
}

TEST_CASE("absurd sizes with a right checksum allocate nothing and are refused") {
  const Bytes bytes = checkpoint_to_bytes(full_checkpoint());
  const auto resign = [](Bytes forged) {
    std::uint64_t hash = 14695981039346656037ULL;
    for (std::size_t i = 0; i + 8 < forged.size(); ++i)
      hash = (hash ^ forged[i]) * 1099511628211ULL;
    for (std::size_t i = 0; i < 8; ++i) {
      forged[forged.size() - 8 + i] = static_cast<std::uint8_t>(hash >> (8 * i));
    }
    return forged;
  };
  // Every 8 bytes of the payload in turn become a huge number: counts among them are refused,
  // values are not.
  int refused = 0;
  for (std::size_t place = 20; place + 16 <= bytes.size(); ++place) {
    Bytes forged = bytes;
    for (std::size_t i = 0; i < 8; ++i) forged[place + i] = i < 7 ? 0xff : 0x7f;
    if (refusal(resign(forged)) != "(accepted)") ++refused;
  }
  CHECK(refused > 8);
}

TEST_CASE("a checkpoint of other settings is refused by the first line that differs") {
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
  CHECK(says(refused([](Checkpoint& c) { c.chains.clear(); }), "chains"));
}

}  // namespace headway::sampling
