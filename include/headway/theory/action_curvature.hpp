#pragma once

#include <memory>
#include <vector>

#include "headway/action.hpp"
#include "headway/core/rng.hpp"

namespace headway::theory {

/// A direction of (U_1, ..., U_L, U_a) in geodesic coordinates: symmetric E_l of the size of U_l,
/// U_l = F_l F_l^T, dU_l = F_l E_l F_l^T (eq. 29).
using Tangent = std::vector<MatrixXd>;

/// sum_l <A_l, B_l>: the inner product of two directions in orthonormal (svec) coordinates.
double inner_product(const Tangent& a, const Tangent& b);
/// a += factor * b.
void add_scaled(Tangent& a, double factor, const Tangent& b);
/// A direction of independent entries: each svec coordinate standard normal.
Tangent random_tangent(const Tangent& shape, Rng& rng);

/// Cholesky frames F_l of U_l = F_l F_l^T, l = 1..L+1. Error{kInternal} when some U_l is not
/// positive definite.
std::vector<MatrixXd> cholesky_frames(const OrderParameters& u);

/// First derivatives of the entropy's gradient in geodesic coordinates (eq. 61). With J_l =
/// (I_{H_l} kron F_{l+1}^{-1}) F_l and w_l the partial trace of J_{l-1} J_{l-1}^T,
///   (entropy Hessian E)_l = N_l E_l - N_l / s_l^2 J_l^T (I kron E_{l+1}) J_l
///     + N_{l-1} { (E_l w_l + w_l E_l - [partial trace of J_{l-1} E_{l-1} J_{l-1}^T]) / s_{l-1}^2
///                 - H_{l-1} E_l }
/// so that no inverse of U_l is formed. Cost 4 d_1^3 flops a product.
class EntropyCurvature {
 public:
  EntropyCurvature(const model::Architecture& architecture, const std::vector<MatrixXd>& frames,
                   int threads);
  [[nodiscard]] Tangent apply(const Tangent& e) const;

 private:
  model::Architecture architecture_;
  int threads_;
  std::vector<MatrixXd> coupling_;  // J_l, l = 1..L
  std::vector<MatrixXd> trace_;     // w_l, l = 2..L+1 at [l - 2]
};

/// Second derivatives of the action at one U without its Hessian: products with directions in
/// geodesic coordinates. Pure. Holds references: the evaluation must outlive it. Cost of a product:
/// KernelCost::product_flops and some products of d_1 x d_1 matrices.
class ActionCurvature {
 public:
  /// `at`: the evaluation at u, with its energy.
  ActionCurvature(const Action& action, const OrderParameters& u, const Action::Evaluation& at,
                  Precision precision);

  [[nodiscard]] const std::vector<MatrixXd>& frames() const { return frames_; }
  /// F_l^T (dS/dU_l) F_l.
  [[nodiscard]] const Tangent& gradient() const { return gradient_; }
  /// The Hessian of S in U, in these coordinates.
  [[nodiscard]] Tangent hessian(const Tangent& e) const;
  /// The Hessian along geodesics: with the term (G E + E G) / 2 of eq. 29, G = gradient().
  [[nodiscard]] Tangent geodesic_hessian(const Tangent& e) const;
  /// The entropy's share of the Hessian's diagonal: N_1 for l = 1, N_l + N_{l-1} H_{l-1} above. It
  /// makes a preconditioner that costs nothing.
  [[nodiscard]] double scale(int layer) const { return scales_[layer - 1]; }
  /// e divided by the scales.
  [[nodiscard]] Tangent precondition(Tangent e) const;
  /// dU_l = F_l E_l F_l^T
  [[nodiscard]] OrderParameters to_direction(const Tangent& e) const;
  /// F_l^T G_l F_l
  [[nodiscard]] Tangent to_tangent(const std::vector<MatrixXd>& gradient) const;
  /// d^2/dt^2 of the gradient of S along dU, that is, the third derivative contracted twice with
  /// the same direction: S_jkl E_k E_l.
  [[nodiscard]] Tangent third_derivative(const Tangent& e) const;

 private:
  const Action& action_;
  const OrderParameters& u_;
  int threads_;
  std::vector<MatrixXd> frames_;
  Tangent gradient_;
  std::vector<double> scales_;
  EntropyCurvature entropy_;
  std::unique_ptr<const EnergyCurvature> energy_;
};

}  // namespace headway::theory
