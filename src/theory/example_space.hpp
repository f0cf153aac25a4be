#pragma once

#include <memory>

#include "headway/numerics/dense.hpp"
#include "headway/path_kernels.hpp"
#include "path_kernel_forms.hpp"
#include "second_order_blocks.hpp"

/// Private to theory: the base of the stored and the streamed form. Both factorise K + T I in the
/// P C dimensions of examples. Below, K^{-1} is short for (K + T I)^{-1}, and D_m for K(D_m).
namespace headway::theory {

class ExampleSpaceKernels : public PathKernels {
 public:
  using PathKernels::PathKernels;

  /// <M, C_ab> for every pair of paths and outputs, M symmetric (P C) x (P C). It maps a matrix
  /// over examples to a gradient over U.
  [[nodiscard]] virtual MatrixXd contract(const MatrixXd& m) const = 0;
  [[nodiscard]] MatrixXd predictive_mean(const MatrixXd& u, double temperature,
                                         const MatrixXd& test_features) const override;
  /// Lower triangle of K(U), U symmetric and possibly singular.
  [[nodiscard]] virtual MatrixXd renormalized_kernel(const MatrixXd& u) const { return kernel(u); }
  using PathKernels::evaluate_rotated;
  using PathKernels::row_squares;
  /// y as one vector, output-major.
  [[nodiscard]] VectorXd label_vector() const;
  /// X_a^T alpha for all a: N_0 x C p.
  [[nodiscard]] MatrixXd project(const VectorXd& alpha) const;
  /// The lifted features X kron e_c: (P C) x (N_0 C p), column block (path, output).
  [[nodiscard]] MatrixXd lifted_features() const;
};

class ExampleSpaceState : public EnergyState {
 public:
  /// `factor` of K(U) + T I.
  ExampleSpaceState(const ExampleSpaceKernels& kernels, MatrixXd u, double temperature,
                    numerics::SpdFactor factor);

  [[nodiscard]] std::unique_ptr<const EnergyCurvature> curvature(
      const MatrixXd& frame, Precision precision) const override;
  [[nodiscard]] MatrixXd fisher_information(Precision precision) const override;
  [[nodiscard]] MatrixXd contract_third_derivative(const MatrixXd& sigma,
                                                   Precision precision) const override;
  [[nodiscard]] Prediction predict(const MatrixXd& test_features) const override;
  [[nodiscard]] MatrixXd apply_projected_inverse(const MatrixXd& u) const override;
  [[nodiscard]] QuadraticForm second_order_form(const MatrixXd& directions) const override;

  /// Keeps W = L^{-1} X, where evaluate() had to compute it anyway (one output).
  void set_half_solved_features(MatrixXd w) { half_solved_ = std::move(w); }
  /// W = L^{-1} X lifted to the outputs, made on demand.
  [[nodiscard]] const MatrixXd& half_solved() const;
  [[nodiscard]] const ExampleSpaceKernels& kernels() const { return kernels_; }
  [[nodiscard]] const VectorXd& dual() const { return alpha_; }
  /// Sets the gradient from A = (K + T)^{-1} and <A, C>, and estimates its rounding.
  void differentiate(const MatrixXd& inverse, const MatrixXd& traces);
  /// alpha^T C_ab alpha = v_a . v_b, the part of the gradient that comes from the labels. At small
  /// T alpha is as large as 1/T, and X^T alpha cancels. So alpha alpha^T must not be contracted
  /// with C: that would leave nothing but rounding.
  [[nodiscard]] MatrixXd dual_products() const {
    return projected_dual().transpose() * projected_dual();
  }
  [[nodiscard]] const numerics::SpdFactor& factor() const { return factor_; }
  /// The prediction, or one by orthogonal transformations where a variance is so small beside its
  /// prior (P_test x C) that rounding of their difference shows.
  [[nodiscard]] Prediction with_digits(Prediction prediction, const MatrixXd& prior,
                                       const MatrixXd& test_features) const;

 protected:
  /// sum_m K^{-1} D_m K^{-1} D_m K^{-1} over a square root of sigma.
  [[nodiscard]] virtual MatrixXd second_order_matrix(const MatrixXd& sigma,
                                                     Precision precision) const;

  const ExampleSpaceKernels& kernels_;
  MatrixXd u_;
  double temperature_;
  numerics::SpdFactor factor_;
  VectorXd alpha_;

 private:
  void estimate_rounding();
  [[nodiscard]] numerics::MatrixXf half_solved_in_single() const;
  [[nodiscard]] MatrixXd compute_average_information() const override;
  const BlockSet& blocks() const;

  mutable MatrixXd half_solved_;  // W, (P C) x (N_0 C p), made on demand
  mutable BlockSet blocks_;
};

}  // namespace headway::theory
