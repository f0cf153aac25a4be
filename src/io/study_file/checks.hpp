#pragma once

#include "headway/studies/study.hpp"
#include "io/study_file/value.hpp"

namespace headway::io::detail {

/// The checks that involve more than one key of a study, after each key has been read: what a task
/// kind must have, list lengths against the number of layers, the size of the examples.
/// Error{kBadStudy} at the place of the key at fault.
void check_consistency(const Value& root, const studies::Study& study);

}  // namespace headway::io::detail
