#pragma once

#include <string>

namespace headway::cli {

/// `input`, or, where it is a bare name such as "hmm-four-paths" and no such file exists, the path
/// of the study of that name that comes with Headway: in the source tree that the program was built
/// in, where it was installed, or in share/headway/studies beside the program's folder.
/// Error{kMissingFile} with the nearest name for a bare name that is neither.
std::string find_input(const std::string& input);

/// Studies that come with Headway are looked for there first: where a Python package has them.
void add_studies_folder(const std::string& folder);

}  // namespace headway::cli
