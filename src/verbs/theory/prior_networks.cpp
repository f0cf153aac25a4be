#include "verbs/theory/prior_networks.hpp"

#include <utility>

#include "headway/posterior/bartlett_chain.hpp"
#include "headway/theory/orthogonal_ridge.hpp"

namespace headway {

DrawNetwork linear_networks(const model::Architecture& architecture, const MatrixXd& features,
                            const MatrixXd& test_features) {
  return [chain = posterior::BartlettChain(architecture), &features, &test_features](Rng& rng) {
    VectorXd x(chain.dimension());
    chain.draw_prior(rng, x);
    const posterior::BartlettChain::Factors factors = chain.factors(x);
    const MatrixXd& factor = factors.factor.front();
    const model::Architecture& a = chain.architecture();
    VectorXd weights(factor.cols() * (features.cols() / a.paths()));
    rng.fill_normal({weights.data(), static_cast<std::size_t>(weights.size())});
    const auto output = [&](const MatrixXd& of) {
      const VectorXd f = theory::mix_outputs(of, factor, a.outputs) * weights;
      return MatrixXd(f.reshaped(of.rows(), a.outputs));
    };
    PriorNetwork network;
    network.seen.order_parameters = posterior::BartlettChain::order_parameters(factors);
    network.train = output(features);
    network.test = output(test_features);
    return network;
  };
}

DrawNetwork networks_of(std::shared_ptr<const sampling::Target> target) {
  return [target = std::move(target)](Rng& rng) {
    const std::unique_ptr<sampling::Target> own = target->clone();  // calls may be concurrent
    PriorNetwork network;
    network.position = VectorXd(own->dimension());
    own->draw_start(rng, *network.position);
    posterior::PriorOutputs outputs =
        dynamic_cast<posterior::PosteriorTarget&>(*own).draw_prior_outputs(*network.position, rng);
    network.train = std::move(outputs.train);
    network.test = std::move(outputs.test);
    return network;
  };
}

}  // namespace headway
