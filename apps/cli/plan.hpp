#pragma once

#include <string>

#include "headway/verbs/theory/plan.hpp"

namespace headway::cli {

// What --dry-run prints for verbs of the theory.
std::string plan_text(const headway::TheoryPlan& plan, const headway::Study& study,
                      const std::string& verb, const std::string& output);
std::string plan_json(const headway::TheoryPlan& plan, const headway::Study& study,
                      const std::string& verb);

}  // namespace headway::cli
