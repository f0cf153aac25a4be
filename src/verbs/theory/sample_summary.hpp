#pragma once

#include <vector>

#include "headway/results/sample_state.hpp"
#include "headway/sample_results.hpp"
#include "headway/sampling/sample.hpp"
#include "verbs/theory/problem.hpp"

/// Private to verbs: what a sampled point says of its chains.
namespace headway {

/// How the chains went whose draws are kept: acceptance, divergences, energies; all warnings.
void describe_run(const sampling::SamplingResult& result, SamplePoint& point);

/// Fills order parameters, predictor and extremes of diagnostics from the record. `sizes`: rows of
/// U_1, ..., U_L, U_a.
void summarize_record(const std::vector<ChainRecord>& chains, const std::vector<Index>& sizes,
                      const Evaluation& evaluation, SamplePoint& point);

/// Keeps the worst diagnostics of one quantity. NaN says nothing.
void note_extremes(double rhat, double ess_bulk, double ess_tail, SamplePoint& point);

/// The kept positions, dimension x (draws of all chains), every chain cut to `draws`.
MatrixXd recorded_positions(const std::vector<ChainRecord>& chains, Index dimension, Index draws);

/// Adds what the diagnostics of the order parameters mean, in words, to the warnings.
void judge_diagnostics(SamplePoint& point);

}  // namespace headway
