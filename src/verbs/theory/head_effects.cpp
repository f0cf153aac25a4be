#include "verbs/theory/head_effects.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <vector>

#include "headway/action.hpp"
#include "headway/analysis/head_scores.hpp"
#include "headway/analysis/rank_correlation.hpp"
#include "headway/core/rng.hpp"
#include "headway/model/path_index.hpp"
#include "headway/numerics/dense.hpp"
#include "headway/numerics/statistics.hpp"
#include "headway/predictor.hpp"
#include "headway/theory/finite_width.hpp"

namespace headway {
namespace {

constexpr Index kMostRemovalDraws = 200;       // of the posterior that heads are removed at
constexpr Index kGaussianDraws = 1000;         // of the changes, where their covariance is known
constexpr double kCovarianceFlopLimit = 4e10;  // "auto": about a second
constexpr double kProductsForEachHead = 30.0;  // about, of conjugate gradients
constexpr std::uint64_t kExamplesStream = 1;   // of kResampledExamples; 0: the network's
constexpr std::uint64_t kPosteriorStream = 2;

/// What some examples lose without each head, or their means, rows x heads: rises of the squared
/// error and drops of the accuracy. `accuracy` is empty where labels are no classes.
struct Changes {
  MatrixXd squared_error, accuracy;
};

class HeadRemoval {
 public:
  HeadRemoval(const TheoryProblem& problem, const PruneSet& set, double temperature)
      : problem_(problem),
        set_(set),
        temperature_(temperature),
        heads_(std::accumulate(problem.heads.begin(), problem.heads.end(), Index{0})),
        classes_(labels_are_classes(set.labels)) {}

  [[nodiscard]] Index heads() const { return heads_; }

  /// Every entry of U_1 is 1: the kernel of the sum of all paths, for each output by itself.
  [[nodiscard]] MatrixXd without_theory() const {
    const Index paths = model::path_count(problem_.heads);
    const Index outputs = problem_.outputs;
    MatrixXd u(paths * outputs, paths * outputs);
    for (Index i = 0; i < u.rows(); ++i) {
      for (Index j = 0; j < u.cols(); ++j) u(i, j) = i % outputs == j % outputs ? 1.0 : 0.0;
    }
    return u;
  }

  [[nodiscard]] MatrixXd without(const MatrixXd& u, Index head) const {
    return analysis::remove_heads(u, problem_.heads, problem_.outputs, {static_cast<int>(head)});
  }

  /// Of every example of the set, at this U_1; NaN where a predictor is undefined.
  [[nodiscard]] Changes changes(const MatrixXd& u) const {
    const Index examples = set_.labels.rows();
    Changes changes{MatrixXd(examples, heads_), MatrixXd(classes_ ? examples : 0, heads_)};
    const Answer whole = answer(u);
    for (Index h = 0; h < heads_; ++h) {
      const Answer pruned = answer(without(u, h));
      changes.squared_error.col(h) = pruned.squared_error - whole.squared_error;
      if (classes_) changes.accuracy.col(h) = whole.right - pruned.right;
    }
    return changes;
  }

  /// d/dU_1 of the change of the mean squared error without each head (eq. 66); empty where a
  /// predictor is undefined.
  [[nodiscard]] std::vector<MatrixXd> gradients(const MatrixXd& u) const {
    const auto gradient = [&](const MatrixXd& at) -> MatrixXd {
      const std::unique_ptr<theory::EnergyState> state =
          problem_.kernels->evaluate(at, temperature_);
      if (!state) return {};
      return theory::squared_error_gradient(*state, at, set_.features, set_.labels);
    };
    const MatrixXd whole = gradient(u);
    std::vector<MatrixXd> gradients;
    for (Index h = 0; h < heads_; ++h) {
      const MatrixXd pruned = gradient(without(u, h));
      if (whole.size() == 0 || pruned.size() == 0) return {};
      gradients.push_back(without(pruned, h) - whole);
    }
    return gradients;
  }

 private:
  struct Answer {
    VectorXd squared_error, right;
  };

