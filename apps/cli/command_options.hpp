#pragma once

#include <string>
#include <vector>

#include "verb.hpp"

namespace headway::cli {

/// The options and arguments of a verb in the order of --help: arguments first, then what all verbs
/// of its kind take, then its own.
std::vector<CommandOption> options_of(const Verb& verb);

/// The one with that spelling ("-o", "--output"), or null.
const CommandOption* option_named(const std::vector<CommandOption>& options,
                                  const std::string& spelling);

/// "headway solve [OPTION]... FILE"
std::string usage_line(const Verb& verb);

/// The keys of a study file that `--set` takes, "model.widths", each once; of the sections named,
/// or of all.
std::vector<std::string> study_keys(const std::vector<std::string>& sections = {});

/// The words that a key may have as its value, where there is such a list; else nothing.
std::vector<std::string> words_of_key(const std::string& key);

}  // namespace headway::cli
