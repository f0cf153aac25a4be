// Runs of chains have the same bits on any number of threads and after any interruption, and say
// what is wrong.
#include "headway/sampling/sample.hpp"

#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "catch.hpp"
#include "headway/core/detail_observer.hpp"
#include "headway/error.hpp"
#include "headway/results/sampling_fields.hpp"
#include "record_bytes.hpp"
#include "sampling/chain.hpp"
#include "sampling/sweep.hpp"
#include "sampling_targets.hpp"
#include "short_runs.hpp"

using namespace headway;            // NOLINT: a test
using namespace headway::sampling;  // NOLINT

namespace {

using Catch::Matchers::WithinRel;
using testing::bytes_of;
using testing::error_of;
using testing::FunctionTarget;
using testing::GibbsPairTarget;
using testing::short_run;

struct Setup {
  SamplerOptions options;
  std::unique_ptr<Target> target;
};

std::vector<Setup> every_sampler() {
  std::vector<Setup> setups;
  const auto add = [&setups](const SamplerOptions& options, std::unique_ptr<Target> target) {
    setups.push_back({options, std::move(target)});
  };
  const auto gaussian = [] { return testing::correlated_gaussian(3).clone(); };
  for (const MetricKind metric :
       {MetricKind::kUnit, MetricKind::kDiagonal, MetricKind::kDense, MetricKind::kInformation}) {
    SamplerOptions nuts = short_run(SamplerKind::kNuts);
    nuts.metric = metric;
    add(nuts, gaussian());
  }
  for (const SamplerKind kind : {SamplerKind::kStaticHmc, SamplerKind::kMala}) {
    add(short_run(kind), gaussian());
  }
  SamplerOptions langevin = short_run(SamplerKind::kLangevin);
  langevin.thin = 3;
  add(langevin, gaussian());
  SamplerOptions sweep = short_run(SamplerKind::kSweep);
  add(sweep, std::make_unique<GibbsPairTarget>());
  sweep.warmup = 0;
  add(sweep, std::make_unique<GibbsPairTarget>());
  SamplerOptions replicas = short_run(SamplerKind::kNuts);
  replicas.replicas = 4;
  add(replicas, std::make_unique<testing::TwoModesTarget>());
  return setups;
}

// Says "interrupted" from the n-th question on.
class StopAfter : public Observer {
 public:
  explicit StopAfter(int questions) : left_(questions) {}
  [[nodiscard]] bool interrupted() const override { return left_-- <= 0; }

 private:
  mutable int left_;
};

class KeepCheckpoints : public CheckpointSink {
 public:
  void save(const Checkpoint& checkpoint) override { saved.push_back(checkpoint); }
  std::vector<Checkpoint> saved;
};

}  // namespace

TEST_CASE("a thinned draw keeps the worst of its transitions, and the last position") {
  // acceptance, log density, depth, evaluations, divergent, saturated
  const auto transition = [](double acceptance, double log_density, int depth, int evaluations,
                             bool divergent, bool saturated) {
    TransitionStatistics one;
    one.acceptance = acceptance;
    one.log_density = log_density;
    one.energy = -log_density;
    one.step_size = 0.1 * acceptance;
    one.tree_depth = depth;
    one.evaluations = evaluations;
    one.divergent = divergent;
    one.saturated = saturated;
    return one;
  };
  const std::vector<TransitionStatistics> all = {transition(0.2, -1.0, 2, 3, false, true),
                                                 transition(0.4, -2.0, 5, 31, true, false),
                                                 transition(0.9, -3.0, 1, 1, false, false)};
  TransitionStatistics draw = transition(1.0, -9.0, 9, 99, true, true);  // of an earlier draw
  for (std::size_t i = 0; i < all.size(); ++i) {
    accumulate(draw, all[i], static_cast<std::int64_t>(i));
  }
  CHECK_THAT(draw.acceptance, WithinRel(0.5, 1e-15));
  CHECK(draw.log_density == -3.0);
  CHECK(draw.energy == 3.0);
  CHECK(draw.step_size == all[2].step_size);
  CHECK(draw.tree_depth == 5);
  CHECK(draw.evaluations == 35);
  CHECK(draw.divergent);
  CHECK(draw.saturated);
  accumulate(draw, all[2], 0);
  CHECK(draw == all[2]);
}

