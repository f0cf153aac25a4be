#pragma once

#include "headway/types.hpp"

namespace headway {

/// All that the theory and the exact chain need of training data, whatever their number (eq. 64):
/// with Phi = [X_1 ... X_p], P x D, D = p N_0,
///   gram = Phi^T Phi,   projection = Phi^T Y,   label_square = Y^T Y.
/// Sums over examples: they can be made in parts and added.
struct GramMatrices {
  Index examples = 0;     ///< P
  MatrixXd gram;          ///< D x D
  MatrixXd projection;    ///< D x C
  MatrixXd label_square;  ///< C x C

  [[nodiscard]] Index outputs() const { return projection.cols(); }
  /// Adds the sums over other examples, of the same shapes.
  void add(const GramMatrices& other) {
    examples += other.examples;
    gram += other.gram;
    projection += other.projection;
    label_square += other.label_square;
  }
};

}  // namespace headway
