#include "core/absolute_path.hpp"

#include <filesystem>

namespace headway {

std::string absolute_path(const std::string& path) {
  std::error_code gone;
  const std::filesystem::path absolute = std::filesystem::absolute(path, gone);
  return gone ? path : absolute.string();
}

}  // namespace headway
