#pragma once

#include <string>

#include "headway/path_kernels.hpp"

namespace headway {

/// What a point says if rounding has taken digits of its predictor's variances; else "". Kernels
/// over examples make a variance as the difference of two numbers of the size of K. Its rounding
/// is about eps tr(K + T). Where T is tiny beside K the variance can be as small.
std::string lost_digits(const theory::EnergyState& state, const MatrixXd& variance);

}  // namespace headway
