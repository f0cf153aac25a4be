#pragma once

#include <string>

namespace headway::cli {

/// `input`, or, where it is a bare name such as "hmm-four-paths" and no such file exists, the path
/// of the study of that name that comes with Headway: in share/headway/studies where the program or
/// package lies (own_prefix()), in the source tree that it was built in, or where it was installed.
/// Error{kMissingFile} with the nearest name for a bare name that is neither.
std::string find_input(const std::string& input);

}  // namespace headway::cli
