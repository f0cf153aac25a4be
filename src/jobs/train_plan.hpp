#pragma once

#include <string>
#include <vector>

#include "headway/train.hpp"

namespace headway::jobs {

/// One run of a plan, for --dry-run.
struct PlannedRun {
  std::size_t number = 1;  ///< of the grid, from 1
  std::string label, variant;
  std::uint64_t seed = 0;
  TrainCost cost;
  training::TaskFormat format;
  Study study;
};

struct TrainPlan {
  std::vector<PlannedRun> runs;        ///< of the part that is trained
  std::size_t in_all = 0;              ///< of the grid
  std::vector<SplitCeiling> ceilings;  ///< of the first run
};

std::string train_plan_text(const Study& study, const TrainPlan& plan, const std::string& output);

/// One object on one line, like every line of `train --json`: the fields of the first run, and
/// those of every run under "runs".
std::string train_plan_json(const Study& study, const TrainPlan& plan);

}  // namespace headway::jobs
