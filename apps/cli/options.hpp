#pragma once

#include <string>

#include "headway/jobs/request.hpp"

namespace headway::cli {

/// The command line, parsed: what a job is asked to do, and how the program tells of it.
/// options_of() says which of them a verb takes.
struct Options : jobs::Request {
  std::string topic;   ///< of help: a verb, or a key of study files; of completion: a shell; empty:
                       ///< not given
  std::string folder;  ///< help --write; empty: not given
  bool manual = false;      ///< help --man
  bool names_only = false;  ///< studies --names
  bool quiet = false;
};

}  // namespace headway::cli
