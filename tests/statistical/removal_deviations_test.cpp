// What prune says of a narrow network, against long runs of the exact chain: the mean rise of the
// squared error without each head, and its deviation over the posterior (eq. 77).
#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "headway/action.hpp"
#include "headway/analysis/head_scores.hpp"
#include "headway/dataset.hpp"
#include "headway/numerics/statistics.hpp"
#include "headway/prune.hpp"
#include "headway/results/lookup.hpp"
#include "headway/sample.hpp"
#include "headway/sampling/diagnostics.hpp"
#include "headway/theory/finite_width.hpp"
#include "verbs/theory/problem.hpp"

using namespace headway;  // NOLINT(google-build-using-namespace)

namespace {

constexpr Index kTrain = 60, kTest = 200, kFeatures = 6;
constexpr double kFewestEffective = 100.0;  // of the 200 draws of prune
constexpr double kDeviations = 6.0;         // 1e-6 of 40 numbers, each with some tail

/// Labels are the sign of a sum over paths, some of which are weak, with noise.
tasks::Dataset random_problem(const std::vector<int>& heads, std::uint64_t stream) {
  Index paths = 1;
  for (const int count : heads) paths *= count;
  Rng rng(11, StreamPurpose::kTests, stream);
  MatrixXd weights(paths, kFeatures);
  for (double& w : weights.reshaped()) w = rng.normal();
  for (Index a = 0; a < paths; ++a) weights.row(a) *= a % 3 == 0 ? 2.0 : 0.3;
  const auto drawn = [&](Index examples) {
    Tensor xi({examples, paths, kFeatures});
    for (double& x : xi.values) x = rng.normal();
    MatrixXd y(examples, 1);
    for (Index i = 0; i < examples; ++i) {
      const Eigen::Map<const RowMatrixXd> of(xi.values.data() + i * paths * kFeatures, paths,
                                             kFeatures);
      y(i, 0) = of.cwiseProduct(weights).sum() + 2.0 * rng.normal() > 0.0 ? 1.0 : -1.0;
    }
    return std::pair(std::move(xi), std::move(y));
  };
  const auto [xi, y] = drawn(kTrain);
  tasks::Dataset data = Dataset::from_path_features(xi, y, heads);
  const auto [test_xi, test_y] = drawn(kTest);
  data.test = Split::from_path_features(test_xi, test_y);
  return data;
}

Study narrow_study() {
  Study study;
  study.model.widths = {{10}};
  study.model.temperatures = {0.1};
  study.prune.cumulative = false;
  study.prune.resamples = 10;
  study.sample.evidence = false;
  return study;
}

double squared_error(const TheoryProblem& problem, const MatrixXd& u, double temperature) {
  const MatrixXd f = problem.kernels->predictive_mean(u, temperature, problem.evaluation_features);
  return (f - problem.evaluation.test_labels).squaredNorm() / static_cast<double>(f.rows());
}

/// Rises without each head at all draws of U_1: draws x chains, a matrix a head.
std::vector<MatrixXd> rises_at(const TheoryProblem& problem, const Tensor& draws,
                               double temperature, int heads) {
  const Index chains = draws.shape[0], count = draws.shape[1], n = draws.shape[2];
  std::vector<MatrixXd> rises(static_cast<std::size_t>(heads), MatrixXd(count, chains));
  for (Index i = 0; i < chains * count; ++i) {
    const Eigen::Map<const MatrixXd> u(draws.values.data() + i * n * n, n, n);
    const double whole = squared_error(problem, u, temperature);
    for (int h = 0; h < heads; ++h) {
      const MatrixXd cut = analysis::remove_heads(u, problem.heads, 1, {h});
      rises[static_cast<std::size_t>(h)](i % count, i / count) =
          squared_error(problem, cut, temperature) - whole;
    }
  }
  return rises;
}

/// Deviations to leading order (eq. 67), from gradients by differences.
VectorXd leading_order(const Study& study, const tasks::Dataset& data, const TheoryProblem& problem,
                       const SolvePoint& solved, int heads) {
  const theory::Action action(architecture_of(study, data, solved.widths), solved.temperature,
                              problem.kernels);
  const MatrixXd& u = solved.order_parameters.layers.front();
  const auto rise = [&](const MatrixXd& at, int h) {
    return squared_error(problem, analysis::remove_heads(at, problem.heads, 1, {h}),
                         solved.temperature) -
           squared_error(problem, at, solved.temperature);
  };
  constexpr double kStep = 1e-5;
  std::vector<MatrixXd> gradients;
  for (int h = 0; h < heads; ++h) {
    MatrixXd gradient(u.rows(), u.cols());
    for (Index i = 0; i < u.rows(); ++i) {
      for (Index j = 0; j < u.cols(); ++j) {
        MatrixXd step = MatrixXd::Zero(u.rows(), u.cols());
        step(i, j) += 0.5 * kStep;
        step(j, i) += 0.5 * kStep;
        gradient(i, j) = (rise(u + step, h) - rise(u - step, h)) / (2.0 * kStep);
      }
    }
    gradients.push_back(gradient);
  }
  const theory::Action::Evaluation at = action.evaluate(solved.order_parameters);
  return theory::posterior_covariance(action.hessian(solved.order_parameters, *at.energy),
                                      gradients)
      .diagonal()
      .cwiseSqrt();
}

/// Relative standard error of a deviation from so many effective draws, by their kurtosis.
double deviation_error(const VectorXd& draws, double effective) {
  const VectorXd centred = draws.array() - draws.mean();
  const double variance = centred.squaredNorm() / static_cast<double>(draws.size());
  const double kurtosis = centred.array().pow(4).mean() / (variance * variance);
  return std::sqrt((kurtosis - 1.0) / (4.0 * effective));
}

}  // namespace

