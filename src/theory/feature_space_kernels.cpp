#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>
#include <optional>
#include <utility>

#include "example_space.hpp"
#include "frame.hpp"
#include "headway/model/path_index.hpp"
#include "headway/numerics/dense.hpp"
#include "headway/numerics/symmetric.hpp"
#include "headway/theory/gram.hpp"
#include "kernel_forms.hpp"
#include "path_kernel_forms.hpp"
#include "second_order_blocks.hpp"
#include "variance_curvature.hpp"

namespace headway::theory {
namespace {

using numerics::multiply;
using numerics::SpdFactor;
using numerics::Transpose;

constexpr double kCancelled = 1e-3;  // of |y|^2: a smaller difference has lost too many digits

/// Woodbury form (eq. 30) from Gram matrices alone (eq. 64). With U = F F^T and F of r columns,
/// A = (F kron I)^T G (F kron I), r N_0 square, is G_F of eq. 30; G is lifted to the outputs:
///   logdet(K + T) = (P C - r N_0) log T + logdet(T + A),   v~ = F^T X^T alpha = (T + A)^{-1} F^T b
///   F^T X^T (K + T)^{-1} X F = I - T (T + A)^{-1}: no division by T, so the gradient loses no
///   digits at small temperatures, where F can be divided by.
class FeatureSpaceKernels final : public PathKernels {
 public:
  FeatureSpaceKernels(MatrixXd features, MatrixXd labels, Index paths, int threads);
  FeatureSpaceKernels(GramMatrices data, Index paths, int threads)
      : PathKernels({data.examples, paths, data.gram.rows() / paths, data.outputs()}, threads,
                    KernelForm::kGram),
        data_(std::move(data)) {}

  [[nodiscard]] std::unique_ptr<EnergyState> evaluate(const MatrixXd& u,
                                                      double temperature) const override;
  [[nodiscard]] MatrixXd predictive_mean(const MatrixXd& u, double temperature,
                                         const MatrixXd& test_features) const override;
  [[nodiscard]] const GramMatrices& data() const { return data_; }
  /// A = (F kron I)^T G (F kron I): r N_0 square.
  [[nodiscard]] MatrixXd framed_gram(const MatrixXd& frame) const;
  /// (F kron I)^T b: N_0 x r.
  [[nodiscard]] MatrixXd framed_projection(const MatrixXd& frame) const;
  /// |Y - X F v~|^2, from rows that stand for the examples where there are none: `weights` = F v~.
  [[nodiscard]] double misfit(const MatrixXd& weights) const;

 private:
  GramMatrices data_;
  mutable std::once_flag factored_;
  mutable GramRows rows_;
};

class FeatureSpaceState final : public EnergyState {
 public:
  /// `frame` = F, `factor` of T + A.
  FeatureSpaceState(const FeatureSpaceKernels& kernels, Frame frame, SpdFactor factor,
                    double temperature);

  [[nodiscard]] std::unique_ptr<const EnergyCurvature> curvature(
      const MatrixXd& frame, Precision precision) const override;
  /// Always in double precision: the blocks are at hand.
  [[nodiscard]] MatrixXd fisher_information(Precision /*precision*/) const override {
    return theory::fisher_information(blocks());
  }
  [[nodiscard]] MatrixXd contract_third_derivative(const MatrixXd& sigma,
                                                   Precision precision) const override;
  [[nodiscard]] Prediction predict(const MatrixXd& test_features) const override;
  [[nodiscard]] MatrixXd apply_projected_inverse(const MatrixXd& u) const override {
    MatrixXd result(u.rows(), u.cols());
    multiply(1.0, projected_inverse(), Transpose::kNo, u, Transpose::kNo, 0.0, result);
    return result;
  }
  [[nodiscard]] QuadraticForm second_order_form(const MatrixXd& directions) const override;

 private:
  /// Z = X^T (K + T)^{-1} X in the original (not whitened) features, lifted to the outputs.
  const MatrixXd& projected_inverse() const;
  /// The gradient at a U that cannot be divided by: Z and v in the original features, by one
  /// division by T.
  void differentiate_at_singular();
  void differentiate_in_frame();
  [[nodiscard]] double quadratic_form(const MatrixXd& framed) const;
  /// sum_m (D_m kron I) Z (D_m kron I) for sigma = sum_m D_m D_m^T in svec coordinates, block by
  /// block.
  [[nodiscard]] MatrixXd second_order_matrix(const MatrixXd& sigma) const;
  [[nodiscard]] MatrixXd compute_average_information() const override;
  const BlockSet& blocks() const;

