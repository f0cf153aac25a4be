#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "headway/theory/distributed.hpp"

/// Private to theory: the work of one rank on kernels that are spread over all ranks.
namespace headway::theory {

/// Rows of a P x k matrix, twice: those of own block rows, and those of own block columns.
struct SharedRows {
  MatrixXd rows, columns;
};

/// A rank's part of K and of all that is made of it, for one output. All ranks call each function
/// together with the same arguments, and all get the same result, summed over them. A symmetric
/// matrix is held as B, where B + B^T is the whole: its lower triangle, with half of the diagonal.
/// An error on any rank is thrown on the first; on the others the functions then return nothing.
/// One that comes while ranks exchange numbers ends all of them (in_step()).
class RankPart {
 public:
  /// The ranks must have a SharedCholesky.
  RankPart(Ranks& ranks, RankExamples examples, Index paths, int threads);

  struct Evaluation {
    bool positive = false;  ///< false: K + T is not positive definite, and the rest is empty
    VectorXd pivots;        ///< diagonal of its Cholesky factor
    VectorXd squares;       ///< diagonal of K
    VectorXd alpha;         ///< (K + T)^{-1} y
    MatrixXd traces;        ///< <X_pi, (K + T)^{-1} X_pi'>: p x p
    MatrixXd projected;     ///< X_pi^T alpha: N_0 x p
  };
  /// Keeps the inverse as state `id`.
  Evaluation evaluate(int id, const MatrixXd& u, double temperature);
  void forget(int id) { states_.erase(id); }
  /// k*^T (K + T)^{-1} k* of each test example, k* its covariances at the state's U: 1 x P_test.
  MatrixXd explained(int id, const MatrixXd& test_features);
  /// X^T (K + T)^{-1} X u.
  MatrixXd projected_inverse(int id, const MatrixXd& u);
  /// <X_pi, A K(D) A X_pi'>, A = (K + T)^{-1}, the same with A K(D) A K(D) A (eqs. 70, 71): p x p.
  MatrixXd first_order(int id, const MatrixXd& d);
  MatrixXd second_order(int id, const MatrixXd& d);

  [[nodiscard]] const MatrixXd& labels() const { return labels_; }

 private:
  struct State {
    MatrixXd u;
    MatrixXd inverse;                  // of K + T
    std::optional<SharedRows> solved;  // (K + T)^{-1} X, made on demand
  };

  struct Rows {
    Index first = 0, count = 0;
  };

  // All ranks call these together; they return nothing where that failed on any of them.
  /// The lower triangle of K(U). Some entries above the diagonal are filled, too.
  [[nodiscard]] std::optional<MatrixXd> kernel(const MatrixXd& u);
  /// K(D) after halve(). Needs State::solved.
  [[nodiscard]] std::optional<MatrixXd> kernel_change(State& state, const MatrixXd& d);
  /// What this rank adds to the sum G over ranks with <F_pi, (B + B^T) F_pi'> = G + G^T (eq. 69).
  [[nodiscard]] std::optional<MatrixXd> contract(const MatrixXd& b, const SharedRows& f);
  /// (B + B^T) F.
  [[nodiscard]] std::optional<SharedRows> multiply(const MatrixXd& b, const SharedRows& f) const;
  /// Computes State::solved. False if that failed.
  bool solve_features(State& state) const;
  /// The sum over all ranks, on each of them.
  [[nodiscard]] MatrixXd total(const MatrixXd& mine) const;
  /// G + G^T for the sum G over ranks. Empty if `mine` is empty.
  [[nodiscard]] MatrixXd symmetric_total(const std::optional<MatrixXd>& mine) const;
  /// If `step` failed on any rank, false; on the first rank the error is thrown.
  bool agree(const std::function<void()>& step) const;

  /// Leaves the lower triangle with half of the diagonal.
  void halve(MatrixXd& lower) const;
  /// sum of f(i, row, column) over own entries of the diagonal.
  template <class Function>
  void for_diagonal(Function f) const;
  /// This rank's share of its own rows: ranks in one row of the grid have the same rows, and each
  /// takes some of them, so that every row of the matrix belongs to one rank.
  [[nodiscard]] Rows rows_of_its_own() const;
  /// The rows of a strip that `sharer` works on. Ranks in one row of the grid have the same rows of
  /// features. With many paths they share the work on these.
  [[nodiscard]] Rows share_of(const SharedSquare::Strip& strip, int sharer) const;
  /// Calls f(sharer, its rank, whether this rank sends first) for each of the other sharers.
  void for_each_partner(const std::function<void(int sharer, int rank, bool first)>& f) const;
  /// `of_sharers` has this rank's own matrix, and gets those of the other sharers.
  void exchange_with_partners(std::vector<MatrixXd>& of_sharers) const;
  /// From K to B of its inverse with T, and what `evaluate` tells of the labels on the way. Leaves
  /// `result.positive` false, and `a` as it may be, where K + T is not positive definite.
  void solve_labels(MatrixXd& a, double temperature, Evaluation& result) const;

  Ranks& ranks_;
  SharedSquare place_;
  MatrixXd labels_;
  SharedRows features_;
  Index paths_;
  int threads_;
  std::unique_ptr<SharedCholesky> cholesky_;
  int sharers_, sharer_;
  std::vector<SharedSquare::Strip> strips_;
  std::map<int, State> states_;
};

}  // namespace headway::theory
