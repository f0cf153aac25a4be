#pragma once

#include <limits>
#include <optional>
#include <vector>

#include "headway/saddle_point.hpp"

/// Private to theory: what the Newton methods share, a descent along geodesics of positive-definite
/// matrices whose directions are plugged in.
namespace headway::theory {

/// The curve U_l = F_l exp(t E_l) F_l^T (eq. 29) through U_l = F_l F_l^T at t = 0, in all layers.
class GeodesicStep {
 public:
  /// Takes frames F_l, coordinates E_l and the direction F_l E_l F_l^T, which callers have
  /// computed. Cost: one eigenvalue problem a layer.
  GeodesicStep(const std::vector<MatrixXd>& frames, const std::vector<MatrixXd>& logs,
               OrderParameters direction, int threads);

  /// The largest |eigenvalue| of the E_l: how much log U changes at t = 1. Infinite if an entry is
  /// not finite; then there is no at().
  [[nodiscard]] double size() const { return size_; }
  [[nodiscard]] OrderParameters at(double t) const;
  /// d/dt of a function with this gradient at t = 0.
  [[nodiscard]] double slope(const std::vector<MatrixXd>& gradient) const;

 private:
  int threads_;
  OrderParameters direction_;
  std::vector<MatrixXd> axes_;  // F_l V_l for E_l = V_l diag(values_l) V_l^T
  std::vector<VectorXd> values_;
  double size_ = 0.0;
};

/// Armijo backtracking along the geodesics that next_step() gives, until the gradient is small, no
/// step lowers the action, or the caller stops.
class GeodesicDescent {
 public:
  GeodesicDescent(const Action& action, const SaddlePointOptions& options, Observer& observer);
  GeodesicDescent(const GeodesicDescent&) = delete;
  GeodesicDescent& operator=(const GeodesicDescent&) = delete;
  virtual ~GeodesicDescent() = default;

  /// Error{kBadStudy} when the action is not finite at the start.
  SaddlePoint run(const OrderParameters& start, const char* name);
  /// Continues from `here`. `summary` has the steps that led there.
  SaddlePoint run_on(const OrderParameters& here, SaddlePointSummary summary);

 protected:
  /// The step from here; nothing when the observer interrupted before it was ready.
  virtual std::optional<GeodesicStep> next_step() = 0;
  /// Called before a step is taken.
  virtual void before_accepting(const OrderParameters& /*next*/,
                                const Action::Evaluation& /*evaluation*/) {}

  /// Called after every step, and when the observer interrupted.
  virtual void rest(bool /*interrupted*/) {}

  [[nodiscard]] const Action& action() const { return action_; }
  [[nodiscard]] const SaddlePointOptions& options() const { return options_; }
  [[nodiscard]] Observer& observer() { return observer_; }
  [[nodiscard]] const OrderParameters& here() const { return u_; }
  [[nodiscard]] const Action::Evaluation& evaluation() const { return evaluation_; }
  [[nodiscard]] SaddlePointSummary& summary() { return summary_; }

 private:
  Action::Evaluation evaluate(const OrderParameters& u);
  SaddlePoint descend();
  /// d/dt of the action along U_1 e^t at t = 0.
  [[nodiscard]] double first_layer_slope(const Action::Evaluation& at) const;
  [[nodiscard]] double first_layer_terms() const;
  void grow_to_labels();
  void record(double log_step);
  [[nodiscard]] bool settled() const;
  [[nodiscard]] double largest_layer_gradient() const;
  bool finished();
  [[nodiscard]] bool spins() const;
  /// What is left of the gradient (the smaller of both norms, and that in units of U), and what
  /// rounding allows.
  struct Rest {
    double norm, own, allowed;
  };
  [[nodiscard]] Rest rest_of_gradient() const;
  /// Says so in the summary where it does.
  bool converges_to_rounding();
  void judge_stall();
  [[nodiscard]] double own_gradient_norm() const;
  bool step();

  const Action& action_;
  const SaddlePointOptions& options_;
  Observer& observer_;
  OrderParameters u_;
  Action::Evaluation evaluation_;
  SaddlePointSummary summary_;
  double smallest_norm_ = std::numeric_limits<double>::infinity();
  double first_norm_ = 0.0;
};

/// Whether widths are so far apart that one scale cannot serve all layers.
bool has_uneven_widths(const model::Architecture& architecture);

/// Largest |entry| of F_l^T dS/dU_l F_l / max N, U_l = F_l F_l^T: the gradient in units of U
/// itself. Over the smallest eigenvalue of the Hessian in these units, it is the relative error of
/// U.
double own_gradient_norm(const Action& action, const OrderParameters& u,
                         const Action::Evaluation& evaluation);

/// What rounding may leave of it at a solution. Where rounding leaves more, U has too few digits
/// that are right to be called one.
inline constexpr double kLargestRest = 1e-3;

/// Estimated rounding error of the gradient norm, good to an order of magnitude:
/// EnergyState::gradient_rounding / max N, or where the form has none,
/// eps sqrt(condition of K + T) max(y^T (K + T)^{-1} y, P) / max N.
double estimate_gradient_rounding(const Action& action, const Action::Evaluation& evaluation);

}  // namespace headway::theory
