#pragma once

#include <string>

#include "options.hpp"
#include "verb.hpp"

namespace headway::cli {

/// What the arguments ask for: a verb with its options, or only a text (--help, --version).
struct CommandLine {
  Options options;
  const Verb* verb = nullptr;  ///< null: print `text`
  std::string text;
};

/// Error{kUsage} for arguments that cannot be understood.
CommandLine parse_command_line(int argc, char** argv);

}  // namespace headway::cli
