#pragma once

#include <vector>

#include "headway/core/examples.hpp"
#include "headway/observer.hpp"
#include "headway/types.hpp"

namespace headway::model {

/// How path features are read off, and in which blocks. Blocks and threads change no bit.
struct PathFeatureOptions {
  Readout readout = Readout::kLastToken;  ///< with a mask, first_token is the first real one too
  AttentionKind attention = AttentionKind::kSoftmax;
  int threads = 1;
  /// Examples held at a time on each thread; 0 picks a number (whatever the threads) with about
  /// 2,000 tokens and at most 32 MiB of attention, or one example.
  Index block = 0;
};

/// Path features (eqs. 7 and 8, [T24]):
///   w_pi[mu] = r(Omega_L^{h_L}) Omega_{L-1}^{h_{L-1}} ... Omega_1^{h_1}
///   xi_pi[mu] = sum_t w_pi[mu, t] x_t[mu]
/// All p = H_1 ... H_L paths are computed in one pass from the last layer to the first, batched
/// over examples. At most one layer's attention of one block of examples is held at a time.
/// Attention that is computed from weights is held for one head of one example. In the last layer
/// only the query rows that the readout takes are computed. Padded tokens are dropped before
/// anything is computed, so that a masked sequence gives exactly what the shorter one gives,
/// whatever its padding holds.
///
/// `heads` = H_1..H_L; `layers` holds the head matrices, or is empty when `examples` supply the
/// attention. Paths are row-major, h_1 slowest. Returns P x (p N_0), columns path-major, unscaled
/// (X_pi = s_0 xi_pi / sqrt(N_0 p) is applied later). The result does not depend on the number of
/// threads; `examples` are read one call at a time unless they are thread_safe().
///
/// Errors: kBadData when heads and examples do not fit each other, a logit or a path feature is not
/// finite, an example has no real token, or a supplied matrix attends to padding; kInterrupted when
/// the observer asks to stop.
/// Cost: path_feature_flops().
RowMatrixXd path_features(const ExampleSource& examples, const std::vector<int>& heads,
                          const std::vector<LayerHeads>& layers, const PathFeatureOptions& options,
                          Observer& observer = no_observer());

/// Flops of path_features() on unpadded examples. Let R be the number of queries of a layer: S, but
/// 1 in the last layer unless the readout is the mean. Each head takes 2 P R N_0 (N_0 + S) for
/// attention given by weights, 2 P G N_0 (R + S) + 2 P R S G for query and key matrices, and
/// nothing where the examples supply it. Each path of a layer takes 2 P R S, and the average of the
/// inputs 2 P p S N_0.
double path_feature_flops(const ExampleSource& examples, const std::vector<int>& heads,
                          const std::vector<LayerHeads>& layers, Readout readout);

}  // namespace headway::model
