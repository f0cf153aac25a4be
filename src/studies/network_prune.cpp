#include "network_prune.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "headway/analysis/rank_correlation.hpp"
#include "headway/core/rng.hpp"
#include "headway/model/linear_value_network.hpp"
#include "headway/studies/results.hpp"

namespace headway::studies {
namespace {

using analysis::Estimate;
using analysis::QualityCurve;

/// The set of this name, else the training set, which is always the first.
const NetworkExamples& set_or_train(const NetworkProblem& problem, const std::string& name) {
  const auto found = std::find_if(problem.sets.begin(), problem.sets.end(),
                                  [&](const NetworkExamples& set) { return set.name == name; });
  return found != problem.sets.end() ? *found : problem.sets.front();
}

std::vector<Estimate> column_estimates(const MatrixXd& effects, Index heads) {
  std::vector<Estimate> estimates;
  for (Index h = 0; h < heads; ++h) {
    estimates.push_back(h < effects.cols() ? analysis::estimate_mean(effects.col(h))
                                           : Estimate{kUndefined, kUndefined});
  }
  return estimates;
}

std::vector<double> column_means(const MatrixXd& effects) {
  std::vector<double> means;
  for (Index h = 0; h < effects.cols(); ++h) means.push_back(effects.col(h).mean());
  return means;
}

}  // namespace

NetworkPruner::NetworkPruner(const NetworkProblem& problem, const Study& study)
    : problem_(problem),
      study_(study),
      train_(problem.sets.front()),
      measured_(set_or_train(problem, "test")),
      chosen_(set_or_train(problem, tasks::kValidationSet)),
      rescaling_(study.prune.rescale ? analysis::Rescaling::kLayer : analysis::Rescaling::kNone),
      drops_(analysis::head_drops(measured_.paths, measured_.labels, rescaling_)) {
  // Both effects on the same redrawn examples, so that they can be compared.
  const auto resampled = [&](const MatrixXd& effects) {
    Rng rng(study.seed, StreamPurpose::kResampledExamples);
    return analysis::resampled_means(effects, study.prune.resamples, rng);
  };
  resampled_accuracy_ = resampled(drops_.accuracy);
  resampled_error_ = resampled(drops_.squared_error);
}

QualityCurve NetworkPruner::curve(const std::vector<int>& order) const {
  return analysis::quality_curve(measured_.paths, measured_.labels,
                                 analysis::keep_last_heads(order, measured_.paths.heads),
                                 rescaling_);
}

RankCorrelation NetworkPruner::correlate(const std::vector<double>& score, const MatrixXd& effects,
                                         const MatrixXd& resampled) const {
  const std::vector<double> means = column_means(effects);
  Rng rng(study_.seed, StreamPurpose::kRankPermutations);
  RankCorrelation result;
  result.spearman = analysis::spearman(score, means);
  result.kendall = analysis::kendall(score, means);
  result.p_value = analysis::permutation_p_value(score, means, study_.prune.permutations, rng);
  result.bootstrap = analysis::bootstrap_spearman(score, resampled);
  return result;
}

NetworkScore NetworkPruner::judge(std::string name, std::vector<double> score) const {
  NetworkScore judged;
  judged.name = std::move(name);
  judged.score = std::move(score);
  judged.accuracy_drop = correlate(judged.score, drops_.accuracy, resampled_accuracy_);
  judged.error_rise = correlate(judged.score, drops_.squared_error, resampled_error_);
  if (!study_.prune.cumulative) return judged;
  std::vector<int> order = analysis::ascending_order(judged.score);
  judged.rising = curve(order);
  std::reverse(order.begin(), order.end());
  judged.falling = curve(order);
  return judged;
}

void NetworkPruner::add_baselines(NetworkPruning& result) const {
  const std::vector<int>& heads = train_.paths.heads;
  const Index outputs = train_.paths.outputs;
  const MatrixXd& u = result.order_parameter;
  result.baselines.push_back(judge("weight_norm", analysis::weight_norms(problem_.network.values)));
  result.baselines.push_back(judge("path_norm", analysis::path_norms(u, heads, outputs)));
  std::vector<double> sensitivity = analysis::gradient_sensitivity(train_.paths, train_.labels);
  if (study_.prune.normalise_sensitivity) {
    sensitivity = analysis::normalised_by_layer(sensitivity, heads);
  }
  result.baselines.push_back(judge("sensitivity", std::move(sensitivity)));
  result.baselines.push_back(judge("own_score", analysis::head_scores(u, heads, outputs).score));
}

void NetworkPruner::add_random(NetworkPruning& result, Observer& observer) const {
  const std::vector<int>& heads = train_.paths.heads;
  const int count = std::accumulate(heads.begin(), heads.end(), 0);
  for (int r = 0; r < study_.prune.random_orders && !observer.interrupted(); ++r) {
    Rng rng(study_.seed, StreamPurpose::kPruningOrder, static_cast<std::uint64_t>(r));
    result.random.push_back(curve(analysis::random_order(count, rng)));
  }
  const auto orders = static_cast<Index>(result.random.size());
  const std::size_t steps = result.random.empty() ? 0 : result.random.front().quality.size();
  for (std::size_t k = 0; k < steps; ++k) {
    VectorXd accuracy(orders);
    for (Index r = 0; r < orders; ++r) {
      accuracy[r] = result.random[static_cast<std::size_t>(r)].quality[k].accuracy.mean;
    }
    const Estimate mean = analysis::estimate_mean(accuracy);
    result.random_mean.push_back(mean.mean);
    result.random_error.push_back(mean.error);
    result.random_sd.push_back(mean.error * std::sqrt(static_cast<double>(orders)));
  }
}

NetworkPruning NetworkPruner::prune(Observer& observer) const {
  NetworkPruning result;
  result.rescaled = study_.prune.rescale;
  result.measured_on = measured_.name;
  result.greedy_on = chosen_.name;
  result.sensitivity_on = train_.name;
  for (const NetworkExamples& set : problem_.sets) {
    result.sets.push_back(
        {set.name, set.labels.rows(),
         analysis::quality_of(analysis::outputs_without(set.paths, {}), set.labels)});
  }
  result.order_parameter = model::order_parameter(problem_.network);
  const Index heads = drops_.squared_error.cols();
  result.accuracy_drop = column_estimates(drops_.accuracy, heads);
  result.error_rise = column_estimates(drops_.squared_error, heads);
  add_baselines(result);
  if (!study_.prune.cumulative) return result;
  add_random(result, observer);
  if (study_.prune.greedy && !observer.interrupted()) {
    result.greedy = curve(analysis::greedy_order(chosen_.paths, chosen_.labels, rescaling_));
  }
  return result;
}

}  // namespace headway::studies
