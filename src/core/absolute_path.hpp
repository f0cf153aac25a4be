#pragma once

#include <string>

namespace headway {

/// The path from the root on. A relative one stays as it is where the working directory is gone:
/// what it names is then missing, as the attempt to read it says.
std::string absolute_path(const std::string& path);

}  // namespace headway
