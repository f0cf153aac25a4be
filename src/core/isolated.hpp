#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "headway/error.hpp"

namespace headway {

/// What became of work in a forked copy of this process.
struct IsolatedOutcome {
  std::vector<std::string> lines;  ///< that it returned
  std::optional<Error> error;      ///< that it threw; kInternal for another exception
  int signal = 0;                  ///< that ended it; SIGXCPU: it took too long
  bool answered = false;           ///< it returned or threw
};

/// Runs `work` in a forked copy of this process. A crash ends the copy alone, and so does using
/// more than `seconds` of processor time, or 16 GiB of memory beyond what this process has. The
/// copy has only this thread. Signals of crashes and requests to end have their default action in
/// it. `work` must not start threads. Where no process can be forked, `work` runs here, and its
/// exceptions are thrown.
IsolatedOutcome run_in_copy(const std::function<std::vector<std::string>()>& work, int seconds);

}  // namespace headway
