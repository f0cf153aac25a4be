#include "headway/analysis/head_scores.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "headway/model/path_index.hpp"
#include "headway/numerics/statistics.hpp"

namespace headway::analysis {

using model::all_heads;
using model::HeadAddress;
using model::PathMembership;

namespace {

void divide_by_largest(std::vector<double>& scores) {
  const double largest = *std::max_element(scores.begin(), scores.end());
  for (double& s : scores) s /= largest;
}

}  // namespace

HeadScores head_scores(const MatrixXd& u, const std::vector<int>& heads, Index outputs) {
  const PathMembership membership(heads, outputs);
  HeadScores result;
  for (const HeadAddress& address : all_heads(heads)) {
    const double one_sided = 1.0 / (2.0 * heads[address.layer]);
    double score = 0.0;
    double weighted = 0.0;
    for (Index i = 0; i < u.rows(); ++i) {
      const bool left = membership.uses(i, address);
      for (Index j = 0; j < u.cols(); ++j) {
        const bool right = membership.uses(j, address);
        if (!left && !right) continue;
        score += std::abs(u(i, j));
        weighted += (left && right ? 1.0 : one_sided) * std::abs(u(i, j));
      }
    }
    result.score.push_back(score);
    result.weighted.push_back(weighted);
  }
  divide_by_largest(result.score);
  divide_by_largest(result.weighted);
  return result;
}

MatrixXd remove_heads(const MatrixXd& u, const std::vector<int>& heads, Index outputs,
                      const std::vector<int>& removed) {
  const PathMembership membership(heads, outputs);
  const std::vector<HeadAddress> addresses = all_heads(heads);
  MatrixXd pruned = u;
  for (int head : removed) {
    const HeadAddress& address = addresses.at(static_cast<std::size_t>(head));
    for (Index i = 0; i < u.rows(); ++i) {
      if (!membership.uses(i, address)) continue;
      pruned.row(i).setZero();
      pruned.col(i).setZero();
    }
  }
  return pruned;
}

std::vector<int> keep_last_heads(const std::vector<int>& order, const std::vector<int>& heads) {
  const std::vector<HeadAddress> addresses = all_heads(heads);
  std::vector<int> left = heads;
  std::vector<int> result;
  for (int head : order) {
    int& remaining = left[addresses.at(static_cast<std::size_t>(head)).layer];
    if (remaining == 1) continue;
    --remaining;
    result.push_back(head);
  }
  return result;
}

std::vector<int> ascending_order(const std::vector<double>& scores) {
  std::vector<int> order(scores.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return scores[a] < scores[b]; });
  return order;
}

std::vector<int> random_order(int count, Rng& rng) {
  std::vector<int> order(count);
  std::iota(order.begin(), order.end(), 0);
  numerics::shuffle(order, rng);
  return order;
}

RemovalCurve removal_curve(const std::vector<int>& order,
                           const std::function<double(const std::vector<int>&)>& quality) {
  RemovalCurve curve{order, {quality({})}};
  std::vector<int> removed;
  for (int head : order) {
    removed.insert(std::lower_bound(removed.begin(), removed.end(), head), head);
    curve.quality.push_back(quality(removed));
  }
  return curve;
}

std::vector<int> greedy_order(
    const std::vector<int>& heads,
    const std::function<RemovalQuality(const std::vector<int>&)>& quality) {
  const auto comparable = [](double q) {
    return std::isnan(q) ? -std::numeric_limits<double>::infinity() : q;
  };
  const std::vector<HeadAddress> addresses = all_heads(heads);
  std::vector<int> left = heads;
  std::vector<int> removed;  // rising
  std::vector<int> order;
  for (;;) {
    int best = -1;
    std::pair<double, double> best_quality;
    for (int head = 0; head < static_cast<int>(addresses.size()); ++head) {
      const bool last = left[addresses[head].layer] == 1;
      if (last || std::binary_search(removed.begin(), removed.end(), head)) continue;
      std::vector<int> trial = removed;
      trial.insert(std::lower_bound(trial.begin(), trial.end(), head), head);
      const RemovalQuality q = quality(trial);
      const std::pair compared(comparable(q.first), comparable(q.second));
      if (best >= 0 && compared <= best_quality) continue;
      best = head;
      best_quality = compared;
    }
    if (best < 0) return order;
    --left[addresses[best].layer];
    removed.insert(std::lower_bound(removed.begin(), removed.end(), best), best);
    order.push_back(best);
  }
}

}  // namespace headway::analysis
