#include <fmt/format.h>

#include <utility>

#include "headway/core/text.hpp"
#include "headway/study/study_hash.hpp"

namespace headway {
namespace {

using Keys = std::vector<std::pair<std::string, std::string>>;

/// "section.key" and value of every line of a written study that can change a number.
Keys keys_of(const std::string& study_toml) {
  Keys out;
  std::string section;
  for (const std::string& line : split(study_toml, '\n')) {
    if (line.starts_with('[')) section = line.substr(1, line.size() - 2) + ".";
    const std::size_t equals = line.find(" = ");
    if (equals == std::string::npos) continue;
    const std::string key = section + line.substr(0, equals);
    if (key == "name" || key == "threads" || key == "task.file" || key == "task.files") continue;
    out.emplace_back(key, line.substr(equals + 3));
  }
  return out;
}

std::string value_in(const Keys& keys, const std::string& key) {
  for (const auto& [name, value] : keys) {
    if (name == key) return value;
  }
  return "";
}

}  // namespace

std::vector<std::string> study_differences(const std::string& theirs, const std::string& ours) {
  const Keys a = keys_of(theirs), b = keys_of(ours);
  std::vector<std::string> out;
  for (const auto& [key, value] : a) {
    const std::string mine = value_in(b, key);
    if (mine != value) {
      out.push_back(fmt::format("{} = {}, here {}", key, value, mine.empty() ? "absent" : mine));
    }
  }
  for (const auto& [key, value] : b) {
    if (value_in(a, key).empty()) out.push_back(fmt::format("{} absent, here {}", key, value));
  }
  return out;
}

}  // namespace headway
