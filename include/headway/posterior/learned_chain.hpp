#pragma once

#include <memory>
#include <string>
#include <vector>

#include "headway/model/learned_attention.hpp"
#include "headway/posterior/bartlett_chain.hpp"
#include "headway/posterior/posterior_target.hpp"
#include "headway/sampling/target.hpp"

namespace headway::posterior {

/// The posterior of a network that learns its attention, too, over attention weights w and the
/// factors B of BartlettChain (eq. 73):
///   log p(w, B | y) = log prior(w) + log prior(B) - 1/2 energy(U_1(B); X(w)) + const,
/// exact at every width. A position holds z, the attention weights in units of their prior
/// deviation (model::AttentionCoordinates), then the coordinates of the chain. The densities of
/// both priors are normalised. The likelihood is normalised but for (2 pi)^{-P C / 2}. Its power is
/// the inverse temperature of sampling::TemperedTarget; at 0 the data do not matter.
///
/// With M = (K + T)^{-1} - alpha alpha^T the gradient over the features is (eq. 74)
///   d energy / dX_pi = 2 sum_pi' U_1[pi, pi'] M X_pi'.
/// Cost of a gradient: path features, their backward pass, and FeatureEnergy.
class LearnedChain final : public sampling::TemperedTarget, public PosteriorTarget {
 public:
  using Attention = std::shared_ptr<const model::LearnedAttention>;

  /// `attention`: of the training examples; its heads are those of the architecture. `evaluation`:
  /// the same on the examples that are predicted, or null. Errors: kBadStudy when T is not positive
  /// or the sizes do not fit.
  LearnedChain(model::Architecture architecture, double temperature, Attention attention,
               std::shared_ptr<const MatrixXd> labels, Attention evaluation,
               std::string fingerprint = "");

  [[nodiscard]] Index dimension() const override { return weights() + chain_.dimension(); }
  double log_density(const Eigen::Ref<const VectorXd>& position,
                     Eigen::Ref<VectorXd> gradient) override;
  void set_inverse_temperature(double beta) override { beta_ = beta; }
  /// -1/2 energy.
  double log_likelihood(const Eigen::Ref<const VectorXd>& position) override;
  /// A draw from the prior. Error{kInternal} unless beta = 0.
  double sweep(Rng& rng, Eigen::Ref<VectorXd> position) override;
  bool draw_start(Rng& rng, Eigen::Ref<VectorXd> position) override;
  [[nodiscard]] std::unique_ptr<Target> clone() const override {
    return std::make_unique<LearnedChain>(*this);
  }
  [[nodiscard]] std::vector<std::string> coordinate_names() const override;
  [[nodiscard]] std::string fingerprint() const override { return fingerprint_; }
  /// Order parameters, attention, and with `predictor` the prediction.
  PosteriorDraw observe(const Eigen::Ref<const VectorXd>& position, bool predictor) override;
  MatrixXd draw_training_output(const Eigen::Ref<const VectorXd>& position, Rng& rng) override;
  PriorOutputs draw_prior_outputs(const Eigen::Ref<const VectorXd>& position, Rng& rng) override;

  /// Number of attention weights. They are the first entries of a position.
  [[nodiscard]] Index weights() const { return attention_->dimension(); }
  [[nodiscard]] const model::AttentionCoordinates& coordinates() const {
    return attention_->coordinates();
  }
  [[nodiscard]] const BartlettChain& prior() const { return chain_; }
  /// s_0 / sqrt(N_0 p), the factor of path features.
  [[nodiscard]] double feature_scale() const { return scale_; }

 private:
  BartlettChain chain_;
  double temperature_;
  Attention attention_, evaluation_;
  std::shared_ptr<const MatrixXd> labels_;
  std::string fingerprint_;
  double scale_;
  double beta_ = 1.0;
  // Room for one evaluation.
  model::LearnedAttention::Workspace pass_, evaluation_pass_;
  MatrixXd features_, features_slope_, factor_slope_;
};

}  // namespace headway::posterior
