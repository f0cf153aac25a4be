#pragma once

#include <memory>
#include <vector>

#include "headway/order_parameters.hpp"
#include "headway/path_kernels.hpp"
#include "headway/theory/entropy.hpp"

namespace headway::theory {

/// The action S = energy(U_1) + entropy(U_1, ..., U_L, U_a) (eq. 18, [T24]):
///   energy = logdet(K(U_1) + T I) + y^T (K(U_1) + T I)^{-1} y.
/// Pure: value and gradient at any positive-definite U.
class Action {
 public:
  /// Errors: kBadStudy when the kernels' paths and outputs do not fit the architecture, or T < 0.
  Action(model::Architecture architecture, double temperature,
         std::shared_ptr<const PathKernels> kernels);

  /// The action at one U with its gradient: S = entropy + energy.
  struct Evaluation {
    double value = 0.0;
    double entropy = 0.0;
    std::vector<MatrixXd> gradient;       ///< dS/dU_l, l = 1..L+1, as matrix derivatives
    std::unique_ptr<EnergyState> energy;  ///< factorisation at this U_1
    /// Largest |entry| of dS/dU, divided by max N. Infinite if an entry is not finite.
    [[nodiscard]] double gradient_norm(const model::Architecture& architecture) const;
    /// The same with U_l in units of its value in the infinite-width limit: the product of the
    /// variances from layer l up. So the scale of the variances does not matter.
    [[nodiscard]] double scaled_gradient_norm(const model::Architecture& architecture) const;
  };

  /// Null energy (and value = infinity) when some U or K + T I is not positive definite.
  [[nodiscard]] Evaluation evaluate(const OrderParameters& u) const;
  /// Exact Hessian in svec coordinates of (U_1, ..., U_L, U_a).
  [[nodiscard]] MatrixXd hessian(const OrderParameters& u, const EnergyState& energy) const;

  [[nodiscard]] const model::Architecture& architecture() const { return architecture_; }
  [[nodiscard]] double temperature() const { return temperature_; }
  [[nodiscard]] const PathKernels& kernels() const { return *kernels_; }
  /// Number of independent entries of (U_1, ..., U_L, U_a).
  [[nodiscard]] Index unknowns() const;

 private:
  model::Architecture architecture_;
  double temperature_;
  std::shared_ptr<const PathKernels> kernels_;
};

/// (U_1, ..., U_L, U_a) as one vector of svec coordinates, and back.
VectorXd to_vector(const std::vector<MatrixXd>& matrices);
OrderParameters to_order_parameters(const VectorXd& x, const OrderParameters& shape);

}  // namespace headway::theory
