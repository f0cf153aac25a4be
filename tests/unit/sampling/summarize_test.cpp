// What a summary counts, and the whole sentences of its warnings.
#include "sampling/summarize.hpp"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "catch.hpp"

using namespace headway;            // NOLINT: a test
using namespace headway::sampling;  // NOLINT

namespace {

using Catch::Matchers::WithinRel;
using Texts = std::vector<std::string>;
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// Two chains of 10 draws without anything to warn of.
struct Run {
  Run() {
    options.chains = 2;
    options.draws = 10;
    options.warmup = 30;
    result.names = {"a", "b", "c"};
    for (int i = 0; i < 3; ++i) result.coordinates.push_back(coordinate(1.0, 900.0, 800.0));
    for (int c = 0; c < 2; ++c) {
      ChainState chain;
      chain.chain = c;
      chain.step_size = 0.5 + c;
      chain.evaluations = 100 + c;
      chain.warmup_divergences = 2 + c;
      for (int i = 0; i < 10; ++i) {
        TransitionStatistics t;
        t.energy = i % 2;
        t.acceptance = c == 0 ? 0.75 : 0.1 * i;
        chain.statistics.push_back(t);
      }
      result.state.chains.push_back(chain);
    }
  }
  static QuantityDiagnostics coordinate(double rhat, double bulk, double tail) {
    QuantityDiagnostics q;
    q.rhat = rhat;
    q.ess_bulk = bulk;
    q.ess_tail = tail;
    q.constant = q.not_finite = false;
    return q;
  }
  [[nodiscard]] SamplingSummary summary(bool complete = true) const {
    return summarize(result, options, complete ? RunEnd::kComplete : RunEnd::kInterrupted);
  }
  [[nodiscard]] Texts warnings(bool complete = true) const { return summary(complete).warnings; }
  TransitionStatistics& at(std::size_t chain, std::size_t draw) {
    return result.state.chains[chain].statistics[draw];
  }

  SamplingResult result;
  SamplerOptions options;
};

}  // namespace

TEST_CASE("a summary counts what each chain did after its warm-up") {
  Run run;
  run.at(1, 3).divergent = true;
  run.at(0, 2).saturated = run.at(1, 2).saturated = run.at(1, 9).saturated = true;
  const SamplingSummary s = run.summary();
  CHECK(s.message == "2 chains of 10 draws after 30 warm-up transitions");
  CHECK(s.sampler == "nuts");
  CHECK(s.complete);
  CHECK_FALSE(s.interrupted);
  CHECK_FALSE(s.biased);
  CHECK(s.chains == 2);
  CHECK(s.draws == std::vector<Index>{10, 10});
  CHECK(s.step_size == std::vector<double>{0.5, 1.5});
  CHECK_THAT(s.mean_acceptance[0], WithinRel(0.75, 1e-14));
  CHECK_THAT(s.mean_acceptance[1], WithinRel(0.45, 1e-14));
  CHECK(s.divergences == std::vector<Index>{0, 1});
  CHECK(s.saturated == 3);
  CHECK(s.evaluations == 201);
  CHECK(s.warmup_divergences == 5);
  CHECK_THAT(s.ebfmi[0], WithinRel(9.0 / 2.5, 1e-14));  // 0, 1, 0, 1, ...
}

TEST_CASE("hotter replicas cost evaluations, but their divergences are not the chain's") {
  Run run;
  for (ChainState& chain : run.result.state.chains) {
    for (int k = 1; k < 4; ++k) {
      ChainState replica;
      replica.evaluations = 1000 * k;
      replica.warmup_divergences = 5;
      replica.statistics = chain.statistics;
      for (TransitionStatistics& t : replica.statistics) t.divergent = true;
      chain.replicas.push_back(replica);
    }
  }
  const SamplingSummary s = run.summary();
  CHECK(s.evaluations == 201 + 2 * 6000);
  CHECK(s.divergences == std::vector<Index>{0, 0});
  CHECK(s.warmup_divergences == 5);
}

