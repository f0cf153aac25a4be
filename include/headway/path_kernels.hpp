#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "headway/solution.hpp"
#include "headway/theory/kernel_cost.hpp"
#include "headway/types.hpp"

namespace headway::theory {

/// The precision of products that only choose search directions. Everything that decides an answer
/// is in double precision.
enum class Precision { kDouble, kSingle };

/// What the 1/N correction of the mean predictor needs (eq. 42): sums over directions D_m of U_1.
/// P_test x C each.
struct MeanFluctuation {
  MatrixXd mean_shift;     ///< 1/2 sum_m d^2 f / dD_m^2
  MatrixXd mean_variance;  ///< sum_m (df / dD_m)^2
};

/// The same with what the predictor's variance needs (eq. 42).
struct PredictionFluctuation : MeanFluctuation {
  MatrixXd variance_shift;  ///< 1/2 sum_m d^2 variance / dD_m^2, never positive
};

/// e^T W e of every column e, for some symmetric matrix W.
using QuadraticForm = std::function<VectorXd(const MatrixXd&)>;

class OrthogonalKernels;
class PathKernels;

/// Derivatives of the energy's gradient at one U_1 along directions D = F E F^T. Directions and
/// results are in the coordinates E of a frame F (C p x C p). With U_1 = F F^T, E is the geodesic
/// coordinate of eq. 29; with F = I it is D itself. No Hessian is formed. Must not outlive its
/// state.
class EnergyCurvature {
 public:
  EnergyCurvature() = default;
  EnergyCurvature(const EnergyCurvature&) = delete;
  EnergyCurvature& operator=(const EnergyCurvature&) = delete;
  virtual ~EnergyCurvature() = default;

  /// F^T [ d/dt dE/dU (U_1 + t D) ] F at t = 0 for symmetric E: the energy's Hessian times D (eq.
  /// 59). Cost about that of one evaluation, without a factorisation.
  [[nodiscard]] virtual MatrixXd apply(const MatrixXd& e) const = 0;
  /// F^T [ d^2/dt^2 dE/dU (U_1 + t D) ] F: third derivatives contracted with D twice (eq. 60).
  [[nodiscard]] virtual MatrixXd apply_twice(const MatrixXd& e) const = 0;
};

/// The energy logdet(K + T) + y^T (K + T)^{-1} y at one U_1 and all that can be derived from its
/// factorisation. Matrices over path pairs are of size C p, path-major with the output fastest.
/// It shares ownership of the kernels that made it, and so keeps them alive.
class EnergyState {
 public:
  EnergyState(const EnergyState&) = delete;
  EnergyState& operator=(const EnergyState&) = delete;
  virtual ~EnergyState() = default;

  double log_determinant = 0.0;
  double quadratic = 0.0;  ///< y^T (K + T)^{-1} y
  MatrixXd gradient;       ///< dE/dU_1 as a matrix derivative (off-diagonals not doubled)
  /// Estimated rounding errors of the energy, and of dE/dU_1 in units of U_1; 0 where the form has
  /// no estimate.
  double energy_rounding = 0.0, gradient_rounding = 0.0;
  /// Estimated rounding error of the energy over P C + |energy|: how many of its digits are right.
  double relative_rounding = 0.0;
  double condition = 1.0;  ///< lower bound of the condition number of what was factorised
  [[nodiscard]] double energy() const { return log_determinant + quadratic; }

  /// v_pi = X_pi^T alpha, alpha = (K + T)^{-1} y: N_0 x C p. The mean predictor is
  /// f(x) = sum U[pi, pi'] X_pi(x) . v_pi'.
  [[nodiscard]] const MatrixXd& projected_dual() const { return projected_dual_; }

