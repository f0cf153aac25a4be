#include "geodesic_descent.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "headway/error.hpp"
#include "headway/numerics/dense.hpp"
#include "headway/numerics/tiles.hpp"

namespace headway::theory {
namespace {

constexpr double kArmijo = 1e-4;
constexpr int kLargestHalvings = 40;
constexpr double kRoundings = 10.0;  // times the estimate, which is good to an order of magnitude
constexpr double kNoise = 1e-12;     // of S, at least
constexpr double kStill = 1e-9;      // a step in log U below this counts as none
constexpr std::size_t kSpins = 3;  // steps that stand still, before the gradient counts as rounding
constexpr double kFar = 1e3;  // times the terms: the slope of a start that is far from the labels
constexpr int kLargestGrowths = 40;
constexpr double kCloseGrowth = 0.2;     // of log U_1
constexpr double kClose = 10.0;          // times the tolerance: gradients over their own widths
constexpr double kShort = 1e3;           // times the tolerance: a step that hardly moves U
constexpr double kLayerRoundings = 2.0;  // times the rounding of the terms of one layer
constexpr double kUneven = 1e3;          // widths this far apart need more than a small gradient

}  // namespace

bool has_uneven_widths(const model::Architecture& architecture) {
  const std::vector<Index>& widths = architecture.widths;
  const auto smallest = static_cast<double>(*std::min_element(widths.begin(), widths.end()));
  return architecture.largest_width() > kUneven * smallest;
}

GeodesicStep::GeodesicStep(const std::vector<MatrixXd>& frames, const std::vector<MatrixXd>& logs,
                           OrderParameters direction, int threads)
    : threads_(threads), direction_(std::move(direction)) {
  for (const MatrixXd& log : logs) {
    if (!log.allFinite()) size_ = std::numeric_limits<double>::infinity();
  }
  if (!std::isfinite(size_)) return;
  for (std::size_t l = 0; l < frames.size(); ++l) {
    const numerics::SymmetricEigen eigen = numerics::symmetric_eigen(logs[l], true);
    MatrixXd axes(logs[l].rows(), logs[l].cols());
    numerics::multiply_tiled(frames[l], numerics::Transpose::kNo, eigen.vectors,
                             numerics::Transpose::kNo, axes, threads);
    size_ = std::max(size_, eigen.values.cwiseAbs().maxCoeff());
    axes_.push_back(std::move(axes));
    values_.push_back(eigen.values);
  }
}

OrderParameters GeodesicStep::at(double t) const {
  OrderParameters u = direction_;
  for (std::size_t l = 0; l < axes_.size(); ++l) {
    const MatrixXd half = axes_[l] * (0.5 * t * values_[l]).array().exp().matrix().asDiagonal();
    numerics::symmetric_product_tiled(half, half, numerics::Transpose::kNo,
                                      u.at(static_cast<int>(l) + 1), threads_);
  }
  return u;
}

double GeodesicStep::slope(const std::vector<MatrixXd>& gradient) const {
  double sum = 0.0;
  for (std::size_t l = 0; l < gradient.size(); ++l)
    sum += gradient[l].cwiseProduct(direction_.at(static_cast<int>(l) + 1)).sum();
  return sum;
}

GeodesicDescent::GeodesicDescent(const Action& action, const SaddlePointOptions& options,
                                 Observer& observer)
    : action_(action), options_(options), observer_(observer) {}

SaddlePoint GeodesicDescent::run(const OrderParameters& start, const char* name) {
  u_ = start;
  if (options_.elimination == Elimination::kClosedForm)
    eliminate_upper_layers(action_.architecture(), u_);
  evaluation_ = evaluate(u_);
  if (!evaluation_.energy) {
    throw Error(ErrorKind::kBadStudy,
                fmt::format("model.temperature = {}: K + T I is not positive definite at the "
                            "start: must be larger, or there must be more features than examples",
                            action_.temperature()));
  }
  if (first_layer_slope(evaluation_) < -kFar * first_layer_terms()) grow_to_labels();
  summary_.optimizer = name;
  record(0.0);
  return descend();
}

double GeodesicDescent::first_layer_slope(const Action::Evaluation& at) const {
  return at.gradient.front().cwiseProduct(u_.layers.front()).sum();
}

/// What the slope is made of where labels are of the size that U predicts.
double GeodesicDescent::first_layer_terms() const {
  const model::Architecture& a = action_.architecture();
  return static_cast<double>(action_.kernels().examples() * a.outputs) +
         static_cast<double>(a.width(1)) * static_cast<double>(u_.layers.front().rows());
}

/// Multiplies U_1 by the number where the action is least, with the layers above in closed form
/// (eq. 26). Labels of thousands need a U that is as much larger than the prior's, and on the way
/// there Newton's method would follow a narrow valley in short steps.
void GeodesicDescent::grow_to_labels() {
  const OrderParameters start = u_;
  double low = 0.0, high = std::numeric_limits<double>::infinity();  // of the logarithm
  double here = 1.0;
  for (int step = 0; step < kLargestGrowths && high - low > kCloseGrowth; ++step) {
    OrderParameters trial = start;
    trial.layers.front() *= std::exp(here);
    eliminate_upper_layers(action_.architecture(), trial);
    Action::Evaluation next = evaluate(trial);
    const bool rises =
        !next.energy || next.gradient.front().cwiseProduct(trial.layers.front()).sum() > 0.0;
    if (next.energy && next.value < evaluation_.value) {
      u_ = std::move(trial);
      evaluation_ = std::move(next);
    }
    (rises ? high : low) = here;
    here = std::isfinite(high) ? 0.5 * (low + high) : 2.0 * here;
  }
}

SaddlePoint GeodesicDescent::run_on(const OrderParameters& here, SaddlePointSummary summary) {
  u_ = here;
  summary_ = std::move(summary);
  evaluation_ = action_.evaluate(u_);  // already counted when the step was tried
  if (!evaluation_.energy)
    throw Error(ErrorKind::kBadData, "the state to go on from belongs to another action");
  first_norm_ = evaluation_.scaled_gradient_norm(action_.architecture());  // progress begins here
  return descend();
}

SaddlePoint GeodesicDescent::descend() {
  while (!finished()) {
    if (!step()) break;
    rest(false);
  }
  if (observer_.interrupted() && !summary_.converged) rest(true);
  summary_.gradient_norm = evaluation_.gradient_norm(action_.architecture());
  summary_.gradient_rounding = estimate_gradient_rounding(action_, evaluation_);
  return {std::move(u_), std::move(evaluation_), std::move(summary_)};
}

Action::Evaluation GeodesicDescent::evaluate(const OrderParameters& u) {
  ++summary_.evaluations;
  return action_.evaluate(u);
}

void GeodesicDescent::record(double log_step) {
  summary_.record(evaluation_.value / action_.architecture().largest_width(),
                  evaluation_.gradient_norm(action_.architecture()), log_step);
  const double norm = evaluation_.scaled_gradient_norm(action_.architecture());
  if (summary_.history.size() == 1) first_norm_ = norm;
  const double first = first_norm_;
  if (!(first > options_.gradient_tolerance) || !std::isfinite(first)) return;
  smallest_norm_ = std::clamp(norm, options_.gradient_tolerance, smallest_norm_);
  observer_.progress("saddle point, decades of the gradient", std::log10(first / smallest_norm_),
                     std::log10(first / options_.gradient_tolerance));
}

/// Whether U is as exact as a small norm says. The norm is over max N, and the action of a narrow
/// layer is only as steep as its own width. So beside very wide layers each gradient must be small
/// over the narrowest width from its own layer up, too, or the last step hardly moved U.
bool GeodesicDescent::settled() const {
  if (!has_uneven_widths(action_.architecture())) return true;
  return largest_layer_gradient() <= kClose * options_.gradient_tolerance ||
         (summary_.iterations > 0 &&
          summary_.history.back().log_step <= kShort * options_.gradient_tolerance);
}

/// Largest |entry| of dS/dU_l over the narrowest width from layer l up, in units of U at infinite
/// width; 0 for layers where it is no more than rounding of the terms that cancel in it. U_l
/// follows the layers above it, so a slope in U_l moves a narrow one among them.
double GeodesicDescent::largest_layer_gradient() const {
  const model::Architecture& a = action_.architecture();
  double largest = 0.0, scale = 1.0, narrowest = a.largest_width();
  for (int l = a.layers() + 1; l >= 1; --l) {
    scale *= a.variance(l);
    narrowest = std::min(narrowest, static_cast<double>(a.width(l)));
    double rounding = std::numeric_limits<double>::epsilon() * a.width(l);
    if (l > 1) {  // entropy of the layer below
      rounding = std::max(rounding,
                          std::numeric_limits<double>::epsilon() * a.heads[l - 2] * a.width(l - 1));
    } else {
      rounding =
          std::max(rounding, estimate_gradient_rounding(action_, evaluation_) * a.largest_width());
    }
    const double entry = scale * numerics::largest_entry(evaluation_.gradient[l - 1]);
    if (!(entry <= kLayerRoundings * rounding)) largest = std::max(largest, entry / narrowest);
  }
  return largest;
}

bool GeodesicDescent::finished() {
  const double norm = evaluation_.scaled_gradient_norm(action_.architecture());
  if (norm <= options_.gradient_tolerance && settled()) {
    summary_.converged = true;
    summary_.message =
        fmt::format("converged: gradient norm {:.1e} <= {:.1e}", norm, options_.gradient_tolerance);
    return true;
  }
  // The norm above measures U_l in units of its infinite-width value. Far from infinite width these
  // say little. So take units of U itself.
  const bool still = summary_.iterations > 0 && summary_.history.back().log_step <= kStill;
  const bool last = summary_.iterations >= options_.max_iterations;
  if ((still || last) && own_gradient_norm() <= options_.gradient_tolerance) {
    summary_.converged = true;
    summary_.message = fmt::format("converged: gradient norm {:.1e} <= {:.1e} in units of U",
                                   own_gradient_norm(), options_.gradient_tolerance);
    return true;
  }
  if ((last || spins()) && converges_to_rounding()) return true;
  if (last) {
    summary_.message = fmt::format(
        "not converged: gradient norm {:.1e} after {} iterations. Raise solve.max_iterations, or "
        "try another solve.optimizer",
        norm, summary_.iterations);
    return true;
  }
  if (observer_.interrupted()) {
    summary_.message = "interrupted";
    return true;
  }
  return false;
}

double GeodesicDescent::own_gradient_norm() const {
  return theory::own_gradient_norm(action_, u_, evaluation_);
}

/// Whether the last steps moved rounding alone: U stood still, and the gradient did not fall.
bool GeodesicDescent::spins() const {
  const std::vector<SaddlePointSummary::Iteration>& steps = summary_.history;
  if (steps.size() <= kSpins) return false;
  const auto last = steps.end() - static_cast<std::ptrdiff_t>(kSpins);
  return std::all_of(last, steps.end(), [](const auto& step) { return step.log_step <= kStill; }) &&
         steps.back().gradient_norm > 0.5 * std::prev(last)->gradient_norm;
}

GeodesicDescent::Rest GeodesicDescent::rest_of_gradient() const {
  const double own = own_gradient_norm();
  const double rounding = estimate_gradient_rounding(action_, evaluation_);
  return {.norm = std::min(evaluation_.scaled_gradient_norm(action_.architecture()), own),
          .own = own,
          .allowed = kRoundings * std::max(rounding, options_.gradient_tolerance)};
}

bool GeodesicDescent::converges_to_rounding() {
  const Rest rest = rest_of_gradient();
  if (rest.norm > rest.allowed || rest.own > kLargestRest) return false;
  summary_.converged = true;
  summary_.message =
      fmt::format("converged to rounding: gradient norm {:.1e}, rounding allows {:.1e}", rest.norm,
                  rest.allowed);
  return true;
}

/// No step lowers the action any more: converged as far as rounding allows, or stuck.
void GeodesicDescent::judge_stall() {
  if (converges_to_rounding()) return;
  const Rest rest = rest_of_gradient();
  summary_.message = fmt::format(
      "not converged: no step lowers the action: gradient norm {:.1e}, {:.1e} in units of U; "
      "rounding allows {:.1e}, and at most {:.1e} in units of U. Raise model.temperature or "
      "solve.gradient_tolerance, or try another solve.optimizer",
      rest.norm, rest.own, rest.allowed, kLargestRest);
}

bool GeodesicDescent::step() {
  const std::optional<GeodesicStep> geodesic = next_step();
  if (!geodesic) {
    summary_.message = "interrupted";
    return false;
  }
  const double slope = geodesic->slope(evaluation_.gradient);
  double t = std::min(1.0, options_.max_log_step / geodesic->size());
  if (!(slope < 0.0) || !std::isfinite(geodesic->size())) {
    judge_stall();
    return false;
  }
  // Below `noise`, differences of S are rounding: the slope along the step decides instead (Hager
  // and Zhang 2005).
  const double noise = std::max(kNoise * std::max(1.0, std::abs(evaluation_.value)),
                                evaluation_.energy->energy_rounding);
  for (int halvings = 0; halvings < kLargestHalvings; ++halvings, t *= 0.5) {
    OrderParameters trial = geodesic->at(t);
    if (options_.elimination == Elimination::kClosedForm)
      eliminate_upper_layers(action_.architecture(), trial);
    Action::Evaluation next = evaluate(trial);
    if (!next.energy || !std::isfinite(next.gradient_norm(action_.architecture()))) continue;
    const bool decreased = next.value <= evaluation_.value + kArmijo * t * slope;
    const bool flat = std::abs(t * slope) < noise && next.value < evaluation_.value + noise &&
                      std::abs(geodesic->slope(next.gradient)) < 0.9 * std::abs(slope);
    if (decreased || flat) {
      before_accepting(trial, next);
      u_ = std::move(trial);
      evaluation_ = std::move(next);
      ++summary_.iterations;
      record(t * geodesic->size());
      return true;
    }
  }
  judge_stall();
  return false;
}

double own_gradient_norm(const Action& action, const OrderParameters& u,
                         const Action::Evaluation& evaluation) {
  double largest = 0.0;
  for (std::size_t l = 0; l < evaluation.gradient.size(); ++l) {
    const std::optional<numerics::SpdFactor> factor =
        numerics::SpdFactor::factor(u.at(static_cast<int>(l) + 1));
    if (!factor) return std::numeric_limits<double>::infinity();
    const MatrixXd& frame = factor->lower();
    const MatrixXd own = frame.transpose() * evaluation.gradient[l] * frame;
    largest = std::max(largest, numerics::largest_entry(own));
  }
  return largest / action.architecture().largest_width();
}

double estimate_gradient_rounding(const Action& action, const Action::Evaluation& evaluation) {
  // The terms that cancel in the gradient are as large as the quadratic form and the number of
  // examples, spread over U. Their relative error is taken as eps sqrt(cond).
  const double eps = 2.2e-16;
  const EnergyState& e = *evaluation.energy;
  const double width = static_cast<double>(action.architecture().largest_width());
  if (e.gradient_rounding > 0.0) return e.gradient_rounding / width;
  const double terms = std::max(e.quadratic, static_cast<double>(action.kernels().examples()));
  return eps * std::sqrt(e.condition) * terms / width;
}

}  // namespace headway::theory
