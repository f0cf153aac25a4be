#pragma once

#include <memory>

#include "headway/extract_results.hpp"
#include "headway/results/trained_network.hpp"

namespace headway::jobs {

/// The result of the job of `extract`: the data set, and the network that it was made from.
struct Extraction : ExtractResult {
  std::shared_ptr<const TrainedNetwork> network;
};

}  // namespace headway::jobs