TEST_CASE("the draws do not depend on the number of threads") {
  for (const Setup& setup : every_sampler()) {
    SamplerOptions options = setup.options;
    INFO(sampler_name(options.sampler));
    const auto one = bytes_of(sample(*setup.target, options).state);
    options.threads = 3;
    const auto three = bytes_of(sample(*setup.target, options).state);
    CHECK(one == three);
  }
}

TEST_CASE("runs of one seed are independent, and none is that of another seed") {
  const auto target = testing::correlated_gaussian(3);
  SamplerOptions options = short_run(SamplerKind::kNuts);
  std::set<double> last;  // where each chain ends
  for (const std::uint64_t seed : {1, 2}) {
    for (const std::uint64_t point : {0, 1}) {
      options.seed = seed;
      options.first_stream = point_stream(point, 0);
      const MatrixXd draws = sample(target, options).coordinate_draws(0);
      for (const double x : draws.bottomRows(1).reshaped()) last.insert(x);
    }
  }
  CHECK(last.size() == 12);
}

TEST_CASE("an interrupted run continues to the same bits") {
  for (const Setup& setup : every_sampler()) {
    INFO(sampler_name(setup.options.sampler) << ", " << metric_name(setup.options.metric));
    const auto whole = bytes_of(sample(*setup.target, setup.options).state);
    // Every question up to 60, then further apart: inside trajectories, windows and every later
    // chain.
    for (int questions = 0; questions < 4000; questions += 1 + questions / 20) {
      StopAfter observer(questions);
      SamplingResult part = sample(*setup.target, setup.options, {.observer = &observer});
      const SamplingResult rest = sample(*setup.target, setup.options, {.resume = &part.state});
      REQUIRE(bytes_of(rest.state) == whole);
      CHECK(rest.summary.complete);
      if (part.summary.complete) break;
      CHECK(part.summary.interrupted);
    }
  }
}

TEST_CASE("chains run apart, one call after another, have the bits of one run") {
  for (const Setup& setup : every_sampler()) {
    INFO(sampler_name(setup.options.sampler));
    const SamplingResult whole = sample(*setup.target, setup.options);
    const int last = setup.options.chains - 1;
    const SamplingResult end = sample(*setup.target, setup.options, {.chains = {last, last + 1}});
    CHECK_FALSE(end.summary.complete);
    CHECK_FALSE(end.summary.interrupted);  // nobody stopped it
    CHECK(end.state.chains.front().iteration == 0);
    const SamplingResult rest =
        sample(*setup.target, setup.options, {.resume = &end.state, .chains = {0, last}});
    CHECK(rest.summary.complete);
    CHECK(bytes_of(rest.state) == bytes_of(whole.state));
  }
}

TEST_CASE("every checkpoint of a run resumes to the same bits") {
  for (const Setup& setup : every_sampler()) {
    INFO(sampler_name(setup.options.sampler));
    const auto whole = bytes_of(sample(*setup.target, setup.options).state);
    SamplerOptions options = setup.options;
    options.checkpoint_seconds = 1e-9;  // after every transition
    KeepCheckpoints sink;
    const SamplingResult with = sample(*setup.target, options, {.checkpoints = &sink});
    CHECK(bytes_of(with.state) == whole);
    REQUIRE(sink.saved.size() >= 19);
    for (std::size_t i = 0; i < sink.saved.size(); i += 7) {
      const SamplingResult rest = sample(*setup.target, setup.options, {.resume = &sink.saved[i]});
      REQUIRE(bytes_of(rest.state) == whole);
    }
  }
}

