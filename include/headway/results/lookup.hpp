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

/// What keeps the members of a solve from belonging to one another, by their names in a file: names
/// and labels of other numbers of heads and examples, more than 10^6 paths, ...; "" when they do.
std::string solve_fault(const SolveResult& result);

/// What keeps a sampled point from being usable, in words; empty when all is well: R-hat above
/// kUsableRhat or undefined, means that are not finite, no draws.
std::string sampling_fault(const SamplePoint& point);

}  // namespace headway
