#pragma once

#include <algorithm>
#include <vector>

namespace headway {

/// The runs that differ in their seeds alone, which have one label: a group for each label, in the
/// order of their first runs.
template <class Run>
std::vector<std::vector<const Run*>> by_label(const std::vector<Run>& runs) {
  std::vector<std::vector<const Run*>> groups;
  for (const Run& run : runs) {
    auto group = std::find_if(groups.begin(), groups.end(), [&](const auto& members) {
      return members.front()->label == run.label;
    });
    if (group == groups.end()) group = groups.emplace(groups.end());
    group->push_back(&run);
  }
  return groups;
}

}  // namespace headway
