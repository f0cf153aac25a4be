#pragma once

#include <string>
#include <vector>

#include "headway/train.hpp"

namespace headway::cli {

/// The final table: variant, seeds, parameters, flops, train loss, the metric of each split as mean
/// +- standard error over seeds; and what trained models of text write.
std::string train_table(const Study& study, const TrainResult& result);

}  // namespace headway::cli
