#include "verbs/network_pruner.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "headway/analysis/rank_correlation.hpp"
#include "headway/core/rng.hpp"
#include "headway/theory_results.hpp"

namespace headway {
namespace {

using analysis::Estimate;
using analysis::QualityCurve;

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

/// Where labels are no classes there are no accuracies to redraw.
MatrixXd resampled_means(const MatrixXd& effects, const Study& study) {
  Rng rng(study.seed, StreamPurpose::kResampledExamples);
  return analysis::resampled_means(effects, study.prune.resamples, rng);
}

/// Heads in rising order, without those that have no score.
std::vector<int> order_of(const std::vector<double>& score) {
  std::vector<int> order = analysis::ascending_order(score);
  std::erase_if(order, [&](int head) { return std::isnan(score[static_cast<std::size_t>(head)]); });
  return order;
}

}  // namespace

NetworkPruner::NetworkPruner(PrunableNetwork network, const Study& study)
    : network_(std::move(network)),
      study_(study),
      drops_(analysis::head_drops(network_.heads, network_.measured, network_.only_heads)) {
  // Both effects on the same redrawn examples, so that they can be compared.
  resampled_score_ = resampled_means(drops_.score, study);
  resampled_error_ = resampled_means(drops_.error, study);
}

QualityCurve NetworkPruner::curve(const std::vector<int>& order) const {
  return analysis::quality_curve(network_.measured,
                                 analysis::keep_last_heads(order, network_.heads));
}

RankCorrelation NetworkPruner::correlate(const std::vector<double>& score, const MatrixXd& effects,
                                         const MatrixXd& resampled) const {
  const std::vector<double> means = column_means(effects);
  if (means.size() < 3) return {};  // of two heads it is +1 or -1, whatever the score
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
  judged.names = network_.names;
  judged.score = std::move(score);
  judged.accuracy_drop = correlate(judged.score, drops_.score, resampled_score_);
  judged.error_rise = correlate(judged.score, drops_.error, resampled_error_);
  if (!study_.prune.cumulative) return judged;
  std::vector<int> order = order_of(judged.score);
  judged.rising = curve(order);
  std::reverse(order.begin(), order.end());
  judged.falling = curve(order);
  return judged;
}

void NetworkPruner::add_random(NetworkPruning& result, Observer& observer) const {
  const int count = std::accumulate(network_.heads.begin(), network_.heads.end(), 0);
  for (int r = 0; r < study_.prune.random_orders && !observer.interrupted(); ++r) {
    Rng rng(study_.seed, StreamPurpose::kPruningOrder, static_cast<std::uint64_t>(r));
    result.random.push_back(curve(analysis::random_order(count, rng)));
  }
  const auto orders = static_cast<Index>(result.random.size());
  const std::size_t steps = result.random.empty() ? 0 : result.random.front().quality.size();
  for (std::size_t k = 0; k < steps; ++k) {
    VectorXd score(orders);
    for (Index r = 0; r < orders; ++r) {
      score[r] = result.random[static_cast<std::size_t>(r)].quality[k].accuracy.mean;
    }
    const Estimate mean = analysis::estimate_mean(score);
    result.random_mean.push_back(mean.mean);
    result.random_error.push_back(mean.error);
    result.random_sd.push_back(mean.error * std::sqrt(static_cast<double>(orders)));
  }
}

void NetworkPruner::measure(NetworkPruning& result, Observer& observer) const {
  result.names = network_.names;
  result.measured_on = network_.measured_on;
  result.greedy_on = network_.greedy_on;
  const Index heads = drops_.error.cols();
  result.accuracy_drop = column_estimates(drops_.score, heads);
  result.error_rise = column_estimates(drops_.error, heads);
  if (!study_.prune.cumulative) return;
  add_random(result, observer);
  if (study_.prune.greedy && !observer.interrupted()) {
    result.greedy = curve(analysis::greedy_order(network_.heads, network_.chosen));
  }
}

}  // namespace headway
