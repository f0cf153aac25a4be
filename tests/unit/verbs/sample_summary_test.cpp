// What a sampled point says of its chains, in numbers and words, on records made by hand.
#include "verbs/theory/sample_summary.hpp"

#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include "catch.hpp"
#include "headway/posterior/tempered_evidence.hpp"
#include "learned_problems.hpp"
#include "verbs/theory/learned_summary.hpp"

using namespace headway;  // NOLINT(google-build-using-namespace)
using Catch::Matchers::WithinAbs;

namespace {

SamplePoint diagnosed(double rhat, double ess, int chains, bool complete = true) {
  SamplePoint point;
  point.complete = complete;
  point.rhat_max = rhat;
  point.ess_bulk_min = ess;
  point.chains = chains;
  judge_diagnostics(point);
  return point;
}

/// Two chains of three replicas and `draws` draws.
sampling::Checkpoint replicas(Index draws, double rejected) {
  sampling::Checkpoint state;
  Rng rng(18, StreamPurpose::kTests);
  for (int c = 0; c < 2; ++c) {
    sampling::ChainState& chain = state.chains.emplace_back();
    chain.ladder.inverse_temperatures = {1.0, 0.4, 0.0};
    chain.ladder.attempts = {10.0, 30.0};
    chain.ladder.rejected = {rejected, 3.0 * rejected + c};
    chain.replicas.resize(2);
    for (std::vector<double>* l : {&chain.log_likelihoods, &chain.replicas[0].log_likelihoods,
                                   &chain.replicas[1].log_likelihoods}) {
      for (Index d = 0; d < draws; ++d) l->push_back(rng.normal() - 2.0);
    }
  }
  return state;
}

SamplePoint summarized(const sampling::Checkpoint& state, Index draws, double data_count) {
  SamplePoint point;
  point.draws = draws;
  point.attention.emplace();
  const ReplicaEvidence replicas = summarize_replicas(state, data_count, point);
  point.attention->exchange_rate = replicas.exchange_rate;
  point.attention->integral_log_evidence = replicas.integral;
  point.attention->integral_log_evidence_error = replicas.integral_error;
  return point;
}

/// A chain that predicted two test examples of one output in 4 draws, and its U_1 and U_a.
ChainRecord predicting_chain(double first, double second) {
  ChainRecord chain;
  chain.draws = 4;
  chain.entries = {1.0, 5.0, 2.0, 6.0, 3.0, 7.0, 4.0, 8.0};
  chain.predictors = {4, MatrixXd{{first}, {second}}, MatrixXd::Zero(2, 1)};
  chain.variance_sum = 4.0 * MatrixXd{{0.5}, {0.25}};
  chain.accuracies = {1.0, 1.0, 0.5, 0.5};
  return chain;
}

SamplePoint recorded(const std::vector<ChainRecord>& chains) {
  Evaluation evaluation;
  evaluation.test_labels = MatrixXd{{1.0}, {-1.0}};
  SamplePoint point;
  summarize_record(chains, {1, 1}, evaluation, point);
  return point;
}

}  // namespace

TEST_CASE("errors of a predictor are those over chains, and unknown for a single one") {
  const SamplePoint two = recorded({predicting_chain(0.5, -1.0), predicting_chain(1.5, 0.5)});
  CHECK(two.predictor.mean == MatrixXd{{1.0}, {-0.25}});
  CHECK(two.predictor_mcse == MatrixXd{{0.5}, {0.75}});
  // The mean is 1 - g/2 and -1/4 - 3g/4 for a standard normal g. An answer is wrong for g > 2, and
  // for g < -1/3: with probability 0.392, and the accuracy then moves from 1 to 1/2.
  CHECK_THAT(two.accuracy_mcse, WithinAbs(0.313, 0.05));
  // The squared error is (g^2/4 + (3/4 - 3g/4)^2)/2, and 9/32 for g = 0: its distance has the mean
  // square E[(13/32 g^2 - 9/16 g)^2] = 3 (13/32)^2 + (9/16)^2.
  CHECK_THAT(two.mean_squared_error_mcse, WithinAbs(0.901, 0.1));
  CHECK_THAT(two.accuracy_mean, WithinAbs(0.75, 1e-15));
  ChainRecord none = predicting_chain(0.5, -1.0);
  none.predictors.count = 0;  // so it counts for nothing
  for (const SamplePoint& one :
       {recorded({predicting_chain(0.5, -1.0)}), recorded({none, predicting_chain(0.5, -1.0)})}) {
    CHECK(one.predictor.mean == MatrixXd{{0.5}, {-1.0}});
    REQUIRE(one.predictor_mcse.rows() == 2);
    REQUIRE(one.predictor_mcse.cols() == 1);
    CHECK(one.predictor_mcse.array().isNaN().all());
    CHECK(std::isnan(one.accuracy_mcse));
    CHECK(std::isnan(one.mean_squared_error_mcse));
    CHECK_THAT(one.accuracy_mean, WithinAbs(0.75, 1e-15));
  }
}

