// What the theory says each head is worth, against predictors that are pruned one by one.
#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "headway/action.hpp"
#include "headway/numerics/symmetric.hpp"
#include "headway/prune.hpp"
#include "headway/solve.hpp"
#include "larger.hpp"
#include "random_examples.hpp"
#include "verbs/theory/problem.hpp"

using namespace headway;           // NOLINT(google-build-using-namespace)
using namespace headway::testing;  // NOLINT(google-build-using-namespace)
using Catch::Matchers::WithinAbs;
using Catch::Matchers::WithinRel;
using headway::HeadReport;
using headway::PrunePoint;
using headway::PruneResult;
using headway::SolveResult;
using headway::Study;
using tasks::Dataset;

namespace {

constexpr Index kTokens = 4, kFeatures = 6;

/// Labels +-1 that the first token tells, or real ones.
tasks::Split told_split(Index examples, std::uint64_t stream, bool classes = true) {
  Rng rng(7, StreamPurpose::kTests, stream);
  Tensor inputs = random_tensor({examples, kTokens, kFeatures}, rng);
  tasks::Split split;
  split.labels = MatrixXd::Zero(examples, 1);
  for (Index i = 0; i < examples; ++i) {
    const double told = inputs.values[static_cast<std::size_t>(i * kTokens * kFeatures)];
    split.labels(i, 0) = classes ? (told < 0.0 ? -1.0 : 1.0) : told;
  }
  split.examples = std::make_shared<tasks::MemoryExamples>(std::move(inputs));
  return split;
}

Dataset random_dataset(bool classes = true) {
  Rng rng(5, StreamPurpose::kTests, 1);
  Dataset data = testing::random_dataset({2, 3}, {40, kTokens, kFeatures}, rng);
  data.train = told_split(40, 1, classes);
  data.test = told_split(60, 2, classes);
  return data;
}

Study small_study() {
  Study study;
  study.model.widths = {{400}};  // the leading order in 1/N holds, so there are no draws
  study.model.temperatures = {0.1};
  study.model.readout = Readout::kMean;
  study.threads = 1;
  study.prune.random_orders = 2;
  return study;
}

PruneResult pruned(const Study& study, const Dataset& data, const SolveResult* known = nullptr) {
  Observer observer;
  return headway::prune(study, data, observer, known);
}

/// The solution with another U_1, and with draws of U_1.
SolveResult with_first_layer(SolveResult solve, const MatrixXd& u) {
  solve.points[0].order_parameters.layers[0] = u;
  return solve;
}

class Listener final : public Observer {
 public:
  void warning(std::string_view text) override { warnings.emplace_back(text); }
  std::vector<std::string> warnings;
};

SolveResult with_draws(SolveResult solve, const std::vector<MatrixXd>& draws) {
  const Index n = draws[0].rows();
  Tensor all({1, static_cast<Index>(draws.size()), n, n});
  auto* next = all.values.data();
  for (const MatrixXd& u : draws) next = std::copy_n(u.data(), u.size(), next);
  solve.points[0].first_layer_draws = std::move(all);
  return solve;
}

}  // namespace

TEST_CASE(
    "changes are those of the predictor without each head, on validation where there is one") {
  const Study study = small_study();
  for (const bool classes : {true, false}) {
    const Dataset data = random_dataset(classes);
    const PruneResult result = pruned(study, data);
    const PrunePoint& point = result.points.at(0);
    const double error = result.solve.points[0].predictor.mean_squared_error;
    REQUIRE(point.heads.size() == 5);
    for (const HeadReport& head : point.heads) {
      CHECK(head.set == "test");
      CHECK_THAT(head.squared_error_rise,
                 WithinAbs(head.mean_squared_error_without - error, 1e-10));
      CHECK(std::isnan(head.accuracy_drop) != classes);
      CHECK(head.squared_error_rise_error > 0.0);
      if (!classes) continue;
      CHECK_THAT(head.accuracy_drop, WithinAbs(point.accuracy - head.accuracy_without, 1e-12));
    }
    Dataset with_validation = data;
    with_validation.sets = {{"validation", told_split(60, 2, classes)}};
    with_validation.test = told_split(30, 3, classes);
    const PruneResult other = pruned(study, with_validation);
    for (std::size_t h = 0; h < 5; ++h) {
      const HeadReport& head = other.points.at(0).heads[h];
      CHECK(head.set == "validation");
      CHECK_THAT(head.squared_error_rise, WithinAbs(point.heads[h].squared_error_rise, 1e-10));
    }
  }
}

