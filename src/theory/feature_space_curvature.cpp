#include <memory>
#include <utility>

#include "example_space.hpp"
#include "feature_space.hpp"
#include "headway/numerics/dense.hpp"
#include "headway/numerics/symmetric.hpp"
#include "path_kernel_forms.hpp"
#include "variance_curvature.hpp"

namespace headway::theory {
namespace {

using numerics::multiply;
using numerics::Transpose;

/// Let X~ = X (F kron I), Z = X~^T (K + T)^{-1} X~ and v = X~^T alpha, and write E for E kron I.
/// Then
///   Z' = -Z E Z,  v' = -Z E v;     Z'' = 2 Z E Z E Z,  v'' = -2 Z E v'.
/// The results are the traces over features of Z' and Z'' minus the derivatives of the outer
/// products of v (eqs. 59 and 60). Cost of apply() 4 D^2 p flops, p / D of an evaluation.
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

}  // namespace

std::unique_ptr<const EnergyCurvature> make_feature_space_curvature(MatrixXd z, MatrixXd v) {
  return std::make_unique<FeatureSpaceCurvature>(std::move(z), std::move(v));
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

}  // namespace headway::theory
