#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "headway/analysis/standardisation.hpp"
#include "headway/types.hpp"

/// A ranking of heads that one can prune by: what a readout loses without each head, with errors,
/// and a combined estimate. headway.results.ranking of Python has the same rules in NumPy, for
/// networks of PyTorch.
namespace headway::analysis {

/// Ridge regression answers = (x - mean) / deviation W + offset of labels y [P, C] on embeddings x
/// [P, N], with penalty |W|^2, and what leaving some examples out needs. With a_ij = 1/P + x_i^T
/// (X^T X + penalty)^-1 x_j, over standardised embeddings, the readout fitted without example i
/// misses its label by r_i / (1 - a_ii), where r_i is the residual of the full fit.
class RidgeReadout {
 public:
  /// Without a penalty the one of 10^-4, ..., 10^3 whose error is smallest when each example is
  /// left out. Cost: one eigendecomposition of min(P, N)^2 numbers.
  RidgeReadout(const MatrixXd& x, const MatrixXd& y, std::optional<double> penalty);

  double penalty = 0.0;
  Standardisation standardisation;  ///< of all P embeddings; the same when some are left out
  Eigen::RowVectorXd offset;
  MatrixXd weights;    ///< [N, C]
  MatrixXd residuals;  ///< r_i, [P, C]
  MatrixXd missed;     ///< r_i / (1 - a_ii), [P, C]

  [[nodiscard]] MatrixXd answers(const MatrixXd& x) const;
  /// Of vectors z [P, N], one for each example, by the readout fitted without that example.
  [[nodiscard]] MatrixXd answers_left_out(const MatrixXd& z) const;
  /// [b, k]: how much the label of each training example `of` moves the answer on each z [b, N].
  [[nodiscard]] MatrixXd pull(const MatrixXd& z, const std::vector<Index>& of) const;
  /// What fitting without examples i and k adds to residuals, (1 - a)^-1 r over the pair: entries
  /// of i and of k, [P, k] of each output, for all i and the k of `others`; without i alone where i
  /// is k.
  struct Pair {
    std::vector<MatrixXd> first, second;
  };
  [[nodiscard]] Pair two_left_out(const std::vector<Index>& others) const;

 private:
  void fit(const MatrixXd& standardised, const MatrixXd& y, double with_penalty);
  [[nodiscard]] VectorXd spared() const;  ///< 1 - a_ii

  VectorXd values_;    ///< eigenvalues of X X^T or X^T X
  MatrixXd vectors_;   ///< its eigenvectors
  MatrixXd factor_;    ///< F, [P, r]: a = 1/P + F F^T
  MatrixXd reach_;     ///< (X^T X + penalty)^-1 X^T, [N, P]
  bool wide_ = false;  ///< P <= N
};

/// What readouts lose without heads, a row for each. rises: of every example, [H, P]. pairs: what
/// two examples do that neither does alone, over P, [H, pairs]. shift: how far the left-out answers
/// move, as a mean square. belief: the mean rise if labels were what the readout expects, with its
/// standard error over examples.
struct RemovalChanges {
  MatrixXd rises, pairs;
  VectorXd shift, belief, belief_error;

  [[nodiscard]] VectorXd mean() const { return rises.rowwise().mean(); }
  /// Of the means, [H, H]: sum_i (d_i - d)^2 / P (P - 1), whose correlations are shrunk towards
  /// none by P / (P + H), plus that of the pairs.
  [[nodiscard]] MatrixXd covariance() const;
  /// sqrt(sum_i (d_i - d)^2 / P (P - 1) + sum of the squares of the pairs).
  [[nodiscard]] VectorXd error() const;
};

/// The readout of a whole network, and what removals are held against. Every number is of examples
/// that the readout did not see: each is left out in turn.
class RankedReadout {
 public:
  /// At most 30,000 pairs of examples are looked at; of more, some that `seed` draws.
  RankedReadout(const MatrixXd& x, const MatrixXd& y, std::optional<double> penalty,
                std::uint64_t seed);

  [[nodiscard]] const RidgeReadout& readout() const { return readout_; }
  [[nodiscard]] VectorXd errors() const;  ///< squared errors, [P]
  /// From the embeddings [P, N] of the same examples without a head: one row each with the readout
  /// as it is, and fitted again with the same penalty.
  [[nodiscard]] std::array<RemovalChanges, 2> without(const MatrixXd& removed) const;

