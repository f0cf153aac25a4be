#pragma once

#include <vector>

#include "headway/core/rng.hpp"
#include "headway/types.hpp"

namespace headway {

/// Path features, P x (p N_0), with a common part, a part of each path, and labels +-1 carried by
/// the first path: the shape of one-shot image data, for the benchmarks at that scale.
inline void one_shot_like_examples(Index examples, Index n0, Index paths, RowMatrixXd& features,
                                   MatrixXd& labels) {
  Rng rng(7, StreamPurpose::kTests);
  features.resize(examples, paths * n0);
  labels.resize(examples, 1);
  std::vector<double> noise(static_cast<std::size_t>(n0 * (paths + 1)));
  for (Index i = 0; i < examples; ++i) {
    const double y = i % 2 == 0 ? 1.0 : -1.0;
    labels(i, 0) = y;
    rng.fill_normal(noise);
    for (Index a = 0; a < paths; ++a) {
      for (Index k = 0; k < n0; ++k) {
        const double common = noise[static_cast<std::size_t>(k)];
        const double own = noise[static_cast<std::size_t>((a + 1) * n0 + k)];
        const double signal = a == 0 && k < 8 ? 0.7 * y : 0.0;
        features(i, a * n0 + k) = 0.7 * common + 0.7 * own + signal;
      }
    }
  }
}

}  // namespace headway
