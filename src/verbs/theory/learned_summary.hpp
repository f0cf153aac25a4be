#pragma once

#include <vector>

#include "headway/posterior/learned_chain.hpp"
#include "headway/results/sample_state.hpp"
#include "headway/sample_results.hpp"
#include "headway/sampling/sample.hpp"
#include "headway/verbs/theory/learned_attention.hpp"
#include "verbs/theory/problem.hpp"

/// Private to the verbs of the theory: what a sampled point says of learned attention.
namespace headway {

/// Fills `point.attention`. Replaces R-hat and effective draws of single entries of U by those of
/// functions that do not change when heads are exchanged: U_a; trace, squares and sorted diagonal
/// of each U_l; the attention's entropy and largest weight; the log likelihood. `sizes`: rows of
/// U_1, ..., U_L, U_a.
void summarize_attention(const std::vector<ChainRecord>& chains, const std::vector<Index>& sizes,
                         SamplePoint& point);

/// What replicas say beside SamplePoint::log_evidence, which is by bridge sampling.
struct ReplicaEvidence {
  double integral = kUndefined, integral_error = kUndefined;  ///< by thermodynamic integration
  double exchange_rate = kUndefined;
};
/// The evidence by both ways, from the replicas of every chain, and warnings. `data_count`: P C.
ReplicaEvidence summarize_replicas(const sampling::Checkpoint& state, double data_count,
                                   SamplePoint& point);

/// Draws of the attention weights W, or W_Q and W_K, with their names.
void keep_attention_weights(const std::vector<ChainRecord>& chains,
                            const posterior::LearnedChain& target, SamplePoint& point);

}  // namespace headway
