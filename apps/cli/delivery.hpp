#pragma once

#include <string>

#include "options.hpp"
#include "verb.hpp"

namespace headway::cli {

/// Carries out the job of a verb with progress on standard error. Prints the plan of a dry run;
/// else writes files, prints the result and says how it went, and removes the checkpoints. Of
/// several ranks the first alone prints and writes. Returns the exit code; throws headway::Error.
int run_job(const Verb& verb, Options options);

/// "7 points, 1.2 s, result in four.h5"
std::string closing_line(const Options& options, const jobs::Outcome& outcome);

}  // namespace headway::cli