TEST_CASE("a finished run can be extended") {
  const auto target = testing::correlated_gaussian(3);
  SamplerOptions options = short_run(SamplerKind::kNuts);
  const SamplingResult first = sample(target, options);
  options.draws = 35;
  const SamplingResult longer = sample(target, options, {.resume = &first.state});
  CHECK(bytes_of(longer.state) == bytes_of(sample(target, options).state));
  options.draws = 10;
  const std::string message =
      error_of([&] { sample(target, options, {.resume = &first.state}); }, ErrorKind::kBadStudy);
  CHECK(message.find("draws = 10") != std::string::npos);
}

TEST_CASE("a partial result is valid and says so") {
  const auto target = testing::correlated_gaussian(2);
  StopAfter observer(4000);
  SamplerOptions options = short_run(SamplerKind::kNuts);
  options.draws = 100000;
  options.chains = 1;
  const SamplingResult result = sample(target, options, {.observer = &observer});
  CHECK(result.summary.interrupted);
  CHECK_FALSE(result.summary.complete);
  REQUIRE(result.kept.draws > 50);
  CHECK(result.coordinate_draws(1).rows() == result.kept.draws);
  CHECK(result.coordinates.size() == 2);
  CHECK(result.summary.warnings.at(0).find("partial") != std::string::npos);
  CHECK(result.summary.brief_report().find("interrupted") != std::string::npos);
}

TEST_CASE("of chains of different lengths those are kept that have the most draws together") {
  using Chains = std::vector<int>;
  CHECK(most_draws({7, 7, 7}) == KeptDraws{{0, 1, 2}, 7});
  CHECK(most_draws({500, 472, 0, 0}) == KeptDraws{{0, 1}, 472});
  CHECK(most_draws({0, 10, 1, 9}) == KeptDraws{{1, 3}, 9});
  CHECK(most_draws({100, 3, 2}) == KeptDraws{{0}, 100});
  CHECK(most_draws({4, 2}) == KeptDraws{{0, 1}, 2});  // as many draws, and more chains
  CHECK(most_draws({0, 0}) == KeptDraws{{0, 1}, 0});
  CHECK(most_draws({5}).chains == Chains{0});
}

TEST_CASE("an interrupted run keeps the draws of the chains that have some") {
  const auto target = testing::correlated_gaussian(2);
  StopAfter observer(4000);
  SamplerOptions options = short_run(SamplerKind::kNuts);
  options.draws = 100000;
  options.chains = 3;
  options.threads = 1;  // the first chain does not end: the others have not begun
  const SamplingResult result = sample(target, options, {.observer = &observer});
  CHECK(result.kept.chains == std::vector<int>{0});
  REQUIRE(result.kept.draws > 50);
  const MatrixXd draws = result.coordinate_draws(1);
  CHECK(draws.col(0) == result.state.chains[0].draw_matrix().row(1).transpose());
  const auto kept = std::to_string(result.kept.draws);
  CHECK(result.summary.warnings.at(0) == "interrupted after " + kept +
                                             " of 300000 draws: the result is partial and keeps " +
                                             kept + " of one chain");
}

TEST_CASE("a dense metric estimated from fewer draws than unknowns does not stall the chain") {
  SamplerOptions options = short_run(SamplerKind::kNuts);
  options.metric = MetricKind::kDense;
  options.chains = 1;
  options.warmup = 150;  // one window of 25 draws
  options.draws = 20;
  const SamplingSummary summary = sample(testing::correlated_gaussian(60), options).summary;
  CHECK(summary.saturated == 0);
  CHECK(summary.evaluations < 170 * 127);
}

TEST_CASE("progress counts transitions of all chains") {
  class Watch : public Observer {
   public:
    void progress(std::string_view stage, double done, double total) override {
      CHECK(stage == "sampling");
      CHECK(done >= last);
      CHECK(total == 180.0);
      last = done;
    }
    double last = 0.0;
  } watch;
  SamplerOptions options = short_run(SamplerKind::kNuts);
  options.threads = 3;
  sample(testing::correlated_gaussian(2), options, {.observer = &watch});
  CHECK(watch.last == 180.0);
}

