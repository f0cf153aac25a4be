#include <algorithm>
#include <cmath>
#include <deque>
#include <utility>

#include "conjugate_gradients.hpp"
#include "headway/core/clock.hpp"
#include "headway/theory/action_curvature.hpp"
#include "saddle_point_newton.hpp"

namespace headway::theory {
namespace {

constexpr int kMostProducts = 400;                   // of one direction
constexpr std::size_t kMostPairs = 30;               // of products that are kept,
constexpr double kPairBytes = 1024.0 * 1024 * 1024;  // and their memory
constexpr double kLoosestForcing = 0.3;              // |residual| / |gradient| of a direction
constexpr double kTightestForcing = 1e-3;            // what single precision is sure to reach

/// What the products of earlier directions say about the inverse Hessian: L-BFGS updates of the
/// entropy's preconditioner by pairs (s, H s) [MN00]. Conjugate pairs make it exact on their span.
class RecycledPreconditioner {
 public:
  /// `unknowns`: entries of all U.
  explicit RecycledPreconditioner(double unknowns)
      : most_(std::min(kMostPairs,
                       static_cast<std::size_t>(kPairBytes / (4.0 * sizeof(double) * unknowns)))) {}
  /// Lets the next system use the pairs of the last one.
  void adopt() {
    for (HessianPair& pair : fresh_) pairs_.push_back(std::move(pair));
    fresh_.clear();
    while (pairs_.size() > most_) pairs_.pop_front();
  }
  void learn(const Tangent& s, const Tangent& hs, double curvature) {
    fresh_.push_back({s, hs, 1.0 / curvature});
    if (fresh_.size() > most_) fresh_.pop_front();
  }
  [[nodiscard]] Tangent apply(const ActionCurvature& curvature, Tangent r) const {
    std::vector<double> weights(pairs_.size());
    for (std::size_t i = pairs_.size(); i-- > 0;) {
      weights[i] = pairs_[i].inverse_curvature * inner_product(pairs_[i].direction, r);
      add_scaled(r, -weights[i], pairs_[i].image);
    }
    Tangent z = curvature.precondition(std::move(r));
    for (std::size_t i = 0; i < pairs_.size(); ++i) {
      const double part = pairs_[i].inverse_curvature * inner_product(pairs_[i].image, z);
      add_scaled(z, weights[i] - part, pairs_[i].direction);
    }
    return z;
  }
  [[nodiscard]] std::vector<HessianPair> pairs() const { return {pairs_.begin(), pairs_.end()}; }
  void restore(const std::vector<HessianPair>& pairs) { pairs_.assign(pairs.begin(), pairs.end()); }

 private:
  std::size_t most_;
  std::deque<HessianPair> pairs_;
  std::deque<HessianPair> fresh_;  // of the system that is being solved
};

/// Directions by conjugate gradients on Hessian-vector products, preconditioned by the entropy,
/// cut off by a forcing term that falls with the gradient (Dembo, Eisenstat and Steihaug 1982;
/// Nash 2000).
class NewtonCgSolver final : public GeodesicDescent {
 public:
  NewtonCgSolver(const Action& action, const SaddlePointOptions& options, Observer& observer,
                 const SaddlePointHooks& hooks)
      : GeodesicDescent(action, options, observer),
        hooks_(hooks),
        preconditioner_(2.0 * static_cast<double>(action.unknowns())) {
    if (hooks_.from) preconditioner_.restore(hooks_.from->pairs);
  }

 private:
  std::optional<GeodesicStep> next_step() override {
    // Products only choose directions; the gradient and the stopping test are in double.
    const ActionCurvature curvature(action(), here(), evaluation(), Precision::kSingle);
    Tangent downhill = curvature.gradient();
    for (MatrixXd& m : downhill) m = -m;
    const LinearSystem system = {
        .apply = [&](const Tangent& e) { return curvature.geodesic_hessian(e); },
        .precondition = [&](const Tangent& e) { return preconditioner_.apply(curvature, e); },
        .seen = [&](const Tangent& s, const Tangent& hs,
                    double along) { preconditioner_.learn(s, hs, along); }};
    // Newton's step is about |g| in the norm of the preconditioner, over sqrt(N), long in log U.
    const double reach =
        std::sqrt(inner_product(downhill, curvature.precondition(downhill)) / curvature.scale(1));
    LinearSolution solution =
        conjugate_gradients(system, downhill, std::clamp(reach, kTightestForcing, kLoosestForcing),
                            kMostProducts, observer());
    if (solution.end == LinearEnd::kInterrupted) return std::nullopt;
    summary().products += solution.products;
    preconditioner_.adopt();
    OrderParameters along = curvature.to_direction(solution.x);
    return GeodesicStep(curvature.frames(), solution.x, std::move(along),
                        action().kernels().threads());
  }

  /// Saves whole steps. The work of an interrupted step is repeated.
  void rest(bool interrupted) override {
    if (!hooks_.save) return;
    if (!interrupted && seconds_since(saved_) < hooks_.seconds) return;
    saved_ = Clock::now();
    hooks_.save({here(), summary(), preconditioner_.pairs()});
  }

  const SaddlePointHooks& hooks_;
  RecycledPreconditioner preconditioner_;
  Clock::time_point saved_ = Clock::now();
};

}  // namespace

SaddlePoint solve_by_newton_cg(const Action& action, const OrderParameters& start,
                               const SaddlePointOptions& options, Observer& observer,
                               const SaddlePointHooks& hooks) {
  NewtonCgSolver solver(action, options, observer, hooks);
  if (hooks.from) return solver.run_on(hooks.from->order_parameters, hooks.from->summary);
  return solver.run(start, "newton_cg");
}

}  // namespace headway::theory
