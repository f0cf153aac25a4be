#pragma once

#include <string>
#include <vector>

#include "headway/studies/prune_trained.hpp"

namespace headway::io {

/// The scores at every point of a result of headway prune on data that headway extract took from a
/// trained network: the data set, where the result's study has it, says from which. Errors:
/// kMissingFile; kBadData naming the file when it is another one, its data set is gone or was not
/// made by extract, or it is damaged.
std::vector<studies::TheoryScores> read_theory_scores(const std::string& file_path);

}  // namespace headway::io
