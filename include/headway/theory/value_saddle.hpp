#pragma once

#include "headway/model/value_kernel.hpp"
#include "headway/saddle_point.hpp"

/// The theory of value networks: two order parameters beside the readout's. U_1 says how the
/// readout combines heads (R C x R C), S which directions of heads and inputs the hidden units read
/// (d x d). Given both, the network is close to a Gaussian process with the kernel of
/// model/value_kernel.hpp. The action has one more term of entropy (eq. 81),
///   energy(U_1, S) + entropy(U_1, U_a) + N_1 (tr S / s_0^2 - logdet S),
/// with the terms of eqs. 19 and 20 for one layer of R heads.
namespace headway::theory {

/// Path features whose products are the kernel C(S), so that all of the theory of linear values
/// serves value networks with given S: X_r(x) . X_r'(x') = C_rr'(x, x'). They are scaled
/// (PathKernels::scale_features). Columns are blocks of one readout.
struct ValueFeatures {
  MatrixXd train;  ///< P x (R D)
  MatrixXd
      other;  ///< of further examples; their own kernel C(x, x) is right, that between two is not
};

/// Features of training examples and of others, by a pivoted Cholesky factor of the kernel. D is
/// its rank, and R more if there are others: the part of theirs that no training example sees.
/// Memory: R^2 P^2 numbers twice, and (P + P') R D. Cost: kernels, and R P (rank)^2 flops.
ValueFeatures value_features(const model::ValueSites& train, const model::ValueSites& other,
                             const MatrixXd& s, int threads);

/// What a saddle point over (U, U_a, S) needs.
struct ValueProblem {
  model::Architecture
      architecture;  ///< heads = [R], widths [N_1, N_a], variances [s_0^2, s_1^2, s_a^2]
  double temperature = 0.0;
  const model::ValueSites* sites = nullptr;  ///< of the training examples
  MatrixXd labels;                           ///< P x C
  PathKernelOptions kernels;
};

struct ValueSaddleOptions {
  SaddlePointOptions inner;          ///< of U given S
  double gradient_tolerance = 1e-8;  ///< largest entry of dS/dE / N_1, S = s_0^2 exp(E)
  int max_iterations = 200;
};

/// The saddle point of U and U_a at the S that the data choose.
struct ValueSaddle {
  MatrixXd s;
  SaddlePoint inner;             ///< at S. Its action lacks the entropy of S
  double feature_entropy = 0.0;  ///< N_1 (tr S / s_0^2 - logdet S)
  bool converged = false;
  int iterations = 0, evaluations = 0;
  double gradient_norm = 0.0;  ///< over S, in the units of the tolerance
  std::string message;
  [[nodiscard]] double action() const { return inner.evaluation.value + feature_entropy; }
};

/// N_1 (tr S / s_0^2 - logdet S).
double feature_entropy(const model::Architecture& architecture, const MatrixXd& s);

/// The saddle point of U and U_a at a given S, from `start`.
SaddlePoint solve_value_saddle(const ValueProblem& problem, const MatrixXd& s,
                               const OrderParameters& start, const SaddlePointOptions& options,
                               Observer& observer);

/// d energy / dS at the U_1 of a saddle point: d x d, a matrix derivative.
MatrixXd feature_energy_slope(const ValueProblem& problem, const MatrixXd& s, const MatrixXd& u);

/// Minimises over S, U and U_a. The outer problem is that of S = s_0^2 exp(E) alone, with U and U_a
/// at their minimum for each S; the derivative is then the partial one. L-BFGS of Ceres, from E =
/// start. Not converging is a value.
ValueSaddle solve_adapted_saddle(const ValueProblem& problem, const MatrixXd& start,
                                 const ValueSaddleOptions& options, Observer& observer);

}  // namespace headway::theory