  /// Hessian-vector products in the coordinates of `frame`. Single precision has about 5 digits
  /// and half the cost (KernelCost::whitened_products; else ignored): enough to steer.
  [[nodiscard]] virtual std::unique_ptr<const EnergyCurvature> curvature(
      const MatrixXd& frame, Precision precision) const = 0;
  /// alpha^T C_k (K + T)^{-1} C_l alpha in svec coordinates ("average information", positive
  /// semidefinite). Made when it is first asked for.
  [[nodiscard]] const MatrixXd& average_information() const;
  /// Hessian (eq. 28) 2 alpha^T C_k A C_l alpha - tr(A C_k A C_l), with A = (K + T)^{-1}, in svec
  /// coordinates. In single precision the trace has about 5 digits (enough for Newton directions)
  /// at half the cost.
  [[nodiscard]] MatrixXd hessian(Precision precision = Precision::kDouble) const {
    return 2.0 * average_information() - fisher_information(precision);
  }
  /// tr(A C_k A C_l), with A = (K + T)^{-1}, in svec coordinates (eq. 39).
  [[nodiscard]] virtual MatrixXd fisher_information(Precision precision) const = 0;
  /// sum_kl E_jkl Sigma_kl, third derivatives contracted with a symmetric positive semidefinite
  /// Sigma in svec coordinates, as a matrix derivative. Single precision has about 5 digits at half
  /// the cost.
  [[nodiscard]] virtual MatrixXd contract_third_derivative(
      const MatrixXd& sigma, Precision precision = Precision::kDouble) const = 0;
  /// Predictor on test features (P_test x p N_0, scaled by PathKernels::scale_features,
  /// column-major path blocks).
  [[nodiscard]] virtual Prediction predict(const MatrixXd& test_features) const = 0;
  /// Z u with Z = X^T (K + T)^{-1} X, for columns u over (path, output, feature).
  [[nodiscard]] virtual MatrixXd apply_projected_inverse(const MatrixXd& u) const = 0;
  /// Fluctuation of the mean predictor for directions D_m = columns of `directions` in svec
  /// coordinates of U_1.
  [[nodiscard]] MeanFluctuation mean_fluctuation(const MatrixXd& u, const MatrixXd& directions,
                                                 const MatrixXd& test_features) const;
  /// W = sum_m (D_m kron I) Z (D_m kron I) for the same directions (eq. 42), on columns as those of
  /// apply_projected_inverse(). Made once, for any number of columns; must not outlive the state.
  /// For order p of U_1, M directions, D = N_0 p and R = P C rows of K, flops:
  ///   in feature space 2 p^2 D^2 (for M < p 4 M p D^2), and 2 D^2 a column;
  ///   in example space 2 R D min(p, M) a column, and R p^2 M if M is not below p;
  ///   over ranks a product with Z for each direction and column.
  [[nodiscard]] virtual QuadraticForm second_order_form(const MatrixXd& directions) const;
  /// 1/2 sum_m d^2 variance / dD_m^2 = -e^T W e with e = phi - Z (phi U), phi the features of a
  /// test example in one output (eq. 42): P_test x C, never positive. `form` is W of this state,
  /// and `u` the U_1 that it is evaluated at. Cost beside the form's: a product with Z for each
  /// example and output.
  [[nodiscard]] MatrixXd variance_shift(const MatrixXd& u, const QuadraticForm& form,
                                        const MatrixXd& test_features) const;

 protected:
  explicit EnergyState(std::shared_ptr<const PathKernels> kernels) : owner_(std::move(kernels)) {}

  MatrixXd projected_dual_;

 private:
  [[nodiscard]] virtual MatrixXd compute_average_information() const = 0;

  std::shared_ptr<const PathKernels> owner_;
  mutable MatrixXd average_information_;
};

/// Path-path kernels of one training set (eqs. 9 and 10): X_pi = s_0 xi_pi / sqrt(N_0 p),
/// C_{pi pi'} = X_pi X_pi'^T. Immutable; may be shared by threads. Made by make_path_kernels alone:
/// its states keep it alive.
class PathKernels : public std::enable_shared_from_this<PathKernels> {
 public:
  PathKernels(const PathKernels&) = delete;
  PathKernels& operator=(const PathKernels&) = delete;
  virtual ~PathKernels() = default;

