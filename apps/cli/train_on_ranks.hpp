#pragma once

#include "course.hpp"
#include "train_course.hpp"

namespace headway::cli {

/// `headway train` on one of several ranks. Where a run of the grid has micro-batches, all take the
/// steps of every run together, one run after another; else runs are dealt (run_shared()).
int train_on_ranks(const Options& options, const Course<TrainJob, studies::TrainResult>& course);

}  // namespace headway::cli
