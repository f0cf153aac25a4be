#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "headway/architecture.hpp"
#include "headway/core/rng.hpp"
#include "headway/posterior/posterior_target.hpp"
#include "headway/sampling/target.hpp"
#include "headway/types.hpp"

/// Private to verbs: networks from the prior, whose labels calibration samples.
namespace headway {

/// A network from the prior.
struct PriorNetwork {
  /// Its position in a target, which observes it once it has labels; or what there is to observe.
  std::optional<VectorXd> position;
  posterior::PosteriorDraw seen;
  MatrixXd train, test;  ///< f on the training examples, P x C, and on those that are predicted
};
using DrawNetwork = std::function<PriorNetwork(Rng&)>;

/// Networks of linear values whose attention is given: order parameters, then weights of the mixed
/// features. Knows no target. `features` must outlive it.
DrawNetwork linear_networks(const model::Architecture& architecture, const MatrixXd& features,
                            const MatrixXd& test_features);

/// Networks from the prior of a target whose features are not given: its starts.
DrawNetwork networks_of(std::shared_ptr<const sampling::Target> target);

}  // namespace headway
