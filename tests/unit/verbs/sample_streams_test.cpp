// Sweep points of `sample` draw from streams of their own, whatever the seed and whoever runs them.
#include <map>
#include <optional>
#include <utility>

#include "catch.hpp"
#include "chance.hpp"
#include "headway/sample.hpp"
#include "headway/study.hpp"
#include "random_examples.hpp"

using namespace headway;           // NOLINT(google-build-using-namespace)
using namespace headway::testing;  // NOLINT(google-build-using-namespace)

namespace {

tasks::Dataset small_dataset() {
  Rng rng(5, StreamPurpose::kTests);
  return random_dataset({2}, {8, 4, 3}, rng);
}

/// The same posterior twice.
headway::Study twice(std::uint64_t seed) {
  headway::Study study;
  study.seed = seed;
  study.threads = 1;
  study.model.widths = {{10}};
  study.model.temperatures = {0.1, 0.1};
  study.sample.chains = 2;
  study.sample.draws = 100;
  study.sample.warmup = 100;
  return study;
}

headway::SampleResult sample_twice(std::uint64_t seed) {
  Observer quiet;
  return headway::sample(twice(seed), small_dataset(), quiet);
}

/// Keeps the states of chains that are run apart.
struct Kept {
  std::map<std::pair<std::size_t, std::size_t>, headway::SampleState> states;
  headway::SampleHooks hooks() {
    headway::SampleHooks hooks;
    hooks.save_chains = [this](std::size_t point, std::size_t chain,
                               const headway::SampleState& state) {
      states[{point, chain}] = state;
    };
    hooks.load_chains = [this](std::size_t point,
                               std::size_t chain) -> std::optional<headway::SampleState> {
      const auto found = states.find({point, chain});
      return found == states.end() ? std::nullopt : std::optional(found->second);
    };
    return hooks;
  }
};

class StopsAtOnce final : public Observer {
 public:
  [[nodiscard]] bool interrupted() const override { return questions_++ > 40; }

 private:
  mutable int questions_ = 0;
};

}  // namespace

TEST_CASE("the second point of a seed is not the first point of the next seed") {
  const headway::SampleResult one = sample_twice(1);
  const headway::SampleResult two = sample_twice(2);
  const auto draws = [](const headway::SamplePoint& point) {
    return point.readout_order_parameter.draws.values;
  };
  REQUIRE(one.points.size() == 2);
  for (const headway::SamplePoint& point : one.points) {
    CHECK(point.sampler == "exact");
    CHECK(point.chains == 2);
    CHECK(point.draws == 100);
    CHECK(point.complete);
    CHECK(point.energies.rows() == 100);
    CHECK(point.energies.cols() == 2);
    CHECK(point.readout_order_parameter.draws.shape == std::vector<Index>{2, 100, 1, 1});
  }
  CHECK(draws(one.points[0]) == draws(sample_twice(1).points[0]));
  CHECK(draws(one.points[0]) != draws(one.points[1]));
  CHECK(draws(one.points[1]) != draws(two.points[0]));
  CHECK(one.points[1].log_evidence != two.points[0].log_evidence);
}

TEST_CASE("at large width the evidence of samples is the theory's, with several outputs too") {
  // 8 examples of 2 outputs: the constant -P C / 2 log 2 pi would be 7.4 nats less without C.
  Rng rng(6, StreamPurpose::kTests);
  const tasks::Dataset data = random_dataset({2}, {8, 4, 3}, rng, 2);
  headway::Study study = twice(1);
  study.model.widths = {{2000}};
  study.model.temperatures = {0.3};
  study.sample.draws = 400;
  Observer quiet;
  const headway::SampleResult result = headway::sample(study, data, quiet);
  const headway::SamplePoint& point = result.points.at(0);
  const theory::SaddleEvidence& laplace = result.solve.points.at(0).evidence;
  REQUIRE(laplace.method == "laplace");
  CHECK(point.evidence_reason.empty());
  CHECK(point.log_evidence_error < 0.1);
  const double by_chance = testing::largest_chain_z(1) * point.log_evidence_error;
  CHECK_THAT(point.log_evidence,
             Catch::Matchers::WithinAbs(laplace.log_evidence, 0.01 + by_chance));
}

TEST_CASE("chains of another readout or attention are not gone on with") {
  const headway::Study study = twice(1);
  const tasks::Dataset data = small_dataset();
  std::optional<headway::SampleState> kept;
  headway::SampleHooks keep, give;
  keep.save = [&](std::size_t point, const headway::SampleState& state) {
    if (point == 0) kept = state;
  };
  StopsAtOnce impatient;
  headway::sample(study, data, impatient, keep);
  REQUIRE(kept);
  give.load = [&](std::size_t point) { return point == 0 ? kept : std::nullopt; };
  Observer quiet;
  headway::Study other = study;
  other.model.readout = headway::Readout::kMean;
  CHECK_THROWS_WITH(headway::sample(other, data, quiet, give),
                    Catch::Matchers::ContainsSubstring("readout mean"));
  other = study;
  other.model.attention = headway::AttentionKind::kHardmax;
  CHECK_THROWS_WITH(headway::sample(other, data, quiet, give),
                    Catch::Matchers::ContainsSubstring("attention hardmax"));
  CHECK(headway::sample(study, data, quiet, give).points.at(0).complete);
}

