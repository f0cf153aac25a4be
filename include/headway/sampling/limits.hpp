#pragma once

namespace headway::sampling {

/// The largest values of options, in SamplerOptions and in a study.
inline constexpr int kMostChains = 1'000;
inline constexpr int kMostDraws = 1'000'000;  ///< of a chain; also transitions of its warm-up
inline constexpr int kMostThinning = 10'000;
inline constexpr int kDeepestTree = 20;
inline constexpr int kMostReplicas = 64;  ///< of a chain

}  // namespace headway::sampling
