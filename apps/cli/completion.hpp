#pragma once

#include <string>

namespace headway::cli {

// What a shell reads to complete verbs, options, keys of --set, studies and file names: scripts
// made from the tables that make --help.

std::string bash_completion();
std::string zsh_completion();

}  // namespace headway::cli