  [[nodiscard]] Answer answer(const MatrixXd& u) const {
    const MatrixXd mean = problem_.evaluation.answers(
        problem_.kernels->predictive_mean(u, temperature_, set_.features));
    const Index examples = set_.labels.rows();
    if (mean.rows() != examples) {
      return {VectorXd::Constant(examples, kUndefined), VectorXd::Constant(examples, kUndefined)};
    }
    const VectorXd squared =
        (mean - set_.labels).rowwise().squaredNorm() / static_cast<double>(mean.cols());
    if (!classes_) return {squared, {}};
    return {squared, names_classes(mean) ? right_answers(mean, set_.labels)
                                         : VectorXd(VectorXd::Constant(examples, kUndefined))};
  }

  const TheoryProblem& problem_;
  const PruneSet& set_;
  double temperature_;
  Index heads_;
  bool classes_;
};

/// Mean changes at posterior draws of U_1, a row each; empty without draws.
Changes changes_at_draws(const HeadRemoval& removal, const Tensor& draws, Observer& observer) {
  if (draws.shape.size() != 4) return {};
  const Index size = draws.shape[2];
  const Index there = draws.shape[0] * draws.shape[1];
  const Index used = std::min(there, kMostRemovalDraws);
  Changes found{MatrixXd(used, removal.heads()), MatrixXd(used, removal.heads())};
  for (Index r = 0; r < used; ++r) {
    if (observer.interrupted()) return {};
    const Index draw = r * there / used;
    const Eigen::Map<const MatrixXd> u(draws.values.data() + draw * size * size, size, size);
    const Changes at = removal.changes(u);
    found.squared_error.row(r) = at.squared_error.colwise().mean();
    found.accuracy.row(r).setConstant(kUndefined);
    if (at.accuracy.size() > 0) found.accuracy.row(r) = at.accuracy.colwise().mean();
  }
  return found;
}

/// Covariance of the mean changes to leading order in 1/N (eq. 67); empty where it is undefined or
/// too costly.
MatrixXd covariance_of(const Study& study, const model::Architecture& architecture,
                       const TheoryProblem& problem, const HeadRemoval& removal,
                       const SolvePoint& solved, Observer& observer) {
  if (study.solve.corrections == When::kOff || !solved.summary.converged) return {};
  const theory::Action action(architecture, solved.temperature, problem.kernels);
  const double n = static_cast<double>(action.unknowns());
  const double dense = problem.kernels->cost().hessian_flops + n * n * n;
  const double products =
      kProductsForEachHead * static_cast<double>(removal.heads()) * theory::steering_flops(action);
  if (study.solve.corrections == When::kAuto && std::min(dense, products) > kCovarianceFlopLimit) {
    return {};
  }
  const theory::Action::Evaluation at = action.evaluate(solved.order_parameters);
  const std::vector<MatrixXd> gradients = removal.gradients(solved.order_parameters.layers.front());
  if (!at.energy || gradients.empty()) return {};
  if (dense <= products && action.unknowns() <= theory::kLargestDenseProblem) {
    return theory::posterior_covariance(action.hessian(solved.order_parameters, *at.energy),
                                        gradients);
  }
  const theory::ActionCurvature curvature(action, solved.order_parameters, at,
                                          theory::Precision::kDouble);
  return theory::posterior_covariance(curvature, gradients, observer);
}

/// Normal draws about 0 with this covariance, a row each.
MatrixXd normal_draws(const MatrixXd& covariance, Rng& rng) {
  const numerics::SymmetricEigen eigen = numerics::symmetric_eigen(covariance, true);
  const MatrixXd root =
      eigen.vectors * eigen.values.cwiseMax(0.0).cwiseSqrt().asDiagonal();  // < 0: rounding
  MatrixXd draws(kGaussianDraws, covariance.rows());
  for (Index r = 0; r < draws.rows(); ++r) {
    VectorXd z(covariance.rows());
    for (double& x : z) x = rng.normal();
    draws.row(r) = (root * z).transpose();
  }
  return draws;
}

double deviation_of(const MatrixXd& rows, Index column) {
  return rows.rows() > 1 ? numerics::moments(rows.col(column)).deviation() : kUndefined;
}

/// The values drawn again (eq. 68): row r has draw r of the posterior, plus the change by redraw r
/// of the examples. If there are fewer draws of one kind, they are used in turn.
MatrixXd drawn_again(const Eigen::RowVectorXd& values, const MatrixXd& posterior,
                     const MatrixXd& resampled) {
  const Index rows = std::max(posterior.rows(), resampled.rows());
  MatrixXd again(rows, values.size());
  for (Index r = 0; r < rows; ++r) {
    again.row(r) = posterior.rows() > 0 ? posterior.row(r % posterior.rows()) : values;
    if (resampled.rows() > 0) again.row(r) += resampled.row(r % resampled.rows()) - values;
  }
  return again;
}

}  // namespace

void weigh_heads(const HeadTrial& trial, const SolvePoint& solved, Observer& observer,
                 PrunePoint& point) {
  const Study& study = trial.study;
  const PruneSet& set = trial.set;
  if (set.labels.rows() == 0) return;
  const HeadRemoval removal(trial.problem, set, solved.temperature);
  const Changes changes = removal.changes(solved.order_parameters.layers.front());
  const auto resampled = [&](const MatrixXd& of) {  // the same examples for both
    Rng rng(study.seed, StreamPurpose::kResampledExamples, kExamplesStream);
    return analysis::resampled_means(of, study.prune.resamples, rng);
  };
  const MatrixXd plain = removal.changes(removal.without_theory()).squared_error;
  const MatrixXd again_plain = resampled(plain);
  const MatrixXd again_error = resampled(changes.squared_error);
  const MatrixXd again_accuracy = resampled(changes.accuracy);
  const Eigen::RowVectorXd means = changes.squared_error.colwise().mean();
  const bool errors = set.labels.rows() > 1;  // one example has none

  Changes posterior = changes_at_draws(removal, solved.first_layer_draws, observer);
  if (posterior.squared_error.size() > 0) {
    point.posterior_errors = "draws";
  } else {
    const MatrixXd covariance =
        covariance_of(study, architecture_of(study, trial.dataset, solved.widths), trial.problem,
                      removal, solved, observer);
    if (covariance.size() > 0) {
      point.posterior_errors = "1/N";
      Rng rng(study.seed, StreamPurpose::kResampledExamples, kPosteriorStream);
      posterior.squared_error = normal_draws(covariance, rng).rowwise() + means;
      for (Index h = 0; h < removal.heads(); ++h) {
        point.heads[static_cast<std::size_t>(h)].squared_error_rise_sd =
            std::sqrt(covariance(h, h));
      }
    }
  }
  for (Index h = 0; h < removal.heads(); ++h) {
    HeadReport& head = point.heads[static_cast<std::size_t>(h)];
    head.set = set.name;
    head.squared_error_rise = means[h];
    head.squared_error_rise_error = errors ? deviation_of(again_error, h) : kUndefined;
    head.squared_error_rise_without_theory = plain.col(h).mean();
    head.squared_error_rise_without_theory_error =
        errors ? deviation_of(again_plain, h) : kUndefined;
    if (changes.accuracy.rows() > 0) {
      head.accuracy_drop = changes.accuracy.col(h).mean();
      head.accuracy_drop_error = errors ? deviation_of(again_accuracy, h) : kUndefined;
    }
    if (point.posterior_errors != "draws") continue;
    head.squared_error_rise_sd = deviation_of(posterior.squared_error, h);
    head.accuracy_drop_sd = deviation_of(posterior.accuracy, h);
  }
  if (!errors) return;
  const int largest = std::max(1, static_cast<int>(removal.heads()) / 4);
  point.rank_stability =
      analysis::rank_stability({means.data(), means.data() + means.size()},
                               drawn_again(means, posterior.squared_error, again_error), largest);
}

}  // namespace headway
