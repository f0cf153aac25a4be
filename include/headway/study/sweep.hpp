#pragma once

#include <vector>

#include "headway/study/train_run.hpp"

namespace headway {

/// The runs of a training study: one for each combination of its sweep (the last axis fastest), or
/// the study alone. A swept value that is a table is merged into the section that its key names.
/// Each run is checked: Error{kBadStudy} as read_sections() and check_study(), with the place of
/// the swept value at fault. Error{kBadStudy} also for more than 1000 runs.
std::vector<TrainRun> train_runs(const Study& study);

}  // namespace headway
