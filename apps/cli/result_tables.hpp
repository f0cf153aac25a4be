#pragma once

#include <string>

#include "headway/sample_results.hpp"
#include "headway/study.hpp"

namespace headway::cli {

// What each verb prints on standard output without --json.
std::string solve_table(const headway::Study& study, const headway::SolveResult& result);
std::string align_table(const headway::Study& study, const headway::AlignResult& result);
std::string prune_table(const headway::Study& study, const headway::PruneResult& result);
std::string sample_table(const headway::Study& study, const headway::SampleResult& result);

}  // namespace headway::cli
