#pragma once

#include <memory>
#include <vector>

#include "headway/model/learned_attention.hpp"
#include "headway/posterior/learned_chain.hpp"
#include "headway/verbs/theory/learned_attention.hpp"
#include "verbs/theory/problem.hpp"

/// Private to the verbs of the theory: a study whose attention is learned.
namespace headway {

/// What path features are made of, in place of the features themselves.
struct LearnedProblem {
  std::shared_ptr<const model::LearnedAttention> train;
  std::shared_ptr<const model::LearnedAttention> evaluation;  ///< null without such examples
  std::shared_ptr<const MatrixXd> labels;                     ///< P x C
  VectorXd given;  ///< weights of the attention that the data give, where a start is there
};

/// Reads all inputs. `dataset`: after learn_attention().
LearnedProblem make_learned_problem(const Study& study, const tasks::Dataset& dataset,
                                    Observer& observer);

/// Makes a start of a draw `z` from the prior of the attention weights.
void start_attention(AttentionStart start, const LearnedProblem& learned, Eigen::Ref<VectorXd> z);

/// Joint minima of order parameters and attention at the points with these numbers. Each point is
/// that of U given the attention of its lowest minimum.
SolveResult solve_learned(const Study& study, const tasks::Dataset& dataset,
                          const LearnedProblem& learned, Observer& observer,
                          const std::vector<std::size_t>& numbers);

/// The sampling target at a point.
std::unique_ptr<posterior::LearnedChain> learned_target(const Study& study,
                                                        const tasks::Dataset& dataset,
                                                        const LearnedProblem& learned,
                                                        const SweepPoint& sweep);

}  // namespace headway
