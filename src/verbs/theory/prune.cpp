#include "headway/prune.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <mutex>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "headway/analysis/head_scores.hpp"
#include "headway/core/clock.hpp"
#include "headway/core/parallel.hpp"
#include "headway/core/rng.hpp"
#include "headway/core/text.hpp"
#include "headway/predictor.hpp"
#include "headway/results/lookup.hpp"
#include "headway/shard.hpp"
#include "headway/solve.hpp"
#include "verbs/theory/carried_network.hpp"
#include "verbs/theory/head_effects.hpp"
#include "verbs/theory/value_problem.hpp"
#include "verbs/theory/without_heads.hpp"

namespace headway {
namespace {

/// What the pruning of every point shares.
struct PruneTask {
  const Study& study;
  const tasks::Dataset& dataset;
  const SolveResult& solve;
  std::shared_ptr<const TheoryProblem> problem;
  PruneSet measured;             // the test set
  PruneSet chosen;               // for the greedy search and the changes: validation, else test
  const NetworkPruner* network;  // null where the data set has none
  std::shared_ptr<const WithoutHeads> without;  // of all points; null where each has features
};

PruneSet test_set(const TheoryProblem& problem) {
  return {"test", 0, problem.evaluation.test_labels};
}

/// Validation if there is one: what is chosen and measured on one set is optimistic.
PruneSet validation_or_test_set(const TheoryProblem& problem) {
  const Evaluation& evaluation = problem.evaluation;
  Index row = evaluation.test_labels.rows();
  for (std::size_t i = 0; i < evaluation.set_names.size(); ++i) {
    const MatrixXd& labels = evaluation.set_labels[i];
    if (evaluation.set_names[i] == tasks::kValidationSet) {
      return {evaluation.set_names[i], row, labels};
    }
    row += labels.rows();
  }
  return test_set(problem);
}

/// Statistics of the predictor without a set of heads; each set is computed once.
class PrunedPredictor {
 public:
  PrunedPredictor(const WithoutHeads& heads, const SolvePoint& point, const PruneSet& examples)
      : heads_(heads),
        point_(point),
        examples_(examples),
        features_(examples.features_in(heads.whole())) {}

  const theory::PredictorStatistics& without(const std::vector<int>& removed) {
    const auto found = known_.find(removed);
    if (found != known_.end()) return found->second;
    const MatrixXd u = heads_.order_parameter(point_.order_parameters.layers.front(), removed);
    const MatrixXd mean = heads_.whole().evaluation.answers(mean_of(u, removed));
    return known_.emplace(removed, theory::predictor_statistics({mean, {}}, examples_.labels))
        .first->second;
  }

 private:
  [[nodiscard]] MatrixXd mean_of(const MatrixXd& u, const std::vector<int>& removed) const {
    if (!heads_.changes_kernels() || removed.empty()) {
      return heads_.whole().kernels->predictive_mean(u, point_.temperature, features_);
    }
    const std::shared_ptr<const TheoryProblem> rest = heads_.problem(removed);
    return rest->kernels->predictive_mean(u, point_.temperature, examples_.features_in(*rest));
  }

