#pragma once

#include <memory>
#include <vector>

#include "headway/study.hpp"
#include "headway/theory_results.hpp"
#include "verbs/theory/problem.hpp"

/// Private to verbs: the theory of a network without some of its heads.
namespace headway {

/// Examples that a pruned predictor is judged on.
struct PruneSet {
  std::string name;
  Index first;  ///< row of TheoryProblem::evaluation_features
  MatrixXd labels;

  [[nodiscard]] MatrixXd features_in(const TheoryProblem& problem) const {
    return problem.evaluation_features.middleRows(first, labels.rows());
  }
};

/// Removes heads at a solved point. Heads are counted over all layers, layer 1 first. With linear
/// values a head is rows and columns of U_1. Hidden units of a value network may also read it, and
/// then lose that part of S.
class WithoutHeads {
 public:
  /// The first two arguments must outlive it. `solved`: with features, of a value network. Points
  /// of the same features may share it. Cost: those of problem() for each head.
  WithoutHeads(const TheoryProblem& problem, const Study& study, const SolvePoint& solved);

  [[nodiscard]] const TheoryProblem& whole() const { return problem_; }
  /// U_1 without the rows and columns of these heads.
  [[nodiscard]] MatrixXd order_parameter(const MatrixXd& u, const std::vector<int>& removed) const;
  /// Whether hidden units read the heads, so that kernels change with them.
  [[nodiscard]] bool changes_kernels() const;
  /// Kernels and features without them, where changes_kernels(). Cost: those of the value
  /// network's kernel, nothing for one head.
  [[nodiscard]] std::shared_ptr<const TheoryProblem> problem(const std::vector<int>& removed) const;

 private:
  [[nodiscard]] std::shared_ptr<const TheoryProblem> make(const std::vector<int>& removed) const;

  const TheoryProblem& problem_;
  const Study& study_;
  MatrixXd s_;  ///< empty without a value network
  std::vector<std::shared_ptr<const TheoryProblem>> without_one_;  ///< empty where kernels stay
};

}  // namespace headway
