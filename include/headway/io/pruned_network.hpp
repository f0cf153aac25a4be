#pragma once

#include <string>
#include <vector>

#include "headway/io/result_file.hpp"
#include "headway/studies/prune_trained.hpp"

namespace headway::io {

/// The scores at every point of a result of headway prune on data that headway extract took from a
/// trained network: the data set, where the result's study has it, says from which. Errors:
/// kMissingFile; kBadData naming the file when it is another one, its data set is gone or was not
/// made by extract, or it is damaged.
std::vector<studies::TheoryScores> read_theory_scores(const std::string& file_path);

/// A result file of kind "network_prune" (src/io/README.md): `headway prune` of a train result.
/// Errors as those of the other results.
void write_pruned_network(const std::string& file_path, const studies::Study& study,
                          const studies::TrainedPruneResult& result,
                          const ResultProvenance& provenance, bool force);

/// Its JSON, without a final newline.
std::string pruned_network_json(const studies::Study& study,
                                const studies::TrainedPruneResult& result);

}  // namespace headway::io
