#pragma once

#include <string>
#include <vector>

#include "headway/sample_results.hpp"

namespace headway {

/// The solved point with these widths and this temperature; null when an interrupted solve has
/// none.
const SolvePoint* theory_at(const SolveResult& result, const std::vector<Index>& widths,
                            double temperature);

/// The Gaussian process at this temperature; null when there is none.
const GaussianProcessPoint* gaussian_process_at(const SolveResult& result, double temperature);

/// Test accuracy of the Gaussian process at this temperature; kUndefined when there is none.
double gaussian_process_accuracy(const SolveResult& result, double temperature);

/// Why the members of a solve do not fit each other, with their names in a file; "" if they do.
/// Faults are numbers of names or labels that differ from those of heads or examples, more than
/// 10^6 paths, and so on.
std::string solve_fault(const SolveResult& result);

/// Why a sampled point is not usable, in words: R-hat above kUsableRhat or undefined, means that
/// are not finite, no draws. Empty if it is usable.
std::string sampling_fault(const SamplePoint& point);

/// The theory of a result of sample, with the draws of U_1 that other verbs use; without those of
/// points that are not usable.
SolveResult theory_with_draws(const SampleResult& sampled);

}  // namespace headway
