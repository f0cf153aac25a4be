#pragma once

#include <string>

#include "headway/observer.hpp"
#include "headway/path_kernels.hpp"
#include "headway/theory_results.hpp"

namespace headway {

/// What a point says if rounding has taken digits of its predictor's variances; else "". Kernels
/// over examples make a variance as the difference of two numbers of the size of K. Its rounding
/// is about eps tr(K + T). Where T is tiny beside K the variance can be as small.
std::string lost_digits(const theory::EnergyState& state, const MatrixXd& variance);

/// Warns of every point that says so.
void warn_of_lost_digits(const SolveResult& result, Observer& observer);

}  // namespace headway
