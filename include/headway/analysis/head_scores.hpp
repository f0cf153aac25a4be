#pragma once

#include <functional>
#include <vector>

#include "headway/core/rng.hpp"
#include "headway/types.hpp"

namespace headway::analysis {

/// Scores of all heads, layer 1 first (eqs. 53 and 54).
struct HeadScores {
  std::vector<double> score;     ///< sum of |U_1| over ordered pairs with the head on either path /
                                 ///< the largest such sum
  std::vector<double> weighted;  ///< entries with the head on exactly one path count 1 / (2 H_l)
};

/// u: U_1, (C p) x (C p), path-major with the output fastest; heads = H_1, ..., H_L. Cost O(L (C
/// p)^2 sum H_l).
HeadScores head_scores(const MatrixXd& u, const std::vector<int>& heads, Index outputs);

/// U_1 with the rows and columns of every path through a removed head set to zero. `removed`: heads
/// counted over all layers, layer 1 first.
MatrixXd remove_heads(const MatrixXd& u, const std::vector<int>& heads, Index outputs,
                      const std::vector<int>& removed);

/// One order of removal and what `quality` (accuracy, say) becomes after 0, 1, 2, ... removals.
struct RemovalCurve {
  std::vector<int> order;
  std::vector<double> quality;
};

/// The quality that a greedy search compares. Larger is better, `second` decides ties of `first`,
/// and NaN is worst.
struct RemovalQuality {
  double first, second = 0.0;
};

/// Greedy search: removes at each step the head that is missed least (the best quality that
/// remains; ties: the lower index), never the last head of a layer. `quality` gets the removed
/// heads in rising order. Cost: O(heads^2) qualities.
std::vector<int> greedy_order(
    const std::vector<int>& heads,
    const std::function<RemovalQuality(const std::vector<int>&)>& quality);

/// `order` (heads over all layers, layer 1 first) without the heads that would be the last of their
/// layer when their turn comes. A layer with no head left has no path.
std::vector<int> keep_last_heads(const std::vector<int>& order, const std::vector<int>& heads);

/// Heads in rising order of score (ties: the lower index).
std::vector<int> ascending_order(const std::vector<double>& scores);

/// A uniformly random order of `count` heads (Fisher-Yates).
std::vector<int> random_order(int count, Rng& rng);

/// Quality after removing the first 0, 1, ..., all of `order`.
RemovalCurve removal_curve(const std::vector<int>& order,
                           const std::function<double(const std::vector<int>&)>& quality);

}  // namespace headway::analysis