TEST_CASE("at N = 10 rises and their deviations are those of long exact chains") {
  const Study study = narrow_study();
  Observer observer;
  double furthest = 0.0;  // of the leading order from the draws, a ratio
  std::uint64_t stream = 0;
  for (const std::vector<int>& heads : {std::vector{5}, {2, 2}, {3}, {2, 3}}) {
    const tasks::Dataset data = random_problem(heads, ++stream);
    const TheoryProblem problem = make_problem(study, data, observer);
    const SampleResult sampled = headway::sample(study, data, observer);
    const int count = std::accumulate(heads.begin(), heads.end(), 0);
    const std::vector<MatrixXd> rises =
        rises_at(problem, sampled.points.at(0).order_parameters.front().draws, 0.1, count);
    const PruneResult pruned = headway::prune(study, data, observer);
    const SolveResult with_draws = theory_with_draws(sampled);
    const PruneResult lent = headway::prune(study, data, observer, &with_draws);
    const VectorXd leading = leading_order(study, data, problem, pruned.solve.points.at(0), count);
    for (const PrunePoint* point : {&pruned.points.at(0), &lent.points.at(0)}) {
      REQUIRE(point->posterior_errors == kByDraws);
      for (int h = 0; h < count; ++h) {
        const MatrixXd& exact = rises[static_cast<std::size_t>(h)];
        const VectorXd all = exact.reshaped();
        const double deviation = numerics::moments(all).deviation();
        const double long_run = sampling::ess_mean(exact);
        const double inverse = 1.0 / kFewestEffective + 1.0 / long_run;
        const HeadReport& head = point->heads[static_cast<std::size_t>(h)];
        INFO("heads " << heads.size() << ", head " << h << ", exact " << all.mean() << " +- "
                      << deviation << ", leading order " << leading[h]);
        CHECK(std::abs(head.squared_error_rise - all.mean()) <
              kDeviations * deviation * std::sqrt(inverse));
        CHECK(std::abs(std::log(head.squared_error_rise_sd / deviation)) <
              kDeviations * deviation_error(all, 1.0 / inverse));
        furthest = std::max(furthest, deviation / leading[h]);
      }
    }
  }
  CHECK(furthest > 1.2);  // the leading order is too small somewhere; 1.37 when written
}
