#include "headway/posterior/collapsed_chain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <optional>
#include <utility>

#include "headway/error.hpp"
#include "headway/numerics/dense.hpp"
#include "posterior/conditional_draws.hpp"
#include "posterior/feature_energy.hpp"

namespace headway::posterior {
namespace {

using numerics::multiply;
using numerics::Transpose;

constexpr Index kMostNames = 100000;
constexpr double kSliceEvaluations = 6.0;  // of an elliptical slice, about

void append_matrix_names(const char* name, Index rows, Index columns,
                         std::vector<std::string>& names) {
  for (Index j = 1; j <= columns; ++j) {
    for (Index i = 1; i <= rows; ++i) names.push_back(fmt::format("{}[{},{}]", name, j, i));
  }
}

/// FeatureEnergy::evaluate() with D columns for n rows, without mixing.
double energy_flops(double n, double d) {
  const double less = std::min(n, d);
  return n * d * less + less * less * less / 3.0;
}

}  // namespace

CollapsedChain::CollapsedChain(model::Architecture architecture, double temperature,
                               std::shared_ptr<const theory::PathKernels> kernels,
                               std::shared_ptr<const MatrixXd> test_features,
                               std::string fingerprint)
    : architecture_(std::move(architecture)),
      upper_(BartlettChain::above(architecture_, 2)),
      temperature_(temperature),
      kernels_(std::move(kernels)),
      test_features_(std::move(test_features)),
      fingerprint_(std::move(fingerprint)),
      units_(architecture_.widths.front()),
      inputs_(kernels_->feature_count()) {
  if (!(temperature_ > 0.0) || !std::isfinite(temperature_)) {
    throw Error(ErrorKind::kBadStudy,
                fmt::format("model.temperature = {}: sampling needs a finite temperature > 0",
                            temperature_));
  }
  const model::Architecture& a = architecture_;
  if (a.paths() != kernels_->paths() || a.outputs != kernels_->outputs()) {
    throw Error(
        ErrorKind::kBadStudy,
        fmt::format(
            "the architecture has {} paths and {} outputs, but the path kernels have {} and {}",
            a.paths(), a.outputs, kernels_->paths(), kernels_->outputs()));
  }
  if (kernels_->features().rows() == 0) {
    throw Error(ErrorKind::kBadStudy,
                "sample.sampler = \"collapsed\": needs the path features of examples, and these "
                "kernels hold none; allowed: \"exact\"");
  }
  columns_ = first_factor(VectorXd::Zero(upper_.dimension())).cols();
}

Index CollapsedChain::dimension() const {
  return upper_.dimension() + units_ * (columns_ + inputs_);
}

double CollapsedChain::log_density(const Eigen::Ref<const VectorXd>& /*position*/,
                                   Eigen::Ref<VectorXd> /*gradient*/) {
  throw Error(ErrorKind::kInternal, "CollapsedChain: is sampled by its sweeps alone");
}

MatrixXd CollapsedChain::first_factor(const VectorXd& upper) const {
  const MatrixXd above = upper_.factors(upper).factor.front();
  const Index heads = architecture_.heads.front();
  const double scale = std::sqrt(architecture_.variance(1) / architecture_.width(1));
  MatrixXd factor = MatrixXd::Zero(heads * above.rows(), heads * above.cols());
  for (Index h = 0; h < heads; ++h) {
    factor.block(h * above.rows(), h * above.cols(), above.rows(), above.cols()) = scale * above;
  }
  return factor;
}

MatrixXd CollapsedChain::activations(const MatrixXd& input_weights) const {
  const MatrixXd& x = kernels_->features();
  const Index paths = architecture_.paths();
  MatrixXd activations(x.rows(), paths * units_);
  for (Index path = 0; path < paths; ++path) {
    multiply(1.0, x.middleCols(path * inputs_, inputs_), Transpose::kNo, input_weights,
             Transpose::kNo, 0.0, activations.middleCols(path * units_, units_));
  }
  return activations;
}

MatrixXd CollapsedChain::output(const MatrixXd& effective, const MatrixXd& input_weights) const {
  const Index outputs = architecture_.outputs;
  const MatrixXd all = input_weights * effective.transpose();  // N_0 x (C p), the output fastest
  MatrixXd f(kernels_->examples(), outputs);
  for (Index c = 0; c < outputs; ++c) {
    const MatrixXd weights = all(Eigen::all, Eigen::seqN(c, architecture_.paths(), outputs));
    f.col(c) = numerics::multiply_vector(kernels_->features(), Transpose::kNo, weights.reshaped());
  }
  return f;
}

MatrixXd CollapsedChain::effective_weights(const Eigen::Ref<const VectorXd>& position) const {
  const auto above = position.segment(upper_.dimension(), units_ * columns_);
  return first_factor(position.head(upper_.dimension())) *
         above.reshaped(units_, columns_).transpose();
}

MatrixXd CollapsedChain::draw_training_output(const Eigen::Ref<const VectorXd>& position,
                                              Rng& /*rng*/) {
  return output(effective_weights(position),
                position.tail(units_ * inputs_).reshaped(inputs_, units_));
}

double CollapsedChain::log_likelihood(const Eigen::Ref<const VectorXd>& position) {
  const MatrixXd f = output(effective_weights(position),
                            position.tail(units_ * inputs_).reshaped(inputs_, units_));
  return -0.5 * (kernels_->labels() - f).squaredNorm() / temperature_ -
         0.5 * static_cast<double>(f.size()) * std::log(temperature_);
}

FeatureEnergy CollapsedChain::draw_upper(Rng& rng, const MatrixXd& activations,
                                         Eigen::Ref<VectorXd> upper) const {
  VectorXd all = upper;
  VectorXd gradient(all.size());
  std::optional<FeatureEnergy> energy;  // where it was evaluated last
  bool accepted = false;
  for (const BartlettChain::Block& block : upper_.blocks()) {
    const auto log_factor = [&](const VectorXd& part) {
      all.segment(block.begin, block.count) = part;
      const MatrixXd factor = first_factor(all);
      if (!factor.allFinite()) return -std::numeric_limits<double>::infinity();
      energy =
          FeatureEnergy::evaluate(activations, kernels_->labels(), factor, temperature_ / beta_);
      if (!energy) return -std::numeric_limits<double>::infinity();
      return upper_.log_prior(all, gradient) + 0.5 * part.squaredNorm() - 0.5 * energy->value();
    };
    VectorXd part = all.segment(block.begin, block.count);
    accepted = elliptical_slice(rng, part, log_factor);
    all.segment(block.begin, block.count) = part;
  }
  upper = all;
  return accepted ? *std::move(energy)
                  : energy_of(activations, first_factor(upper), temperature_ / beta_);
}

FeatureEnergy CollapsedChain::energy_of(const MatrixXd& features, const MatrixXd& factor,
                                        double temperature) const {
  std::optional<FeatureEnergy> energy;
  if (factor.allFinite() && features.allFinite()) {
    energy = FeatureEnergy::evaluate(features, kernels_->labels(), factor, temperature);
  }
  if (!energy) {
    throw Error(ErrorKind::kBadStudy,
                fmt::format("model.temperature = {}: must be larger: the collapsed sampler cannot "
                            "draw weights, because their K + T I is not positive definite to "
                            "working precision",
                            temperature_));
  }
  return *std::move(energy);
}

double CollapsedChain::sweep(Rng& rng, Eigen::Ref<VectorXd> position) {
  auto upper = position.head(upper_.dimension());
  auto stored_above = position.segment(upper_.dimension(), units_ * columns_);
  auto stored_input = position.tail(units_ * inputs_);
  if (beta_ == 0.0) {
    draw_start(rng, position);
    return std::numeric_limits<double>::quiet_NaN();
  }
  MatrixXd input = stored_input.reshaped(inputs_, units_);
  const MatrixXd seen = activations(input);
  MatrixXd above =
      draw_upper(rng, seen, upper).draw_weights(rng).reshaped(units_, columns_).transpose();
  draw_along_orbit(rng, above, input);
  upper_.draw_along_orbits(rng, upper, above);
  const MatrixXd effective = first_factor(upper) * above;
  FeatureEnergy energy = energy_of(kernels_->features(), effective, temperature_ / beta_);
  input = energy.draw_weights(rng).reshaped(inputs_, units_);
  stored_above = above.transpose().reshaped();
  stored_input = input.reshaped();
  last_energy_ = nullptr;
  if (beta_ == 1.0) {
    last_ = position;
    last_energy_ = std::make_shared<const FeatureEnergy>(std::move(energy));
  }
  VectorXd gradient(upper_.dimension());
  const double misfit = (kernels_->labels() - output(effective, input)).squaredNorm();
  return upper_.log_prior(upper, gradient) -
         0.5 * (above.squaredNorm() + input.squaredNorm() + beta_ * misfit / temperature_);
}

bool CollapsedChain::draw_start(Rng& rng, Eigen::Ref<VectorXd> position) {
  upper_.draw_prior(rng, position.head(upper_.dimension()));
  const Index weights = units_ * (columns_ + inputs_);
  rng.fill_normal({position.tail(weights).data(), static_cast<std::size_t>(weights)});
  return true;
}

std::vector<std::string> CollapsedChain::coordinate_names() const {
  if (dimension() > kMostNames) return {};
  std::vector<std::string> names = upper_.coordinate_names();
  append_matrix_names("B", units_, columns_, names);
  for (Index j = 1; j <= units_; ++j) {
    for (Index n = 1; n <= inputs_; ++n) names.push_back(fmt::format("Z_0[{},{}]", j, n));
  }
  return names;
}

PosteriorDraw CollapsedChain::observe(const Eigen::Ref<const VectorXd>& position, bool predictor) {
  const MatrixXd effective = effective_weights(position);
  PosteriorDraw draw;
  draw.order_parameters =
      BartlettChain::order_parameters(upper_.factors(position.head(upper_.dimension())));
  draw.order_parameters.layers.insert(draw.order_parameters.layers.begin(),
                                      effective * effective.transpose());
  if (!predictor || test_features_->rows() == 0) return draw;
  theory::Prediction prediction = last_energy_ != nullptr && position == last_
                                      ? last_energy_->predict(*test_features_, effective)
                                      : energy_of(kernels_->features(), effective, temperature_)
                                            .predict(*test_features_, effective);
  draw.mean = std::move(prediction.mean);
  draw.variance = std::move(prediction.variance);
  return draw;
}

double CollapsedChain::sweep_flops(const model::Architecture& architecture, Index examples,
                                   Index features) {
  const auto n = static_cast<double>(examples * architecture.outputs);
  const auto paths = static_cast<double>(architecture.paths());
  const auto inputs = static_cast<double>(features);
  const double units = architecture.width(1);
  const auto second = static_cast<double>(architecture.outputs * architecture.paths_above(2));
  const double rank = architecture.heads.front() *
                      std::min(second, architecture.width(2));  // columns of E's factor
  const double above = energy_flops(n, rank * units) + 2.0 * n * paths * units * rank;
  const double below = energy_flops(n, inputs * units) + 2.0 * n * paths * inputs * units;
  const double slices = kSliceEvaluations * architecture.layers();
  return (slices + 1.0) * above + below + 2.0 * n * paths * inputs * units;
}

}  // namespace headway::posterior
