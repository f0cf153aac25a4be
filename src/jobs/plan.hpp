#pragma once

#include <string>

#include "headway/verbs/theory/plan.hpp"

namespace headway::jobs {

// What --dry-run prints for verbs of the theory.
std::string plan_text(const TheoryPlan& plan, const Study& study, const std::string& verb,
                      const std::string& output);
std::string plan_json(const TheoryPlan& plan, const Study& study, const std::string& verb);

}  // namespace headway::jobs
