#include "headway/posterior/weight_posterior.hpp"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "headway/error.hpp"
#include "posterior/weight_gibbs.hpp"
#include "posterior/weight_network.hpp"

namespace headway::posterior {
namespace {

constexpr Index kLargestNamed = 100000;

void append_names(const std::string& block, Index rows, Index columns,
                  std::vector<std::string>& names) {
  for (Index j = 1; j <= columns; ++j) {
    for (Index i = 1; i <= rows; ++i) names.push_back(fmt::format("{}[{},{}]", block, i, j));
  }
}

void check_data(const model::Architecture& architecture, double temperature,
                const theory::PathKernels& kernels, const MatrixXd& test_features) {
  if (!(temperature > 0.0) || !std::isfinite(temperature)) {
    throw Error(ErrorKind::kBadStudy,
                fmt::format("model.temperature = {}: sampling needs a finite temperature > 0",
                            temperature));
  }
  if (architecture.paths() != kernels.paths() || architecture.outputs != kernels.outputs()) {
    throw Error(
        ErrorKind::kBadStudy,
        fmt::format(
            "the architecture has {} paths and {} outputs, but the path kernels have {} and {}",
            architecture.paths(), architecture.outputs, kernels.paths(), kernels.outputs()));
  }
  if (test_features.rows() > 0 && test_features.cols() != kernels.features().cols()) {
    throw Error(
        ErrorKind::kBadStudy,
        fmt::format("the test set has {} path features an example, but the training set has {}",
                    test_features.cols(), kernels.features().cols()));
  }
}

// The weights of the network in a block: s_l Z_l^h.
MatrixXd scaled(const WeightNetwork& network, const Eigen::Ref<const VectorXd>& position, int l,
                Index h) {
  return network.deviation(l) * network.weights(position, l, h);
}

}  // namespace

WeightPosterior::WeightPosterior(model::Architecture architecture, double temperature,
                                 std::shared_ptr<const theory::PathKernels> kernels,
                                 std::shared_ptr<const MatrixXd> test_features,
                                 std::string fingerprint)
    : temperature_(temperature),
      kernels_(std::move(kernels)),
      test_features_(std::move(test_features)),
      fingerprint_(std::move(fingerprint)) {
  architecture.validate();
  check_data(architecture, temperature, *kernels_, *test_features_);
  network_ =
      std::make_shared<const WeightNetwork>(std::move(architecture), kernels_->feature_count());
  gibbs_ = std::make_unique<WeightGibbs>(network_, kernels_, temperature_);
}

WeightPosterior::WeightPosterior(const WeightPosterior& other)
    : SweepTarget(other),
      PosteriorTarget(other),
      network_(other.network_),
      temperature_(other.temperature_),
      kernels_(other.kernels_),
      test_features_(other.test_features_),
      fingerprint_(other.fingerprint_),
      gibbs_(std::make_unique<WeightGibbs>(*other.gibbs_)) {}

WeightPosterior::~WeightPosterior() = default;

Index WeightPosterior::dimension() const { return network_->dimension(); }

double WeightPosterior::log_density(const Eigen::Ref<const VectorXd>& position,
                                    Eigen::Ref<VectorXd> gradient) {
  network_->effective_weights(position, 0, effective_);
  const MatrixXd residual =
      kernels_->labels() - network_->output(kernels_->features(), effective_[0]);
  network_->pull_back(position, kernels_->features(), residual / temperature_, effective_,
                      gradient);
  gradient -= position;
  return -0.5 * position.squaredNorm() - 0.5 * residual.squaredNorm() / temperature_;
}

double WeightPosterior::sweep(Rng& rng, Eigen::Ref<VectorXd> position) {
  return gibbs_->sweep(kernels_->labels(), rng, position);
}

std::unique_ptr<sampling::Target> WeightPosterior::clone() const {
  return std::make_unique<WeightPosterior>(*this);
}

bool WeightPosterior::draw_start(Rng& rng, Eigen::Ref<VectorXd> position) {
  rng.fill_normal({position.data(), static_cast<std::size_t>(position.size())});
  return true;
}

std::vector<std::string> WeightPosterior::coordinate_names() const {
  std::vector<std::string> names;
  if (dimension() > kLargestNamed) return names;
  const int top = network_->top();
  append_names("V_0", network_->rows(0), network_->width(0), names);
  for (int l = 1; l < top; ++l) {
    for (Index h = 0; h < network_->heads(l); ++h) {
      append_names(fmt::format("V_{}^{}", l, h + 1), network_->rows(l), network_->width(l), names);
    }
  }
  if (network_->outputs() > 1) {
    append_names("a", network_->rows(top), network_->width(top), names);
  } else {
    for (Index j = 1; j <= network_->width(top); ++j) names.push_back(fmt::format("a[{}]", j));
  }
  return names;
}

PosteriorDraw WeightPosterior::observe(const Eigen::Ref<const VectorXd>& position, bool predictor) {
  predictor = predictor && test_features_->rows() > 0;
  network_->effective_weights(position, predictor ? 0 : 1, effective_);
  PosteriorDraw draw;
  const int top = network_->top();
  for (int l = 1; l < top; ++l) {
    draw.order_parameters.layers.emplace_back(effective_[l] * effective_[l].transpose());
  }
  draw.order_parameters.readout = effective_[top] * effective_[top].transpose();
  if (!predictor) return draw;
  draw.mean = network_->output(*test_features_, effective_[0]);
  draw.variance = MatrixXd::Zero(draw.mean.rows(), draw.mean.cols());
  return draw;
}

MatrixXd WeightPosterior::draw_training_output(const Eigen::Ref<const VectorXd>& position,
                                               Rng& /*rng*/) {
  network_->effective_weights(position, 0, effective_);
  return network_->output(kernels_->features(), effective_[0]);
}

model::LinearValueNetwork WeightPosterior::network(
    const Eigen::Ref<const VectorXd>& position) const {
  model::LinearValueNetwork result;
  const int top = network_->top();
  result.input = scaled(*network_, position, 0, 0);
  for (int l = 1; l < top; ++l) {
    result.values.emplace_back();
    for (Index h = 0; h < network_->heads(l); ++h) {
      result.values.back().push_back(scaled(*network_, position, l, h));
    }
  }
  result.readout = scaled(*network_, position, top, 0);
  return result;
}

VectorXd WeightPosterior::position(const model::LinearValueNetwork& network) const {
  VectorXd result(dimension());
  Eigen::Ref<VectorXd> view = result;
  const int top = network_->top();
  const auto set = [&](int l, Index h, const MatrixXd& weights) {
    Eigen::Map<MatrixXd> block = network_->mutable_weights(view, l, h);
    if (weights.rows() != block.rows() || weights.cols() != block.cols()) {
      throw Error(ErrorKind::kBadStudy, fmt::format("head {1} of block {0} of the network is {2} x "
                                                    "{3}, but the architecture has {4} x {5}",
                                                    l, h + 1, weights.rows(), weights.cols(),
                                                    block.rows(), block.cols()));
    }
    block = weights / network_->deviation(l);
  };
  bool fits = static_cast<int>(network.values.size()) == top - 1;
  for (int l = 1; fits && l < top; ++l) {
    fits = static_cast<Index>(network.values[l - 1].size()) == network_->heads(l);
  }
  if (!fits) {
    throw Error(ErrorKind::kBadStudy,
                "the network has other layers or heads than the architecture");
  }
  set(0, 0, network.input);
  for (int l = 1; l < top; ++l) {
    for (Index h = 0; h < network_->heads(l); ++h) set(l, h, network.values[l - 1][h]);
  }
  set(top, 0, network.readout);
  return result;
}

}  // namespace headway::posterior
