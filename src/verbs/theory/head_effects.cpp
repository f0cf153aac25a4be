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
#include "headway/numerics/dense.hpp"
#include "headway/numerics/statistics.hpp"
#include "headway/predictor.hpp"
#include "headway/sampling/diagnostics.hpp"
#include "headway/theory/action_curvature.hpp"
#include "headway/theory/finite_width.hpp"
#include "verbs/theory/removal_draws.hpp"

namespace headway {
namespace {

constexpr Index kMostRemovalDraws = 200;       // of the posterior that heads are removed at
constexpr Index kGaussianDraws = 1000;         // of the changes, where their covariance is known
constexpr double kCovarianceFlopLimit = 4e10;  // "auto": about a second
constexpr double kProductsForEachHead = 30.0;  // about, of conjugate gradients
// R-hat from which short chains disagree. Chains that agree, with an autocorrelation time of up to
// 2.5 draws, are below it but for a chance of 1e-7 (F test of 8 halves of 25 draws).
constexpr double kLargestRhat = 1.3;
constexpr std::uint64_t kExamplesStream = 1;  // of kResampledExamples; 0: the network's
constexpr std::uint64_t kPosteriorStream = 2;

/// What some examples lose without each head, or their means, rows x heads: rises of the squared
/// error and drops of the accuracy. `accuracy` is empty where labels are no classes.
struct Changes {
  MatrixXd squared_error, accuracy;
};

class HeadRemoval {
 public:
  HeadRemoval(const WithoutHeads& without, const PruneSet& set, double temperature)
      : without_(without),
        set_(set),
        temperature_(temperature),
        heads_(std::accumulate(whole().heads.begin(), whole().heads.end(), Index{0})),
        classes_(labels_are_classes(set.labels)),
        whole_{whole().kernels, set.features_in(whole())} {
    for (Index h = 0; without.changes_kernels() && h < heads_; ++h) {
      const auto one = without.problem({static_cast<int>(h)});
      without_one_.push_back({one->kernels, set.features_in(*one)});
    }
  }

  [[nodiscard]] Index heads() const { return heads_; }

  /// Every entry of U_1 is 1: the kernel of the sum of all paths, for each output by itself.
  [[nodiscard]] MatrixXd without_theory() const {
    const Index paths = whole_.kernels->paths();
    const Index outputs = whole().outputs;
    MatrixXd u(paths * outputs, paths * outputs);
    for (Index i = 0; i < u.rows(); ++i) {
      for (Index j = 0; j < u.cols(); ++j) u(i, j) = i % outputs == j % outputs ? 1.0 : 0.0;
    }
    return u;
  }

  [[nodiscard]] MatrixXd without(const MatrixXd& u, Index head) const {
    return without_.order_parameter(u, {static_cast<int>(head)});
  }

  /// Of every example of the set, at this U_1; NaN where a predictor is undefined.
  [[nodiscard]] Changes changes(const MatrixXd& u) const {
    const Index examples = set_.labels.rows();
    Changes changes{MatrixXd(examples, heads_), MatrixXd(classes_ ? examples : 0, heads_)};
    const Answer whole = answer(whole_, u);
    for (Index h = 0; h < heads_; ++h) {
      const Answer pruned = answer(of(h), without(u, h));
      changes.squared_error.col(h) = pruned.squared_error - whole.squared_error;
      if (classes_) changes.accuracy.col(h) = whole.right - pruned.right;
    }
    return changes;
  }

  /// d/dU_1 of the change of the mean squared error without each head (eq. 66); empty where a
  /// predictor is undefined.
  [[nodiscard]] std::vector<MatrixXd> gradients(const MatrixXd& u) const {
    const auto gradient = [&](const Kernels& of, const MatrixXd& at) -> MatrixXd {
      const std::unique_ptr<theory::EnergyState> state = of.kernels->evaluate(at, temperature_);
      if (!state) return {};
      return theory::squared_error_gradient(*state, at, of.features, set_.labels);
    };
    const MatrixXd whole = gradient(whole_, u);
    std::vector<MatrixXd> gradients;
    for (Index h = 0; h < heads_; ++h) {
      const MatrixXd pruned = gradient(of(h), without(u, h));
      if (whole.size() == 0 || pruned.size() == 0) return {};
      gradients.push_back(without(pruned, h) - whole);
    }
    return gradients;
  }

