#pragma once

#include <string>
#include <vector>

#include "headway/jobs/request.hpp"
#include "headway/observer.hpp"

namespace headway::jobs {

/// Whether --set gives the key.
bool is_set(const Request& request, const std::string& key);

/// Warns of those keys that the request sets, although nothing here looks at them.
void warn_of_unused(const Request& request, const std::vector<std::string>& keys,
                    const std::string& why, Observer& observer);

}  // namespace headway::jobs
