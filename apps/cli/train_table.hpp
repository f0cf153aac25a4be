#pragma once

#include <string>
#include <vector>

#include "headway/studies/training.hpp"

namespace headway::cli {

/// One run of a plan, for --dry-run.
struct PlannedRun {
  std::string label, variant;
  std::uint64_t seed = 0;
  studies::TrainCost cost;
  training::TaskFormat format;
  studies::Study study;
  std::vector<studies::SplitCeiling> ceilings;  ///< of the first run
};

std::string train_plan_text(const studies::Study& study, const std::vector<PlannedRun>& runs,
                            const std::string& output);
std::string train_plan_json(const studies::Study& study, const std::vector<PlannedRun>& runs);

/// The final table: variant, seeds, parameters, flops, train loss, the metric of each split as mean
/// +- standard error over seeds; and what trained models of text write.
std::string train_table(const studies::Study& study, const studies::TrainResult& result);

}  // namespace headway::cli
