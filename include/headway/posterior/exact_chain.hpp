#pragma once

#include <memory>
#include <string>
#include <vector>

#include "headway/path_kernels.hpp"
#include "headway/posterior/bartlett_chain.hpp"
#include "headway/posterior/posterior_target.hpp"
#include "headway/sampling/target.hpp"
#include "headway/theory/repeated_predictor.hpp"

namespace headway::posterior {

/// The exact finite-width posterior (eq. 34) as a target over the coordinates of BartlettChain:
///   log p(x | data) = log prior(x) - 1/2 [ logdet(K(U_1) + T) + y^T (K(U_1) + T)^{-1} y ] + const,
///   U_1 = F_1(x) F_1(x)^T,
/// exact at every width. In place of all weights there are at most sum_l C p_l (C p_l + 1) / 2
/// unknowns, or a few times that where layers are narrow. The gradient is propagated back through
/// the kernel and the chain of factors. T > 0. Cost of a gradient: one PathKernels::evaluate.
class ExactChain final : public sampling::Target, public PosteriorTarget {
 public:
  /// `test_features`: scaled path features of the test set (PathKernels::scale_features), 0 rows
  /// without one. Errors: kBadStudy when T is not positive or the sizes do not fit.
  ExactChain(model::Architecture architecture, double temperature,
             std::shared_ptr<const theory::PathKernels> kernels,
             std::shared_ptr<const MatrixXd> test_features, std::string fingerprint = "");

  [[nodiscard]] Index dimension() const override { return chain_.dimension(); }
  double log_density(const Eigen::Ref<const VectorXd>& position,
                     Eigen::Ref<VectorXd> gradient) override;
  [[nodiscard]] std::unique_ptr<Target> clone() const override {
    return std::make_unique<ExactChain>(*this);
  }
  bool draw_start(Rng& rng, Eigen::Ref<VectorXd> position) override;
  [[nodiscard]] std::vector<std::string> coordinate_names() const override {
    return chain_.coordinate_names();
  }
  [[nodiscard]] std::string fingerprint() const override { return fingerprint_; }
  /// The prior's information is I, the data's the Fisher information of y ~ N(0, K(U_1) + T) (eq.
  /// 39):
  ///   I + J^T (F / 2) J,   J = d svec(U_1) / dx,   F_kl = tr[(K + T)^{-1} C_k (K + T)^{-1} C_l].
  /// Not finite where K + T I is not positive definite. Cost: one exact Hessian of the energy
  /// (KernelCost::hessian_flops).
  [[nodiscard]] MatrixXd information(const Eigen::Ref<const VectorXd>& position) override;
  [[nodiscard]] bool provides_information() const override { return true; }
  PosteriorDraw observe(const Eigen::Ref<const VectorXd>& position, bool predictor) override;
  MatrixXd draw_training_output(const Eigen::Ref<const VectorXd>& position, Rng& rng) override;

  [[nodiscard]] const BartlettChain& prior() const { return chain_; }
  /// The same posterior over the coordinates of prior().trapezoidal().
  [[nodiscard]] ExactChain in_trapezoidal_coordinates() const;

 private:
  BartlettChain chain_;
  double temperature_;
  std::shared_ptr<const theory::PathKernels> kernels_;
  std::shared_ptr<const theory::RepeatedPredictor> predictor_;
  std::string fingerprint_;
};

}  // namespace headway::posterior
