#include <cmath>
#include <optional>
#include <utility>

#include "example_space.hpp"
#include "headway/numerics/dense.hpp"
#include "headway/numerics/symmetric.hpp"
#include "path_kernel_forms.hpp"
#include "second_order_blocks.hpp"

namespace headway::theory {
namespace {

using numerics::multiply;
using numerics::SpdFactor;
using numerics::Transpose;

/// (M kron I_n)^T A (M kron I_n) for A of p x p blocks of size n, M p x p. Cost 4 p^3 n^2 flops.
MatrixXd block_congruence(const MatrixXd& a, const MatrixXd& m) {
  const MatrixXd columns = mix_paths(a, m);
  const MatrixXd transposed = columns.transpose();
  return mix_paths(transposed, m);
}

/// Woodbury form (eq. 30) for D = p N_0 < P: with U = R R^T and A = (R kron I)^T X^T X (R kron I),
///   logdet(K + T) = (P - D) log T + logdet(T + A),   v~ = R^T X^T alpha = (T + A)^{-1} R^T X^T y,
///   R^T X^T (K + T)^{-1} X R = I - T (T + A)^{-1}: no division by T, so small temperatures lose no
///   digits.
class FeatureSpaceKernels final : public PathKernels {
 public:
  FeatureSpaceKernels(MatrixXd features, MatrixXd labels, Index paths, int threads);

  [[nodiscard]] std::unique_ptr<EnergyState> evaluate(const MatrixXd& u,
                                                      double temperature) const override;
  [[nodiscard]] MatrixXd predictive_mean(const MatrixXd& u, double temperature,
                                         const MatrixXd& test_features) const override;
  /// X^T y
  [[nodiscard]] const VectorXd& projection() const { return projection_; }

 private:
  MatrixXd gram_;        // X^T X
  VectorXd projection_;  // X^T y
};

class FeatureSpaceState final : public EnergyState {
 public:
  /// `frame` = R, `factor` of T + A.
  FeatureSpaceState(const FeatureSpaceKernels& kernels, MatrixXd frame, SpdFactor factor,
                    double temperature);

  [[nodiscard]] std::unique_ptr<const EnergyCurvature> curvature(
      const MatrixXd& frame, Precision precision) const override;
  [[nodiscard]] const MatrixXd& average_information() const override;
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

 private:
  /// Z = X^T (K + T)^{-1} X in the original (not whitened) features.
  const MatrixXd& projected_inverse() const;
  const BlockSet& blocks() const;

