#include "headway/posterior/value_chain.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <optional>
#include <utility>

#include "headway/error.hpp"
#include "headway/numerics/dense.hpp"
#include "posterior/feature_energy.hpp"

namespace headway::posterior {
namespace {

using model::ValueSites;
using numerics::multiply;
using numerics::Transpose;

constexpr double kNoDensity = -std::numeric_limits<double>::infinity();

}  // namespace

ValueChain::ValueChain(model::Architecture architecture, double temperature, Sites sites,
                       std::shared_ptr<const MatrixXd> labels, Sites evaluation,
                       std::string fingerprint)
    : architecture_(std::move(architecture)),
      readout_(BartlettChain::above(architecture_, architecture_.layers() + 1)),
      temperature_(temperature),
      sites_(std::move(sites)),
      evaluation_(std::move(evaluation)),
      labels_(std::move(labels)),
      fingerprint_(std::move(fingerprint)),
      units_(architecture_.widths.front()),
      inputs_(sites_->directions.cols()) {
  if (!(temperature_ > 0.0) || !std::isfinite(temperature_)) {
    throw Error(ErrorKind::kBadStudy,
                fmt::format("model.temperature = {}: samples of a value network need a finite "
                            "temperature > 0",
                            temperature_));
  }
  if (architecture_.layers() != 1 || architecture_.paths() != sites_->readouts() ||
      architecture_.outputs != labels_->cols() || sites_->examples() != labels_->rows()) {
    throw Error(
        ErrorKind::kBadStudy,
        fmt::format("value network: the architecture has {} layers, {} heads and {} "
                    "outputs, the sites have {} heads and {} examples, the labels are "
                    "{} x {}",
                    architecture_.layers(), architecture_.paths(), architecture_.outputs,
                    sites_->readouts(), sites_->examples(), labels_->rows(), labels_->cols()));
  }
}

MatrixXd ValueChain::hidden_weights(const Eigen::Ref<const VectorXd>& position) const {
  return std::sqrt(architecture_.variance(0)) *
         Eigen::Map<const MatrixXd>(position.data(), inputs_, units_);
}

MatrixXd ValueChain::features(const ValueSites& sites, const MatrixXd& v,
                              MatrixXd& arguments) const {
  arguments.resize(sites.directions.rows(), units_);
  multiply(1.0, sites.directions, Transpose::kNo, v, Transpose::kNo, 0.0, arguments);
  const MatrixXd values = arguments.unaryExpr(
      [phi = sites_->nonlinearity](double z) { return numerics::apply_nonlinearity(phi, z); });
  const Index readouts = sites.readouts();
  const double scale = 1.0 / std::sqrt(static_cast<double>(units_ * readouts));
  MatrixXd h(sites.examples(), readouts * units_);
  for (Index i = 0; i < sites.examples(); ++i) {
    const Index at = sites.first(i), count = sites.first(i + 1) - at;
    for (Index r = 0; r < readouts; ++r) {
      h.row(i).segment(r * units_, units_) =
          scale *
          (sites.weights.col(r).segment(at, count).transpose() * values.middleRows(at, count));
    }
  }
  return h;
}

MatrixXd ValueChain::pull_back(const MatrixXd& arguments, const MatrixXd& slope) const {
  const Index readouts = sites_->readouts();
  const double scale = 1.0 / std::sqrt(static_cast<double>(units_ * readouts));
  MatrixXd of_sites = MatrixXd::Zero(arguments.rows(), units_);
  for (Index i = 0; i < sites_->examples(); ++i) {
    const Index at = sites_->first(i), count = sites_->first(i + 1) - at;
    for (Index r = 0; r < readouts; ++r) {
      of_sites.middleRows(at, count).noalias() += scale *
                                                  sites_->weights.col(r).segment(at, count) *
                                                  slope.row(i).segment(r * units_, units_);
    }
  }
  of_sites.array() *= arguments
                          .unaryExpr([phi = sites_->nonlinearity](double z) {
                            return numerics::nonlinearity_slope(phi, z);
                          })
                          .array();
  MatrixXd over_v(inputs_, units_);
  multiply(1.0, sites_->directions, Transpose::kYes, of_sites, Transpose::kNo, 0.0, over_v);
  return over_v;
}

double ValueChain::log_density(const Eigen::Ref<const VectorXd>& position,
                               Eigen::Ref<VectorXd> gradient) {
  const auto z = position.head(weights());
  const auto x = position.tail(readout_.dimension());
  auto z_gradient = gradient.head(weights());
  auto x_gradient = gradient.tail(readout_.dimension());
  const double value = readout_.log_prior(x, x_gradient) - 0.5 * z.squaredNorm() -
                       0.5 * static_cast<double>(weights()) * std::log(2.0 * std::numbers::pi);
  z_gradient = -z;
  if (beta_ == 0.0) return value;
  const BartlettChain::Factors factors = readout_.factors(x);
  const double s1 = std::sqrt(architecture_.variance(1));
  const MatrixXd factor = s1 * factors.factor.front();
  MatrixXd arguments;
  const MatrixXd h = features(*sites_, hidden_weights(position), arguments);
  if (!factor.allFinite() || !h.allFinite()) return kNoDensity;
  const std::optional<FeatureEnergy> energy =
      FeatureEnergy::evaluate(h, *labels_, factor, temperature_);
  if (!energy) return kNoDensity;
  MatrixXd over_factor, over_features;
  energy->gradient(h, factor, over_factor, over_features);
  const MatrixXd over_v = pull_back(arguments, over_features);
  z_gradient -= 0.5 * beta_ * std::sqrt(architecture_.variance(0)) * over_v.reshaped();
  readout_.pull_back(factors, -0.5 * beta_ * s1 * over_factor, x_gradient);
  return value - 0.5 * beta_ * energy->value();
}

double ValueChain::log_likelihood(const Eigen::Ref<const VectorXd>& position) {
  const MatrixXd factor = factor_of(position);
  MatrixXd arguments;
  const MatrixXd h = features(*sites_, hidden_weights(position), arguments);
  if (!factor.allFinite() || !h.allFinite()) return kNoDensity;
  const std::optional<FeatureEnergy> energy =
      FeatureEnergy::evaluate(h, *labels_, factor, temperature_);
  return energy ? -0.5 * energy->value() : kNoDensity;
}

bool ValueChain::draw_start(Rng& rng, Eigen::Ref<VectorXd> position) {
  rng.fill_normal({position.data(), static_cast<std::size_t>(weights())});
  readout_.draw_prior(rng, position.tail(readout_.dimension()));
  return true;
}

double ValueChain::sweep(Rng& rng, Eigen::Ref<VectorXd> position) {
  if (beta_ != 0.0) throw Error(ErrorKind::kInternal, "ValueChain::sweep: not at the prior");
  draw_start(rng, position);
  return std::numeric_limits<double>::quiet_NaN();
}

std::vector<std::string> ValueChain::coordinate_names() const {
  std::vector<std::string> names;
  for (Index i = 1; i <= units_; ++i) {
    for (Index k = 1; k <= inputs_; ++k) names.push_back(fmt::format("v[{},{}]", i, k));
  }
  for (std::string& name : readout_.coordinate_names()) names.push_back(std::move(name));
  return names;
}

MatrixXd ValueChain::mean_first_layer(const MatrixXd& moments, const MatrixXd& factor) const {
  // o_(ri) = F w_(ri), and `moments` has w over (factor column, readout, hidden unit).
  const Index readouts = sites_->readouts(), outputs = architecture_.outputs;
  const Index features_of = readouts * units_, columns = factor.cols();
  MatrixXd u = MatrixXd::Zero(readouts * outputs, readouts * outputs);
  for (Index r = 0; r < readouts; ++r) {
    for (Index q = 0; q < readouts; ++q) {
      MatrixXd w(columns, columns);
      for (Index a = 0; a < columns; ++a) {
        for (Index b = 0; b < columns; ++b) {
          w(a, b) =
              moments
                  .block(a * features_of + r * units_, b * features_of + q * units_, units_, units_)
                  .trace();
        }
      }
      u.block(r * outputs, q * outputs, outputs, outputs) = factor * w * factor.transpose();
    }
  }
  return u / static_cast<double>(units_);
}

PosteriorDraw ValueChain::observe(const Eigen::Ref<const VectorXd>& position, bool predictor) {
  const BartlettChain::Factors factors = readout_.factors(position.tail(readout_.dimension()));
  const MatrixXd& top = factors.factor.front();
  const MatrixXd factor = std::sqrt(architecture_.variance(1)) * top;
  const MatrixXd v = hidden_weights(position);
  MatrixXd arguments;
  const std::optional<FeatureEnergy> energy =
      FeatureEnergy::evaluate(features(*sites_, v, arguments), *labels_, factor, temperature_);
  if (!energy) {
    throw Error(ErrorKind::kInternal,
                "ValueChain::observe: K + T I of a kept draw is not positive definite");
  }
  PosteriorDraw draw;
  draw.order_parameters.readout = top * top.transpose();
  draw.order_parameters.layers = {mean_first_layer(energy->weight_moments(), factor)};
  draw.feature_covariance = v * v.transpose() / static_cast<double>(units_);
  draw.log_likelihood = -0.5 * energy->value();
  if (!predictor || evaluation_ == nullptr) return draw;
  theory::Prediction prediction = energy->predict(features(*evaluation_, v, arguments), factor);
  draw.mean = std::move(prediction.mean);
  draw.variance = std::move(prediction.variance);
  return draw;
}

MatrixXd ValueChain::factor_of(const Eigen::Ref<const VectorXd>& position) const {
  return std::sqrt(architecture_.variance(1)) *
         readout_.factors(position.tail(readout_.dimension())).factor.front();
}

MatrixXd ValueChain::draw_training_output(const Eigen::Ref<const VectorXd>& position, Rng& rng) {
  const MatrixXd factor = factor_of(position);
  MatrixXd arguments;
  const MatrixXd h = features(*sites_, hidden_weights(position), arguments);
  const std::optional<FeatureEnergy> energy =
      FeatureEnergy::evaluate(h, *labels_, factor, temperature_);
  if (!energy) {
    throw Error(ErrorKind::kInternal,
                "ValueChain::draw_training_output: K + T I is not positive definite");
  }
  return network_output(h, factor, labels_->cols(), energy->draw_weights(rng));
}

PriorOutputs ValueChain::draw_prior_outputs(const Eigen::Ref<const VectorXd>& position, Rng& rng) {
  const MatrixXd factor = factor_of(position);
  const MatrixXd v = hidden_weights(position);
  const VectorXd w = standard_normals(rng, factor.cols() * sites_->readouts() * units_);
  MatrixXd arguments;
  const auto output = [&](const ValueSites& sites) {
    return network_output(features(sites, v, arguments), factor, labels_->cols(), w);
  };
  return {output(*sites_), evaluation_ ? output(*evaluation_) : MatrixXd::Zero(0, labels_->cols())};
}

}  // namespace headway::posterior
