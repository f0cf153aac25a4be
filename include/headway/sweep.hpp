#pragma once

#include <vector>

#include "headway/train_run.hpp"

namespace headway {

/// The runs that a training study asks for: one for each combination of its sweep (the last axis
/// fastest), or the study alone; a value that is a table is merged into the section that its key
/// names. Each is checked: Error{kBadStudy} as read_sections() and check_study(), with the place of
/// the swept value at fault; also for more than 1000 runs.
std::vector<TrainRun> train_runs(const Study& study);

}  // namespace headway
