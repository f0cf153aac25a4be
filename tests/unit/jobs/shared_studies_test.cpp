// What each verb shares among ranks: its units, and the pieces of a point with many chains.
#include <algorithm>
#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include "catch.hpp"
#include "headway/checkpoints.hpp"
#include "headway/core/parallel.hpp"
#include "headway/provenance.hpp"
#include "headway/schedule.hpp"
#include "headway/study/sweep.hpp"
#include "random_examples.hpp"
#include "thread_ranks.hpp"

using namespace headway;           // NOLINT(google-build-using-namespace)
using namespace headway::testing;  // NOLINT(google-build-using-namespace)

namespace {

tasks::Dataset small_dataset() {
  Rng rng(5, StreamPurpose::kTests);
  tasks::Dataset dataset = random_dataset({2}, {8, 4, 3}, rng);
  dataset.test = random_split({4, 4, 3}, rng);
  return dataset;
}

Study sampled_study() {
  Study study;
  study.threads = 1;
  study.model.widths = {{10}, {20}};
  study.model.temperatures = {0.5};
  study.sample.chains = 5;
  study.sample.warmup = 20;
  study.sample.draws = 10;
  study.sample.predictor_draws = 5;
  return study;
}

}  // namespace

TEST_CASE("ranks that share samples give the draws of one process") {
  const Study study = sampled_study();
  const tasks::Dataset dataset = small_dataset();
  Observer quiet;
  const SampleResult alone = sample(study, dataset, quiet);
  const ResultProvenance whole = make_provenance(study, dataset.content_hash, {"a", "test"});
  std::optional<SampleResult> found;
  on_ranks(2, [&](Ranks& ranks) {
    const auto shared = shared_sample(study, dataset);
    jobs::PartFiles<SampleResult> parts(ranks, "", study, whole, shared->units(), true);
    Observer silent;
    std::optional<SampleResult> result = share(ranks, *shared, parts, 1, silent);
    if (ranks.is_first()) found = std::move(result);
  });
  REQUIRE(found.has_value());
  CHECK_FALSE(found->interrupted);
  REQUIRE(found->points.size() == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(found->points[i].energies == alone.points[i].energies);
    REQUIRE(found->points[i].predictor.mean.rows() == 4);
    CHECK(found->points[i].predictor.mean == alone.points[i].predictor.mean);
    CHECK(found->solve.points[i].action == alone.solve.points[i].action);
  }
}

TEST_CASE("a point is cut into pieces only where chains are kept") {
  const Study study = sampled_study();
  const tasks::Dataset dataset = small_dataset();
  const auto without = shared_sample(study, dataset);
  CHECK(std::string(without->unit_name()) == "points");
  CHECK(without->units() == 2);
  CHECK(without->pieces(2) == 0);
  SampleHooks hooks;
  hooks.load_chains = [](std::size_t, std::size_t) { return std::nullopt; };
  const auto with = shared_sample(study, dataset, hooks);
  CHECK(with->pieces(1) == 5);
  CHECK(with->pieces(2) == 3);
  CHECK(with->pieces(4) == 2);
  CHECK(with->pieces(5) == 0);
  CHECK(with->pieces(8) == 0);
}

TEST_CASE("the units of solve are chains of points, those of train are runs") {
  Study study = sampled_study();
  const tasks::Dataset dataset = small_dataset();
  CHECK(std::string(shared_solve(study, dataset)->unit_name()) == "chains of points");
  CHECK(shared_solve(study, dataset)->units() == 1);
  study.solve.warm_start = false;
  CHECK(shared_solve(study, dataset)->units() == 2);
  study.task.set_kind(TaskKind::kFuzzyLogic);
  OptionValue::Array seeds;
  for (const std::int64_t seed : {5, 6, 7}) seeds.push_back({seed, {}});
  study.sweep.push_back({"seed", std::move(seeds)});
  const std::vector<TrainRun> runs = train_runs(study);
  const TaskMaker none;
  const auto shared = shared_train(study, runs, none);
  CHECK(std::string(shared->unit_name()) == "runs");
  CHECK(shared->units() == 3);
  CHECK(shared->pieces(1) == 0);
}

TEST_CASE("a rank has the threads that were asked for, else its share of the machine") {
  std::atomic<bool> as_wanted{true}, shared{true};
  on_ranks(3, [&](Ranks& ranks) {
    if (threads_of_rank(4, ranks) != 4) as_wanted = false;
    const int share = threads_of_rank(0, ranks);
    const int all = resolve_threads(0);  // a process that is bound to cores has all of these
    if (share != all && share != std::max(1, all / 3)) shared = false;
  });
  CHECK(as_wanted);
  CHECK(shared);
}
