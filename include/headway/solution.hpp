#pragma once

#include <limits>
#include <string>
#include <vector>

#include "headway/order_parameters.hpp"
#include "headway/types.hpp"

// What the theory finds at a point. The headers of its functions say how, with their equations.
namespace headway::theory {

/// The Gaussian predictor at one U on new examples (eqs. 16 and 17): P_test x C each.
struct Prediction {
  MatrixXd mean;
  MatrixXd variance;  ///< of each output alone, noise T not included
};

/// Why the iteration ended; a summary starts as "was not called".
struct SaddlePointSummary {
  bool converged = false;
  std::string message = "solve_saddle_point was not called";
  std::string optimizer;
  int iterations = 0;
  int evaluations = 0;
  int hessians = 0;
  int products = 0;
  double gradient_norm = std::numeric_limits<double>::quiet_NaN();
  double gradient_rounding = std::numeric_limits<double>::quiet_NaN();
  /// One step; log_step is the size of the step that led here, in affine-invariant units.
  struct Iteration {
    int iteration = 0;
    double action = 0.0;
    double gradient_norm = 0.0;
    double log_step = 0.0;
  };
  std::vector<Iteration> history;

  /// Appends to the history.
  void record(double action, double norm, double log_step) {
    history.push_back({static_cast<int>(history.size()), action, norm, log_step});
  }
};

/// A direction and its product with the Hessian, in geodesic coordinates, and 1 / <s, H s>.
struct HessianPair {
  std::vector<MatrixXd> direction;
  std::vector<MatrixXd> image;
  double inverse_curvature = 0.0;
};

/// The state of Newton-CG between two steps. A solution that continues from it has the same bits as
/// one that never stopped.
struct SaddlePointState {
  OrderParameters order_parameters;
  SaddlePointSummary summary;
  std::vector<HessianPair> pairs;  ///< those that the preconditioner uses
};

/// What a mean and a variance say about labels (eq. 51). NaN where undefined. Accuracy needs labels
/// +-1 (one output) or one-hot (several). It also needs a mean that is not 0 on every example: such
/// a mean names no class. A layer without heads gives one.
struct PredictorStatistics {
  double accuracy = std::numeric_limits<double>::quiet_NaN();  ///< sign of the mean (exactly 0 is
                                                               ///< wrong), or largest mean output
  double mean_squared_error =
      std::numeric_limits<double>::quiet_NaN();  ///< of the mean, over examples and outputs
  double right_sign_probability =
      std::numeric_limits<double>::quiet_NaN();  ///< mean of Phi(y mean / sd); one output, labels
                                                 ///< +-1
  double squared_bias = std::numeric_limits<double>::quiet_NaN();  ///< mean of (mean - y)^2
  double predictor_variance =
      std::numeric_limits<double>::quiet_NaN();  ///< mean posterior variance of f
};

/// Posterior means to first order beyond the saddle point: finite_width_correction(). At an adapted
/// S they leave out what the fluctuations of S do.
struct FiniteWidthCorrection {
  bool defined = false;
  std::string reason;         ///< why not
  OrderParameters mean;       ///< E[U]
  OrderParameters deviation;  ///< sqrt(Sigma_ii) of every entry
  Prediction prediction;      ///< on the test examples, if any
  /// With random probes: the largest standard error of an entry of the mean, divided by that
  /// entry's deviation. 0 if the Hessian was computed.
  double probe_error = 0.0;
};

/// The saddle point's approximations of the evidence log p(y), in nats: saddle_evidence().
struct SaddleEvidence {
  double leading_order = std::numeric_limits<double>::quiet_NaN();
  /// By Laplace's method if the Hessian is known and positive definite, else to leading order.
  double log_evidence = std::numeric_limits<double>::quiet_NaN();
  /// Of Laplace's method: standard error of log_evidence from random probes of the Hessian, 0 if
  /// the Hessian was at hand.
  double error = std::numeric_limits<double>::quiet_NaN();
  std::string method;  ///< of log_evidence: "laplace", "leading_order", or "" if undefined

  [[nodiscard]] bool is_laplace() const { return method == "laplace"; }
};

}  // namespace headway::theory
