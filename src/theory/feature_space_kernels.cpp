#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "example_space.hpp"
#include "feature_space.hpp"
#include "headway/model/path_index.hpp"
#include "headway/numerics/dense.hpp"
#include "headway/numerics/symmetric.hpp"
#include "headway/theory/gram.hpp"
#include "kernel_forms.hpp"
#include "orthogonal_kernels.hpp"
#include "path_kernel_forms.hpp"

namespace headway::theory {
namespace {

using numerics::multiply;
using numerics::SpdFactor;
using numerics::Transpose;

constexpr double kCancelled = 1e-3;  // of |y|^2: a smaller difference has lost too many digits
constexpr double kFewColumns = 0.9;  // of the examples: D^3 a step against P^3

}  // namespace

FeatureSpaceKernels::FeatureSpaceKernels(MatrixXd features, MatrixXd labels, Index paths,
                                         int threads)
    : PathKernels(std::move(features), std::move(labels), paths, threads,
                  KernelForm::kFeatureSpace),
      data_(gram_matrices(features_, labels_)) {}

MatrixXd FeatureSpaceKernels::framed_gram(const MatrixXd& frame) const {
  if (outputs() == 1) return block_congruence(data_.gram, frame);
  const Index side = frame.cols() * feature_count();
  MatrixXd a = MatrixXd::Zero(side, side);
  for (Index c = 0; c < outputs(); ++c)
    a += block_congruence(data_.gram, model::output_rows(frame, outputs(), c));
  return a;
}

MatrixXd FeatureSpaceKernels::framed_projection(const MatrixXd& frame) const {
  const Index n0 = feature_count();
  MatrixXd framed = MatrixXd::Zero(n0, frame.cols());
  for (Index c = 0; c < outputs(); ++c) {
    framed += Eigen::Map<const MatrixXd>(data_.projection.col(c).data(), n0, paths()) *
              model::output_rows(frame, outputs(), c);
  }
  return framed;
}

MatrixXd FeatureSpaceKernels::framed_squares(const MatrixXd& frame) const {
  const VectorXd sizes = data_.gram.diagonal().cwiseMax(0.0).cwiseSqrt();
  const Eigen::Map<const MatrixXd> by_path(sizes.data(), feature_count(), paths());
  MatrixXd squares = MatrixXd::Zero(feature_count(), frame.cols());
  for (Index c = 0; c < outputs(); ++c)
    squares += (by_path * model::output_rows(frame, outputs(), c).cwiseAbs()).cwiseAbs2();
  return squares;
}

double FeatureSpaceKernels::pivot_rounding(const MatrixXd& frame, const SpdFactor& factor) const {
  const MatrixXd squares = framed_squares(frame);
  const Eigen::ArrayXd pivots = factor.lower().diagonal().array().square();
  return std::numeric_limits<double>::epsilon() *
         (squares.reshaped().array() / pivots).maxCoeff<Eigen::PropagateNaN>();
}

double FeatureSpaceKernels::misfit(const MatrixXd& weights) const {
  const bool has_examples = features_.size() > 0;
  if (!has_examples) std::call_once(factored_, [this] { rows_ = rows_of_gram(data_); });
  const MatrixXd fit = mean_from_dual(has_examples ? features_ : rows_.features, weights,
                                      MatrixXd::Identity(order(), order()));
  return ((has_examples ? labels_ : rows_.labels) - fit).squaredNorm();
}

FeatureSpaceState::FeatureSpaceState(const FeatureSpaceKernels& kernels, Frame frame,
                                     SpdFactor factor, double temperature)
    : EnergyState(kernels.shared_from_this()),
      kernels_(kernels),
      frame_(std::move(frame.matrix)),
      factor_(std::move(factor)),
      temperature_(temperature) {
  const MatrixXd framed = kernels_.framed_projection(frame_);
  const MatrixXd dual_flat =
      factor_.solve(Eigen::Map<const MatrixXd>(framed.data(), framed.size(), 1));
  dual_ = Eigen::Map<const MatrixXd>(dual_flat.data(), framed.rows(), framed.cols());
  quadratic = quadratic_form(framed);
  const double rest = static_cast<double>(kernels_.examples() * kernels_.outputs() - dual_.size());
  log_determinant = rest * std::log(temperature_) + factor_.log_determinant();
  condition = factor_.condition_estimate();
  estimate_rounding();
  if (frame.invertible) {
    differentiate_in_frame();
  } else {
    differentiate_at_singular();
  }
}

void FeatureSpaceState::estimate_rounding() {
  // A pivot of T + A loses what A_jj is known to. The quadratic form is least at v~, so that only
  // the square of the error of v~ counts.
  constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
  const MatrixXd squares = kernels_.framed_squares(frame_);
  const Eigen::ArrayXd pivots = factor_.lower().diagonal().array().square();
  const Eigen::ArrayXd lost = squares.reshaped().array() / pivots;
  const double dual = dual_.cwiseAbs2().cwiseProduct(squares).sum() / temperature_;
  relative_rounding =
      rounding_of({.pivots = lost.sum(),
                   .dual = std::min(1.0, kEpsilon * lost.maxCoeff() / kToleratedRounding) * dual,
                   .terms = static_cast<double>(kernels_.examples() * kernels_.outputs()),
                   .quadratic = quadratic});
}

double FeatureSpaceState::quadratic_form(const MatrixXd& framed) const {
  // y^T (K + T)^{-1} y = (|y|^2 - b^T F v~) / T. If the difference cancels, the ridge identity is
  // used instead: (|y - X F v~|^2 + T |v~|^2) / T.
  const double labels = kernels_.data().label_square.trace();
  const double difference = labels - framed.cwiseProduct(dual_).sum();
  if (difference > kCancelled * labels) return difference / temperature_;
  return (kernels_.misfit(dual_ * frame_.transpose()) + temperature_ * dual_.squaredNorm()) /
         temperature_;
}

void FeatureSpaceState::differentiate_in_frame() {
  const Index n0 = kernels_.feature_count();
  const Index order = frame_.cols();
  inverse_frame_ = frame_.triangularView<Eigen::Lower>().solve(MatrixXd::Identity(order, order));
  projected_dual_ = dual_ * inverse_frame_;  // v = F^{-T} v~, column by column
  whitened_ = factor_.inverse();
  // Of (T + A)^{-1} and of v~, in a condition number that no scale of the features changes.
  const double terms = std::max(quadratic, static_cast<double>(kernels_.examples()));
  const MatrixXd squares = kernels_.framed_squares(frame_);
  const double inverse =
      whitened_.diagonal().cwiseProduct(squares.reshaped()).maxCoeff<Eigen::PropagateNaN>();
  const double dual = dual_.cwiseAbs2().cwiseProduct(squares).sum() / temperature_;
  gradient_rounding = std::numeric_limits<double>::epsilon() * (inverse * terms + dual);
  lost_share = gradient_rounding / terms;
  whitened_ *= -temperature_;
  whitened_.diagonal().array() += 1.0;
  MatrixXd gradient_in_frame(order, order);
  for (Index a = 0; a < order; ++a) {
    for (Index b = 0; b < order; ++b) {
      gradient_in_frame(a, b) =
          whitened_.block(a * n0, b * n0, n0, n0).trace() - dual_.col(a).dot(dual_.col(b));
    }
  }
  // F^T dE/dU F is known; back to dE/dU.
  gradient = inverse_frame_.transpose() * gradient_in_frame * inverse_frame_;
}

void FeatureSpaceState::differentiate_at_singular() {
  // Z = (G - G F (T + A)^{-1} F^T G) / T, v = (b - G F v~) / T
  const Index n0 = kernels_.feature_count();
  const Index order = kernels_.order();
  const MatrixXd identity = MatrixXd::Identity(order, order);
  projected_inverse_ = kernels_.framed_gram(identity);                // G, lifted
  MatrixXd half = mix_paths(projected_inverse_, frame_).transpose();  // F^T G
  factor_.half_solve(half);
  MatrixXd b = kernels_.framed_projection(frame_);
  const Eigen::Map<MatrixXd> flat(b.data(), b.size(), 1);
  factor_.half_solve(flat);
  MatrixXd explained(order * n0, 1);
  multiply(1.0, half, Transpose::kYes, flat, Transpose::kNo, 0.0, explained);
  projected_dual_ = (kernels_.framed_projection(identity) -
                     Eigen::Map<const MatrixXd>(explained.data(), n0, order)) /
                    temperature_;
  numerics::rank_update_lower(-1.0 / temperature_, half, Transpose::kYes, 1.0 / temperature_,
                              projected_inverse_);
  numerics::mirror_lower(projected_inverse_);
  gradient.resize(order, order);
  for (Index a = 0; a < order; ++a) {
    for (Index c = 0; c < order; ++c)
      gradient(a, c) = projected_inverse_.block(a * n0, c * n0, n0, n0).trace();
  }
  gradient -= projected_dual_.transpose() * projected_dual_;
}

std::unique_ptr<EnergyState> FeatureSpaceKernels::evaluate(const MatrixXd& u,
                                                           double temperature) const {
  if (temperature <= 0.0 || !u.allFinite()) return nullptr;
  std::optional<Frame> frame = frame_of(u);
  if (!frame) return nullptr;
  MatrixXd a = framed_gram(frame->matrix);
  a.diagonal().array() += temperature;
  std::optional<SpdFactor> factor = SpdFactor::factor(std::move(a));
  const bool rotates = features_.size() > 0;
  if (!factor) return rotates ? evaluate_rotated(u, temperature) : nullptr;
  auto state = std::make_unique<FeatureSpaceState>(*this, std::move(*frame), std::move(*factor),
                                                   temperature);
  // The gradient may have lost digits that the energy has.
  const double lost = std::max(state->relative_rounding, state->lost_share);
  if (rotates && !(lost <= kToleratedRounding)) {
    if (std::unique_ptr<EnergyState> rotated = evaluate_rotated(u, temperature)) return rotated;
  }
  return state;
}

MatrixXd FeatureSpaceKernels::predictive_mean(const MatrixXd& u, double temperature,
                                              const MatrixXd& test_features) const {
  if (temperature <= 0.0) return {};
  const std::optional<Frame> frame = frame_of(u);
  if (!frame) return {};
  MatrixXd a = framed_gram(frame->matrix);
  a.diagonal().array() += temperature;
  const std::optional<SpdFactor> factor = SpdFactor::factor(std::move(a));
  const bool lost = factor && pivot_rounding(frame->matrix, *factor) > kToleratedRounding;
  if (features_.size() > 0 && (!factor || lost) && orthogonal() != nullptr)
    return orthogonal()->predictive_mean(u, temperature, test_features);
  if (!factor) return {};
  const MatrixXd framed = framed_projection(frame->matrix);
  const MatrixXd flat = factor->solve(Eigen::Map<const MatrixXd>(framed.data(), framed.size(), 1));
  const Eigen::Map<const MatrixXd> dual(flat.data(), framed.rows(), framed.cols());
  return mean_from_dual(test_features, dual * frame->matrix.transpose(),
                        MatrixXd::Identity(order(), order()));
}

const MatrixXd& FeatureSpaceState::projected_inverse() const {
  if (projected_inverse_.size() == 0)
    projected_inverse_ = block_congruence(whitened_, inverse_frame_);
  return projected_inverse_;
}

Prediction FeatureSpaceState::predict(const MatrixXd& test_features) const {
  // variance of output c = T x~^T (T + A)^{-1} x~ with x~ = (F_c kron I)^T x, F_c the rows of c
  const Index outputs = kernels_.outputs();
  Prediction prediction;
  prediction.mean = mean_from_dual(test_features, dual_ * frame_.transpose(),
                                   MatrixXd::Identity(kernels_.order(), kernels_.order()));
  prediction.variance.resize(test_features.rows(), outputs);
  for (Index c = 0; c < outputs; ++c) {
    MatrixXd solved = mix_paths(test_features, model::output_rows(frame_, outputs, c)).transpose();
    factor_.half_solve(solved);
    prediction.variance.col(c) = temperature_ * solved.colwise().squaredNorm().transpose();
  }
  return prediction;
}

std::shared_ptr<const PathKernels> make_gram_kernels(GramMatrices data, Index paths, int threads) {
  return std::make_shared<FeatureSpaceKernels>(std::move(data), paths, threads);
}

const KernelFormDescription& feature_space_form() {
  static const KernelFormDescription form = {
      KernelForm::kFeatureSpace,
      "feature_space",
      needs_temperature,
      [](const KernelCounts& sizes, const PathKernelOptions& /*options*/) {
        return sizes.columns() < kFewColumns * sizes.n ? Claim::kBest : Claim::kNone;
      },
      [](const KernelCounts& sizes, int /*ranks*/, KernelCost& cost) {
        count_feature_space(sizes, true, cost);
      },
      [](MatrixXd&& features, MatrixXd&& labels, Index paths, const PathKernelOptions& options,
         const KernelCost& /*cost*/) -> std::shared_ptr<const PathKernels> {
        return std::make_shared<FeatureSpaceKernels>(std::move(features), std::move(labels), paths,
                                                     options.threads);
      }};
  return form;
}

}  // namespace headway::theory
