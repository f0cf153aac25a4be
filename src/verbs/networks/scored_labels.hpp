#pragma once

#include <fmt/format.h>

#include "headway/error.hpp"
#include "headway/training/training_task.hpp"
#include "headway/types.hpp"

/// Private to verbs.
namespace headway {

/// The targets of one scored token (from 0) of example i of a batch, one-hot for classes; `row` is
/// 0 before.
inline void add_label(const training::TaskFormat& format, const training::TaskBatch& batch, Index i,
                      Index place, Eigen::Ref<Eigen::RowVectorXd> row) {
  const Index at = i * format.scored + place;
  if (!batch.weights.empty() && batch.weights[static_cast<std::size_t>(at)] == 0.0F) {
    throw Error(ErrorKind::kBadData,
                fmt::format("scored token {} of {}: its target does not count in some example "
                            "(loss_mask); must be one that counts in all of them",
                            place + 1, format.scored));
  }
  if (format.loss == training::LossKind::kCrossEntropy) {
    row[batch.classes[static_cast<std::size_t>(at)]] = 1.0;
    return;
  }
  for (Index o = 0; o < format.outputs; ++o) {
    row[o] = batch.targets[static_cast<std::size_t>(at * format.outputs + o)];
  }
}

}  // namespace headway