TEST_CASE("chains that have not mixed, and too few effective draws, are told in whole sentences") {
  CHECK(diagnosed(1.001, 400.0, 4).warnings.empty());
  CHECK(diagnosed(std::nan(""), std::nan(""), 4).warnings.empty());
  using Lines = std::vector<std::string>;
  CHECK(
      diagnosed(1.001, 399.0, 4).warnings ==
      Lines{"the slowest entry of U has 399 effective draws, fewer than 400. Raise sample.draws"});
  CHECK(diagnosed(1.001, 399.0, 3).warnings.empty());
  CHECK(diagnosed(1.04, 400.0, 4).warnings ==
        Lines{"R-hat 1.040 > 1.01: error bars are too small. Raise sample.draws"});
  CHECK(diagnosed(2.5, 8.0, 2, false).warnings.empty());  // interrupted
  CHECK(diagnosed(2.5, 8.0, 2).warnings ==
        Lines{"R-hat 2.500 > 1.05: the chains have not mixed. Raise sample.warmup and sample.draws",
              "the slowest entry of U has 8 effective draws, fewer than 200. Raise sample.draws"});
}

TEST_CASE("the worst diagnostics are kept, and what is undefined says nothing") {
  SamplePoint point;
  note_extremes(std::nan(""), std::nan(""), std::nan(""), point);
  CHECK(std::isnan(point.rhat_max));
  note_extremes(1.02, 300.0, 200.0, point);
  note_extremes(std::nan(""), std::nan(""), std::nan(""), point);
  note_extremes(1.01, 250.0, 280.0, point);
  note_extremes(1.03, 270.0, 190.0, point);
  CHECK(point.rhat_max == 1.03);
  CHECK(point.ess_bulk_min == 250.0);
  CHECK(point.ess_tail_min == 190.0);
}

TEST_CASE("the least energy statistic is that of the worst chain, whichever it is") {
  const double none = std::nan("");
  for (const std::vector<double>& of_chains :
       {std::vector{0.5, none, 0.9}, {0.9, 0.5, none}, {none, 0.9, 0.5}, {0.5, 0.9}}) {
    sampling::SamplingResult result;
    result.summary.ebfmi = of_chains;
    result.summary.divergences.assign(of_chains.size(), 0);
    result.summary.mean_acceptance.assign(of_chains.size(), 0.8);
    result.summary.step_size.assign(of_chains.size(), 0.1);
    result.state.chains.resize(of_chains.size());
    for (std::size_t c = 0; c < of_chains.size(); ++c)
      result.kept.chains.push_back(static_cast<int>(c));
    SamplePoint point;
    describe_run(result, point);
    CHECK(point.ebfmi_min == 0.5);
  }
}

