#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace headway::jobs {

/// One object and a newline; text that is no UTF-8 is replaced.
std::string json_text(const nlohmann::ordered_json& object, int indent = 1);

}  // namespace headway::jobs
