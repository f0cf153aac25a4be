#pragma once

#include <string>
#include <vector>

#include "headway/prune_network.hpp"

namespace headway::io {

/// The scores at every point of results of headway prune on data that headway extract took from
/// trained networks: the data set, where the result's study has it, says from which. Their labels
/// differ. Errors: kMissingFile; kBadData naming the file when it is another one, its data set is
/// gone or was not made by extract, or it is damaged; kBadStudy for a file that comes twice.
std::vector<TheoryScores> read_theory_scores(const std::vector<std::string>& files);

}  // namespace headway::io
