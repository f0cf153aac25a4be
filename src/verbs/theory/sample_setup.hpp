#pragma once

#include <cstddef>
#include <memory>

#include "headway/sampling/options.hpp"
#include "headway/study.hpp"
#include "verbs/theory/problem.hpp"

/// Private to verbs: what `sample` runs at a sweep point.
namespace headway {

/// Some N_l < C p_l.
bool has_singular_matrix(const model::Architecture& architecture);

/// Error{kBadStudy} for settings of [model] and [sample] that do not fit each other.
void check_sampling(const Study& study);
/// Error where calibration or the collapsed sampler would need features that `problem` lacks: of
/// Gram matrices, and of kernels that lie on several ranks.
void check_features(const Study& study, const tasks::Dataset& dataset,
                    const TheoryProblem& problem);

/// What runs at a point of these widths: the study's sampler, and for "auto" the exact chain or the
/// collapsed one, whichever takes fewer operations for an effective draw, about. Learned attention,
/// value networks and data without examples have one chain alone. `kernels`: null where attention
/// is learned or values are not linear.
Sampler sampler_of(const Study& study, const model::Architecture& architecture, double temperature,
                   const theory::PathKernels* kernels);

/// Kernels for the exact chain: those of the theory, or the same in half the memory and time where
/// that changes the log density by less than a draw could tell.
std::shared_ptr<const theory::PathKernels> sampling_kernels(const Study& study,
                                                            const TheoryProblem& problem);

/// How these kernels are made for labels of other networks, by one thread.
theory::PathKernelOptions same_kernels(const theory::PathKernels& kernels);

/// How many networks are calibrated at the same time: as many as there are threads, or fewer where
/// their kernels of so many bytes each would not fit into solve.memory_limit_gib.
int calibration_threads(const Study& study, double kernel_bytes);

/// What is sampled at a point.
struct SampledPoint {
  const model::Architecture& architecture;
  Sampler sampler;  ///< that of sampler_of()
  Index dimension;  ///< unknowns
  Index labels;     ///< P C
  std::size_t index = 0;
};
/// [sample] for a point. `kernels`: null where attention is learned or values are not linear.
sampling::SamplerOptions sampler_options(const Study& study, const SampledPoint& point,
                                         const theory::PathKernels* kernels);

}  // namespace headway