TEST_CASE("E-BFMI of a thinned chain is that of all its transitions") {
  Run run;
  run.options.thin = 3;
  ChainState& chain = run.result.state.chains[0];
  chain.iteration = 30 + 3 * 10;
  CHECK(std::isnan(run.summary().ebfmi[0]));  // no transition yet
  std::vector<double> energies;
  for (int i = 0; i < 30; ++i) {
    energies.push_back(std::sin(0.3 * i * i));
    add(chain.energies, energies.back());
  }
  CHECK_THAT(run.summary().ebfmi[0], WithinRel(energy_bfmi(energies), 1e-13));
}

TEST_CASE("draws beyond those that were asked for are not counted, and none are no mean of 0") {
  Run run;
  run.options.draws = 4;
  run.result.state.chains[1].statistics.clear();
  run.result.kept = {{0}, 4};
  run.at(0, 5).divergent = true;
  const SamplingSummary s = run.summary(false);
  CHECK(s.draws == std::vector<Index>{4, 0});
  CHECK(s.divergences == std::vector<Index>{0, 0});
  CHECK(std::isnan(s.mean_acceptance[1]));
  CHECK(std::isnan(s.ebfmi[1]));
  CHECK(s.message == "interrupted: the draws so far are valid");
  CHECK(s.warnings == Texts{"interrupted after 4 of 8 draws: the result is partial and keeps 4 of "
                            "one chain"});
  run.result.kept = {{0, 1}, 2};
  CHECK(run.warnings(false) == Texts{"interrupted after 4 of 8 draws: the result is partial and "
                                     "keeps 4, 2 of each of 2 chains"});
  run.result.kept = {{0, 1}, 0};
  CHECK(run.warnings(false) == Texts{"interrupted after 4 of 8 draws: the result is partial and "
                                     "keeps none, since no chain had passed its warm-up"});
}

TEST_CASE("the worst of each diagnostic is kept with its coordinate, and NaN is never the worst") {
  Run run;
  run.result.coordinates = {Run::coordinate(1.002, kNaN, 700.0),
                            Run::coordinate(kNaN, 500.0, 650.0),
                            Run::coordinate(1.004, 900.0, kNaN)};
  const SamplingSummary s = run.summary();
  CHECK(s.rhat_max == 1.004);
  CHECK(s.rhat_max_name == "c");
  CHECK(s.ess_bulk_min == 500.0);
  CHECK(s.ess_bulk_min_name == "b");
  CHECK(s.ess_tail_min == 650.0);
  CHECK(s.ess_tail_min_name == "b");
  CHECK(s.warnings.empty());
  CHECK(
      s.brief_report() ==
      "nuts: 2 chains of 10 draws after 30 warm-up transitions, R-hat <= 1.004, ESS >= 500 (bulk) "
      "650 (tail), 0 divergences, no warnings");
}

TEST_CASE("trajectories that fail are told with their number and what to do") {
  Run run;
  run.at(0, 1).divergent = run.at(1, 1).divergent = run.at(1, 4).divergent = true;
  CHECK(run.warnings() ==
        Texts{"3 of 20 draws end a divergent trajectory: the sampler cannot follow the density "
              "there and may miss a part of it. Raise sample.target_accept (now 0.8) "
              "towards 0.99"});
  CHECK(run.summary().brief_report().ends_with(", 3 divergences, 1 warnings"));
  Run cut;
  cut.at(1, 0).saturated = true;
  cut.options.max_tree_depth = 6;
  CHECK(cut.warnings() ==
        Texts{"1 of 20 draws stopped at sample.max_tree_depth = 6: the chain is valid but slow. "
              "Raise sample.max_tree_depth, warm up longer, or choose another sample.metric (now "
              "\"diagonal\")"});
  cut.options.sampler = SamplerKind::kStaticHmc;
  cut.options.max_leapfrog_steps = 31;
  CHECK(cut.warnings() ==
        Texts{"1 of 20 draws stopped at sample.max_leapfrog_steps = 31: the chain is valid but "
              "slow. Raise sample.max_leapfrog_steps, warm up longer, or choose another "
              "sample.metric (now \"diagonal\")"});
  Run slow;
  for (std::size_t i = 0; i < 10; ++i) slow.at(1, i).energy = static_cast<double>(i);
  CHECK(slow.warnings() ==
        Texts{"E-BFMI of chain 2 is 0.11 (below 0.3): the chain explores energies slowly, as with "
              "heavy tails or a funnel. Choose other variables, or draw more"});  // 9 / 82.5
}