TEST_CASE("with several outputs a change is that of the mean over them") {
  Dataset data = random_dataset();
  for (tasks::Split* split : {&data.train, &*data.test}) {
    const MatrixXd signs = split->labels;
    split->labels = MatrixXd::Zero(signs.rows(), 3);
    for (Index i = 0; i < signs.rows(); ++i) {
      split->labels(i, i % 4 == 0 ? 2 : (signs(i, 0) > 0.0 ? 1 : 0)) = 1.0;
    }
  }
  Study study = small_study();
  study.model.widths = {{2000}};  // as wide for three outputs
  const PruneResult result = pruned(study, data);
  const double error = result.solve.points.at(0).predictor.mean_squared_error;
  double largest = 0.0;
  for (const HeadReport& head : result.points.at(0).heads) {
    CHECK_THAT(head.squared_error_rise, WithinAbs(head.mean_squared_error_without - error, 1e-12));
    largest = testing::larger(largest, std::abs(head.squared_error_rise));
  }
  CHECK(largest > 1e-4);
}

TEST_CASE("the 1/N deviation is that of the change along the fluctuations of U_1") {
  // Sigma = 2 (d2S/dU2)^{-1}; gradients by central differences of the change itself.
  Study study = small_study();
  study.prune.cumulative = false;
  const Dataset data = random_dataset();
  const PruneResult result = pruned(study, data);
  const SolvePoint& solved = result.solve.points.at(0);
  REQUIRE(solved.summary.converged);
  Observer observer;
  const TheoryProblem problem = make_problem(study, data, observer);
  const theory::Action action(architecture_of(study, data, solved.widths), solved.temperature,
                              problem.kernels);
  const theory::Action::Evaluation at = action.evaluate(solved.order_parameters);
  const MatrixXd sigma = 2.0 * action.hessian(solved.order_parameters, *at.energy).inverse();
  const MatrixXd& u = solved.order_parameters.layers.front();
  const Index entries = numerics::symmetric_size(u.rows());
  study.solve.corrections = When::kOff;
  study.prune.resamples = 0;
  constexpr double kStep = 1e-5;
  MatrixXd gradients = MatrixXd::Zero(sigma.rows(), 5);  // entries of U_1 come first
  for (Index k = 0; k < entries; ++k) {
    const MatrixXd step =
        kStep * numerics::vector_to_symmetric(VectorXd::Unit(entries, k), u.rows());
    const SolveResult up = with_first_layer(result.solve, u + step);
    const SolveResult down = with_first_layer(result.solve, u - step);
    const PrunePoint above = pruned(study, data, &up).points.at(0);
    const PrunePoint below = pruned(study, data, &down).points.at(0);
    for (std::size_t h = 0; h < 5; ++h) {
      gradients(k, static_cast<Index>(h)) =
          (above.heads[h].squared_error_rise - below.heads[h].squared_error_rise) / (2.0 * kStep);
    }
  }
  const VectorXd variances = (gradients.transpose() * sigma * gradients).diagonal();
  CHECK(result.points.at(0).posterior_errors == kToLeadingOrder);
  for (std::size_t h = 0; h < 5; ++h) {
    CHECK_THAT(result.points[0].heads[h].squared_error_rise_sd,
               WithinRel(std::sqrt(variances[static_cast<Index>(h)]), 1e-5));
  }
}

TEST_CASE("random orders have the mean and the deviation of their qualities") {
  Study study = small_study();
  study.prune.random_orders = 4;
  const PrunePoint point = pruned(study, random_dataset(false)).points.at(0);
  REQUIRE(point.random.size() == 4);
  for (std::size_t k = 1; k < point.random_sd.size(); ++k) {
    double mean = 0.0, squares = 0.0;
    for (const auto& curve : point.random) mean += curve.quality[k] / 4.0;
    for (const auto& curve : point.random) squares += std::pow(curve.quality[k] - mean, 2);
    CHECK(squares > 1e-8);
    CHECK_THAT(point.random_mean[k], WithinRel(mean, 1e-12));
    CHECK_THAT(point.random_sd[k], WithinRel(std::sqrt(squares / 3.0), 1e-12));
  }
}

TEST_CASE("the control without the theory is the change at U_1 = 1, whatever was solved") {
  const Study study = small_study();
  const Dataset data = random_dataset();
  const PruneResult result = pruned(study, data);
  const Index size = result.solve.points[0].order_parameters.layers[0].rows();
  const SolveResult ones = with_first_layer(result.solve, MatrixXd::Ones(size, size));
  const PrunePoint there = pruned(study, data, &ones).points.at(0);
  for (std::size_t h = 0; h < 5; ++h) {
    const HeadReport& head = result.points[0].heads[h];
    CHECK_THAT(head.squared_error_rise_without_theory,
               WithinAbs(there.heads[h].squared_error_rise, 1e-12));
    CHECK_THAT(head.squared_error_rise_without_theory_error,
               WithinAbs(there.heads[h].squared_error_rise_error, 1e-12));
    CHECK(std::abs(head.squared_error_rise_without_theory - head.squared_error_rise) > 1e-6);
  }
}

