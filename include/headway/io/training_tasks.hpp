#pragma once

#include "headway/studies/training.hpp"

namespace headway::io {

/// Makes the tasks of training studies: those that are generated, and texts, which are read from
/// their files (the last one is kept for the next run of a grid). Errors: kMissingFile, kBadData
/// for a text that is not UTF-8, kBadStudy for a text that is too short, or another kind of task.
studies::TaskMaker training_task_maker();

}  // namespace headway::io
