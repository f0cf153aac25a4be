#pragma once

#include <memory>
#include <string>
#include <vector>

#include "headway/model/value_network.hpp"
#include "headway/posterior/bartlett_chain.hpp"
#include "headway/posterior/posterior_target.hpp"
#include "headway/sampling/target.hpp"

namespace headway::posterior {

/// The posterior of a value network, exact at every width: hidden weights v_i = s_0 z_i and the
/// factor F_a of U_a are sampled, the readout is integrated out (eq. 82),
///   log p(z, B | y) = log prior(z) + log prior(B) - 1/2 energy + const,
///   K = s_1^2 / (N_1 R) sum_ir h_ri h_ri^T kron U_a,   h_ri(x) = sum_m A_rm(x) phi(psi_m(x) .
///   v_i).
/// A position holds z, hidden unit by hidden unit, then the coordinates of the chain. The densities
/// of both priors are normalised. The likelihood is normalised but for (2 pi)^{-P C / 2}; its power
/// is the inverse temperature of sampling::TemperedTarget. The density does not depend on the order
/// of hidden units: compare chains by order parameters and predictions alone.
/// Cost of a gradient: 4 sites N_1 d and 4 sites N_1 R multiply-adds, and the energy with N_1 R
/// features.
class ValueChain final : public sampling::TemperedTarget, public PosteriorTarget {
 public:
  using Sites = std::shared_ptr<const model::ValueSites>;

  /// `architecture`: heads = [R], widths [N_1, N_a], variances [s_0^2, s_1^2, s_a^2]. `sites`: of
  /// the training examples; `evaluation`: of those that are predicted, or null. Errors: kBadStudy
  /// when T is not positive or the sizes do not fit.
  ValueChain(model::Architecture architecture, double temperature, Sites sites,
             std::shared_ptr<const MatrixXd> labels, Sites evaluation,
             std::string fingerprint = "");

  [[nodiscard]] Index dimension() const override { return weights() + readout_.dimension(); }
  double log_density(const Eigen::Ref<const VectorXd>& position,
                     Eigen::Ref<VectorXd> gradient) override;
  void set_inverse_temperature(double beta) override { beta_ = beta; }
  /// -1/2 energy.
  double log_likelihood(const Eigen::Ref<const VectorXd>& position) override;
  /// A draw from the prior. Error{kInternal} unless beta = 0.
  double sweep(Rng& rng, Eigen::Ref<VectorXd> position) override;
  bool draw_start(Rng& rng, Eigen::Ref<VectorXd> position) override;
  [[nodiscard]] std::unique_ptr<Target> clone() const override {
    return std::make_unique<ValueChain>(*this);
  }
  [[nodiscard]] std::vector<std::string> coordinate_names() const override;
  [[nodiscard]] std::string fingerprint() const override { return fingerprint_; }
  /// U_a and S = V V^T / N_1 of the draw, the mean of U_1 = o o^T / N_1 given it, and with
  /// `predictor` the prediction.
  PosteriorDraw observe(const Eigen::Ref<const VectorXd>& position, bool predictor) override;
  MatrixXd draw_training_output(const Eigen::Ref<const VectorXd>& position, Rng& rng) override;
  PriorOutputs draw_prior_outputs(const Eigen::Ref<const VectorXd>& position, Rng& rng) override;

  /// N_1 d.
  [[nodiscard]] Index weights() const { return units_ * inputs_; }

 private:
  /// F = s_1 F_a at these coordinates.
  [[nodiscard]] MatrixXd factor_of(const Eigen::Ref<const VectorXd>& position) const;
  /// V of a position, d x N_1.
  [[nodiscard]] MatrixXd hidden_weights(const Eigen::Ref<const VectorXd>& position) const;
  /// H / sqrt(N_1 R): P x (R N_1), readout by readout. Keeps psi V in `arguments`.
  [[nodiscard]] MatrixXd features(const model::ValueSites& sites, const MatrixXd& v,
                                  MatrixXd& arguments) const;
  /// d/dV of a function of the features.
  [[nodiscard]] MatrixXd pull_back(const MatrixXd& arguments, const MatrixXd& slope) const;
  [[nodiscard]] MatrixXd mean_first_layer(const MatrixXd& moments, const MatrixXd& factor) const;

  model::Architecture architecture_;
  BartlettChain readout_;
  double temperature_;
  Sites sites_, evaluation_;
  std::shared_ptr<const MatrixXd> labels_;
  std::string fingerprint_;
  Index units_ = 0, inputs_ = 0;
  double beta_ = 1.0;
};

}  // namespace headway::posterior
