#pragma once

#include <string>
#include <vector>

namespace headway::cli {

// What a shell reads to complete verbs, options, keys of --set, studies and file names: scripts
// made from the tables that make --help.

/// What is offered for the topic of help beside the verbs: tables and keys of a study file, whose
/// whole names have a dot in them, or have none.
std::vector<std::string> help_topics(bool dotted);

std::string bash_completion();
std::string zsh_completion();

}  // namespace headway::cli
