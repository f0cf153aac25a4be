#include "io/dataset_file/names.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <numeric>

#include "headway/core/error.hpp"
#include "headway/core/utf8.hpp"
#include "headway/io/dataset_file.hpp"

namespace headway::io {
namespace {

std::string lower_case(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

/// Levenshtein distance.
std::size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

bool nearly(const std::string& name, const std::string& known) {
  if (name.size() > known.size() + 2) return false;
  const std::size_t allowed = known.size() > 5 ? 2 : 1;
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

void check_member_names(const Hdf5InputFile& file, FaultList& faults) {
  const std::vector<std::string> split = {"inputs",        "labels", "attention",
                                          "path_features", "mask",   "ids"};
  check_group(file, "/", {"train", "test", "sets", "attention", "names", "network"}, faults);
  for (const std::string& group : split_groups(file)) check_group(file, group, split, faults);
  check_group(file, "attention", {"weights", "query", "key"}, faults);
  check_group(file, "network", {"input", "values", "readout"}, faults);
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

void FaultList::add(const std::string& dataset, const std::string& message) {
  const bool root = dataset == "/" && message.rfind(": ", 0) == 0;
  add_error(dataset, root ? message.substr(2) : dataset + message);
}

void FaultList::add_error(const std::string& dataset, const std::string& text) {
  if (++counts_[dataset] <= kMaxFaultsPerDataset) messages_.push_back(text);
}

int FaultList::count(const std::string& dataset) const {
  const auto found = counts_.find(dataset);
  return found == counts_.end() ? 0 : found->second;
}

std::vector<std::string> FaultList::messages() const {
  std::vector<std::string> all = messages_;
  for (const auto& [dataset, count] : counts_) {
    if (count <= kMaxFaultsPerDataset) continue;
    all.push_back(fmt::format("{}: {} more faults", dataset, count - kMaxFaultsPerDataset));
  }
  return all;
}

}  // namespace headway::io
