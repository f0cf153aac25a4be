#pragma once

#include <memory>
#include <string>
#include <vector>

#include "headway/path_kernels.hpp"
#include "headway/posterior/bartlett_chain.hpp"
#include "headway/posterior/posterior_target.hpp"
#include "headway/sampling/target.hpp"

namespace headway::posterior {

class FeatureEnergy;

/// Collapsed Gibbs over V_0 and the effective weights of the first layer (eq. 83), for many paths
/// and narrow layers. With U_2 = F_2 F_2^T from the chain of the upper layers,
///   f_c = sum_pi X_pi Z_0^T E[(pi, c)]^T,   E = (s_1 / sqrt N_1) (I_{H_1} kron F_2) B,   U_1 = E
///   E^T,
/// all entries of Z_0 (N_1 x N_0) and B (H_1 columns(F_2) x N_1) are standard normal a priori. The
/// weights of upper layers enter through F_2 alone, so the draws are exact at every width. A sweep
/// draws
///   1. each layer of F_2 given Z_0 alone, B integrated out: elliptical slices,
///   2. B given F_2 and Z_0, a normal distribution,
///   3. B A^{-1}, A Z_0 along the orbit of networks that are the same function,
///   4. F_2 A, A^{-1} B and the like in all upper layers, along the orbits of the same E: the
///      likelihood depends on E alone, so these moves need no data,
///   5. Z_0 given E, a normal distribution.
/// A position holds the coordinates of F_2, B^T, then Z_0^T, each column by column. At inverse
/// temperature beta all of this is with T / beta.
class CollapsedChain final : public sampling::TemperedTarget, public PosteriorTarget {
 public:
  /// `test_features`: as of ExactChain. Errors: kBadStudy when T is not positive, the sizes do not
  /// fit, or the kernels hold no features.
  CollapsedChain(model::Architecture architecture, double temperature,
                 std::shared_ptr<const theory::PathKernels> kernels,
                 std::shared_ptr<const MatrixXd> test_features, std::string fingerprint = "");

  [[nodiscard]] Index dimension() const override;
  /// There is none: Error{kInternal}. Gradient samplers have ExactChain and WeightPosterior.
  double log_density(const Eigen::Ref<const VectorXd>& position,
                     Eigen::Ref<VectorXd> gradient) override;
  void set_inverse_temperature(double beta) override { beta_ = beta; }
  /// -|y - f|^2 / (2 T) - P C log(T) / 2.
  double log_likelihood(const Eigen::Ref<const VectorXd>& position) override;
  /// Returns the log density: log prior + beta log likelihood. Error kBadStudy when K + T is not
  /// positive definite to working precision. Cost: sweep_flops().
  double sweep(Rng& rng, Eigen::Ref<VectorXd> position) override;
  /// A draw from the prior.
  bool draw_start(Rng& rng, Eigen::Ref<VectorXd> position) override;
  [[nodiscard]] std::unique_ptr<Target> clone() const override {
    return std::make_unique<CollapsedChain>(*this);
  }
  /// Names of the coordinates of F_2, then "B[i,j]" and "Z_0[j,n]", counted from 1.
  [[nodiscard]] std::vector<std::string> coordinate_names() const override;
  [[nodiscard]] std::string fingerprint() const override { return fingerprint_; }
  /// Order parameters; with `predictor` the mean and variance of f given U_1, Z_0 integrated out.
  PosteriorDraw observe(const Eigen::Ref<const VectorXd>& position, bool predictor) override;
  MatrixXd draw_training_output(const Eigen::Ref<const VectorXd>& position, Rng& rng) override;

  /// Of one sweep, about, for P examples of N_0 features a path.
  static double sweep_flops(const model::Architecture& architecture, Index examples,
                            Index features);

 private:
  /// (s_1 / sqrt N_1) (I_{H_1} kron F_2), C p x H_1 columns(F_2), at these coordinates of F_2.
  [[nodiscard]] MatrixXd first_factor(const VectorXd& upper) const;
  /// X_pi Z_0^T of all paths, P x (p N_1).
  [[nodiscard]] MatrixXd activations(const MatrixXd& input_weights) const;
  /// E of a position, and f from it.
  [[nodiscard]] MatrixXd effective_weights(const Eigen::Ref<const VectorXd>& position) const;
  [[nodiscard]] MatrixXd output(const MatrixXd& effective, const MatrixXd& input_weights) const;
  /// Draws `upper`, and returns the energy there.
  [[nodiscard]] FeatureEnergy draw_upper(Rng& rng, const MatrixXd& activations,
                                         Eigen::Ref<VectorXd> upper) const;
  /// Error kBadStudy when K + T is not positive definite to working precision.
  [[nodiscard]] FeatureEnergy energy_of(const MatrixXd& features, const MatrixXd& factor,
                                        double temperature) const;

  model::Architecture architecture_;
  BartlettChain upper_;  // layers 2, ..., L + 1
  double temperature_;
  std::shared_ptr<const theory::PathKernels> kernels_;
  std::shared_ptr<const MatrixXd> test_features_;
  std::string fingerprint_;
  Index units_ = 0, inputs_ = 0;  // N_1, N_0
  Index columns_ = 0;             // of the first factor
  double beta_ = 1.0;
  /// Where the last sweep ended, and the energy of the path features there (beta = 1).
  VectorXd last_;
  std::shared_ptr<const FeatureEnergy> last_energy_;
};

}  // namespace headway::posterior
