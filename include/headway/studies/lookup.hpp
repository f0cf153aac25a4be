#pragma once

#include <string>
#include <vector>

#include "headway/studies/sample_results.hpp"

namespace headway::studies {

/// The solved point with these widths and this temperature; null when an interrupted solve has
/// none.
const SolvePoint* theory_at(const SolveResult& result, const std::vector<Index>& widths,
                            double temperature);

/// Test accuracy of the Gaussian process at this temperature; kUndefined when there is none.
double gaussian_process_accuracy(const SolveResult& result, double temperature);

/// What keeps a sampled point from being usable, in words; empty when all is well: R-hat above
/// kUsableRhat or undefined, means that are not finite, no draws.
std::string sampling_fault(const SamplePoint& point);

}  // namespace headway::studies
