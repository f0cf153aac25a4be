#pragma once

#include <vector>

#include "headway/core/examples.hpp"
#include "headway/model/linear_value_network.hpp"
#include "headway/observer.hpp"
#include "headway/training/trainer.hpp"
#include "headway/types.hpp"

namespace headway::training {

/// A trained linear-value network (TransformerOptions::network), the one that the theory describes
/// (eqs. 1 to 3, [T24]):
///   logits of head h in layer l   (Q_l^h x_s) . (K_l^h x_t) / sqrt(G)     from the input x, always
///   f(x) = sum_pi w_pi . xi_pi(x),   w_pi = V_pi V_0 / sqrt(N_1 p N_0)    (readout: mean)
/// with V_pi the effective weights of model::effective_weights(). Nothing stands between the
/// parameters of training and the theory's weights: the factors 1 / sqrt(N_0), 1 / sqrt(H_l N_l)
/// and 1 / sqrt(N_a) are in the network, not in the numbers, so that
///   input.weight = V_0 [N, N_0]   layers.<l>.value.weight = V_l^h [H, N, N]
///   readout.weight = a [C, N]     layers.<l>.query.weight, key.weight = Q, K [H, G, N_0]
/// and AdamW's rate acts on numbers of order 1 there. They start as a draw from the theory's prior
/// with all variances 1, unless TransformerOptions::weights_start says otherwise; Q and K with
/// initial_query_scale. No biases.
struct TrainedLinearValue {
  std::vector<LayerHeads> heads;      ///< Q and K of layers 1..L
  model::LinearValueNetwork network;  ///< V_0, V_l^h, a

  /// H_1, ..., H_L
  [[nodiscard]] std::vector<int> head_counts() const;
};

/// From the parameters of a run. Error{kBadData} naming the tensor when they are not those of a
/// linear-value network (a transformer's, say), do not fit each other or are not finite.
TrainedLinearValue linear_value_network(const std::vector<NamedTensor>& parameters);

/// What each path of a trained network contributes, example by example: all that pruning its heads
/// needs, since a pruned network is a sum over fewer paths.
struct TrainedPathOutputs {
  std::vector<int> heads;  ///< H_1, ..., H_L
  MatrixXd outputs;        ///< [P, p], f_pi(x) = w_pi . xi_pi(x); the network is the row's sum
  VectorXd labels;         ///< [P]
};

/// Path outputs of `examples` with these labels [P]. Error{kBadData} when the network has several
/// outputs or does not fit the examples; kInterrupted. Cost: that of model::path_features().
TrainedPathOutputs trained_path_outputs(const TrainedLinearValue& trained,
                                        const ExampleSource& examples, const VectorXd& labels,
                                        int threads, Observer& observer);

}  // namespace headway::training
