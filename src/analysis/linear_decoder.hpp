#pragma once

#include <vector>

#include "headway/analysis/standardisation.hpp"
#include "headway/types.hpp"

// Linear decoders of a code z. Columns of codes are standardised by the mean and the deviation of
// the codes that a decoder is fitted to.
namespace headway::analysis {

/// Columns of codes that vary by at most this share of their mean count as constant. It is below
/// float32 rounding, unlike that of the readouts of heads: scores count what can be read off that.
inline constexpr double kCodeRounding = 1e-9;

/// Stands for no answer: all classes are equally likely.
inline constexpr int kNoAnswer = -1;

/// weights [H + 1, O]: of the standardised columns, and the intercepts in the last row.
struct LinearDecoder {
  Standardisation standardisation;
  MatrixXd weights;
  bool converged = true;  ///< the stopping test of the iteration was met
  int iterations = 0;     ///< 0 where the solution is in closed form
  MatrixXd range;         ///< lowest and highest target, [2, O], of a regression

  /// Scores of every output, [n, O].
  [[nodiscard]] MatrixXd scores(const MatrixXd& codes) const;
  /// The answers of a regression, [n, O]: its scores, cut off at the range of the targets of the
  /// fit. Otherwise a column of codes that hardly varied in the fit, and so has a tiny unit, could
  /// outweigh all others on a new code.
  [[nodiscard]] MatrixXd values(const MatrixXd& codes) const;
  /// The class of the highest score, [n]. kNoAnswer where all scores agree to 1e-6, the precision
  /// of fits.
  [[nodiscard]] std::vector<int> classes(const MatrixXd& codes) const;
};

/// Ridge regression (src/training/README.md, eq. 23), in closed form, with the intercept left free:
///   minimise  1/(2n) sum_i |y_i - W^T z_i - b|^2 + penalty/2 |W|^2.
/// codes [n, H], targets [n, O], n >= 1; penalty > 0, or 0 where the codes have full rank
/// (Error{kInternal} otherwise). Cost: n H^2 + H^3.
LinearDecoder fit_ridge(const MatrixXd& codes, const MatrixXd& targets, double penalty);

/// n / (C' n_c) for each class with n_c > 0 examples, of which there are C'; 0 for the others. With
/// these weights all classes that occur count equally.
VectorXd balanced_class_weights(const std::vector<int>& classes, int count);

/// The objective of logistic regression with C classes (src/training/README.md, eq. 22), for Ceres
/// and for tests:
///   f(W, b) = 1/n sum_i w_{c_i} ( log sum_c exp(s_ic) - s_{i c_i} ) + penalty/2 |W|^2,
///   s_i = W^T z_i + b.
/// `codes` are taken as they are. weights [H + 1, C], the intercepts in the last row; gradient of
/// the same shape, or null. Cost: n H C.
double logistic_objective(const MatrixXd& codes, const std::vector<int>& classes,
                          const VectorXd& class_weights, double penalty, const MatrixXd& weights,
                          MatrixXd* gradient);

/// Multinomial logistic regression: the minimum of logistic_objective() with balanced class
/// weights, by L-BFGS (Ceres) from `start` ([H + 1, C]; zeros where empty). It runs in coordinates
/// of the curvature, so that nearly dependent columns of codes do not slow it down. After 100
/// iterations it takes the curvature of each class, which helps classes that are nearly certain.
/// Two classes are no special case: C = 2, and the difference of their weights has the penalty
/// penalty / 2. Not converging is a value. Cost: n H^2 + H^3 once, and n H C + H^2 C an iteration.
/// Some tens of iterations are usual; beyond 100, add C (n H^2 + H^3) for every 100. Classes are
/// 0 ... count - 1, one per row of codes, at least two of them present (Error{kInternal});
/// penalty > 0.
LinearDecoder fit_logistic(const MatrixXd& codes, const std::vector<int>& classes, int count,
                           double penalty, const MatrixXd& start = {});

}  // namespace headway::analysis
