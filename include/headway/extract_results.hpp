#pragma once

#include <string>
#include <vector>

#include "headway/dataset.hpp"
#include "headway/theory_results.hpp"
#include "headway/types.hpp"

namespace headway {

/// What the trained network itself does on one split of the extracted data.
struct ExtractedSplit {
  std::string name;  ///< "train", "test", "validation", or that of another set
  Index examples = 0;
  double accuracy = kUndefined;            ///< share of right signs or classes; NaN for real labels
  double mean_squared_error = kUndefined;  ///< NaN where the loss is a cross-entropy
};

/// What `extract` returns: a data set for the theory, made from a trained network.
struct ExtractResult {
  /// Train, test and further examples ("validation", and those out of distribution) with learned
  /// queries and keys, attention matrices, or contributions, for the theory.
  tasks::Dataset dataset;
  std::vector<ExtractedSplit> splits;
  MatrixXd order_parameter;  ///< linear-value: U_1 of the trained weights, p x p; else empty
  /// Contributions: the largest |sum of the parts - embedding| / |embedding| of all examples.
  double largest_gap = 0.0;
};

}  // namespace headway
