#pragma once

#include <string>
#include <vector>

#include "headway/core/examples.hpp"
#include "headway/core/option_table_fwd.hpp"
#include "headway/core/words.hpp"
#include "headway/numerics/normal_products.hpp"
#include "headway/observer.hpp"
#include "headway/path_features.hpp"
#include "headway/types.hpp"

/// Networks with one hidden nonlinear layer, behind or before given attention (eq. 79):
///   f(x) = (N_1 R)^(-1/2) sum_i sum_r o_ri sum_m A_rm(x) phi(psi_m(x) . v_i).
/// A site m is a place where the nonlinearity acts. Hidden units i have weights v_i of d numbers.
namespace headway::model {

/// Where the sites are, and which units of the readout they feed. w_q are the readout's weights of
/// the queries.
enum class ValueForm {
  kHyla,             ///< site (query, key): all heads' a_h(q, t) x_t side by side; r is a head
  kPerHead,          ///< site (key, head): x_t in the slot of the head; r is the head
  kBeforeAttention,  ///< site (token): x_t; r is a path, of any number of layers
  kAfterAttention,   ///< site (query): all heads' sum_t a_h(q, t) x_t side by side; R = 1
};
Words<ValueForm> words_of(ValueForm);

/// Whether the hidden weights keep the covariance S = s_0^2 I of their prior in the theory, or get
/// the one that the data choose.
enum class FeatureLearning { kFixed, kAdapted };
Words<FeatureLearning> words_of(FeatureLearning);

/// The value network of a study: [model.value_network].
struct ValueNetwork {
  ValueForm form = ValueForm::kHyla;
  numerics::Nonlinearity nonlinearity = numerics::Nonlinearity::kRelu;
  FeatureLearning features = FeatureLearning::kFixed;

  static const OptionTable<ValueNetwork>& table();
};

/// R: heads, paths, or 1.
Index value_readouts(ValueForm form, const std::vector<int>& heads);
/// d: H N_0, or N_0 before attention.
Index value_inputs(ValueForm form, const std::vector<int>& heads, Index features);

/// The sites of a set of examples, one example after another. Sites whose every A_rm is 0 are left
/// out.
struct ValueSites {
  MatrixXd directions;         ///< psi, sites x d
  MatrixXd weights;            ///< A, sites x R
  std::vector<Index> offsets;  ///< example i has sites offsets[i] .. offsets[i + 1]
  numerics::Nonlinearity nonlinearity = numerics::Nonlinearity::kRelu;

  [[nodiscard]] Index examples() const { return static_cast<Index>(offsets.size()) - 1; }
  [[nodiscard]] Index readouts() const { return weights.cols(); }
  [[nodiscard]] Index first(Index i) const { return offsets[static_cast<std::size_t>(i)]; }
};

/// Sites of examples and their attention. `heads`, `layers` and `options` are those of
/// path_features(); its threads are not used. Padded tokens have no sites. In the form per_head the
/// queries of a key are summed, since its direction is the same for all. Memory: sites (d + R)
/// numbers, with S^2 sites an example in the form hyla with the mean readout, and at most S H in
/// all others. Errors: kBadStudy where a form of one layer meets several; kBadData as
/// path_features(); kInterrupted when the observer asks to stop.
ValueSites value_sites(const ValueNetwork& network, const ExampleSource& examples,
                       const std::vector<int>& heads, const std::vector<LayerHeads>& layers,
                       const PathFeatureOptions& options, Observer& observer);

}  // namespace headway::model
