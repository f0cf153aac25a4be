// Ranks that share a study give the result of one process, and go on from what an earlier call
// kept.
#include <algorithm>
#include <atomic>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "catch.hpp"
#include "headway/checkpoints.hpp"
#include "headway/core/deal.hpp"
#include "headway/error.hpp"
#include "headway/provenance.hpp"
#include "headway/schedule.hpp"
#include "random_examples.hpp"
#include "scratch_directory.hpp"
#include "thread_ranks.hpp"

using namespace headway;           // NOLINT(google-build-using-namespace)
using namespace headway::testing;  // NOLINT(google-build-using-namespace)

namespace {

tasks::Dataset small_dataset() {
  Rng rng(5, StreamPurpose::kTests);
  return random_dataset({2}, {8, 4, 3}, rng);
}

/// Eight chains of two points.
Study small_study() {
  Study study;
  study.threads = 1;
  study.model.widths = {{10}, {20}};
  study.model.temperatures = {0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0};
  return study;
}

std::vector<double> actions(const SolveResult& result) {
  std::vector<double> found;
  for (const SolvePoint& point : result.points) found.push_back(point.action);
  return found;
}

class StopsAfterOne final : public Observer {
 public:
  void progress(std::string_view /*stage*/, double done, double /*total*/) override {
    stop_ = done > 0;
  }
  [[nodiscard]] bool interrupted() const override { return stop_; }

 private:
  std::atomic<bool> stop_{false};
};

class Stopped final : public Observer {
 public:
  [[nodiscard]] bool interrupted() const override { return true; }
};

class Warnings final : public Observer {
 public:
  void warning(std::string_view text) override { found.emplace_back(text); }
  std::vector<std::string> found;
};

class HearsTheFirst final : public Observer {
 public:
  void progress(std::string_view /*stage*/, double done, double /*total*/) override {
    if (!first) first = done;
  }
  std::optional<double> first;
};

/// The result of the first of `count` ranks; `output` as of PartFiles.
std::optional<SolveResult> solve_on(int count, const std::string& output, Observer& of_first) {
  const Study study = small_study();
  const tasks::Dataset dataset = small_dataset();
  const ResultProvenance whole = make_provenance(study, dataset.content_hash, {"a", "test"});
  std::optional<SolveResult> found;
  std::atomic<bool> strange{false};  // Catch's checks are for one thread
  on_ranks(count, [&](Ranks& ranks) {
    const auto shared = shared_solve(study, dataset);
    jobs::PartFiles<SolveResult> parts(ranks, output, study, whole, shared->units(), true);
    Observer silent;
    std::optional<SolveResult> result =
        share(ranks, *shared, parts, 1, ranks.is_first() ? of_first : silent);
    if (!result || !ranks.is_first()) {
      if (result.has_value() != ranks.is_first()) strange = true;
      return;
    }
    if (!result->interrupted) parts.remove();
    found = std::move(result);
  });
  CHECK_FALSE(strange);
  return found;
}

}  // namespace

TEST_CASE("ranks that share a study give the result of one process") {
  Observer quiet;
  const SolveResult alone = solve(small_study(), small_dataset(), quiet);
  for (const int count : {1, 2, 4}) {
    const std::optional<SolveResult> shared = solve_on(count, "", quiet);
    REQUIRE(shared.has_value());
    CHECK(actions(*shared) == actions(alone));
    CHECK_FALSE(shared->interrupted);
  }
}

TEST_CASE("a shared study goes on from the units that were kept") {
  const ScratchDirectory scratch;
  const std::string output = scratch.file("a.h5");
  StopsAfterOne stops;
  const std::optional<SolveResult> partial = solve_on(2, output, stops);
  REQUIRE(partial.has_value());
  CHECK(partial->interrupted);
  CHECK(partial->points.size() < 16);
  CHECK(std::filesystem::exists(output));  // the partial result
  REQUIRE(std::filesystem::exists(output + ".checkpoint"));
  HearsTheFirst hears;
  const std::optional<SolveResult> whole = solve_on(3, output, hears);
  REQUIRE(whole.has_value());
  CHECK(hears.first.value_or(0.0) > 0.0);  // these are not computed again
  Observer quiet;
  CHECK(actions(*whole) == actions(solve(small_study(), small_dataset(), quiet)));
  CHECK_FALSE(std::filesystem::exists(output + ".checkpoint"));
}

TEST_CASE("the first rank tells the warnings of all ranks' units, each once") {
  Study study = small_study();
  study.model.widths = {{1}};  // too narrow for the theory
  study.model.temperatures = {0.5, 1.0};
  study.solve.warm_start = false;
  const tasks::Dataset dataset = small_dataset();
  Warnings alone;
  for (std::size_t point = 0; point < 2; ++point) {
    Study one = study;
    one.model.temperatures = {study.model.temperatures[point]};
    solve(one, dataset, alone);
  }
  REQUIRE(alone.found.size() == 2);
  std::sort(alone.found.begin(), alone.found.end());
  const ResultProvenance whole = make_provenance(study, dataset.content_hash, {"a", "test"});
  for (const int count : {1, 3}) {
    Warnings first;
    std::atomic<std::size_t> heard_by_others{0};
    on_ranks(count, [&](Ranks& ranks) {
      const auto shared = shared_solve(study, dataset);
      jobs::PartFiles<SolveResult> parts(ranks, "", study, whole, shared->units(), true);
      Warnings other;
      static_cast<void>(share(ranks, *shared, parts, 1, ranks.is_first() ? first : other));
      heard_by_others += other.found.size();
    });
    std::sort(first.found.begin(), first.found.end());
    CHECK(first.found == alone.found);
    CHECK(heard_by_others == 0);
  }
}

TEST_CASE("a study that is stopped while its data are read has no result") {
  Stopped stopped;
  try {
    solve_on(1, "", stopped);
    FAIL("it has a result");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kInterrupted);
    CHECK(std::string(error.what()) == "path features: stopped by the user");
  }
}

TEST_CASE("ranks that are about to do different things are told apart") {
  std::atomic<bool> strange{false};
  const auto try_on = [&strange](const std::string& of_last) {
    on_ranks(3, [&](Ranks& ranks) {
      const bool good = agree_alike(
          ranks, [&] { return ranks.rank() == 2 ? of_last : std::string("solve abc"); });
      if (!ranks.is_first() && good != (of_last == "solve abc")) strange = true;
    });
    CHECK_FALSE(strange);
  };
  CHECK_NOTHROW(try_on("solve abc"));
  CHECK_THROWS_AS(try_on("solve abd"), Error);
}

TEST_CASE("what the first rank gives reaches all, and so does its error") {
  std::atomic<int> heard{0};
  on_ranks(3, [&](Ranks& ranks) {
    if (from_first(ranks, [&] { return std::string(1, static_cast<char>('a' + ranks.rank())); }) ==
        "a") {
      ++heard;
    }
    try {
      from_first(ranks, [&]() -> std::string {
        if (ranks.is_first()) throw Error(ErrorKind::kBadStudy, "a fault");
        return {};
      });
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::kBadStudy && std::string(error.what()) == "a fault") ++heard;
    }
  });
  CHECK(heard == 6);
}