  const FeatureSpaceKernels& kernels_;
  MatrixXd frame_;
  MatrixXd inverse_frame_;  // empty if F cannot be divided by
  SpdFactor factor_;
  double temperature_;
  MatrixXd dual_;      // v~, N_0 x r
  MatrixXd whitened_;  // I - T (T + A)^{-1}, empty if F cannot be divided by
  mutable MatrixXd projected_inverse_;
  mutable BlockSet blocks_;
};

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
  if (frame.invertible) {
    differentiate_in_frame();
  } else {
    differentiate_at_singular();
  }
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
  // (T + A)^{-1} is known to eps times the condition number.
  const double terms = std::max(quadratic, static_cast<double>(kernels_.examples()));
  gradient_rounding = std::numeric_limits<double>::epsilon() * whitened_.norm() *
                      factor_.lower().squaredNorm() * terms;
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
  if (!factor) return nullptr;
  return std::make_unique<FeatureSpaceState>(*this, std::move(*frame), std::move(*factor),
                                             temperature);
}

MatrixXd FeatureSpaceKernels::predictive_mean(const MatrixXd& u, double temperature,
                                              const MatrixXd& test_features) const {
  if (temperature <= 0.0) return {};
  const std::optional<Frame> frame = frame_of(u);
  if (!frame) return {};
  MatrixXd a = framed_gram(frame->matrix);
  a.diagonal().array() += temperature;
  const std::optional<SpdFactor> factor = SpdFactor::factor(std::move(a));
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

const BlockSet& FeatureSpaceState::blocks() const {
  if (blocks_.columns.size() != 0) return blocks_;
  const Index p = kernels_.order();
  const Index n0 = kernels_.feature_count();
  const MatrixXd& z = projected_inverse();
  blocks_.kind = BlockKind::kFeature;
  blocks_.order = p;
  blocks_.side = n0;
  blocks_.columns.resize(n0 * n0, p * p);
  for (Index a = 0; a < p; ++a) {
    for (Index b = 0; b < p; ++b) {
      Eigen::Map<MatrixXd>(blocks_.columns.col(a * p + b).data(), n0, n0) =
          z.block(a * n0, b * n0, n0, n0);
    }
  }
  return blocks_;
}

MatrixXd FeatureSpaceState::compute_average_information() const {
  // (C_k alpha)^T K^{-1} (C_l alpha) = (E_k v)^T Z (E_l v)
  const Index p = kernels_.order();
  const Index n0 = kernels_.feature_count();
  MatrixXd ev = MatrixXd::Zero(p * n0, numerics::symmetric_size(p));
  for (Index a = 0; a < p; ++a) {
    for (Index b = 0; b < p; ++b) {
      const double scale = a == b ? 1.0 : 0.5 * numerics::symmetric_weight(a, b);
      ev.col(numerics::symmetric_index(a, b)).segment(a * n0, n0) += scale * projected_dual_.col(b);
    }
  }
  const MatrixXd zev = apply_projected_inverse(ev);
  MatrixXd information(ev.cols(), ev.cols());
  multiply(1.0, ev, Transpose::kYes, zev, Transpose::kNo, 0.0, information);
  return 0.5 * (information + information.transpose());
}

MatrixXd FeatureSpaceState::second_order_matrix(const MatrixXd& sigma) const {
  const BlockSet& z = blocks();
  const Index p = z.order;
  const Index n0 = z.side;
  const MatrixXd pairs = unpack_pair_matrix(sigma, p);
  MatrixXd q(p * n0, p * n0);
  for (Index a = 0; a < p; ++a) {
    for (Index d = 0; d < p; ++d) {
      VectorXd coefficients(p * p);
      for (Index b = 0; b < p; ++b) {
        for (Index c = 0; c < p; ++c) coefficients[b * p + c] = pairs(a * p + b, c * p + d);
      }
      const VectorXd block = numerics::multiply_vector(z.columns, Transpose::kNo, coefficients);
      q.block(a * n0, d * n0, n0, n0) = Eigen::Map<const MatrixXd>(block.data(), n0, n0);
    }
  }
  return q;
}

QuadraticForm FeatureSpaceState::second_order_form(const MatrixXd& directions) const {
  MatrixXd w;
  if (directions.cols() < kernels_.order()) {  // cheaper, and Sigma may be too large to hold
    w = MatrixXd::Zero(projected_dual_.size(), projected_dual_.size());
    for (const MatrixXd& d : matrices_of(directions, kernels_.order()))
      w += block_congruence(projected_inverse(), d);
  } else {
    w = second_order_matrix(directions * directions.transpose());
  }
  return [w = std::move(w)](const MatrixXd& e) {
    MatrixXd image(e.rows(), e.cols());
    multiply(1.0, w, Transpose::kNo, e, Transpose::kNo, 0.0, image);
    return VectorXd(e.cwiseProduct(image).colwise().sum().transpose());
  };
}

MatrixXd FeatureSpaceState::contract_third_derivative(const MatrixXd& sigma,
                                                      Precision /*precision*/) const {
  // 2 tr_{N_0}[Z Q Z] with Q = sum_m D_m Z D_m.
  const Index p = kernels_.order();
  const Index n0 = kernels_.feature_count();
  const MatrixXd q = second_order_matrix(sigma);
  const MatrixXd qz = apply_projected_inverse(q).transpose();  // (Z Q)^T = Q Z for symmetric Q, Z
  const MatrixXd& full = projected_inverse();
  MatrixXd result(p, p);
  for (Index a = 0; a < p; ++a) {
    for (Index b = 0; b < p; ++b) {
      // tr[(Z Q Z)_ab] = sum over rows of block-row a of Z with block-column b of Q Z
      result(a, b) =
          2.0 *
          full.middleRows(a * n0, n0).cwiseProduct(qz.middleCols(b * n0, n0).transpose()).sum();
    }
  }
  return 0.5 * (result + result.transpose()) + quadratic_third_derivative(*this, sigma);
}

std::unique_ptr<const EnergyCurvature> FeatureSpaceState::curvature(const MatrixXd& frame,
                                                                    Precision /*precision*/) const {
  // In the frame of U itself projected_inverse() would only multiply by F^{-1}, and then by F
  // again.
  if (whitened_.size() != 0 && frame.rows() == frame_.rows() && frame.cols() == frame_.cols() &&
      frame == frame_)
    return make_feature_space_curvature(whitened_, projected_dual_ * frame_);
  return make_feature_space_curvature(block_congruence(projected_inverse(), frame),
                                      projected_dual_ * frame);
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

constexpr double kFewColumns = 0.9;  // of the examples: D^3 a step against P^3

}  // namespace

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
