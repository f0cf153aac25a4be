#pragma once

#include <string>
#include <vector>

#include "headway/studies/training.hpp"

namespace headway::cli {

/// The final table: variant, seeds, parameters, flops, train loss, the metric of each split as mean
/// +- standard error over seeds; and what trained models of text write.
std::string train_table(const studies::Study& study, const studies::TrainResult& result);

}  // namespace headway::cli