  [[nodiscard]] Index examples() const { return sizes_.examples; }
  [[nodiscard]] Index paths() const { return sizes_.paths; }
  [[nodiscard]] Index feature_count() const { return sizes_.feature_count; }
  [[nodiscard]] Index outputs() const { return sizes_.outputs; }
  /// Size C p of U_1.
  [[nodiscard]] Index order() const { return paths() * outputs(); }
  /// X as P x (p N_0), path blocks of N_0 columns. Empty, as labels(), for kGram and
  /// kDistributed.
  [[nodiscard]] const MatrixXd& features() const { return features_; }
  [[nodiscard]] const MatrixXd& labels() const { return labels_; }
  [[nodiscard]] const KernelSizes& sizes() const { return sizes_; }
  /// What this form costs at these sizes, for choosing between solvers.
  [[nodiscard]] const KernelCost& cost() const { return cost_; }
  [[nodiscard]] KernelForm form() const { return cost_.form; }
  /// Threads that share the products of one evaluation; the numbers do not depend on them.
  [[nodiscard]] int threads() const { return threads_; }

  /// Energy, its gradient and the factorisation at U (C p x C p, symmetric positive semidefinite)
  /// and T >= 0 (in feature space and from Gram matrices T > 0). Null when K(U) + T I is not
  /// positive definite to working precision.
  [[nodiscard]] virtual std::unique_ptr<EnergyState> evaluate(const MatrixXd& u,
                                                              double temperature) const = 0;

  /// Mean predictor on test features at a U that may be singular (pruned paths): P_test x C. Empty
  /// when K(U) + T I is singular. Cost: one kernel and one factorisation.
  [[nodiscard]] virtual MatrixXd predictive_mean(const MatrixXd& u, double temperature,
                                                 const MatrixXd& test_features) const = 0;
  /// K(U_1) without T: (P C) x (P C), rows output-major (c P + mu). Error{kBadStudy} without
  /// features.
  [[nodiscard]] MatrixXd kernel(const MatrixXd& u) const;

  /// Scales unscaled path features (P x p N_0) by s_0 / sqrt(N_0 p) into the layout of features().
  static MatrixXd scale_features(const RowMatrixXd& path_features, Index paths,
                                 double input_variance);

 protected:
  PathKernels(MatrixXd features, MatrixXd labels, Index paths, int threads, KernelForm form,
              bool compact = false);
  /// Without features and labels.
  PathKernels(const KernelSizes& sizes, int threads, KernelForm form);

  /// sum_pi U[(pi, c), (pi, c)] |X_pi(mu)|^2 over (c, mu): K is known to eps of the roots of two of
  /// them. Cost P C p.
  [[nodiscard]] VectorXd row_squares(const MatrixXd& u) const;
  /// evaluate() by orthogonal transformations, for where rounding of K shows beside T. Null where K
  /// + T I is singular or they are not affordable. Needs features.
  [[nodiscard]] std::unique_ptr<EnergyState> evaluate_rotated(const MatrixXd& u,
                                                              double temperature) const;
  /// Null where they are not affordable.
  [[nodiscard]] const OrthogonalKernels* orthogonal() const;

  MatrixXd features_;  // P x (p N_0)
  MatrixXd labels_;    // P x C
  KernelSizes sizes_;
  int threads_;
  KernelCost cost_;

 private:
  MatrixXd squares_;  // |X_pi(mu)|^2, P x p
  mutable std::once_flag rotated_;
  mutable std::shared_ptr<const OrthogonalKernels> orthogonal_;  // made when first needed
};

/// Builds the path kernels from scaled features (PathKernels::scale_features) in the form that
/// kernel_cost() chooses, at the cost that it tells. Error{kBadStudy} when the asked form is
/// impossible.
std::shared_ptr<const PathKernels> make_path_kernels(MatrixXd scaled_features, MatrixXd labels,
                                                     Index paths,
                                                     const PathKernelOptions& options = {});

/// f = X* (v U) (eq. 16) for projected duals v (N_0 x C p): P_test x C. Cost 2 P_test p N_0 C
/// flops.
MatrixXd mean_from_dual(const MatrixXd& test_features, const MatrixXd& dual, const MatrixXd& u);

/// K = sum U[(pi,c),(pi',c')] X_pi Y_pi'^T between two sets of examples (eq. 14; rows
/// output-major): cross kernels and references.
MatrixXd cross_kernel(const MatrixXd& features_a, const MatrixXd& features_b, const MatrixXd& u,
                      Index outputs);

}  // namespace headway::theory
