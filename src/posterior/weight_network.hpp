#pragma once

#include <vector>

#include "headway/architecture.hpp"
#include "headway/numerics/dense.hpp"

namespace headway::posterior {

/// Where the weights lie in a position of WeightPosterior, and the network's outputs from them.
///
/// Blocks l = 0..L+1 are Z_0 (one "head"), Z_l^h and Z_a. Block 0 has width N_0, and
///   scale_0 = 1, scale_l = s_l / sqrt(N_l).
/// Effective weights, with rows (h_l, ..., h_L, c), take one product a layer:
///   E_{L+1} = scale_{L+1} Z_a,   E_l[(h, .)] = scale_l E_{l+1} Z_l^h,   l = L..0,
/// so that U_l = E_l E_l^T (l >= 1) and f_c = sum_pi X_pi E_0[(pi, c)]^T. E_l is 1 / sqrt(N_l)
/// times that of eq. 11.
class WeightNetwork {
 public:
  WeightNetwork(model::Architecture architecture, Index features);

  [[nodiscard]] const model::Architecture& architecture() const { return architecture_; }
  [[nodiscard]] Index outputs() const { return architecture_.outputs; }
  /// L + 1, the block of the readout.
  [[nodiscard]] int top() const { return static_cast<int>(blocks_.size()) - 1; }
  [[nodiscard]] Index dimension() const { return dimension_; }

  [[nodiscard]] Index heads(int l) const { return blocks_[l].heads; }
  [[nodiscard]] Index rows(int l) const { return blocks_[l].rows; }    ///< N_{l+1}; C for Z_a
  [[nodiscard]] Index width(int l) const { return blocks_[l].width; }  ///< N_l
  [[nodiscard]] Index paths(int l) const { return blocks_[l].paths; }  ///< p_l, p_0 = p
  [[nodiscard]] double scale(int l) const { return blocks_[l].scale; }
  /// s_l, the prior deviation of block l.
  [[nodiscard]] double deviation(int l) const;

  /// Z_l^h (h from 0) in a position.
  [[nodiscard]] Eigen::Map<const MatrixXd> weights(const Eigen::Ref<const VectorXd>& position,
                                                   int l, Index h = 0) const;
  [[nodiscard]] Eigen::Map<MatrixXd> mutable_weights(Eigen::Ref<VectorXd>& position, int l,
                                                     Index h = 0) const;

  /// E_l at [l] for l = top()..lowest. Cost 2 C p_{l+1} flops a weight; bound by reading the
  /// weights.
  void effective_weights(const Eigen::Ref<const VectorXd>& position, int lowest,
                         std::vector<MatrixXd>& effective) const;

  /// f (rows x C) on scaled path features from E_0. Cost 2 P p N_0 C.
  [[nodiscard]] MatrixXd output(const MatrixXd& features, const MatrixXd& effective_input) const;

  /// Writes the gradient over all weights of a function of f on `features` whose gradient over f is
  /// `slope` (P x C). `effective` holds E_0..E_{L+1}.
  void pull_back(const Eigen::Ref<const VectorXd>& position, const MatrixXd& features,
                 const MatrixXd& slope, const std::vector<MatrixXd>& effective,
                 Eigen::Ref<VectorXd> gradient) const;

 private:
  struct Block {
    Index heads = 1;
    Index rows = 0;
    Index width = 0;
    Index paths = 1;
    double scale = 1.0;
    Index offset = 0;
  };
  model::Architecture architecture_;
  std::vector<Block> blocks_;
  Index dimension_ = 0;
};

}  // namespace headway::posterior
