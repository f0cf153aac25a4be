#pragma once

#include <cstdint>
#include <vector>

#include "headway/core/rng.hpp"
#include "headway/types.hpp"

namespace headway::analysis {

/// Spearman's rho: the Pearson correlation of the ranks (numerics::average_ranks). Pairs with a NaN
/// are left out. NaN when fewer than two pairs are left or one side is constant. Cost O(n log n).
double spearman(const std::vector<double>& x, const std::vector<double>& y);

/// Kendall's tau-b, which accounts for ties on both sides; NaN as spearman. Cost O(n^2).
double kendall(const std::vector<double>& x, const std::vector<double>& y);

/// Chance that a random pairing of x with y has |rho| at least as large as theirs (two-sided): over
/// all n! pairings up to n = kExactPermutations, else over `draws` random ones, counted as
/// (1 + hits) / (1 + draws) (Phipson and Smyth 2010). NaN where rho is.
double permutation_p_value(const std::vector<double>& x, const std::vector<double>& y, int draws,
                           Rng& rng);
inline constexpr int kExactPermutations = 9;

/// Column means of `effects` (examples x heads) when the examples are drawn again with replacement,
/// `resamples` times: resamples x heads. One set of resamples serves all scores of a network.
/// Cost O(resamples examples heads).
MatrixXd resampled_means(const MatrixXd& effects, int resamples, Rng& rng);

/// How sure a rank correlation is.
struct Bootstrap {
  double sd;            ///< over the resamples
  double lower, upper;  ///< 2.5 % and 97.5 % quantiles
};

/// Spread of the rank correlation of `score` (one number a head) with the rows of `means` from
/// resampled_means: the uncertainty from the finite set of examples alone; heads, scores and the
/// training run are fixed. Rows in which the correlation is undefined are left out; all NaN when
/// none is left.
Bootstrap bootstrap_spearman(const std::vector<double>& score, const MatrixXd& means);

/// How stable the order of some numbers is.
struct RankStability {
  double kendall_tau;  ///< with the numbers drawn again, mean over the draws
  double
      top_k_overlap;  ///< share of the k largest that are among the k largest of a draw, likewise
  int k;
};

/// `values`: one number a head; `draws`: the same numbers drawn again, a row each. NaN where no
/// draw has a correlation, or where some value is NaN. 1 <= k <= values. Cost O(draws values^2).
RankStability rank_stability(const std::vector<double>& values, const MatrixXd& draws, int k);

}  // namespace headway::analysis
