// What a run of chains tells while it goes on: how many transitions are done, ten times a second at
// most.
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#include "catch.hpp"
#include "headway/core/clock.hpp"
#include "headway/sampling/sample.hpp"
#include "sampling_targets.hpp"

using namespace headway;            // NOLINT: a test
using namespace headway::sampling;  // NOLINT

namespace {

constexpr double kPeriod = 0.1;  // seconds between two calls

/// A normal density that takes 10 ms.
testing::FunctionTarget slow_target() {
  return {1, [](const Eigen::Ref<const VectorXd>& q, Eigen::Ref<VectorXd> gradient) {
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
            gradient = -q;
            return -0.5 * q.squaredNorm();
          }};
}

/// No warm-up and no thinning, so that each transition is a draw.
SamplerOptions slow_run() {
  SamplerOptions options;
  options.sampler = SamplerKind::kMala;
  options.chains = 2;
  options.warmup = 0;
  options.draws = 30;
  options.step_size = 0.5;
  options.seed = 7;
  options.threads = 1;
  return options;
}

/// Counts draws, and keeps what it is told with the draws and the time at that moment.
class Watch final : public Observer, public DrawRecorder {
 public:
  struct Call {
    double done = 0.0, total = 0.0;
    std::int64_t drawn = 0;
    double seconds = 0.0;
  };

  void record(const Draw& draw, Target& /*target*/) override { drawn += draw.replayed ? 0 : 1; }
  void progress(std::string_view stage, double done, double total) override {
    CHECK(stage == "sampling");
    calls.push_back({done, total, drawn, seconds_since(began_)});
  }
  [[nodiscard]] bool interrupted() const override { return drawn >= most; }

  std::vector<Call> calls;
  std::int64_t drawn = 0, most = 1000;

 private:
  Clock::time_point began_ = Clock::now();
};

void check_calls(const Watch& watch, std::int64_t earlier) {
  for (std::size_t i = 0; i < watch.calls.size(); ++i) {
    const Watch::Call& call = watch.calls[i];
    INFO("call " << i << " after " << call.seconds << " s");
    CHECK(call.total == 60.0);
    CHECK(call.done == static_cast<double>(earlier + call.drawn));
    // Each comes a period after the one before, or later; the last says how it ended.
    const double soonest = kPeriod * static_cast<double>(i + 1) - 1e-9;
    if (i + 1 < watch.calls.size()) CHECK(call.seconds >= soonest);
  }
}

}  // namespace

TEST_CASE("sampling tells its progress while it goes on") {
  Watch watch;
  sample(slow_target(), slow_run(), {.observer = &watch, .recorder = &watch});
  REQUIRE(watch.calls.size() >= 3);  // of 600 ms or more
  CHECK(watch.calls.front().drawn < 30);
  CHECK(watch.calls.back().done == 60.0);
  CHECK(watch.drawn == 60);
  check_calls(watch, 0);
}

TEST_CASE("progress of a run that goes on counts what an earlier one did") {
  Watch first;
  first.most = 21;
  const SamplingResult part =
      sample(slow_target(), slow_run(), {.observer = &first, .recorder = &first});
  REQUIRE(part.summary.interrupted);
  CHECK(first.calls.back().done == 21.0);
  check_calls(first, 0);
  Watch second;
  sample(slow_target(), slow_run(),
         {.observer = &second, .recorder = &second, .resume = &part.state});
  CHECK(second.drawn == 39);
  REQUIRE(second.calls.size() >= 3);
  CHECK(second.calls.back().done == 60.0);
  check_calls(second, 21);
}
