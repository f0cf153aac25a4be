#pragma once

#include <string>
#include <vector>

#include "headway/studies/results.hpp"

namespace headway::studies {

/// The solved point with these widths and this temperature; null when an interrupted solve has
/// none.
const SolvePoint* theory_at(const SolveResult& result, const std::vector<Index>& widths,
                            double temperature);

/// Test accuracy of the Gaussian process at this temperature; kUndefined when there is none.
double gaussian_process_accuracy(const SolveResult& result, double temperature);

/// ESS of the slowest entry of all U a second of sampling, warm-up included; kUndefined when either
/// is.
double effective_draws_per_second(const SamplePoint& point);

/// What keeps a sampled point from being usable, in words; empty when all is well: R-hat above
/// kUsableRhat or undefined, means that are not finite, no draws.
std::string sampling_fault(const SamplePoint& point);

}  // namespace headway::studies
