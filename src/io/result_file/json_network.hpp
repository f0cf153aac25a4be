#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "headway/studies/results.hpp"

namespace headway::io {

/// The pruned network as one object: rescaled, measured_on, greedy_on, sensitivity_on, sets, U_1,
/// heads, scores, greedy, random.
nlohmann::ordered_json network_object(const studies::NetworkPruning& network,
                                      const std::vector<studies::HeadReport>& heads);

/// Scores by name, each {"score", "accuracy_drop": rank correlation, "error_rise": rank
/// correlation, "rising": curve, "falling": curve}.
nlohmann::ordered_json network_scores_object(const std::vector<studies::NetworkScore>& scores);

}  // namespace headway::io
