#include "jobs/json_text.hpp"

namespace headway::jobs {

std::string json_text(const nlohmann::ordered_json& object, int indent) {
  return object.dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace headway::jobs