TEST_CASE("heads are removed in the order of their changes too") {
  const PrunePoint point = pruned(small_study(), random_dataset()).points.at(0);
  const std::vector<int>& order = point.by_squared_error.order;
  REQUIRE(order.size() == 3);  // one head a layer stays
  REQUIRE(point.by_squared_error.quality.size() == 4);
  CHECK(point.by_squared_error.quality[0] == point.accuracy);
  const HeadReport& first = point.heads[static_cast<std::size_t>(order[0])];
  CHECK(point.by_squared_error.quality[1] == first.accuracy_without);
  for (const HeadReport& head : point.heads) {
    CHECK(first.squared_error_rise <= head.squared_error_rise);
  }
}

TEST_CASE("changes and deviations over draws are those of the changes at the draws") {
  const Study study = small_study();
  const Dataset data = random_dataset();
  const PruneResult plain = pruned(study, data);
  const MatrixXd u = plain.solve.points[0].order_parameters.layers[0];
  MatrixXd v = 1.5 * u;
  v(0, 0) *= 3.0;
  const PruneResult at_v = pruned(study, data, nullptr);
  const SolveResult moved = with_first_layer(plain.solve, v);
  const PrunePoint other = pruned(study, data, &moved).points.at(0);
  const SolveResult drawn = with_draws(plain.solve, {u, v});
  const PrunePoint point = pruned(study, data, &drawn).points.at(0);
  CHECK(point.posterior_errors == kByDraws);
  double largest = 0.0;
  for (std::size_t h = 0; h < 5; ++h) {
    const HeadReport& a = plain.points[0].heads[h];
    const HeadReport& b = other.heads[h];
    const double expected = std::abs(a.squared_error_rise - b.squared_error_rise) / std::sqrt(2.0);
    CHECK_THAT(point.heads[h].squared_error_rise_sd, WithinAbs(expected, 1e-10));
    CHECK_THAT(point.heads[h].squared_error_rise,
               WithinAbs(0.5 * (a.squared_error_rise + b.squared_error_rise), 1e-10));
    CHECK_THAT(point.heads[h].accuracy_drop,
               WithinAbs(0.5 * (a.accuracy_drop + b.accuracy_drop), 1e-12));
    CHECK_THAT(point.heads[h].accuracy_drop_sd,
               WithinAbs(std::abs(a.accuracy_drop - b.accuracy_drop) / std::sqrt(2.0), 1e-12));
    largest = std::max(largest, expected);
  }
  CHECK(largest > 1e-3);
  CHECK(at_v.points[0].posterior_errors == kToLeadingOrder);
}

TEST_CASE("in a narrow network short chains of exact draws take the place of the leading order") {
  Study study = small_study();
  study.prune.cumulative = false;
  study.model.widths = {{8}};
  study.model.temperatures = {0.1, 0.2};
  const Dataset data = random_dataset();
  const PruneResult both = pruned(study, data);
  REQUIRE(both.points.size() == 2);
  for (const PrunePoint& point : both.points) {
    CHECK(point.posterior_errors == kByDraws);
    for (const HeadReport& head : point.heads) {
      CHECK(head.squared_error_rise_sd > 0.0);
      CHECK(head.accuracy_drop_sd > 0.0);
    }
  }
  // A point has the same numbers alone.
  study.model.temperatures = {0.2};
  const PrunePoint alone = pruned(study, data).points.at(0);
  CHECK(alone.heads[2].squared_error_rise == both.points[1].heads[2].squared_error_rise);
  CHECK(alone.heads[2].squared_error_rise_sd == both.points[1].heads[2].squared_error_rise_sd);
}

TEST_CASE("a narrow network without draws has a warning that its deviations are of leading order") {
  Study study = small_study();
  study.prune.cumulative = false;
  study.solve.kernels = theory::KernelForm::kStored;  // with 300 examples, draws take too long
  Dataset data = random_dataset();
  data.train = told_split(300, 1);
  const auto warnings_at = [&](Index width) {
    study.model.widths = {{width}};
    Listener listener;
    const PruneResult result = headway::prune(study, data, listener);
    CHECK(result.points.at(0).posterior_errors == kToLeadingOrder);
    return std::count_if(listener.warnings.begin(), listener.warnings.end(), [](const auto& text) {
      return text.find("of leading order in 1/N") != std::string::npos;
    });
  };
  CHECK(warnings_at(14) == 1);  // (p + 1) / N = 0.5
  CHECK(warnings_at(15) == 0);
}

