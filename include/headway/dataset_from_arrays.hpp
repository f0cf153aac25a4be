#pragma once

#include <vector>

#include "headway/dataset.hpp"
#include "headway/types.hpp"

namespace headway {

/// A data set of arrays in memory, for solve() and the other verbs of the theory.
///
/// `path_features`: unscaled xi_pi (eq. 7), [P, p, N_0] for P examples, p = H_1 ... H_L paths with
/// h_L fastest, and N_0 features. `labels`: P x C, +-1 or one-hot for classes, else real. `heads`:
/// H_1, ..., H_L. A test set may be added: `data.test = split_of_path_features(...)`.
/// Error{kBadData}, naming the member and what is allowed, unless shapes and labels fit each other.
/// Cost: a copy of the features.
tasks::Dataset dataset_from_path_features(const Tensor& path_features, const MatrixXd& labels,
                                          const std::vector<int>& heads);

/// The same arrays as one split, for a test or a further set. Error{kBadData} unless the features
/// have three axes.
tasks::Split split_of_path_features(const Tensor& path_features, const MatrixXd& labels);

}  // namespace headway