  const FeatureSpaceKernels& kernels_;
  MatrixXd frame_;
  MatrixXd inverse_frame_;
  SpdFactor factor_;
  double temperature_;
  MatrixXd whitened_;  // I - T (T + A)^{-1}
  mutable MatrixXd projected_inverse_;
  mutable BlockSet blocks_;
  mutable MatrixXd average_information_;
};

FeatureSpaceKernels::FeatureSpaceKernels(MatrixXd features, MatrixXd labels, Index paths,
                                         int threads)
    : PathKernels(std::move(features), std::move(labels), paths, threads,
                  KernelForm::kFeatureSpace) {
  gram_.resize(features_.cols(), features_.cols());
  numerics::rank_update_lower(1.0, features_, Transpose::kYes, 0.0, gram_);
  numerics::mirror_lower(gram_);
  projection_ = numerics::multiply_vector(features_, Transpose::kYes, labels_.col(0));
}

FeatureSpaceState::FeatureSpaceState(const FeatureSpaceKernels& kernels, MatrixXd frame,
                                     SpdFactor factor, double temperature)
    : EnergyState(kernels.shared_from_this()),
      kernels_(kernels),
      frame_(std::move(frame)),
      factor_(std::move(factor)),
      temperature_(temperature) {
  const Index p = kernels_.paths();
  const Index n0 = kernels_.feature_count();
  const Index d = p * n0;
  inverse_frame_ = frame_.triangularView<Eigen::Lower>().solve(MatrixXd::Identity(p, p));
  // v~ = (T + A)^{-1} R^T X^T y
  const Eigen::Map<const MatrixXd> projection(kernels_.projection().data(), n0, p);
  const MatrixXd framed = projection * frame_;
  const MatrixXd dual_flat = factor_.solve(Eigen::Map<const MatrixXd>(framed.data(), d, 1));
  const Eigen::Map<const MatrixXd> dual(dual_flat.data(), n0, p);
  projected_dual_ = dual * inverse_frame_;  // v = R^{-T} v~, column by column

  // Ridge identity: y^T (K + T)^{-1} y = (|y - X R v~|^2 + T |v~|^2) / T, no cancellation between
  // large terms.
  const MatrixXd weights = dual * frame_.transpose();
  const VectorXd fit = numerics::multiply_vector(kernels_.features(), Transpose::kNo,
                                                 Eigen::Map<const VectorXd>(weights.data(), d));
  const double residual = (kernels_.labels().col(0) - fit).squaredNorm();
  quadratic = (residual + temperature_ * dual.squaredNorm()) / temperature_;
  log_determinant = static_cast<double>(kernels_.examples() - d) * std::log(temperature_) +
                    factor_.log_determinant();
  condition = factor_.condition_estimate();

  whitened_ = -temperature_ * factor_.inverse();
  whitened_.diagonal().array() += 1.0;
  MatrixXd gradient_in_frame(p, p);
  for (Index a = 0; a < p; ++a) {
    for (Index b = 0; b < p; ++b) {
      gradient_in_frame(a, b) =
          whitened_.block(a * n0, b * n0, n0, n0).trace() - dual.col(a).dot(dual.col(b));
    }
  }
  // R^T dE/dU R is known; back to dE/dU.
  gradient = inverse_frame_.transpose() * gradient_in_frame * inverse_frame_;
}

std::unique_ptr<EnergyState> FeatureSpaceKernels::evaluate(const MatrixXd& u,
                                                           double temperature) const {
  const std::optional<SpdFactor> frame = SpdFactor::factor(u);
  if (!frame || temperature <= 0.0) return nullptr;
  MatrixXd a = block_congruence(gram_, frame->lower());
  a.diagonal().array() += temperature;
  std::optional<SpdFactor> factor = SpdFactor::factor(std::move(a));
  if (!factor) return nullptr;
  return std::make_unique<FeatureSpaceState>(*this, frame->lower(), std::move(*factor),
                                             temperature);
}

MatrixXd FeatureSpaceKernels::predictive_mean(const MatrixXd& u, double temperature,
                                              const MatrixXd& test_features) const {
  if (temperature <= 0.0) return {};
  const MatrixXd root = numerics::symmetric_square_root(u);
  MatrixXd a = block_congruence(gram_, root);
  a.diagonal().array() += temperature;
  const std::optional<SpdFactor> factor = SpdFactor::factor(std::move(a));
  if (!factor) return {};
  const Index n0 = feature_count();
  const Eigen::Map<const MatrixXd> projection(projection_.data(), n0, paths());
  const MatrixXd framed = projection * root;
  const MatrixXd dual = factor->solve(Eigen::Map<const MatrixXd>(framed.data(), framed.size(), 1));
  const MatrixXd weights = Eigen::Map<const MatrixXd>(dual.data(), n0, paths()) * root;
  return numerics::multiply_vector(test_features, Transpose::kNo,
                                   Eigen::Map<const VectorXd>(weights.data(), weights.size()));
}

const MatrixXd& FeatureSpaceState::projected_inverse() const {
  if (projected_inverse_.size() == 0)
    projected_inverse_ = block_congruence(whitened_, inverse_frame_);
  return projected_inverse_;
}

const BlockSet& FeatureSpaceState::blocks() const {
  if (blocks_.columns.size() != 0) return blocks_;
  const Index p = kernels_.paths();
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

const MatrixXd& FeatureSpaceState::average_information() const {
  if (average_information_.size() != 0) return average_information_;
  // (C_k alpha)^T K^{-1} (C_l alpha) = (E_k v)^T Z (E_l v)
  const Index p = kernels_.paths();
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
  average_information_ = 0.5 * (information + information.transpose());
  return average_information_;
}

MatrixXd FeatureSpaceState::contract_third_derivative(const MatrixXd& sigma,
                                                      Precision /*precision*/) const {
  // 2 tr_{N_0}[Z Q Z] with Q = sum_m D_m Z D_m, block by block.
  const BlockSet& z = blocks();
  const Index p = z.order;
  const Index n0 = z.side;
  const MatrixXd pairs = unpack_pair_matrix(sigma, p);
  MatrixXd q(p * n0, p * n0);
  MatrixXd column(n0 * n0, 1);
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

/// With Z = X~^T (K + T)^{-1} X~ and v = X~^T alpha of X~ = X (F kron I), and E for E kron I:
///   Z' = -Z E Z,  v' = -Z E v;     Z'' = 2 Z E Z E Z,  v'' = -2 Z E v'
/// and the results are the traces over features of Z' and Z'' less the outer products of v (eqs. 59
/// and 60). Cost of apply() 4 D^2 p flops, p / D of an evaluation.
class FeatureSpaceCurvature final : public EnergyCurvature {
 public:
  FeatureSpaceCurvature(MatrixXd z, MatrixXd v) : z_(std::move(z)), v_(std::move(v)) {}

  [[nodiscard]] MatrixXd apply(const MatrixXd& e) const override {
    const MatrixXd v1 = -times_z(v_ * e);
    const MatrixXd outer = v1.transpose() * v_;
    return -block_traces(mix_paths(z_, e).transpose(), z_) - outer - outer.transpose();
  }
  [[nodiscard]] MatrixXd apply_twice(const MatrixXd& e) const override {
    const MatrixXd ez = mix_paths(z_, e).transpose();
    MatrixXd zez(z_.rows(), z_.cols());
    multiply(1.0, z_, Transpose::kNo, ez, Transpose::kNo, 0.0, zez);
    const MatrixXd v1 = -times_z(v_ * e);
    const MatrixXd outer = -2.0 * times_z(v1 * e).transpose() * v_;
    return 2.0 * block_traces(ez, zez) - outer - outer.transpose() - 2.0 * v1.transpose() * v1;
  }

 private:
  /// Traces over features of the blocks of A^T B, symmetrised.
  [[nodiscard]] MatrixXd block_traces(const MatrixXd& a, const MatrixXd& b) const {
    const Index order = v_.cols();
    const Index rows = a.size() / order;
    MatrixXd traces(order, order);
    multiply(1.0, Eigen::Map<const MatrixXd>(a.data(), rows, order), Transpose::kYes,
             Eigen::Map<const MatrixXd>(b.data(), rows, order), Transpose::kNo, 0.0, traces);
    return 0.5 * (traces + traces.transpose());
  }
  [[nodiscard]] MatrixXd times_z(const MatrixXd& v) const {
    const VectorXd result = numerics::multiply_vector(
        z_, Transpose::kNo, Eigen::Map<const VectorXd>(v.data(), v.size()));
    return Eigen::Map<const MatrixXd>(result.data(), v.rows(), v.cols());
  }

  MatrixXd z_;  // Z, D x D
  MatrixXd v_;  // N_0 x p
};

std::unique_ptr<const EnergyCurvature> FeatureSpaceState::curvature(const MatrixXd& frame,
                                                                    Precision /*precision*/) const {
  // In the frame of U itself projected_inverse() would be undone again.
  if (frame == frame_)
    return std::make_unique<FeatureSpaceCurvature>(whitened_, projected_dual_ * frame_);
  return std::make_unique<FeatureSpaceCurvature>(block_congruence(projected_inverse(), frame),
                                                 projected_dual_ * frame);
}

Prediction FeatureSpaceState::predict(const MatrixXd& test_features) const {
  // variance = T x~^T (T + A)^{-1} x~ with x~ = (R kron I)^T x
  Prediction prediction;
  const MatrixXd framed = mix_paths(test_features, frame_);
  const MatrixXd u_v = projected_dual_ * (frame_ * frame_.transpose());
  prediction.mean = numerics::multiply_vector(test_features, Transpose::kNo,
                                              Eigen::Map<const VectorXd>(u_v.data(), u_v.size()));
  MatrixXd solved = framed.transpose();
  factor_.half_solve(solved);
  prediction.variance = temperature_ * solved.colwise().squaredNorm().transpose();
  return prediction;
}

}  // namespace

std::shared_ptr<const PathKernels> make_feature_space_kernels(MatrixXd features, MatrixXd labels,
                                                              Index paths, int threads) {
  return std::make_shared<FeatureSpaceKernels>(std::move(features), std::move(labels), paths,
                                               threads);
}

}  // namespace headway::theory