TEST_CASE("a point whose chains were run apart, and stopped on the way, is the same point") {
  const headway::SampleResult whole = sample_twice(1);
  const headway::Study study = twice(1);
  const tasks::Dataset data = small_dataset();
  Kept kept;
  StopsAtOnce impatient;
  const headway::SampleHooks hooks = kept.hooks();
  CHECK_FALSE(headway::prepare_sample(study, data, impatient, hooks).chains(1, {0, 2}));
  Observer quiet;
  const headway::SampleParts parts = headway::prepare_sample(study, data, quiet, hooks);
  for (const std::size_t chain : {1, 0}) CHECK(parts.chains(1, {chain, 2}));
  REQUIRE(kept.states.size() == 2);
  const double seconds = kept.states[{1, 0}].seconds + kept.states[{1, 1}].seconds;
  const headway::SampleResult part = parts.part({1, 2});
  const headway::SamplePoint& found = part.points.at(0);
  const headway::SamplePoint& wanted = whole.points.at(1);
  CHECK(found.complete);
  CHECK(found.sampling_seconds >= seconds);
  CHECK(found.readout_order_parameter.draws.values == wanted.readout_order_parameter.draws.values);
  CHECK(found.order_parameters.at(0).rhat == wanted.order_parameters.at(0).rhat);
  CHECK(found.log_evidence == wanted.log_evidence);
  CHECK(found.mean_acceptance == wanted.mean_acceptance);
  CHECK(found.warnings == wanted.warnings);
  CHECK(part.solve.points.at(0).action == whole.solve.points.at(1).action);
}

TEST_CASE("a point that is interrupted in memory keeps the draws of the chains that had some") {
  class StopsLater final : public Observer {
   public:
    [[nodiscard]] bool interrupted() const override { return questions_++ > 5000; }

   private:
    mutable int questions_ = 0;
  } observer;
  headway::Study study = twice(1);
  study.sample.draws = 100'000;
  study.sample.predictor_draws = 2000;
  const headway::SampleResult result = headway::sample(study, small_dataset(), observer);
  CHECK(result.interrupted);
  const headway::SamplePoint& point = result.points.at(0);
  CHECK_FALSE(point.complete);
  CHECK(point.chains == 1);  // one thread: the second chain has not begun
  REQUIRE(point.draws > 100);
  CHECK(point.energies.rows() == point.draws);
  CHECK(point.energies.cols() == 1);
  CHECK(point.order_parameters.at(0).draws.shape == std::vector<Index>{1, point.draws, 2, 2});
  CHECK(point.order_parameters[0].mean.allFinite());
  CHECK(point.predictor.mean.allFinite());
  CHECK_THAT(point.warnings.at(0),
             Catch::Matchers::ContainsSubstring("draws: the result is partial and keeps"));
}

TEST_CASE("chains that run apart on halved kernels leave the theory its own") {
  tasks::Dataset data;
  data.name = "large";
  data.form = AttentionForm::kPathFeatures;
  data.heads = {4};
  data.layers.resize(1);
  data.features = 1;
  Rng rng(19, StreamPurpose::kTests);
  data.train.path_features = random_matrix(460, 4, rng);  // large enough to be halved
  data.train.labels = random_matrix(460, 1, rng);
  data.content_hash = "none";
  headway::Study study;
  study.task.set_kind(headway::TaskKind::kDataset);
  study.threads = 1;
  study.model.widths = {{50}};
  study.model.temperatures = {0.5};
  study.solve.kernels = theory::KernelForm::kStored;
  study.solve.corrections = headway::When::kOff;
  study.sample.chains = 2;
  study.sample.warmup = 5;
  study.sample.draws = 3;
  study.sample.max_tree_depth = 1;
  study.sample.evidence = false;
  Observer quiet;
  const headway::SampleResult whole = headway::sample(study, data, quiet);
  Kept kept;
  const headway::SampleHooks hooks = kept.hooks();
  const headway::SampleParts parts = headway::prepare_sample(study, data, quiet, hooks);
  for (const std::size_t chain : {0, 1}) CHECK(parts.chains(0, {chain, 2}));
  const headway::SampleResult part = parts.part({});
  REQUIRE(part.points.size() == 1);
  CHECK(part.solve.points.at(0).kernels == "stored");
  CHECK(part.solve.points.at(0).action == whole.solve.points.at(0).action);
  CHECK(part.points[0].energies == whole.points.at(0).energies);
}
