// Slopes of the loss for masks on heads, example by example, against what a verb reports of them.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "catch.hpp"
#include "headway/training/head_removal.hpp"
#include "headway/verbs/networks/trained.hpp"

namespace headway::testing {

/// Checks that each value is mean |dL/dm| of its head over the first examples of the split. The
/// slopes of some head must have both signs, so that a mean without | | is another number.
inline void check_mean_slopes(const std::vector<double>& values, const TrainedNetwork& network,
                              const TaskMaker& make_task, std::string_view split, Index examples) {
  auto ready = ready_for_gradients(network, 1, make_task);
  std::vector<double> size(values.size(), 0.0), sum(values.size(), 0.0);
  for (Index i = 0; i < examples; ++i) {
    const std::vector<double> slopes =
        training::mask_derivatives(network.study.train.model, network.parameters,
                                   ready.trainer->gradients(std::string(split), i, 1));
    REQUIRE(slopes.size() == values.size());
    for (std::size_t h = 0; h < slopes.size(); ++h) {
      size[h] += std::abs(slopes[h]) / static_cast<double>(examples);
      sum[h] += slopes[h] / static_cast<double>(examples);
    }
  }
  double cancelled = 0.0;
  for (std::size_t h = 0; h < values.size(); ++h) {
    CHECK_THAT(values[h], Catch::Matchers::WithinAbs(size[h], 1e-6 * size[h]));
    cancelled = std::max(cancelled, 1.0 - std::abs(sum[h]) / size[h]);
  }
  CHECK(cancelled > 0.1);
}

}  // namespace headway::testing
