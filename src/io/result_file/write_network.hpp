#pragma once

#include <string>
#include <vector>

#include "headway/studies/network_results.hpp"
#include "io/hdf5/output.hpp"

namespace headway::io {

/// The pruned network below `group`: attributes rescaled, measured_on, greedy_on, sensitivity_on;
/// U_1; accuracy_drop and error_rise of each head with _error; sets/; scores/<name>/ as
/// write_network_scores; greedy/ and random/.
void write_network(const std::string& group, const studies::NetworkPruning& network,
                   Hdf5OutputFile& out);

/// <group>/<name>/ for each score: score [heads]; rising/ and falling/ with order, accuracy,
/// mean_squared_error and their _error; attributes accuracy_drop_spearman, _kendall, _p_value, _sd,
/// _lower, _upper, and the same of error_rise.
void write_network_scores(const std::string& group,
                          const std::vector<studies::NetworkScore>& scores, Hdf5OutputFile& out);

}  // namespace headway::io