TEST_CASE("of many draws two hundred count, evenly spaced") {
  const Study study = small_study();
  const Dataset data = random_dataset();
  const PruneResult plain = pruned(study, data);
  const MatrixXd u = plain.solve.points[0].order_parameters.layers[0];
  std::vector<MatrixXd> draws(400, u);
  for (std::size_t i = 1; i < draws.size(); i += 2) draws[i] *= 1.5;  // every other one is left out
  const SolveResult drawn = with_draws(plain.solve, draws);
  const PrunePoint point = pruned(study, data, &drawn).points.at(0);
  CHECK(point.posterior_errors == kByDraws);
  for (const HeadReport& head : point.heads) {
    CHECK_THAT(head.squared_error_rise_sd, WithinAbs(0.0, 1e-15));
  }
  draws.resize(200);  // all of these count
  const SolveResult fewer = with_draws(plain.solve, draws);
  CHECK(pruned(study, data, &fewer).points.at(0).heads[0].squared_error_rise_sd > 1e-6);
}

TEST_CASE("pruning tells its share, and a point that is stopped is not in the result") {
  class Stops final : public Observer {
   public:
    explicit Stops(double after) : after_(after) {}
    void whole(std::string_view stage, double done, double total, double /*earlier*/) override {
      if (stage != "prune") return;
      told.emplace_back(done, total);
      stopped_ = done >= after_;
    }
    [[nodiscard]] bool interrupted() const override { return stopped_; }
    std::vector<std::pair<double, double>> told;

   private:
    double after_;
    bool stopped_ = false;
  };
  Study study = small_study();
  study.model.temperatures = {0.1, 0.2, 0.4};
  const Dataset data = random_dataset();
  Stops never(4.0);
  const PruneResult whole = headway::prune(study, data, never);
  REQUIRE(whole.points.size() == 3);
  CHECK_FALSE(whole.solve.interrupted);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(whole.points[i].temperature == study.model.temperatures[i]);
  }
  using Told = std::vector<std::pair<double, double>>;
  CHECK(never.told == Told{{0.0, 3.0}, {1.0, 3.0}, {2.0, 3.0}, {3.0, 3.0}});
  Stops after_one(1.0);
  const PruneResult part = headway::prune(study, data, after_one);
  REQUIRE(part.points.size() == 1);
  CHECK(part.points[0].heads[1].score == whole.points[0].heads[1].score);
  CHECK(part.solve.interrupted);
  CHECK(part.solve.points.size() == 3);
}

TEST_CASE("ranks are certain if no draws differ, and less certain the more of them do") {
  Study study = small_study();
  const Dataset data = random_dataset();
  const PruneResult plain = pruned(study, data);
  const MatrixXd u = plain.solve.points[0].order_parameters.layers[0];
  const SolveResult same = with_draws(plain.solve, {u, u});
  study.prune.resamples = 0;
  const auto sure = pruned(study, data, &same).points.at(0).rank_stability;
  CHECK(sure.k == 1);
  CHECK_THAT(sure.kendall_tau, WithinRel(1.0, 1e-12));
  CHECK(sure.top_k_overlap == 1.0);
  study.prune.resamples = 500;
  const auto over_examples = pruned(study, data, &same).points.at(0).rank_stability;
  CHECK(over_examples.kendall_tau < 1.0);
  const auto over_both = pruned(study, data).points.at(0).rank_stability;
  CHECK(over_both.kendall_tau < over_examples.kendall_tau);
  CHECK(over_both.kendall_tau > -1.0);
}

TEST_CASE("the 1/N deviation shrinks with the width and is left out where it is not wanted") {
  Study study = small_study();
  const Dataset data = random_dataset();
  study.model.widths = {{400}, {40'000}};
  const PruneResult result = pruned(study, data);
  for (std::size_t h = 0; h < 5; ++h) {
    const double narrow = result.points.at(0).heads[h].squared_error_rise_sd;
    const double wide = result.points.at(1).heads[h].squared_error_rise_sd;
    CHECK_THAT(wide, WithinRel(0.1 * narrow, 0.25));  // 1 / sqrt(N), the change itself still moves
  }
  study.solve.corrections = headway::When::kOff;
  const PrunePoint off = pruned(study, data).points.at(0);
  CHECK(off.posterior_errors.empty());
  CHECK(std::isnan(off.heads[0].squared_error_rise_sd));
  CHECK(std::isfinite(off.rank_stability.kendall_tau));  // over the examples
}
