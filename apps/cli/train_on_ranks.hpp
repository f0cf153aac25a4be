#pragma once

#include <optional>

#include "course.hpp"
#include "train_course.hpp"

namespace headway::cli {

/// `headway train` on one of several ranks. Where a run of the grid has micro-batches, all take the
/// steps of every run together, one run after another (run_together()); else runs are dealt
/// (run_shared()).
int train_on_ranks(const Options& options, const Course<TrainJob, headway::TrainResult>& course);

/// train_grid() by all ranks together. Returns the result on the first rank, nothing on the others;
/// what fails on any rank is thrown on the first.
std::optional<headway::TrainResult> train_together(const Options& options, TrainJob& job,
                                                   Observer& observer,
                                                   const TrainRecordHook& record);

}  // namespace headway::cli