 private:
  struct Answer {
    VectorXd squared_error, right;
  };
  struct Kernels {
    std::shared_ptr<const theory::PathKernels> kernels;
    MatrixXd features;  // of the set
  };

  [[nodiscard]] const TheoryProblem& whole() const { return without_.whole(); }
  /// Without one head.
  [[nodiscard]] const Kernels& of(Index head) const {
    return without_one_.empty() ? whole_ : without_one_[static_cast<std::size_t>(head)];
  }
  [[nodiscard]] Answer answer(const Kernels& of, const MatrixXd& u) const {
    const MatrixXd mean =
        whole().evaluation.answers(of.kernels->predictive_mean(u, temperature_, of.features));
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

  const WithoutHeads& without_;
  const PruneSet& set_;
  double temperature_;
  Index heads_;
  bool classes_;
  Kernels whole_;
  std::vector<Kernels> without_one_;  // empty where kernels stay
};

/// The changes at posterior draws of U_1.
struct DrawnChanges {
  Changes mean;     // over the draws: examples x heads
  Changes of_draw;  // means over the examples: draws x heads
};

/// Nothing if interrupted.
DrawnChanges changes_at_draws(const HeadRemoval& removal, const Tensor& draws, Observer& observer) {
  const Index size = draws.shape[2];
  const Index there = draws.shape[0] * draws.shape[1];
  const Index used = std::min(there, kMostRemovalDraws);
  DrawnChanges found;
  found.of_draw = {MatrixXd(used, removal.heads()),
                   MatrixXd::Constant(used, removal.heads(), kUndefined)};
  for (Index r = 0; r < used; ++r) {
    if (observer.interrupted()) return {};
    const Index draw = r * there / used;
    const Eigen::Map<const MatrixXd> u(draws.values.data() + draw * size * size, size, size);
    const Changes at = removal.changes(u);
    found.of_draw.squared_error.row(r) = at.squared_error.colwise().mean();
    if (at.accuracy.size() > 0) found.of_draw.accuracy.row(r) = at.accuracy.colwise().mean();
    const double share = 1.0 / static_cast<double>(r + 1);
    if (r == 0) {
      found.mean = at;
    } else {
      found.mean.squared_error += share * (at.squared_error - found.mean.squared_error);
      found.mean.accuracy += share * (at.accuracy - found.mean.accuracy);
    }
  }
  return found;
}

/// Whether chains of draws agree about every head.
bool chains_agree(const MatrixXd& of_draw, Index chains) {
  for (Index h = 0; h < of_draw.cols(); ++h) {
    const VectorXd column = of_draw.col(h);
    const Eigen::Map<const MatrixXd> by_chain(column.data(), column.size() / chains, chains);
    const sampling::QuantityDiagnostics found = sampling::diagnose_quantity(by_chain);
    if (!found.constant && !(found.rhat <= kLargestRhat)) return false;
  }
  return true;
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

/// The changes that a point reports, with what the posterior of U_1 says of them.
struct PosteriorChanges {
  Changes changes;   // examples x heads: mean over the draws, else at the saddle point
  MatrixXd of_draw;  // changes of the squared error drawn again, a row each; may be empty
  VectorXd deviation, accuracy_deviation;  // of each head; empty: unknown
};

/// By draws of U_1: those of a result of sample, else short chains. Empty without draws that agree;
/// point.draws_missing then says why.
PosteriorChanges by_draws(const HeadTrial& trial, const HeadRemoval& removal,
                          const SolvePoint& solved, Observer& observer, PrunePoint& point) {
  Tensor drawn;
  const TheoryProblem& problem = trial.heads.whole();
  // Exact draws of a value network's U_1 belong to its own hidden weights, not to S.
  const bool lent = solved.first_layer_draws.shape.size() == 4 && !problem.values;
  if (!lent) {
    const model::Architecture architecture =
        architecture_of(trial.study, trial.dataset, solved.widths);
    RemovalDraws found =
        draw_for_removal(trial.study, architecture, problem, solved, removal.heads() + 1, observer);
    point.draws_missing = found.missing;
    drawn = std::move(found.first_layer);
    if (drawn.empty()) return {};
  }
  const Tensor& draws = lent ? solved.first_layer_draws : drawn;
  DrawnChanges found = changes_at_draws(removal, draws, observer);
  if (found.of_draw.squared_error.size() == 0) return {};
  if (!lent && !chains_agree(found.of_draw.squared_error, draws.shape[0])) {
    point.draws_missing = "short chains of exact draws disagree";
    return {};
  }
  PosteriorChanges all{std::move(found.mean), std::move(found.of_draw.squared_error),
                       VectorXd(removal.heads()), VectorXd(removal.heads())};
  for (Index h = 0; h < removal.heads(); ++h) {
    all.deviation[h] = deviation_of(all.of_draw, h);
    all.accuracy_deviation[h] = deviation_of(found.of_draw.accuracy, h);
  }
  point.posterior_errors = kByDraws;
  return all;
}

/// At the saddle point, with deviations to leading order in 1/N where they are defined.
PosteriorChanges to_leading_order(const HeadTrial& trial, const HeadRemoval& removal,
                                  const SolvePoint& solved, Observer& observer, PrunePoint& point) {
  PosteriorChanges all;
  all.changes = removal.changes(solved.order_parameters.layers.front());
  const MatrixXd covariance =
      covariance_of(trial.study, architecture_of(trial.study, trial.dataset, solved.widths),
                    trial.heads.whole(), removal, solved, observer);
  if (covariance.size() == 0) return all;
  Rng rng(trial.study.seed, StreamPurpose::kResampledExamples, kPosteriorStream);
  all.of_draw =
      normal_draws(covariance, rng).rowwise() + all.changes.squared_error.colwise().mean();
  all.deviation = covariance.diagonal().cwiseSqrt();
  point.posterior_errors = kToLeadingOrder;
  return all;
}

}  // namespace

void weigh_heads(const HeadTrial& trial, const SolvePoint& solved, Observer& observer,
                 PrunePoint& point) {
  const Study& study = trial.study;
  const PruneSet& set = trial.set;
  if (set.labels.rows() == 0) return;
  const HeadRemoval removal(trial.heads, set, solved.temperature);
  PosteriorChanges posterior = by_draws(trial, removal, solved, observer, point);
  if (point.posterior_errors != kByDraws) {
    posterior = to_leading_order(trial, removal, solved, observer, point);
  }
  const Changes& changes = posterior.changes;
  const auto resampled = [&](const MatrixXd& of) {  // the same examples for all
    Rng rng(study.seed, StreamPurpose::kResampledExamples, kExamplesStream);
    return analysis::resampled_means(of, study.prune.resamples, rng);
  };
  const MatrixXd plain = removal.changes(removal.without_theory()).squared_error;
  const MatrixXd again_plain = resampled(plain);
  const MatrixXd again_error = resampled(changes.squared_error);
  const MatrixXd again_accuracy = resampled(changes.accuracy);
  const Eigen::RowVectorXd means = changes.squared_error.colwise().mean();
  const bool errors = set.labels.rows() > 1;  // one example has none
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
    if (posterior.deviation.size() > 0) head.squared_error_rise_sd = posterior.deviation[h];
    if (posterior.accuracy_deviation.size() > 0) {
      head.accuracy_drop_sd = posterior.accuracy_deviation[h];
    }
  }
  if (!errors) return;
  const int largest = std::max(1, static_cast<int>(removal.heads()) / 4);
  point.rank_stability =
      analysis::rank_stability({means.data(), means.data() + means.size()},
                               drawn_again(means, posterior.of_draw, again_error), largest);
}

}  // namespace headway