TEST_CASE("kept weights of attention are those whose logits the chain has") {
  for (const testing::LearnedProblem& problem : testing::learned_problems()) {
    INFO(problem.name);
    const posterior::LearnedChain target =
        testing::learned_chain(problem, testing::learned_data(problem));
    const model::AttentionCoordinates& coordinates = target.coordinates();
    Rng rng(19, StreamPurpose::kTests);
    ChainRecord chain;
    chain.positions.resize(static_cast<std::size_t>(target.dimension()));
    rng.fill_normal(chain.positions);
    const VectorXd z = Eigen::Map<const VectorXd>(chain.positions.data(), target.dimension())
                           .head(target.weights());
    SamplePoint point;
    point.draws = 1;
    point.attention.emplace();
    keep_attention_weights({chain}, target, point);
    const Tensor& kept = point.attention->weights;
    REQUIRE(kept.shape == std::vector<Index>{1, 1, target.weights()});
    const model::AttentionPrior& prior = problem.prior;
    const Index n0 = coordinates.features();
    for (std::size_t l = 0; l < prior.heads.size(); ++l) {
      for (int h = 0; h < prior.heads[l]; ++h) {
        if (prior.is_frozen(l, h)) continue;
        const double* at = kept.values.data() + coordinates.offset(l, h);
        const bool matrix = prior.form == model::AttentionPriorForm::kMatrix;
        const Index rows = matrix ? n0 : prior.dims;
        const Eigen::Map<const MatrixXd> first(at, rows, n0);
        MatrixXd weights = first;
        if (!matrix) {
          const Eigen::Map<const MatrixXd> keys(at + rows * n0, rows, n0);
          weights = first.transpose() * keys / std::sqrt(static_cast<double>(rows));
        }
        CHECK((weights - coordinates.weights(z, l, h)).norm() < 1e-12 * weights.norm());
      }
    }
  }
}

TEST_CASE("the size of a matrix counts entries off the diagonal twice") {
  // u11^2 + u22^2 + 2 u12^2 = 66 in every draw, though the first half has small u12 and the second
  // has large ones: counted once, they would look like chains that have not mixed.
  constexpr double kEntries[4][3] = {
      {8.0, 1.0, 0.0}, {7.0, 2.0, 3.0}, {5.0, 4.0, 3.0}, {4.0, 5.0, 0.0}};
  constexpr Index kDraws = 200;
  std::vector<ChainRecord> chains(2);
  Rng rng(20, StreamPurpose::kTests);
  const auto sign = [&] { return rng.uniform() < 0.5 ? -1.0 : 1.0; };
  for (ChainRecord& chain : chains) {
    for (Index d = 0; d < kDraws; ++d) {
      const double* u = kEntries[(d < kDraws / 2 ? 0 : 2) + rng.uniform_index(2)];
      const bool exchanged = rng.uniform() < 0.5;
      for (const double entry : {u[exchanged ? 2 : 0], u[1], u[exchanged ? 0 : 2]}) {
        chain.entries.push_back(sign() * entry);
      }
      for (int i = 0; i < 3; ++i) chain.attention.push_back(rng.normal());
    }
  }
  SamplePoint point;
  point.draws = kDraws;
  summarize_attention(chains, {2}, point);
  CHECK(point.rhat_max > 1.0);
  CHECK(point.rhat_max < 1.5);
}

TEST_CASE("a run is described by sums, means and the worst of its chains") {
  sampling::SamplingResult result;
  sampling::SamplingSummary& summary = result.summary;
  summary.complete = true;
  summary.biased = true;
  summary.warnings = {"one", "two"};
  summary.divergences = {3, 4};
  summary.ebfmi = {0.5, std::nan("")};
  summary.mean_acceptance = {0.5, 0.75};
  summary.step_size = {0.1, 0.3};
  result.kept = {{0, 1}, 2};
  for (int c = 0; c < 2; ++c) {
    sampling::ChainState& chain = result.state.chains.emplace_back();
    for (int d = 0; d < 3; ++d) {  // one more than every chain has
      chain.statistics.emplace_back().log_density = 10.0 * c + d;
    }
  }
  SamplePoint point;
  describe_run(result, point);
  CHECK(point.complete);
  CHECK(point.biased);
  CHECK(point.warnings == summary.warnings);
  CHECK(point.divergences == 7);
  CHECK(point.ebfmi_min == 0.5);
  CHECK_THAT(point.mean_acceptance, WithinAbs(0.625, 1e-15));
  CHECK_THAT(point.step_size, WithinAbs(0.2, 1e-15));
  CHECK(point.energies == MatrixXd{{0.0, 10.0}, {1.0, 11.0}});
  CHECK(point.chains == 2);
  result.kept = {{1}, 3};  // after an interruption: nothing of the chain that is left out
  summary.mean_acceptance[0] = std::nan("");
  describe_run(result, point);
  CHECK(point.chains == 1);
  CHECK(point.divergences == 4);
  CHECK(point.mean_acceptance == 0.75);
  CHECK(point.energies == MatrixXd{{10.0}, {11.0}, {12.0}});
}

