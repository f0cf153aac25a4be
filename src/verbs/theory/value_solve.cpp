#include <fmt/format.h>

#include <utility>

#include "headway/core/rng.hpp"
#include "headway/numerics/symmetric.hpp"
#include "headway/theory/value_saddle.hpp"
#include "verbs/theory/value_problem.hpp"

namespace headway {
namespace {

/// Streams of further starts of S: beyond those of U and of attention.
constexpr std::uint64_t kFirstFeatureStream = 300'000;
constexpr double kFeatureSpread = 0.3;  // of the entries of log S

FeatureReport report_features(const MatrixXd& s, Index blocks) {
  FeatureReport report;
  report.s = s;
  report.eigenvalues = numerics::symmetric_eigen(s, false).values.reverse();
  const double trace = s.trace();
  report.effective_dimension = trace * trace / s.squaredNorm();
  report.head_shares.resize(blocks);
  const Index size = s.rows() / blocks;
  for (Index b = 0; b < blocks; ++b)
    report.head_shares[b] = s.diagonal().segment(b * size, size).sum() / trace;
  return report;
}

/// Adds the entropy of S to what the point says of its action (eq. 81).
void add_features(const model::Architecture& architecture, const TheoryProblem& problem,
                  const MatrixXd& s, Index features, SolvePoint& point) {
  const double entropy = theory::feature_entropy(architecture, s);
  point.entropy += entropy;
  point.action += entropy / architecture.largest_width();
  point.features = report_features(s, problem.values->train.directions.cols() / features);
}

class FeatureSearch {
 public:
  FeatureSearch(const Study& study, theory::ValueProblem problem, Observer& observer)
      : study_(study), problem_(std::move(problem)), observer_(observer) {
    options_.inner = study.solve.saddle_point;
  }

  /// The lowest of several starts of E = log(S / s_0^2), the first from `first`.
  [[nodiscard]] theory::ValueSaddle search(const MatrixXd& first, std::size_t point) const {
    theory::ValueSaddle best = theory::solve_adapted_saddle(problem_, first, options_, observer_);
    for (int k = 0; k < study_.solve.extra_starts && !observer_.interrupted(); ++k) {
      Rng rng(study_.seed, StreamPurpose::kSolverStart,
              point_stream(point, kFirstFeatureStream + static_cast<std::uint64_t>(k)));
      VectorXd start(numerics::symmetric_size(first.rows()));
      for (double& x : start) x = kFeatureSpread * rng.normal();
      theory::ValueSaddle other = theory::solve_adapted_saddle(
          problem_, numerics::vector_to_symmetric(start, first.rows()), options_, observer_);
      const bool better = other.converged ? !best.converged || other.action() < best.action()
                                          : !best.converged && other.action() < best.action();
      if (better) best = std::move(other);
    }
    return best;
  }

 private:
  const Study& study_;
  theory::ValueProblem problem_;
  Observer& observer_;
  theory::ValueSaddleOptions options_;
};

/// log(S / s_0^2).
MatrixXd logarithm(const MatrixXd& s, double prior) {
  const numerics::SymmetricEigen eigen = numerics::symmetric_eigen(s / prior, true);
  return eigen.vectors * eigen.values.array().log().matrix().asDiagonal() *
         eigen.vectors.transpose();
}

}  // namespace

void describe_fixed_features(const Study& study, const tasks::Dataset& dataset,
                             const TheoryProblem& problem, SolvePoint& point) {
  const model::Architecture architecture = architecture_of(study, dataset, point.widths);
  const Index d = problem.values->train.directions.cols();
  add_features(architecture, problem, architecture.variance(0) * MatrixXd::Identity(d, d),
               dataset.features, point);
}

std::optional<theory::OrderParameters> solve_adapted_point(const Study& study,
                                                           const tasks::Dataset& dataset,
                                                           const TheoryProblem& problem,
                                                           const AdaptedStart& start,
                                                           Observer& observer, SolvePoint& point) {
  const SweepPoint& sweep = start.sweep;
  const model::Architecture architecture = architecture_of(study, dataset, sweep.widths);
  const double prior = architecture.variance(0);
  const Index d = problem.values->train.directions.cols();
  const FeatureSearch search(study,
                             {architecture, sweep.temperature, &problem.values->train,
                              problem.train_labels, kernel_options(study)},
                             observer);
  const bool near = start.neighbour != nullptr && start.neighbour->features;
  const theory::ValueSaddle saddle = search.search(
      near ? logarithm(start.neighbour->features->s, prior) : MatrixXd::Zero(d, d), start.index);
  if (observer.interrupted()) return std::nullopt;
  const TheoryProblem at = with_features(problem, study, saddle.s);
  solve_point_from(study, dataset, at, {sweep, start.index, saddle.inner.order_parameters},
                   observer, point);
  if (observer.interrupted() && !point.summary.converged) return std::nullopt;
  add_features(architecture, problem, saddle.s, dataset.features, point);
  // p(S) to leading order in 1/N; Laplace's method knows the curvature in U alone.
  const double cost = saddle.feature_entropy -
                      theory::feature_entropy(architecture, prior * MatrixXd::Identity(d, d));
  point.evidence.leading_order -= 0.5 * cost;
  point.evidence.log_evidence = point.evidence.leading_order;
  point.evidence.error = kUndefined;
  if (point.evidence.is_laplace()) point.evidence.method = "leading_order";
  if (!saddle.converged) {
    point.summary.converged = false;
    point.summary.message = "S: " + saddle.message;
    point.evidence = {};
    point.corrected = {};
    point.corrected.reason = "the saddle point did not converge";
  }
  return point.order_parameters;
}

}  // namespace headway
