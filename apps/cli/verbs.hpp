#pragma once

#include <string_view>
#include <vector>

#include "verb.hpp"

namespace headway::cli {

// The table of verbs: one source file each, and one entry in the list below.
Verb solve_verb();
Verb align_verb();
Verb prune_verb();
Verb prune_network_verb();
Verb rank_verb();
Verb sample_verb();
Verb train_verb();
Verb latents_verb();
Verb predict_verb();
Verb evaluate_verb();
Verb extract_verb();
Verb gram_verb();
Verb merge_verb();
Verb inspect_verb();
Verb validate_verb();
Verb studies_verb();
Verb help_verb();
Verb completion_verb();

/// All verbs of this build, in the order of --help.
inline const std::vector<Verb>& verbs() {
  static const std::vector<Verb> all = {
      solve_verb(),   align_verb(),   prune_verb(),     prune_network_verb(), rank_verb(),
      sample_verb(),  predict_verb(), train_verb(),     latents_verb(),       evaluate_verb(),
      extract_verb(), gram_verb(),    merge_verb(),     inspect_verb(),       validate_verb(),
      studies_verb(), help_verb(),    completion_verb()};
  return all;
}

/// The verb of that name, or null.
inline const Verb* find_verb(std::string_view name) {
  for (const Verb& verb : verbs()) {
    if (verb.name == name) return &verb;
  }
  return nullptr;
}

}  // namespace headway::cli
