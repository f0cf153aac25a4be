#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "headway/types.hpp"

namespace headway {

/// Whether labels (P x C) are classes: +-1 for one output, one-hot rows for several.
bool labels_are_classes(const MatrixXd& labels);

/// The distinct labels in rising order, if those of one output look like numbers of classes: whole
/// numbers, at most 20 of them, not all +-1. Else empty. For a warning: they are used as real
/// targets.
std::vector<double> class_numbers(const MatrixXd& labels);

/// That warning, for the labels of a file. "" where class_numbers() is empty.
std::string class_numbers_warning(std::string_view file, const MatrixXd& labels);

/// How labels of one output name two classes: "0 and 1" or "-1 and +1". "" where they do not, or
/// where all are equal: either may be meant. Sets that name them differently do not go together.
std::string_view names_of_two_classes(const MatrixXd& labels);

/// Whether outputs (P x C) name classes at all. Those of a network without paths do not: they are
/// exactly 0 everywhere.
bool names_classes(const MatrixXd& outputs);

/// 1 for each example that the outputs (P x C) get right, else 0. One output: its sign (exactly 0
/// is wrong); several: the largest one (ties: the first). `labels` are classes.
VectorXd right_answers(const MatrixXd& outputs, const MatrixXd& labels);

}  // namespace headway
