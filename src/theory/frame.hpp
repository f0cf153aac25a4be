#pragma once

#include <optional>

#include "headway/types.hpp"

/// Frames of U: matrices F with F F^T = U. Kernels in feature space work with F in place of U.
namespace headway::theory {

/// (M kron I_n)^T A (M kron I_n) for A of p x p blocks of size n, M p x p. Cost 4 p^3 n^2 flops.
MatrixXd block_congruence(const MatrixXd& a, const MatrixXd& m);

/// A frame of U, C p x rank.
struct Frame {
  MatrixXd matrix;
  /// It is lower triangular, and can be divided by. False if U is singular or nearly so, at any
  /// rank.
  bool invertible = false;
};

/// Nothing if U is not positive semidefinite.
std::optional<Frame> frame_of(const MatrixXd& u);

}  // namespace headway::theory
