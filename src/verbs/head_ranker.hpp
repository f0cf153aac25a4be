#pragma once

#include <string>
#include <utility>
#include <vector>

#include "headway/analysis/head_ranking.hpp"
#include "headway/observer.hpp"
#include "headway/rank_results.hpp"
#include "headway/study.hpp"

/// Private to verbs: a ranking from what was measured, whatever gives the heads.
namespace headway {

/// Everything that was measured of H heads on P examples.
struct MeasuredHeads {
  std::vector<std::string> names;
  std::vector<int> layers, heads;  ///< counted from 1
  /// By "mean_fixed" and its like, rows of heads.
  std::vector<std::pair<std::string, analysis::RemovalChanges>> removals;
  double removal_passes = 0.0;
  std::vector<RankColumn> others;
};

/// What the p parts of a layer add to the embedding, and the parts of each of its heads.
struct LayerParts {
  RowMatrixXd values;  ///< [P, p D]
  Index count = 0;     ///< p
  std::vector<std::vector<int>> of_heads;
};

/// Error{kBadData} unless the labels [P, C] of enough examples differ.
void check_labels_to_rank_by(const std::string& name, const MatrixXd& labels);

/// Error{kBadData} unless the memory holds what frozen_cuts() makes of labels [P, C]: four matrices
/// of C P rows and columns.
void require_cut_memory(const std::string& name, const MatrixXd& labels, double memory_bytes);

/// Error{kBadData} if the parts [P, p N_0] are the same for all examples, but for rounding.
void check_parts_differ(const std::string& name, const RowMatrixXd& parts);

/// A measure whose values are means over examples: rows of heads, [H, P].
RankColumn column_of_examples(std::string name, const MatrixXd& rows, double passes);

/// The parts of a layer without those of one head, by the predictor of the theory.
struct FrozenCuts {
  MatrixXd without_theory, of_theory;  ///< rises of every example, [heads, P]
};
/// penalty: of the readout, which gives T. Error{kInterrupted} where the observer asks to stop.
FrozenCuts frozen_cuts(const LayerParts& layer, const MatrixXd& labels, double penalty, int threads,
                       const Observer& observer);

/// `target`: which of the removals the estimate is of.
HeadRanking ranking_of(const MeasuredHeads& measured, const std::string& target,
                       const analysis::RankedReadout& whole, const MatrixXd& labels,
                       const RankOptions& wanted, std::uint64_t seed);

}  // namespace headway