 private:
  [[nodiscard]] RemovalChanges change(const MatrixXd& missed,
                                      const std::vector<MatrixXd>& missed_by_pairs) const;

  MatrixXd y_;
  RidgeReadout readout_;
  std::vector<Index> others_;
  MatrixXd answers_, expected_;
  RidgeReadout::Pair twice_;
  MatrixXd errors_of_pairs_;  ///< [P, k]
};

/// Rows of heads from those of each.
RemovalChanges stacked(const std::vector<RemovalChanges>& rows);

/// What is known of the true rises without each head, as draws [4000, H] and their mixture.
struct RankEstimate {
  VectorXd mean;      ///< of the posterior
  MatrixXd draws;     ///< a row each
  double spread;      ///< posterior mean of tau
  VectorXd reliance;  ///< d mean_h / d m_h: how much of its measured rise each mean holds

  /// Bounds that hold this share of the draws, with as many below as above.
  [[nodiscard]] std::array<VectorXd, 2> interval(double share) const;
  [[nodiscard]] VectorXd deviation() const;
};

/// The measured rises m, drawn to those that the readout expects, P, as far as their errors ask
/// for (empirical Bayes):
///   theta = a + b P + e,  a ~ normal(0, s^2), b ~ normal(1, 1/4), e_h ~ normal(0, tau^2 s D_h)
///   m = theta + noise of covariance V,   told = theta + noise of half the covariance of the pairs
/// D_h is `shift`, s its mean. A grid of tau is weighed by how well it explains m. What is told is
/// the rise for the very readout that was fitted, not the mean over training sets.
RankEstimate combine(const RemovalChanges& changes, std::uint64_t seed);

/// How likely each head is one of the k that cost least, from draws [D, H]. Heads that cost the
/// same in a draw share its places.
VectorXd among_cheapest(const MatrixXd& draws, int k);
/// Ranks from 1, the head that costs least. In the order of their means a head begins a new rank if
/// it costs more than the first head of the current one in this share of the draws.
std::vector<int> shared_ranks(const MatrixXd& draws, double share);

/// How far an order can be trusted. halves: rank correlation of orders on random halves of the
/// examples, with its deviation. whole: sqrt(2 r / (1 + r)), the most that another order can be
/// expected to agree with that on all examples; 0 where halves do not agree. Halves on which all
/// heads rise alike have no order and do not count. All are NaN where none has: with one head
/// always.
struct RankCeiling {
  double halves, deviation, whole;
};
RankCeiling rank_ceiling(const MatrixXd& rises, std::uint64_t seed);
/// The share of pairs of heads whose rises differ by more than two errors of the difference.
double told_apart(const MatrixXd& rises);

/// Parts [P, p N_0] of a layer without their means over examples, scaled to a mean square of 1.
RowMatrixXd scaled_parts(const RowMatrixXd& parts);
/// T at which the theory's predictor with U = 1 is the readout of this penalty: penalty V / (N_0
/// p), V the mean square of the sum of the parts.
double matched_temperature(const RowMatrixXd& parts, Index count, double penalty);
/// Squared errors of the predictor K (K + T)^-1 y, each example left out. Without an example the
/// labels and the features have other means, so the offset is fitted again, as in RidgeReadout.
/// kernel: [P, P], or [C P, C P] output by output, of features without their means. y: without its
/// mean.
VectorXd left_out_errors(const MatrixXd& kernel, double temperature, const MatrixXd& y);
/// Of the theory: K = sum_ab U_ab xi_a . xi_b / (N_0 p). u: [C p, C p], the outputs of a part side
/// by side; empty: all 1, for each output by itself.
struct FrozenPredictor {
  double temperature;
  MatrixXd u;
};
/// Rises of left_out_errors() without each group of parts, [groups, P]: rows and columns of U are
/// 0. y without its mean. `between` is called before each group, and may throw to end the work.
/// Cost: one inverse of a kernel for each group, and one for none.
MatrixXd cut_changes(const RowMatrixXd& parts, Index count,
                     const std::vector<std::vector<int>>& groups, const MatrixXd& y,
                     const FrozenPredictor& predictor, const std::function<void()>& between);

}  // namespace headway::analysis
