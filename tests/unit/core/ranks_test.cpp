// When a process is one of several ranks, as what started it says in the environment.
#include "headway/core/ranks.hpp"

#include <cstdlib>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "headway/error.hpp"
#include "thread_ranks.hpp"

using namespace headway;

namespace {

/// The environment of a process that was started by mpirun or srun, until the end of the scope.
class StartedWith {
 public:
  explicit StartedWith(const std::vector<std::pair<std::string, std::string>>& given) {
    for (const char* name : kNames) {
      const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): no other thread
      if (value != nullptr) before_.emplace_back(name, value);
      ::unsetenv(name);  // NOLINT(concurrency-mt-unsafe)
    }
    set(given);
  }
  ~StartedWith() {
    for (const char* name : kNames) ::unsetenv(name);  // NOLINT(concurrency-mt-unsafe)
    set(before_);
  }
  StartedWith(const StartedWith&) = delete;
  StartedWith& operator=(const StartedWith&) = delete;

 private:
  static constexpr const char* kNames[] = {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK",
                                           "SLURM_STEP_NUM_TASKS"};
  static void set(const std::vector<std::pair<std::string, std::string>>& values) {
    for (const auto& [name, value] : values) {
      ::setenv(name.c_str(), value.c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
    }
  }
  std::vector<std::pair<std::string, std::string>> before_;
};

}  // namespace

TEST_CASE("a process alone joins no ranks, wherever it was started") {
  const std::vector<std::vector<std::pair<std::string, std::string>>> alone = {
      {},
      {{"OMPI_COMM_WORLD_SIZE", "1"}},
      {{"OMPI_COMM_WORLD_SIZE", "1"}, {"PMIX_RANK", "0"}},
      // mpirun of one process inside of a step of four: mpirun counts.
      {{"OMPI_COMM_WORLD_SIZE", "1"}, {"PMIX_RANK", "0"}, {"SLURM_STEP_NUM_TASKS", "4"}},
      {{"PMIX_RANK", "0"}, {"SLURM_STEP_NUM_TASKS", "1"}},
      {{"PMIX_RANK", "0"}},
      {{"SLURM_STEP_NUM_TASKS", "4"}},  // srun without PMIx: each task is a process of its own
      {{"OMPI_COMM_WORLD_SIZE", "none"}}};
  for (const auto& environment : alone) {
    const StartedWith started(environment);
    CAPTURE(environment.size());
    CHECK(join_ranks() == nullptr);
  }
}

TEST_CASE("A step that throws between messages ends all ranks with its exit code") {
  class Ended final : public testing::ThreadRanks {
   public:
    using ThreadRanks::ThreadRanks;
    void abort(int exit_code) override { code = exit_code; }
    int code = 0;
  };
  std::vector<testing::RankBox> boxes(2);
  Ended ranks(boxes, 0);
  in_step(ranks, [] {});
  CHECK(ranks.code == 0);
  CHECK_THROWS_AS(in_step(ranks, [] { throw Error(ErrorKind::kBadData, "bad"); }), Error);
  CHECK(ranks.code == static_cast<int>(ErrorKind::kBadData));
  CHECK_THROWS_AS(in_step(ranks, [] { throw std::bad_alloc(); }), std::bad_alloc);
  CHECK(ranks.code == static_cast<int>(ErrorKind::kUnavailable));
}
