#pragma once

#include <string>

#include "headway/studies/sample_results.hpp"
#include "headway/studies/study.hpp"

namespace headway::cli {

// What each verb prints on standard output without --json.
std::string solve_table(const studies::Study& study, const studies::SolveResult& result);
std::string align_table(const studies::Study& study, const studies::AlignResult& result);
std::string prune_table(const studies::Study& study, const studies::PruneResult& result);
std::string sample_table(const studies::Study& study, const studies::SampleResult& result);

}  // namespace headway::cli
