#pragma once

#include <cstdint>

#include "headway/core/option_table_fwd.hpp"
#include "headway/dataset.hpp"

namespace headway::tasks {

/// Bilinear sequence regression (src/tasks/README.md, eq. 6; arXiv 2410.18858): the label is linear
/// in all L tokens of D numbers, and the L x D teacher has a low rank M,
///   y = <X, S> / sqrt(L D) + sqrt(noise) z,   S = V U / sqrt(M),   V: L x M, U: M x D.
/// X, V, U and z are standard normal.
struct BilinearSequenceOptions {
  Index train_examples = 400;
  Index dimension = 20;  ///< D, numbers of a token: N_0
  Index tokens = 20;     ///< L, one path for each token position
  Index rank = 4;        ///< M of the teacher; a network of width N_1 = M matches it
  double noise = 0.5;    ///< variance of the label noise of the training examples

  /// [task] kind = "bilinear_sequence_regression"
  static const OptionTable<BilinearSequenceOptions>& table();
  void validate() const;  ///< Error{kBadStudy} naming the field, its value and what is allowed
};

/// Draws the data set: path features, one head for each token position, and xi_l = X_l. The test
/// set has L D examples without noise. Each is sqrt(L D) at one position and number, 0 elsewhere,
/// so that its label is the entry of S there, and the mean squared error over the test set is |S -
/// <S>|^2 / (L D), the error that is published. Training examples are drawn again on every read.
/// Random streams (core/rng.hpp): (seed, kTaskParameters, 0), V then U, row by row; (seed,
/// kTrainExamples, example), X row by row, then z. Memory: the test set, (L D)^2 numbers.
Dataset make_bilinear_sequence_regression(const BilinearSequenceOptions& options,
                                          std::uint64_t seed);

}  // namespace headway::tasks