TEST_CASE("chains that have not mixed, or say too little, are told with the coordinate") {
  Run run;
  run.result.coordinates[1].rhat = 1.01;
  CHECK(run.warnings().empty());
  run.result.coordinates[1].rhat = 1.0123;
  CHECK(run.warnings() ==
        Texts{"R-hat of b is 1.012 (above 1.01): the chains have not mixed. Raise draws and "
              "warmup; if R-hat stays high, look for several modes"});
  Run few;
  few.result.coordinates[2].ess_tail = 200.0;  // 100 a chain
  CHECK(few.warnings().empty());
  few.result.coordinates[2].ess_tail = 61.0;
  CHECK(few.warnings() ==
        Texts{"the tail effective sample size of c is 61 (below 200, 100 a chain): error bars and "
              "R-hat are unreliable. Raise draws about 4 times"});
  few.result.coordinates[0].ess_bulk = 0.25;
  CHECK(few.warnings() ==
        Texts{"the bulk effective sample size of a is 0 (below 200, 100 a chain): error bars and "
              "R-hat are unreliable. Raise draws about 200 times"});
  for (QuantityDiagnostics& q : few.result.coordinates) q.ess_tail = kNaN;
  CHECK(few.warnings().at(0).starts_with("the bulk effective sample size of a is 0 "));
  Run lost;
  lost.result.coordinates[1].not_finite = lost.result.coordinates[2].not_finite = true;
  CHECK(lost.warnings() ==
        Texts{"b has draws that are NaN or infinite: the target density or the transition is "
              "faulty"});
}

TEST_CASE("biased samplers and single chains are told") {
  Run run;
  run.options.sampler = SamplerKind::kLangevin;
  CHECK(run.summary().biased);
  CHECK(run.warnings() ==
        Texts{"unadjusted Langevin draws are biased, by an unknown amount of order step_size^2. "
              "Use mala for unbiased draws"});
  Run one;
  one.options.chains = 1;
  one.result.state.chains.pop_back();
  CHECK(one.warnings() ==
        Texts{"one chain cannot show whether another start leads elsewhere. Run 4 chains"});
}

TEST_CASE("the full report has a line for each chain and each warning") {
  Run run;
  run.at(1, 3).divergent = true;
  run.result.coordinates[2] = Run::coordinate(1.0042, 512.4, 640.0);
  SamplingSummary s = run.summary();
  s.dimension = 3;
  s.seconds = 1.25;
  s.threads = 2;
  CHECK(s.full_report() ==
        "sampler      nuts, dimension 3\n"
        "run          2 chains of 10 draws after 30 warm-up transitions\n"
        "cost         201 evaluations, 1.25 s on 2 threads\n"
        "R-hat        1.0042 at worst (c)\n"
        "ESS          512 bulk (c), 640 tail (c) at worst\n"
        "chain   draws  step size  acceptance  divergent  E-BFMI\n"
        "    1      10        0.5       0.750          0    3.60\n"
        "    2      10        1.5       0.450          1    3.60\n"
        "warm-up      5 divergent\n"
        "warning      " +
            s.warnings.at(0) + "\n");
  CHECK(SamplingSummary().full_report() == "sample() was not called\n");
}
