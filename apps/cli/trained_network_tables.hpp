#pragma once

#include <string>

#include "headway/evaluate.hpp"
#include "headway/latents.hpp"
#include "headway/study.hpp"

namespace headway::cli {

/// "0.80 +- 0.03": the mean over seeds and its standard error, where there are several.
std::string spread_text(const Spread& spread);

/// "1,2,3"
std::string seeds_text(const std::vector<std::uint64_t>& seeds);

/// What was decoded, layer by layer, then how alike mean codes are.
std::string latents_table(const Study& study, const LatentsResult& result);

/// Loss and metrics of every split.
std::string evaluate_table(const Study& study, const EvaluateResult& result);

}  // namespace headway::cli
