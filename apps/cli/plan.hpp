#pragma once

#include <string>

#include "headway/studies/plan.hpp"

namespace headway::cli {

// What --dry-run prints for verbs of the theory.
std::string plan_text(const studies::TheoryPlan& plan, const studies::Study& study,
                      const std::string& verb, const std::string& output);
std::string plan_json(const studies::TheoryPlan& plan, const studies::Study& study,
                      const std::string& verb);

}  // namespace headway::cli
