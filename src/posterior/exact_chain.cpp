#include "headway/posterior/exact_chain.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "headway/error.hpp"
#include "posterior/feature_energy.hpp"

namespace headway::posterior {
namespace {

constexpr double kManyPredictions = 1000.0;  // of a chain, about

}  // namespace

ExactChain::ExactChain(model::Architecture architecture, double temperature,
                       std::shared_ptr<const theory::PathKernels> kernels,
                       std::shared_ptr<const MatrixXd> test_features, std::string fingerprint)
    : chain_(std::move(architecture)),
      temperature_(temperature),
      kernels_(std::move(kernels)),
      predictor_(std::make_shared<const theory::RepeatedPredictor>(
          kernels_, std::move(test_features), kManyPredictions)),
      fingerprint_(std::move(fingerprint)) {
  if (!(temperature_ > 0.0) || !std::isfinite(temperature_)) {
    throw Error(
        ErrorKind::kBadStudy,
        fmt::format("model.temperature = {}: sampling needs a temperature > 0", temperature_));
  }
  const model::Architecture& a = chain_.architecture();
  if (a.paths() != kernels_->paths() || a.outputs != kernels_->outputs()) {
    throw Error(
        ErrorKind::kBadStudy,
        fmt::format(
            "the architecture has {} paths and {} outputs, but the path kernels have {} and {}",
            a.paths(), a.outputs, kernels_->paths(), kernels_->outputs()));
  }
}

double ExactChain::log_density(const Eigen::Ref<const VectorXd>& position,
                               Eigen::Ref<VectorXd> gradient) {
  const BartlettChain::Factors factors = chain_.factors(position);
  const MatrixXd& f = factors.factor.front();
  if (!f.allFinite()) return -std::numeric_limits<double>::infinity();
  const std::unique_ptr<theory::EnergyState> state =
      kernels_->evaluate(f * f.transpose(), temperature_);
  if (!state) return -std::numeric_limits<double>::infinity();
  const double log_prior = chain_.log_prior(position, gradient);
  // d(-E/2)/dF_1 = -(dE/dU_1) F_1
  chain_.pull_back(factors, -state->gradient * f, gradient);
  return log_prior - 0.5 * state->energy();
}

MatrixXd ExactChain::information(const Eigen::Ref<const VectorXd>& position) {
  const Index d = dimension();
  MatrixXd none = MatrixXd::Constant(d, d, std::numeric_limits<double>::quiet_NaN());
  const BartlettChain::Factors factors = chain_.factors(position);
  const MatrixXd& f = factors.factor.front();
  if (!f.allFinite()) return none;
  const std::unique_ptr<theory::EnergyState> state =
      kernels_->evaluate(f * f.transpose(), temperature_);
  if (!state) return none;
  const MatrixXd jacobian = chain_.first_layer_jacobian(factors);
  const MatrixXd fisher = state->fisher_information(theory::Precision::kDouble);
  MatrixXd information = 0.5 * jacobian * fisher * jacobian.transpose();
  information = 0.5 * (information + information.transpose().eval());
  information.diagonal().array() += 1.0;
  return information;
}

ExactChain ExactChain::in_trapezoidal_coordinates() const {
  ExactChain same = *this;
  same.chain_ = BartlettChain(chain_.architecture(), BartlettChain::Coordinates::kTrapezoidal);
  return same;
}

bool ExactChain::draw_start(Rng& rng, Eigen::Ref<VectorXd> position) {
  chain_.draw_prior(rng, position);
  return true;
}

PosteriorDraw ExactChain::observe(const Eigen::Ref<const VectorXd>& position, bool predictor) {
  const BartlettChain::Factors factors = chain_.factors(position);
  PosteriorDraw draw;
  draw.order_parameters = BartlettChain::order_parameters(factors);
  if (!predictor || predictor_->examples() == 0) return draw;
  const std::unique_ptr<theory::EnergyState> state =
      kernels_->evaluate(draw.order_parameters.layers.front(), temperature_);
  if (!state)
    throw Error(ErrorKind::kInternal,
                "ExactChain::observe: K + T I of a kept draw is not positive definite");
  theory::Prediction prediction = predictor_->predict(*state, draw.order_parameters.layers.front());
  draw.mean = std::move(prediction.mean);
  draw.variance = std::move(prediction.variance);
  return draw;
}

MatrixXd ExactChain::draw_training_output(const Eigen::Ref<const VectorXd>& position, Rng& rng) {
  const MatrixXd factor = chain_.factors(position).factor.front();
  const std::optional<FeatureEnergy> energy =
      FeatureEnergy::evaluate(kernels_->features(), kernels_->labels(), factor, temperature_);
  if (!energy) {
    throw Error(ErrorKind::kInternal,
                "ExactChain::draw_training_output: K + T I is not positive definite");
  }
  return network_output(kernels_->features(), factor, kernels_->outputs(),
                        energy->draw_weights(rng));
}

}  // namespace headway::posterior
