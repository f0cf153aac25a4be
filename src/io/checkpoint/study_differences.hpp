#pragma once

#include <string>
#include <vector>

namespace headway::io {

/// "train.layers = 2, here 4" for every key that two written studies (io::write_study) differ in
/// and that can change a number.
std::vector<std::string> study_differences(const std::string& theirs, const std::string& ours);

}  // namespace headway::io
