#pragma once

#include <vector>

#include "headway/dataset.hpp"

namespace headway {

/// All splits of a data set with their names.
inline std::vector<tasks::NamedSplit> named_splits(const tasks::Dataset& dataset) {
  std::vector<tasks::NamedSplit> splits;
  if (dataset.train.size() > 0) splits.push_back({"train", dataset.train});
  if (dataset.test) splits.push_back({"test", *dataset.test});
  splits.insert(splits.end(), dataset.sets.begin(), dataset.sets.end());
  return splits;
}

}  // namespace headway
