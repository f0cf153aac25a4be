#pragma once

#include <mutex>

#include "frame.hpp"
#include "headway/numerics/dense.hpp"
#include "headway/path_kernels.hpp"
#include "headway/theory/gram.hpp"
#include "second_order_blocks.hpp"

/// Private to theory: the forms that work in D = p N_0 dimensions.
namespace headway::theory {

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
  /// What framed_gram() is known to eps of, beside its off-diagonals: the squares of sums of
  /// |F| |X|, N_0 x r.
  [[nodiscard]] MatrixXd framed_squares(const MatrixXd& frame) const;
  /// The largest share of a pivot of T + A that rounding may have taken.
  [[nodiscard]] double pivot_rounding(const MatrixXd& frame,
                                      const numerics::SpdFactor& factor) const;
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
  FeatureSpaceState(const FeatureSpaceKernels& kernels, Frame frame, numerics::SpdFactor factor,
                    double temperature);
  double lost_share = 0.0;  ///< of the gradient, by rounding; 0 where U is singular

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
    numerics::multiply(1.0, projected_inverse(), numerics::Transpose::kNo, u,
                       numerics::Transpose::kNo, 0.0, result);
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
  void estimate_rounding();
  /// sum_m (D_m kron I) Z (D_m kron I) for sigma = sum_m D_m D_m^T in svec coordinates, block by
  /// block.
  [[nodiscard]] MatrixXd second_order_matrix(const MatrixXd& sigma) const;
  [[nodiscard]] MatrixXd compute_average_information() const override;
  const BlockSet& blocks() const;

  const FeatureSpaceKernels& kernels_;
  MatrixXd frame_;
  MatrixXd inverse_frame_;  // empty if F cannot be divided by
  numerics::SpdFactor factor_;
  double temperature_;
  MatrixXd dual_;      // v~, N_0 x r
  MatrixXd whitened_;  // I - T (T + A)^{-1}, empty if F cannot be divided by
  mutable MatrixXd projected_inverse_;
  mutable BlockSet blocks_;
};

}  // namespace headway::theory
