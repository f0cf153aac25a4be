#pragma once

#include <string>

#include "headway/prune_results.hpp"
#include "headway/sample_results.hpp"
#include "headway/study.hpp"

namespace headway::cli {

// What each verb prints on standard output without --json.
std::string solve_table(const Study& study, const SolveResult& result);
std::string align_table(const Study& study, const AlignResult& result);
std::string prune_table(const Study& study, const PruneResult& result);
std::string sample_table(const Study& study, const SampleResult& result);

}  // namespace headway::cli