  const WithoutHeads& heads_;
  const SolvePoint& point_;
  const PruneSet& examples_;
  MatrixXd features_;
  std::map<std::vector<int>, theory::PredictorStatistics> known_;
};

/// Heads in greedy order, the one that costs least first: by accuracy, or by the squared error if
/// labels are no classes.
std::vector<int> greedy_search(const PruneTask& task, const WithoutHeads& without,
                               const SolvePoint& solved) {
  PrunedPredictor chooser(without, solved, task.chosen);
  return analysis::greedy_order(
      without.whole().heads, [&](const std::vector<int>& removed) -> analysis::RemovalQuality {
        const theory::PredictorStatistics& s = chooser.without(removed);
        return {std::isnan(s.accuracy) ? -s.mean_squared_error : s.accuracy};
      });
}

std::vector<HeadReport> report_heads(const SolveResult& solve, const analysis::HeadScores& scores,
                                     PrunedPredictor& pruned) {
  std::vector<HeadReport> heads;
  int index = 0;
  for (std::size_t l = 0; l < solve.heads.size(); ++l) {
    for (int h = 0; h < solve.heads[l]; ++h, ++index) {
      HeadReport head;
      head.layer = static_cast<int>(l) + 1;
      head.head = h + 1;
      head.name = solve.head_names[l][h];
      head.score = scores.score[index];
      head.score_weighted = scores.weighted[index];
      const theory::PredictorStatistics& without = pruned.without({index});
      head.accuracy_without = without.accuracy;
      head.mean_squared_error_without = without.mean_squared_error;
      heads.push_back(std::move(head));
    }
  }
  return heads;
}

PruningCurve curve_of(analysis::RemovalCurve curve) {
  return {std::move(curve.order), std::move(curve.quality)};
}

void summarise_random(PrunePoint& point) {
  if (point.random.empty()) return;
  const std::size_t length = point.random.front().quality.size();
  const double count = static_cast<double>(point.random.size());
  for (std::size_t k = 0; k < length; ++k) {
    const double first = point.random.front().quality[k];  // equal ones have no deviation
    double sum = 0.0;
    double squares = 0.0;
    for (const PruningCurve& curve : point.random) sum += curve.quality[k] - first;
    const double mean = first + sum / count;
    for (const PruningCurve& curve : point.random) squares += std::pow(curve.quality[k] - mean, 2);
    point.random_mean.push_back(mean);
    point.random_sd.push_back(count > 1 ? std::sqrt(squares / (count - 1)) : kUndefined);
  }
}

/// Of U_1; where one readout serves all heads, the shares that their inputs have in S.
analysis::HeadScores scores_of(const Study& study, const TheoryProblem& problem,
                               const SolvePoint& solved) {
  if (!problem.values || study.model.value_network->form != model::ValueForm::kAfterAttention) {
    return analysis::head_scores(solved.order_parameters.layers.front(), problem.heads,
                                 problem.outputs);
  }
  const std::vector<double> shares = numerics::listed(solved.features.value().head_shares);
  return {shares, shares};
}

PrunePoint prune_point(const PruneTask& task, const SolvePoint& solved, Observer& observer) {
  const Clock::time_point began = Clock::now();
  PrunePoint point;
  point.widths = solved.widths;
  point.temperature = solved.temperature;
  const std::shared_ptr<const TheoryProblem> problem =
      problem_of_point(task.problem, task.study, solved);
  const std::shared_ptr<const WithoutHeads> heads =
      task.without ? task.without
                   : std::make_shared<const WithoutHeads>(*problem, task.study, solved);
  const WithoutHeads& without = *heads;
  const analysis::HeadScores scores = scores_of(task.study, *problem, solved);
  PrunedPredictor pruned(without, solved, task.measured);
  point.accuracy = pruned.without({}).accuracy;
  point.heads = report_heads(task.solve, scores, pruned);
  weigh_heads({task.study, task.dataset, without, task.chosen}, solved, observer, point);
  std::vector<double> changes;
  std::vector<double> without_theory;
  for (const HeadReport& head : point.heads) {
    changes.push_back(head.squared_error_rise);
    without_theory.push_back(head.squared_error_rise_without_theory);
  }
  if (task.study.prune.cumulative) {
    const bool classes = labels_are_classes(task.measured.labels);
    const auto quality = [&](const std::vector<int>& removed) {
      const theory::PredictorStatistics& s = pruned.without(removed);
      return classes ? s.accuracy : s.mean_squared_error;
    };
    const std::vector<int>& heads = problem->heads;
    point.by_score = curve_of(analysis::removal_curve(
        analysis::keep_last_heads(analysis::ascending_order(scores.score), heads), quality));
    const bool known = std::none_of(changes.begin(), changes.end(),
                                    [](double change) { return std::isnan(change); });
    if (known) {
      point.by_squared_error = curve_of(analysis::removal_curve(
          analysis::keep_last_heads(analysis::ascending_order(changes), heads), quality));
    }
    const int count = std::accumulate(heads.begin(), heads.end(), 0);
    for (int r = 0; r < task.study.prune.random_orders && !observer.interrupted(); ++r) {
      Rng rng(task.study.seed, StreamPurpose::kPruningOrder, static_cast<std::uint64_t>(r));
      point.random.push_back(curve_of(analysis::removal_curve(
          analysis::keep_last_heads(analysis::random_order(count, rng), heads), quality)));
    }
    summarise_random(point);
    if (task.study.prune.greedy && !observer.interrupted()) {
      point.greedy =
          curve_of(analysis::removal_curve(greedy_search(task, without, solved), quality));
      point.greedy_on = task.chosen.name;
    }
  }
  if (task.network != nullptr) {
    point.network = {task.network->judge("score", scores.score),
                     task.network->judge("score_weighted", scores.weighted),
                     task.network->judge("squared_error_rise", changes),
                     task.network->judge("squared_error_rise_without_theory", without_theory)};
  }
  point.seconds = seconds_since(began);
  return point;
}

/// Warns of deviations to leading order where what it drops is no smaller than half of what it
/// keeps.
void warn_of_leading_order(const PruneResult& result, Observer& observer) {
  constexpr double kLargestRatio = 0.5;
  for (const PrunePoint& point : result.points) {
    const SolvePoint* solved = theory_at(result.solve, point.widths, point.temperature);
    if (point.posterior_errors != kToLeadingOrder || solved == nullptr) continue;
    const DroppedTerms dropped = dropped_terms(*solved);
    if (dropped.ratio < kLargestRatio) continue;
    observer.warning(fmt::format(
        "widths {}, temperature {:g}: the posterior deviations of the heads are of leading order "
        "in 1/N and may be too small by a factor of two or more, since {} = {:.2g}; exact draws "
        "are "
        "missing: {}. headway prune has exact ones of a result of headway sample",
        join(point.widths, ","), point.temperature, dropped.name, dropped.ratio,
        point.draws_missing));
  }
}

/// PruneResult::path_norms, from scaled features or Gram matrices.
VectorXd path_norms(const Study& study, const tasks::Dataset& dataset,
                    const TheoryProblem& problem) {
  if (problem.values) return {};  // heads feed hidden units, whose outputs have one scale
  const Index paths = problem.kernels->paths();
  VectorXd squares(paths);  // sums over examples of |xi_pi|^2
  if (dataset.gram) {
    for (Index a = 0; a < paths; ++a) {
      squares[a] =
          dataset.gram->gram.diagonal().segment(a * dataset.features, dataset.features).sum();
    }
  } else {
    const MatrixXd& features = problem.kernels->features();
    if (features.size() == 0) return {};  // spread over ranks
    const model::Architecture architecture =
        architecture_of(study, dataset, study.model.widths.front());
    const double unscale = static_cast<double>(dataset.features * paths) / architecture.variance(0);
    const Index n0 = problem.kernels->feature_count();
    for (Index a = 0; a < paths; ++a) {
      squares[a] = unscale * features.middleCols(a * n0, n0).squaredNorm();
    }
  }
  return (squares / static_cast<double>(problem.kernels->examples())).cwiseSqrt();
}

}  // namespace

PruneResult prune(const Study& study, const tasks::Dataset& dataset, Observer& observer,
                  const SolveResult* known) {
  const Clock::time_point began = Clock::now();
  const auto made = std::make_shared<const TheoryProblem>(make_problem(study, dataset, observer));
  const TheoryProblem& problem = *made;
  if (problem.evaluation.test_labels.rows() == 0) {
    observer.warning(fmt::format(
        "{}: the data have no test set, so accuracies without heads and curves are undefined",
        dataset.name));
  }
  PruneResult result;
  result.solve = solve_or_reuse(study, dataset, problem, observer, known);
  for (const SolvePoint& point : result.solve.points) {
    if (point.draws_fault.empty()) continue;
    observer.warning(
        fmt::format("widths {}, temperature {:g}: the draws of the result are not used: {}",
                    join(point.widths, ","), point.temperature, point.draws_fault));
  }
  result.path_norms = path_norms(study, dataset, problem);
  std::optional<NetworkPruner> network;
  if (problem.network) {
    network.emplace(prunable(*problem.network, study.prune), study);
    result.network = prune_carried_network(*problem.network, study, *network, observer);
  }
  std::shared_ptr<const WithoutHeads> without;
  if (!adapts_features(study) && !result.solve.points.empty()) {
    without = std::make_shared<const WithoutHeads>(problem, study, result.solve.points.front());
  }
  const PruneTask task = {study,
                          dataset,
                          result.solve,
                          made,
                          test_set(problem),
                          validation_or_test_set(problem),
                          network ? &*network : nullptr,
                          without};
  std::vector<PrunePoint> points(result.solve.points.size());
  std::vector<char> finished(points.size(), 0);
  std::mutex guard;
  std::size_t done = 0;
  observer.whole("prune", 0.0, static_cast<double>(points.size()));
  parallel_for(static_cast<Index>(points.size()), resolve_threads(study.threads), [&](Index i) {
    const std::size_t k = static_cast<std::size_t>(i);
    if (observer.interrupted()) return;
    points[k] = prune_point(task, result.solve.points[k], observer);
    finished[k] = observer.interrupted() ? 0 : 1;
    const std::lock_guard<std::mutex> lock(guard);
    observer.whole("prune", static_cast<double>(++done), static_cast<double>(points.size()));
  });
  for (std::size_t k = 0; k < points.size(); ++k) {
    if (finished[k] != 0) {
      result.points.push_back(std::move(points[k]));
    } else {
      result.solve.interrupted = true;
    }
  }
  warn_of_leading_order(result, observer);
  result.seconds = seconds_since(began);
  return result;
}

SolveResult solve_or_reuse(const Study& study, const tasks::Dataset& dataset,
                           const TheoryProblem& problem, Observer& observer,
                           const SolveResult* known,
                           const std::optional<std::vector<std::size_t>>& wanted) {
  if (known == nullptr) return solve_problem(study, dataset, problem, observer, {}, wanted);
  const std::vector<SweepPoint> sweep = sweep_points(study, dataset);
  const std::vector<std::size_t> numbers = wanted ? *wanted : dealt_units(sweep.size(), {});
  const auto known_at = [&](std::size_t i) -> const SolvePoint* {
    if (known->interrupted) return nullptr;
    const SolvePoint* point = theory_at(*known, sweep[i].widths, sweep[i].temperature);
    const bool fits = point != nullptr && gaussian_process_at(*known, sweep[i].temperature) &&
                      point->order_parameters.layers.size() == problem.heads.size();
    return fits ? point : nullptr;
  };
  std::vector<std::size_t> missing;
  for (const std::size_t i : numbers) {
    if (known_at(i) == nullptr) missing.push_back(i);
  }
  const std::size_t reused = numbers.size() - missing.size();
  observer.note(fmt::format("the order parameters of {} of {} points are those of the given result",
                            reused, numbers.size()));
  if (reused == 0) return solve_problem(study, dataset, problem, observer, {}, wanted);
  SolveResult solved =
      missing.empty() ? *known : solve_problem(study, dataset, problem, observer, {}, missing);
  SolveResult result = solved;
  result.points.clear();
  result.gaussian_process.clear();
  for (const std::size_t i : numbers) {
    const SolvePoint* point = known_at(i);
    if (point == nullptr) point = theory_at(solved, sweep[i].widths, sweep[i].temperature);
    if (point != nullptr) result.points.push_back(*point);  // null: interrupted
  }
  for (const std::size_t t : temperatures_of(study, numbers)) {
    const double temperature = study.model.temperatures[t];
    const GaussianProcessPoint* limit = gaussian_process_at(*known, temperature);
    if (limit == nullptr) limit = gaussian_process_at(solved, temperature);
    if (limit != nullptr) result.gaussian_process.push_back(*limit);
  }
  return result;
}

}  // namespace headway
