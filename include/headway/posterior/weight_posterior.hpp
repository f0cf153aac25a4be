#pragma once

#include <memory>
#include <string>
#include <vector>

#include "headway/architecture.hpp"
#include "headway/model/linear_value_network.hpp"
#include "headway/path_kernels.hpp"
#include "headway/posterior/posterior_target.hpp"
#include "headway/sampling/target.hpp"

namespace headway::posterior {

class WeightGibbs;
class WeightNetwork;

/// The posterior over all weights of the network (eqs. 1 to 4), which the theory is checked
/// against:
///   V_0, V_l^h, a independent normals of variance s_0^2, s_l^2, s_a^2;   y | f ~ N(f, T).
///
/// A position holds the weights over their prior deviations, which are unit normals a priori. First
/// come Z_0 = V_0 / s_0, then Z_1^1, ..., Z_L^{H_L} with Z_l^h = V_l^h / s_l, then Z_a = a / s_a.
/// Matrices are V_0: N_1 x N_0, V_l^h: N_{l+1} x N_l, a: C x N_a. Each lies column by column, in
/// the order of model::draw_from_prior. s_0 enters through the scaled path features X_pi = s_0
/// xi_pi / sqrt(N_0 p):
///   f_c(x) = sum_pi V_{pi,c} Z_0 X_pi(x) / sqrt(N_1),    V = model::effective_weights, U_1 = V V^T
///   / N_1.
/// Weights have sign and scale symmetries: of a posterior only f and the order parameters are
/// identified.
///
/// log_density serves the gradient samplers; sweep() is exact block Gibbs. A chain keeps one copy
/// of the weights (the sampler's position, changed in place) and workspaces of size C p_l N_l (both
/// uses) and P p_l N_l (sweep).
class WeightPosterior final : public sampling::SweepTarget, public PosteriorTarget {
 public:
  /// `test_features`: scaled path features of the test set (PathKernels::scale_features, P_test x p
  /// N_0), 0 rows without one. Errors: kBadStudy when the temperature is not positive and finite or
  /// the sizes do not fit each other.
  WeightPosterior(model::Architecture architecture, double temperature,
                  std::shared_ptr<const theory::PathKernels> kernels,
                  std::shared_ptr<const MatrixXd> test_features, std::string fingerprint = "");
  WeightPosterior(const WeightPosterior& other);
  WeightPosterior& operator=(const WeightPosterior&) = delete;
  ~WeightPosterior() override;

  /// N_1 N_0 + sum_l H_l N_l N_{l+1} + C N_a.
  [[nodiscard]] Index dimension() const override;

  /// -|theta|^2 / 2 - |y - f|^2 / (2 T) (eq. 50); its gradient goes through the effective weights,
  /// so that nothing of size P N is needed. Cost: 6 C p_{l+1} flops for each weight of layer l, 4 P
  /// p N_0 C for the data.
  double log_density(const Eigen::Ref<const VectorXd>& position,
                     Eigen::Ref<VectorXd> gradient) override;

  /// One Gaussian block after another from its exact conditional: V_0, all heads of V_1, ..., of
  /// V_L, then a (eqs. 48 and 49). With f = Phi v for the block's weights v,
  ///   v = v' + Phi^T (Phi Phi^T + T I)^{-1} (y - Phi v' - eps),   v' ~ prior, eps ~ N(0, T I).
  /// Phi is never built: with Xi_{(h,g)} (P x N_l) the lower activation of the path's rest (h, g),
  ///   Phi Phi^T = (s_l^2 / N_l) sum_h sum_{g,g'} U_{l+1}[g,g'] Xi_{hg} Xi_{hg'}^T,
  /// and the change of V_l^h has rank C p_{l+1}. Returns the log density (as above). Cost: a normal
  /// for each weight, 2 P p_{l+1} flops for each weight of layer l (the activations above it), P^2
  /// p_l N_l for its Gram matrices, (P C)^3 / 3 a block. Error kBadStudy when Phi Phi^T + T I is
  /// not positive definite to working precision.
  double sweep(Rng& rng, Eigen::Ref<VectorXd> position) override;

  [[nodiscard]] std::unique_ptr<Target> clone() const override;
  /// A prior draw, the one of model::draw_from_prior from the same stream.
  bool draw_start(Rng& rng, Eigen::Ref<VectorXd> position) override;
  /// "V_0[i,j]", "V_2^1[i,j]", "a[j]" (C > 1: "a[c,j]"), counted from 1. Empty above 100,000
  /// weights, because the names would take more memory than the weights.
  [[nodiscard]] std::vector<std::string> coordinate_names() const override;
  [[nodiscard]] std::string fingerprint() const override { return fingerprint_; }

  /// U_l = E_l E_l^T / N_l of the effective weights E_l of (h_l, ..., h_L, c), U_a = a a^T / N_a;
  /// With `predictor`, also f on the test features. Its variance is 0, because weights fix f.
  PosteriorDraw observe(const Eigen::Ref<const VectorXd>& position, bool predictor) override;
  MatrixXd draw_training_output(const Eigen::Ref<const VectorXd>& position, Rng& rng) override;

  /// The network at `position` in the scale of eqs. 1 to 4, and back.
  [[nodiscard]] model::LinearValueNetwork network(const Eigen::Ref<const VectorXd>& position) const;
  [[nodiscard]] VectorXd position(const model::LinearValueNetwork& network) const;

 private:
  std::shared_ptr<const WeightNetwork> network_;
  double temperature_;
  std::shared_ptr<const theory::PathKernels> kernels_;
  std::shared_ptr<const MatrixXd> test_features_;
  std::string fingerprint_;
  std::unique_ptr<WeightGibbs> gibbs_;
  std::vector<MatrixXd> effective_;  // workspace
};

}  // namespace headway::posterior
