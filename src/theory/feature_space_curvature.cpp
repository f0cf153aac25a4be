#include <memory>
#include <utility>

#include "headway/numerics/dense.hpp"
#include "path_kernel_forms.hpp"

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

}  // namespace headway::theory
