#pragma once

#include <string>

#include "headway/core/rng.hpp"
#include "headway/posterior/exact_chain.hpp"

namespace headway::posterior {

/// log p(y), the evidence of the data at one architecture and temperature, in nats.
struct Evidence {
  double log_evidence = 0.0;
  double error = 0.0;  ///< Monte Carlo standard error
  bool reliable = false;
  std::string reason;  ///< why not
};

/// Bridge sampling (eq. 47; Meng and Wong 1996; error as in Fruehwirth-Schnatter 2004): the exact
/// chain's posterior draws against a Gaussian fitted to their first half in trapezoidal
/// coordinates,
///   p(y) = int prior(x) exp(-E(x)/2) (2 pi)^{-P C / 2} dx.
/// `sampled_draws`: dimension x draws of one posterior sample, chains one after another, `chains`
/// of equal length. `rng` draws from the proposal. Unreliable when the draws are too few for the
/// dimension, or when the two densities hardly overlap. Cost: as many evaluations of the energy as
/// there are draws.
Evidence bridge_evidence(const ExactChain& sampled, const MatrixXd& sampled_draws, int chains,
                         double data_count, Rng& rng);

}  // namespace headway::posterior