TEST_CASE("positions of all chains stand side by side, each cut to the shortest") {
  std::vector<ChainRecord> chains(2);
  chains[0].positions = {1.0, 2.0, 3.0, 4.0, 5.0, 6.0};
  chains[1].positions = {7.0, 8.0, 9.0, 10.0};
  CHECK(recorded_positions(chains, 2, 2) == MatrixXd{{1.0, 3.0, 7.0, 9.0}, {2.0, 4.0, 8.0, 10.0}});
}

TEST_CASE("replicas exchange as often as they were not rejected, and give the evidence") {
  constexpr Index kDraws = 40;
  constexpr double kCount = 6.0;
  const sampling::Checkpoint state = replicas(kDraws, 4.0);
  const SamplePoint point = summarized(state, kDraws, kCount);
  // 80 trials; 4 + 12, and 4 + 13 of them rejected
  CHECK_THAT(point.attention->exchange_rate, WithinAbs((80.0 - 33.0) / 80.0, 1e-14));
  std::vector<posterior::TemperedDraws> draws;
  for (const sampling::ChainState& chain : state.chains) {
    MatrixXd l(kDraws, 3);
    for (Index d = 0; d < kDraws; ++d) {
      const auto at = static_cast<std::size_t>(d);
      l.row(d) << chain.log_likelihoods[at], chain.replicas[0].log_likelihoods[at],
          chain.replicas[1].log_likelihoods[at];
    }
    draws.push_back({{1.0, 0.4, 0.0}, l});
  }
  const posterior::TemperedEvidence wanted = posterior::tempered_evidence(draws);
  const double constant = 0.5 * kCount * std::log(2.0 * std::numbers::pi);
  CHECK_THAT(point.log_evidence, WithinAbs(wanted.bridge - constant, 1e-12));
  CHECK_THAT(point.log_evidence_error, WithinAbs(wanted.bridge_error, 1e-14));
  CHECK_THAT(point.attention->integral_log_evidence, WithinAbs(wanted.integral - constant, 1e-12));
  CHECK_THAT(point.attention->integral_log_evidence_error, WithinAbs(wanted.integral_error, 1e-14));
  CHECK(point.evidence_reason.empty());
  CHECK(point.warnings.empty());
}

TEST_CASE("chains whose evidence differs are told") {
  sampling::Checkpoint state = replicas(40, 4.0);
  sampling::ChainState& moved = state.chains.back();
  for (double& l : moved.log_likelihoods) l += 100.0;
  for (auto& replica : moved.replicas) {
    for (double& l : replica.log_likelihoods) l += 100.0;
  }
  const SamplePoint point = summarized(state, 40, 6.0);
  REQUIRE(point.warnings.size() == 1);
  CHECK(point.warnings[0].find("log evidence differs between chains") == 0);
  CHECK(point.log_evidence_error > 10.0);
}

TEST_CASE("replicas that seldom exchange are told, and why there is no evidence") {
  using Lines = std::vector<std::string>;
  CHECK(summarized(replicas(40, 9.5), 40, 6.0).warnings ==
        Lines{"replicas exchange in 4 % of the trials. Raise sample.replicas"});
  const SamplePoint few = summarized(replicas(3, 4.0), 3, 6.0);
  CHECK(std::isnan(few.log_evidence));
  CHECK(few.evidence_reason == "too few draws, or a replica without a finite log likelihood");
  CHECK(few.warnings.empty());
}
