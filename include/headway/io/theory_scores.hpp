#pragma once

#include <string>
#include <vector>

#include "headway/network_prune_results.hpp"

namespace headway::io {

/// The head scores of `headway prune`, for data that `headway extract` took from trained networks.
/// `files` are results of prune; every point gives one set of scores with a label of its own. The
/// data set that a result's study names says which network it was taken from. Errors: kMissingFile;
/// kBadData naming the file when it is another one, its data set is gone or was not made by
/// extract, or it is damaged; kBadStudy for a file that comes twice.
std::vector<TheoryScores> read_theory_scores(const std::vector<std::string>& files);

}  // namespace headway::io
