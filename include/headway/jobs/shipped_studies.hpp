#pragma once

#include <string>
#include <vector>

namespace headway::jobs {

/// A study that comes with Headway, as comments in its file describe it: lines such as
/// "# About: ...", "# Verbs: solve, align" and "# Time: a second".
struct ShippedStudy {
  std::string name;  ///< "hmm-four-paths"
  std::string file;
  std::string about, verbs, time;  ///< empty where the file does not say
};

/// All of them, by name; of the first of the folders of find_input() that has any.
std::vector<ShippedStudy> shipped_studies();

/// `input`, or, where it is a bare name such as "hmm-four-paths" and no such file exists, the path
/// of the study of that name that comes with Headway: in share/headway/studies where the program or
/// package lies (own_prefix()), in the source tree that it was built in, or where it was installed.
/// Error{kMissingFile} with the nearest name for a bare name that is neither.
std::string find_input(const std::string& input);

}  // namespace headway::jobs
