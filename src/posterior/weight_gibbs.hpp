#pragma once

#include <memory>
#include <vector>

#include "headway/core/rng.hpp"
#include "headway/numerics/dense.hpp"
#include "headway/path_kernels.hpp"
#include "posterior/weight_network.hpp"

namespace headway::posterior {

/// The block draws of WeightPosterior::sweep with their workspace. The caller gives the labels.
///
/// Activations: A_1[pi] = X_pi Z_0^T and A_{l+1}[g] = scale_l sum_h A_l[(h, g)] Z_l^{hT}, P x
/// N_{l+1} for each rest g = (h_{l+1}, ..., h_L) of paths; X itself is A_0. For every block
/// f_c = sum_g A_{l+1}[g] E_{l+1}[(g, c)]^T. Activations are kept transposed, N_{l+1} x (p_{l+1} P)
/// with columns g P + mu, because the product that makes them is then a third faster.
class WeightGibbs {
 public:
  WeightGibbs(std::shared_ptr<const WeightNetwork> network,
              std::shared_ptr<const theory::PathKernels> kernels, double temperature);

  /// Replaces all blocks in turn; returns the log density. `labels` is P x C.
  double sweep(const MatrixXd& labels, Rng& rng, Eigen::Ref<VectorXd> position);

  /// Computes what draws of block `block`, and then of those above it in order, need: the effective
  /// weights above block 0, and the activations below `block`.
  void prepare(const Eigen::Ref<const VectorXd>& position, int block);
  /// Replaces block l (0: V_0; l: all heads of V_l; L+1: a) by a draw given the others. Uses the
  /// stream for the block's v', head after head and column by column, then for eps (P x C). Returns
  /// |z|^2 of the block.
  double draw_block(int l, const MatrixXd& labels, Rng& rng, Eigen::Ref<VectorXd> position);

 private:
  [[nodiscard]] const MatrixXd& below(int l) const {
    return l == 0 ? *inputs_ : activation_[l - 1];
  }
  /// sum_g A_{l+1}[g] E_{l+1}[(g, c)]^T: f from block l's activations, P x C.
  [[nodiscard]] MatrixXd output_above(int l) const;
  /// Phi Phi^T of block l <= L, lower triangle, rows c P + mu.
  [[nodiscard]] MatrixXd gram(int l) const;
  void add_mixed_gram(int l, MatrixXd& k) const;
  [[nodiscard]] MatrixXd pair_gram(int l) const;
  void add_pairs(int l, const MatrixXd& pairs, MatrixXd& k) const;
  /// Phi Phi^T + T I, factorised.
  [[nodiscard]] numerics::SpdFactor factor(MatrixXd gram, int l) const;
  /// Draws Z_l from its prior, and computes A_{l+1} from it.
  void draw_prior(int l, Rng& rng, Eigen::Ref<VectorXd> position);
  /// (Phi Phi^T + T I)^{-1} (y - f - eps), P x C; `residual` = y - f.
  [[nodiscard]] MatrixXd dual(const numerics::SpdFactor& system, MatrixXd residual, Rng& rng) const;
  /// Adds Phi^T dual to block l and brings A_{l+1} up to date. Returns the block's |z|^2.
  double shift(int l, const MatrixXd& dual, Eigen::Ref<VectorXd> position);
  double draw_readout(const MatrixXd& labels, Rng& rng, Eigen::Ref<VectorXd> position);

  std::shared_ptr<const WeightNetwork> network_;
  std::shared_ptr<const theory::PathKernels> kernels_;
  std::shared_ptr<const MatrixXd> inputs_;      // A_0^T: N_0 x (p P)
  std::shared_ptr<const MatrixXd> input_gram_;  // X_pi X_pi'^T, (p P) x (p P); null when large
  double temperature_;
  std::vector<MatrixXd> effective_;   // E_l at [l]
  std::vector<MatrixXd> activation_;  // A_{l+1}^T at [l]
};

}  // namespace headway::posterior
