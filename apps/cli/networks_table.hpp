#pragma once

#include <string>

#include "headway/studies/evaluate.hpp"
#include "headway/studies/latents.hpp"
#include "headway/studies/study.hpp"

namespace headway::cli {

/// "0.80 +- 0.03": the mean over seeds and its standard error, where there are several.
std::string spread_text(const studies::Spread& spread);

/// "1,2,3"
std::string seeds_text(const std::vector<std::uint64_t>& seeds);

/// What was decoded, layer by layer, then how alike mean codes are.
std::string latents_table(const studies::Study& study, const studies::LatentsResult& result);

/// Loss and metrics of every split.
std::string evaluate_table(const studies::Study& study, const studies::EvaluateResult& result);

}  // namespace headway::cli