TEST_CASE("an observer that wants details hears which replica of which chain moves") {
  class Hears final : public DetailObserver {
   public:
    void detail(std::string_view what, std::string_view more) override {
      if (first.empty()) first = std::string(what) + ", " + std::string(more);
    }
    std::string first;
  } hears;
  SamplerOptions options = short_run(SamplerKind::kNuts);
  options.replicas = 4;
  sample(testing::TwoModesTarget(), options, {.observer = &hears});
  CHECK(hears.first == "chain 1 replica 2 of 4, beta 0.296");  // (2/3)^3
}

TEST_CASE("the recorder sees every kept draw, replayed ones first after a resume") {
  class Collect : public DrawRecorder {
   public:
    void record(const Draw& draw, Target& target) override {
      CHECK(target.dimension() == 3);
      auto& list = seen.at(static_cast<std::size_t>(draw.chain));
      CHECK(draw.index == static_cast<Index>(list.size()));
      list.push_back(draw.position);
      replayed += draw.replayed ? 1 : 0;
    }
    std::vector<std::vector<VectorXd>> seen = std::vector<std::vector<VectorXd>>(3);
    int replayed = 0;
  };
  SamplerOptions options = short_run(SamplerKind::kStaticHmc);
  options.thin = 2;
  const auto target = testing::correlated_gaussian(3);
  StopAfter observer(900);
  Collect first;
  const SamplingResult part = sample(target, options, {.observer = &observer, .recorder = &first});
  REQUIRE(part.summary.interrupted);
  Collect second;
  const SamplingResult rest = sample(target, options, {.recorder = &second, .resume = &part.state});
  CHECK(first.replayed == 0);
  CHECK(second.replayed > 0);
  for (std::size_t c = 0; c < 3; ++c) {
    REQUIRE(second.seen[c].size() == 20);
    for (Index i = 0; i < 20; ++i) {
      CHECK(second.seen[c][i] == rest.state.chains[c].draw_matrix().col(i));
    }
  }
}

TEST_CASE("thinning keeps every thin-th state and loses no divergence count") {
  const auto target = testing::correlated_gaussian(3);
  SamplerOptions all = short_run(SamplerKind::kMala);
  all.draws = 60;
  SamplerOptions thinned = all;
  thinned.thin = 3;
  thinned.draws = 20;
  const SamplingResult a = sample(target, all);
  const SamplingResult b = sample(target, thinned);
  for (Index i = 0; i < 20; ++i) {
    CHECK(b.coordinate_draws(0)(i, 1) == a.coordinate_draws(0)(3 * i + 2, 1));
  }
  double acceptance = 0.0;
  for (int i = 3; i < 6; ++i) acceptance += a.state.chains[0].statistics[i].acceptance / 3.0;
  CHECK_THAT(b.state.chains[0].statistics[1].acceptance, WithinRel(acceptance, 1e-12));
  CHECK(b.state.chains[0].statistics[1].evaluations == 3);
}

TEST_CASE("E-BFMI compares the energies of successive transitions, also where draws are thinned") {
  const auto target = testing::correlated_gaussian(30);
  for (const SamplerKind kind : {SamplerKind::kNuts, SamplerKind::kMala}) {
    SamplerOptions all = short_run(kind);
    all.draws = 60;
    SamplerOptions thinned = all;
    thinned.thin = 3;
    thinned.draws = 20;
    const std::vector<double> wanted = sample(target, all).summary.ebfmi;
    const std::vector<double> found = sample(target, thinned).summary.ebfmi;
    for (std::size_t c = 0; c < 3; ++c) CHECK_THAT(found[c], WithinRel(wanted[c], 1e-10));
  }
  SamplerOptions sweep = short_run(SamplerKind::kSweep);
  sweep.thin = 2;
  CHECK(std::isnan(sample(GibbsPairTarget(), sweep).summary.ebfmi[0]));
}

