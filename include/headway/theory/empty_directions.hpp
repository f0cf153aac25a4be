#pragma once

#include "headway/types.hpp"

namespace headway::theory {

/// Expresses scaled features in an orthonormal basis of the directions of R^{N_0} that they span,
/// over all paths and examples of both matrices: X_pi -> X_pi V, V of N_0 x r. Kernels depend on
/// inner products of features alone, so that nothing changes but the cost, which falls with N_0.
/// Images, for example, have blank borders and mirrored halves: many directions are empty. A
/// direction is a candidate if its eigenvalue in sum_pi X_pi^T X_pi / |X_pi|^2, over both matrices,
/// is below N_0 eps times the largest. Every path of either matrix has the same weight there, so
/// that a large one hides none. A large feature could hide small ones: candidates are dropped only
/// if all of them together add less than 1e-10 `temperature` to any path's kernel of any example,
/// or less than 1e-18 of that kernel at T = 0. Leaves both as they are otherwise, where less than a
/// tenth would be saved, or where N_0 > 1024. Returns r. Cost: p N_0^2 flops an example and
/// N_0^3 / 3; 9 N_0^3 and 2 p N_0^2 an example more if a direction is near empty.
Index drop_empty_directions(MatrixXd& train_features, MatrixXd& other_features, Index paths,
                            double temperature);

}  // namespace headway::theory
