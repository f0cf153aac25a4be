#include "headway/posterior/learned_chain.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <optional>
#include <utility>

#include "headway/error.hpp"
#include "posterior/feature_energy.hpp"

namespace headway::posterior {
namespace {

constexpr double kImpossible = -std::numeric_limits<double>::infinity();

}  // namespace

LearnedChain::LearnedChain(model::Architecture architecture, double temperature,
                           Attention attention, std::shared_ptr<const MatrixXd> labels,
                           Attention evaluation, std::string fingerprint)
    : chain_(std::move(architecture)),
      temperature_(temperature),
      attention_(std::move(attention)),
      evaluation_(std::move(evaluation)),
      labels_(std::move(labels)),
      fingerprint_(std::move(fingerprint)) {
  const model::Architecture& a = chain_.architecture();
  if (!(temperature_ > 0.0) || !std::isfinite(temperature_)) {
    throw Error(ErrorKind::kBadStudy, fmt::format("model.temperature = {}: learned attention needs "
                                                  "a finite temperature > 0",
                                                  temperature_));
  }
  if (a.heads != coordinates().prior().heads || a.outputs != labels_->cols() ||
      attention_->examples() != labels_->rows()) {
    throw Error(ErrorKind::kBadStudy,
                fmt::format("learned attention: the architecture has {} paths and {} outputs, the "
                            "attention {} paths and {} examples, the labels are {} x {}",
                            a.paths(), a.outputs, attention_->paths(), attention_->examples(),
                            labels_->rows(), labels_->cols()));
  }
  scale_ = std::sqrt(a.variance(0) / static_cast<double>(attention_->features() * a.paths()));
}

double LearnedChain::log_density(const Eigen::Ref<const VectorXd>& position,
                                 Eigen::Ref<VectorXd> gradient) {
  const auto z = position.head(weights());
  const auto x = position.tail(chain_.dimension());
  auto z_gradient = gradient.head(weights());
  auto x_gradient = gradient.tail(chain_.dimension());
  double value = chain_.log_prior(x, x_gradient) - 0.5 * z.squaredNorm() -
                 0.5 * static_cast<double>(weights()) * std::log(2.0 * std::numbers::pi);
  z_gradient = -z;
  if (beta_ == 0.0) return value;
  const BartlettChain::Factors factors = chain_.factors(x);
  const MatrixXd& f = factors.factor.front();
  if (!f.allFinite() || !attention_->path_features(z, scale_, pass_, features_)) return kImpossible;
  const std::optional<FeatureEnergy> energy =
      FeatureEnergy::evaluate(features_, *labels_, f, temperature_);
  if (!energy) return kImpossible;
  energy->gradient(features_, f, factor_slope_, features_slope_);
  features_slope_ *= -0.5 * beta_;
  factor_slope_ *= -0.5 * beta_;
  attention_->pull_back(z, scale_, features_slope_, pass_, z_gradient);
  chain_.pull_back(factors, factor_slope_, x_gradient);
  return value - 0.5 * beta_ * energy->value();
}

double LearnedChain::log_likelihood(const Eigen::Ref<const VectorXd>& position) {
  const BartlettChain::Factors factors = chain_.factors(position.tail(chain_.dimension()));
  const MatrixXd& f = factors.factor.front();
  if (!f.allFinite() ||
      !attention_->path_features(position.head(weights()), scale_, pass_, features_)) {
    return kImpossible;
  }
  const std::optional<FeatureEnergy> energy =
      FeatureEnergy::evaluate(features_, *labels_, f, temperature_);
  return energy ? -0.5 * energy->value() : kImpossible;
}

bool LearnedChain::draw_start(Rng& rng, Eigen::Ref<VectorXd> position) {
  rng.fill_normal({position.data(), static_cast<std::size_t>(weights())});
  chain_.draw_prior(rng, position.tail(chain_.dimension()));
  return true;
}

double LearnedChain::sweep(Rng& rng, Eigen::Ref<VectorXd> position) {
  if (beta_ != 0.0) throw Error(ErrorKind::kInternal, "LearnedChain::sweep: not at the prior");
  draw_start(rng, position);
  return std::numeric_limits<double>::quiet_NaN();
}

std::vector<std::string> LearnedChain::coordinate_names() const {
  std::vector<std::string> names = coordinates().names();
  for (std::string& name : chain_.coordinate_names()) names.push_back(std::move(name));
  return names;
}

PosteriorDraw LearnedChain::observe(const Eigen::Ref<const VectorXd>& position, bool predictor) {
  const auto z = position.head(weights());
  const BartlettChain::Factors factors = chain_.factors(position.tail(chain_.dimension()));
  const MatrixXd& f = factors.factor.front();
  PosteriorDraw draw;
  draw.order_parameters = BartlettChain::order_parameters(factors);
  if (!attention_->path_features(z, scale_, pass_, features_)) {
    throw Error(ErrorKind::kInternal,
                "LearnedChain::observe: the attention of a kept draw is not finite");
  }
  const model::AttentionStatistics seen = attention_->statistics(z, pass_);
  draw.attention_entropy = seen.entropy;
  draw.attention_largest = seen.largest;
  const bool predicts = predictor && evaluation_ != nullptr;
  const std::optional<FeatureEnergy> energy =
      FeatureEnergy::evaluate(features_, *labels_, f, temperature_);
  if (!energy) {
    throw Error(ErrorKind::kInternal,
                "LearnedChain::observe: K + T I of a kept draw is not positive definite");
  }
  draw.log_likelihood = -0.5 * energy->value();
  if (!predicts) return draw;
  if (!evaluation_->path_features(z, scale_, evaluation_pass_, features_)) {
    throw Error(ErrorKind::kBadData,
                "the attention of a kept draw is not finite on the test examples");
  }
  theory::Prediction prediction = energy->predict(features_, f);
  draw.mean = std::move(prediction.mean);
  draw.variance = std::move(prediction.variance);
  return draw;
}

MatrixXd LearnedChain::draw_training_output(const Eigen::Ref<const VectorXd>& position, Rng& rng) {
  const MatrixXd factor = chain_.factors(position.tail(chain_.dimension())).factor.front();
  const bool finite = attention_->path_features(position.head(weights()), scale_, pass_, features_);
  const std::optional<FeatureEnergy> energy =
      finite ? FeatureEnergy::evaluate(features_, *labels_, factor, temperature_) : std::nullopt;
  if (!energy) {
    throw Error(ErrorKind::kInternal,
                "LearnedChain::draw_training_output: K + T I is not positive definite");
  }
  return network_output(features_, factor, labels_->cols(), energy->draw_weights(rng));
}

PriorOutputs LearnedChain::draw_prior_outputs(const Eigen::Ref<const VectorXd>& position,
                                              Rng& rng) {
  const auto z = position.head(weights());
  const MatrixXd factor = chain_.factors(position.tail(chain_.dimension())).factor.front();
  const VectorXd w = standard_normals(rng, factor.cols() * attention_->features());
  const auto output = [&](const model::LearnedAttention& on,
                          model::LearnedAttention::Workspace& pass) {
    if (!on.path_features(z, scale_, pass, features_)) {
      throw Error(ErrorKind::kBadData, "the attention of a draw from the prior is not finite");
    }
    return network_output(features_, factor, labels_->cols(), w);
  };
  PriorOutputs outputs;
  outputs.train = output(*attention_, pass_);
  outputs.test =
      evaluation_ ? output(*evaluation_, evaluation_pass_) : MatrixXd::Zero(0, labels_->cols());
  return outputs;
}

}  // namespace headway::posterior
