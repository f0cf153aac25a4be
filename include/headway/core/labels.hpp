#pragma once

#include "headway/core/types.hpp"

namespace headway {

/// Whether labels (P x C) are classes: +-1 for one output, one-hot rows for several.
bool labels_are_classes(const MatrixXd& labels);

/// Whether outputs (P x C) say anything of classes: those of no path are exactly 0 everywhere.
bool names_classes(const MatrixXd& outputs);

/// 1 for each example that the outputs (P x C) get right, else 0. One output: its sign (exactly 0
/// is wrong); several: the largest one (ties: the first). `labels` are classes.
VectorXd right_answers(const MatrixXd& outputs, const MatrixXd& labels);

}  // namespace headway
