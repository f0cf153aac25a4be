#pragma once

#include <string>
#include <utility>
#include <vector>

#include "headway/dataset.hpp"
#include "headway/study.hpp"
#include "headway/theory/kernel_cost.hpp"
#include "headway/types.hpp"

namespace headway {

enum class TheoryVerb { kSolves, kSamples, kAligns };

/// Sizes of a study of the theory and what it costs, from the functions that also choose how it is
/// computed. Flops count a multiply-add as two. Features are taken as if all N_0 directions were
/// used: where data leave some empty, a run takes less.
struct TheoryPlan {
  Index train_examples = 0, test_examples = 0;
  std::vector<std::pair<std::string, Index>> sets;  ///< further sets and their sizes
  Index tokens = 0;                                 ///< S; 0 for a file of path features
  Index features = 0, outputs = 1;
  std::vector<int> heads;
  double paths = 1;               ///< p
  double unknowns = 0;            ///< independent entries of all U_l and U_a
  double points = 0;              ///< sweep points
  double path_feature_flops = 0;  ///< once
  theory::KernelCost kernels;
  double feature_bytes = 0;  ///< path features of all examples; of kDistributed, those of a rank
  double memory_bytes = 0;   ///< of a run that solves one point at a time, its Hessian included
  double point_bytes = 0;    ///< of each further point that is solved at the same time
  double least_bytes = 0;    ///< what no way of solving can do without
  double draw_bytes = 0;     ///< what the draws of `sample` hold at one point
  /// Transitions at one point, warm-up included: of the chains of `sample`, and of its calibration.
  double draw_transitions = 0, calibration_transitions = 0;
  double calibration_flops = 0;  ///< of kernels, which the labels of each network need anew
  double calibration_bytes = 0;  ///< of those that are held at the same time
};

/// Error{kBadStudy} for Gram matrices: they have no kernel between examples to align.
void require_examples(const tasks::Dataset& dataset);

/// Memory of one alignment (eq. 52) of a kernel of `rows` = P C rows: the kernel, which becomes its
/// eigenvectors, and LAPACK's workspace.
double alignment_bytes(Index rows);

/// Error{kBadStudy} when study and data do not fit each other, the kernels asked for are
/// impossible, or an alignment has more rows than LAPACK counts. `ranks`: that may share one
/// problem. Cost: none to speak of.
TheoryPlan plan_theory(const Study& study, const tasks::Dataset& dataset, TheoryVerb verb,
                       int ranks = 1);

/// Error{kBadStudy} when that does not fit into `memory_bytes`, the memory of a machine.
void require_memory(const TheoryPlan& plan, const Study& study, double memory_bytes);

}  // namespace headway
