#include "io/dataset_file/names.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <cstdint>

#include "headway/core/nearest_word.hpp"
#include "headway/core/utf8.hpp"
#include "io/dataset_file/rules.hpp"

namespace headway::io {
namespace {

std::string lower_case(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

bool nearly(const std::string& name, const std::string& known) {
  if (name.size() > known.size() + 2) return false;
  const int allowed = known.size() > 5 ? 2 : 1;
  return edit_distance(lower_case(name), known) <= allowed;
}

void check_group(const Hdf5InputFile& file, const std::string& group,
                 const std::vector<std::string>& known, FaultList& faults) {
  for (const std::string& name : file.members(group)) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    for (const std::string& k : known) {
      if (!nearly(name, k)) continue;
      const std::string prefix = group == "/" ? "" : group + "/";
      faults.add(prefix + printable(name),
                 fmt::format(": unknown name; did you mean {}{}?", prefix, k));
      break;
    }
  }
}

}  // namespace

void check_member_names(const Hdf5InputFile& file, const std::vector<std::string>& splits,
                        FaultList& faults) {
  const DatasetRules& rules = dataset_rules();
  std::vector<std::string> root = {"train", "test", "sets"};
  for (const std::string& name : rules.children("")) root.push_back(name);
  check_group(file, "/", root, faults);
  for (const std::string& split : splits) {
    check_group(file, split, rules.children("<split>"), faults);
  }
  for (const char* group : {"attention", "network"}) {
    check_group(file, group, rules.children(group), faults);
  }
}

std::string text_fault(const std::string& text, bool lines) {
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t size = utf8_sequence(text, i);
    if (size == 0) return fmt::format("is not UTF-8 text (byte {})", i);
    const auto c = static_cast<std::uint8_t>(text[i]);
    const bool line = c == '\n' || c == '\t' || c == '\r';
    if ((c < 0x20 || c == 0x7F) && !(lines && line)) {
      return fmt::format("contains the control character {} (byte {}); allowed: printable text", c,
                         i);
    }
    i += size;
  }
  return {};
}

std::string printable(const std::string& text) {
  std::string shown = text.substr(0, 64);
  for (char& c : shown) {
    if (static_cast<std::uint8_t>(c) < 0x20 || static_cast<std::uint8_t>(c) > 0x7E) c = '?';
  }
  return text.size() > 64 ? shown + "..." : shown;
}

}  // namespace headway::io