TEST_CASE("without keep_draws only the recorder holds them") {
  SamplerOptions options = short_run(SamplerKind::kNuts);
  options.keep_draws = false;
  const SamplingResult result = sample(testing::correlated_gaussian(3), options);
  CHECK(result.state.chains[0].draws.empty());
  CHECK(result.coordinates.empty());
  CHECK(result.state.chains[0].statistics.size() == 20);
  CHECK(std::isnan(result.summary.rhat_max));
}

TEST_CASE("a summary explains itself") {
  SamplingSummary untouched;
  CHECK(untouched.brief_report() == "sample() was not called");
  CHECK(std::isnan(untouched.rhat_max));
  SamplerOptions options;
  options.threads = 1;
  const SamplingResult good = sample(testing::correlated_gaussian(3), options);
  INFO(good.summary.full_report());
  CHECK(good.summary.complete);
  CHECK(good.summary.dimension == 3);
  CHECK(good.summary.threads == 1);
  CHECK(good.summary.seconds > 0.0);
  CHECK(good.summary.warnings.empty());
  CHECK(good.summary.full_report().find("acceptance") != std::string::npos);
  CHECK(good.summary.ess_bulk_min > 400.0);
  std::int64_t evaluations = 0;
  for (const ChainState& chain : good.state.chains) {
    for (const TransitionStatistics& t : chain.statistics) evaluations += t.evaluations;
  }
  CHECK(good.summary.evaluations > evaluations);
}

TEST_CASE("warnings say what to do") {
  SamplerOptions options = short_run(SamplerKind::kNuts);
  options.max_tree_depth = 1;
  options.chains = 1;
  const SamplingResult result = sample(testing::correlated_gaussian(20), options);
  std::string all;
  for (const std::string& warning : result.summary.warnings) all += warning + "\n";
  INFO(all);
  CHECK(all.find("Raise sample.max_tree_depth") != std::string::npos);
  CHECK(all.find("effective sample size") != std::string::npos);
  CHECK(all.find("one chain") != std::string::npos);
  const FunctionTarget two_modes(1, [](const auto& q, Eigen::Ref<VectorXd> gradient) {
    const double mode = q[0] > 0.0 ? 20.0 : -20.0;
    gradient[0] = mode - q[0];
    return -0.5 * (q[0] - mode) * (q[0] - mode);
  });
  SamplerOptions stuck;
  stuck.threads = 1;
  stuck.warmup = 200;
  stuck.draws = 200;
  stuck.starts = {VectorXd::Constant(1, -20), VectorXd::Constant(1, -19), VectorXd::Constant(1, 20),
                  VectorXd::Constant(1, 21)};
  const SamplingResult split = sample(two_modes, stuck);
  CHECK(split.summary.rhat_max > 1.5);
  CHECK(split.summary.warnings.at(0).find("have not mixed") != std::string::npos);
}

TEST_CASE("a sweep reports the log density where it ends, but no energy or acceptance") {
  class Counting final : public testing::GibbsPairTarget {
   public:
    double sweep(Rng& rng, Eigen::Ref<VectorXd> q) override {
      testing::GibbsPairTarget::sweep(rng, q);
      return q[0] - 3.0 * q[1];
    }
  };
  Counting target;
  Sweep sweep(target);
  Rng rng(5, StreamPurpose::kTests);
  PhasePoint state(2);
  TransitionStatistics done;
  done.divergent = true;
  for (int i = 0; i < 3; ++i) {
    REQUIRE(sweep.move(state, 0.5, rng, done));
    CHECK(done.log_density == state.position[0] - 3.0 * state.position[1]);
    CHECK(state.log_density == done.log_density);
    CHECK(std::isnan(done.energy));
    CHECK(std::isnan(done.acceptance));
    CHECK(done.evaluations == 1);
    CHECK_FALSE(done.divergent);
  }
}
