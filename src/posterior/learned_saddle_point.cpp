#include "headway/posterior/learned_saddle_point.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <optional>
#include <utility>

#include "headway/core/quiet_observer.hpp"
#include "headway/error.hpp"
#include "headway/numerics/dense.hpp"
#include "posterior/feature_energy.hpp"

namespace headway::posterior {
namespace {

// Steps that L-BFGS remembers. The Hessian is badly conditioned at small T, where few are slow.
constexpr Index kFewestKept = 20, kMostKept = 300, kNumbersKept = 10'000'000;
constexpr double kSufficientDecrease = 1e-4;
constexpr int kMostHalvings = 40;
constexpr double kSameAction = 1e-6;  // of |S|
constexpr double kSameShape = 1e-3;   // of the largest

/// The minimum over U at one z.
struct Evaluation {
  VectorXd z;
  double value = std::numeric_limits<double>::infinity();
  VectorXd gradient;
  MatrixXd features;
  theory::SaddlePoint of;
};

class Objective {
 public:
  Objective(const LearnedSetting& setting, const LearnedSaddleOptions& options,
            const Observer& observer)
      : setting_(setting),
        options_(options),
        quiet_(observer),
        scale_(std::sqrt(
            setting.architecture.variance(0) /
            static_cast<double>(setting.attention.features() * setting.attention.paths()))) {}

  /// Solves for U from `near`, or from the Gaussian process. The value is infinite where there is
  /// no minimum.
  Evaluation evaluate(const VectorXd& z, const theory::OrderParameters* near) {
    Evaluation e;
    e.z = z;
    if (!z.allFinite() || !setting_.attention.path_features(z, scale_, workspace_, e.features))
      return e;
    const auto kernels = theory::make_path_kernels(e.features, setting_.labels,
                                                   setting_.attention.paths(), options_.kernels);
    const theory::Action action(setting_.architecture, setting_.temperature, kernels);
    const theory::OrderParameters first =
        near != nullptr ? *near : theory::gaussian_process_order_parameters(setting_.architecture);
    if (!action.evaluate(first).energy) return e;
    e.of = theory::solve_saddle_point(action, first, options_.saddle_point, quiet_);
    if (!std::isfinite(e.of.evaluation.value)) return e;
    const auto root = numerics::SpdFactor::factor(e.of.order_parameters.layers.front());
    if (!root) return e;
    const auto energy =
        FeatureEnergy::evaluate(e.features, setting_.labels, root->lower(), setting_.temperature);
    if (!energy) return e;
    MatrixXd over_factor;
    MatrixXd over_features;
    energy->gradient(e.features, root->lower(), over_factor, over_features);
    e.gradient = 2.0 * z;
    setting_.attention.pull_back(z, scale_, over_features, workspace_, e.gradient);
    e.value = e.of.evaluation.value + z.squaredNorm();
    return e;
  }

  model::AttentionStatistics statistics(const VectorXd& z) {
    MatrixXd features;
    static_cast<void>(setting_.attention.path_features(z, scale_, workspace_, features));
    return setting_.attention.statistics(z, workspace_);
  }

 private:
  LearnedSetting setting_;
  const LearnedSaddleOptions& options_;
  QuietObserver quiet_;
  double scale_;
  model::LearnedAttention::Workspace workspace_;
};

/// L-BFGS directions (Nocedal 1980).
class Directions {
 public:
  explicit Directions(Index dimension)
      : kept_(static_cast<std::size_t>(
            std::clamp(kNumbersKept / std::max<Index>(dimension, 1), kFewestKept, kMostKept))) {}
  void learn(const VectorXd& step, const VectorXd& change) {
    if (!(step.dot(change) > 1e-12 * step.norm() * change.norm())) return;
    pairs_.push_back({step, change});
    if (pairs_.size() > kept_) pairs_.pop_front();
  }
  [[nodiscard]] VectorXd downhill(const VectorXd& gradient) const {
    VectorXd q = gradient;
    std::vector<double> share(pairs_.size());
    for (std::size_t i = pairs_.size(); i-- > 0;) {
      const auto& [s, y] = pairs_[i];
      share[i] = s.dot(q) / s.dot(y);
      q -= share[i] * y;
    }
    if (pairs_.empty()) {
      q *= 0.5;  // the prior's part of the Hessian is 2
    } else {
      q *= pairs_.back().first.dot(pairs_.back().second) / pairs_.back().second.squaredNorm();
    }
    for (std::size_t i = 0; i < pairs_.size(); ++i) {
      const auto& [s, y] = pairs_[i];
      q += (share[i] - y.dot(q) / s.dot(y)) * s;
    }
    return -q;
  }
  void forget() { pairs_.clear(); }

 private:
  std::size_t kept_;
  std::deque<std::pair<VectorXd, VectorXd>> pairs_;
};

/// A lower point along the direction; nothing when there is none beyond rounding.
std::optional<Evaluation> search(Objective& objective, const Evaluation& at,
                                 const VectorXd& direction) {
  const double slope = direction.dot(at.gradient);
  if (!(slope < 0.0)) return std::nullopt;
  // The first step is at most as long as a typical z under the prior.
  double step = std::min(1.0, std::sqrt(static_cast<double>(at.z.size())) / direction.norm());
  for (int i = 0; i < kMostHalvings; ++i, step *= 0.5) {
    Evaluation next = objective.evaluate(at.z + step * direction, &at.of.order_parameters);
    if (next.value <= at.value + kSufficientDecrease * step * slope) return next;
    if (-step * slope < 1e-15 * std::abs(at.value)) break;
  }
  return std::nullopt;
}

/// Numbers that do not change when heads are exchanged.
VectorXd shape_of_softmax(const LearnedMinimum& m) {
  std::vector<double> numbers = {m.attention.largest};
  if (std::isfinite(m.attention.entropy)) numbers.push_back(m.attention.entropy);
  const theory::OrderParameters& u = m.of.order_parameters;
  const auto append = [&](const MatrixXd& matrix) {
    VectorXd diagonal = matrix.diagonal();
    std::sort(diagonal.begin(), diagonal.end());
    numbers.insert(numbers.end(), diagonal.begin(), diagonal.end());
    numbers.push_back(matrix.norm());
  };
  for (const MatrixXd& layer : u.layers) append(layer);
  append(u.readout);
  numbers.push_back(m.z.norm());
  return Eigen::Map<const VectorXd>(numbers.data(), static_cast<Index>(numbers.size()));
}

/// Numbers that do not change when the learned heads of a layer are turned: eigenvalues of U_l, and
/// roots of those of <W_h, W_h'>.
VectorXd shape_of_linear(const LearnedMinimum& m, const model::AttentionCoordinates& weights) {
  std::vector<double> numbers;
  const auto append = [&](const MatrixXd& matrix) {
    const VectorXd values = numerics::symmetric_eigen(matrix, false).values;
    numbers.insert(numbers.end(), values.begin(), values.end());
  };
  const theory::OrderParameters& u = m.of.order_parameters;
  for (const MatrixXd& layer : u.layers) append(layer);
  append(u.readout);
  const std::vector<int>& heads = weights.prior().heads;
  for (std::size_t l = 0; l < heads.size(); ++l) {
    std::vector<VectorXd> learned;
    for (int h = 0; h < heads[l]; ++h) {
      if (weights.offset(l, h) >= 0) learned.push_back(weights.weights(m.z, l, h).reshaped());
    }
    const auto count = static_cast<Index>(learned.size());
    MatrixXd products(count, count);
    for (Index a = 0; a < count; ++a) {
      for (Index b = 0; b < count; ++b) {
        products(a, b) =
            learned[static_cast<std::size_t>(a)].dot(learned[static_cast<std::size_t>(b)]);
      }
    }
    if (count == 0) continue;
    for (const double value : numerics::symmetric_eigen(products, false).values) {
      numbers.push_back(std::sqrt(std::max(value, 0.0)));
    }
  }
  return Eigen::Map<const VectorXd>(numbers.data(), static_cast<Index>(numbers.size()));
}

bool same(const LearnedMinimum& a, const LearnedMinimum& b,
          const model::AttentionCoordinates& weights) {
  const double size = std::max({1.0, std::abs(a.action), std::abs(b.action)});
  if (std::abs(a.action - b.action) > kSameAction * size) return false;
  const bool linear = weights.prior().kind == model::LearnedKind::kLinear;
  const VectorXd x = linear ? shape_of_linear(a, weights) : shape_of_softmax(a);
  const VectorXd y = linear ? shape_of_linear(b, weights) : shape_of_softmax(b);
  return x.size() == y.size() &&
         (x - y).cwiseAbs().maxCoeff() <= kSameShape * std::max(1.0, x.cwiseAbs().maxCoeff());
}

}  // namespace

LearnedMinimum learned_saddle_point(const LearnedSetting& setting, const VectorXd& start,
                                    const LearnedSaddleOptions& options, Observer& observer) {
  Objective objective(setting, options, observer);
  const double unit = 1.0 / setting.architecture.largest_width();
  Evaluation at = objective.evaluate(start, nullptr);
  LearnedMinimum result;
  if (!std::isfinite(at.value)) {
    throw Error(
        ErrorKind::kBadStudy,
        fmt::format("model.temperature = {}: K + T I is not positive definite at a start of "
                    "the attention weights: must be larger",
                    setting.temperature));
  }
  Directions directions(start.size());
  bool fresh = true;  // the direction is the gradient's
  result.message = fmt::format("not converged after {} iterations", options.max_iterations);
  const auto norm = [&] {
    return at.gradient.size() == 0 ? 0.0 : at.gradient.cwiseAbs().maxCoeff() * unit;
  };
  for (; result.iterations < options.max_iterations; ++result.iterations) {
    if (norm() <= options.gradient_tolerance) {
      result.converged = at.of.summary.converged;
      result.message = result.converged ? "converged" : at.of.summary.message;
      break;
    }
    if (observer.interrupted()) {
      result.message = "interrupted";
      break;
    }
    std::optional<Evaluation> next = search(objective, at, directions.downhill(at.gradient));
    if (!next) {
      if (!fresh) {  // try once more along the gradient, without the history
        directions.forget();
        fresh = true;
        continue;
      }
      result.message = "no lower action along the gradient: at the limit of rounding";
      result.converged = at.of.summary.converged && norm() < 1e3 * options.gradient_tolerance;
      break;
    }
    directions.learn(next->z - at.z, next->gradient - at.gradient);
    fresh = false;
    at = *std::move(next);
  }
  result.gradient_norm = norm();
  result.attention = objective.statistics(at.z);
  result.z = std::move(at.z);
  result.action = at.value;
  result.features = std::move(at.features);
  result.of = std::move(at.of);
  return result;
}

std::vector<LearnedMinimum> distinct_minima(std::vector<LearnedMinimum> minima,
                                            const model::AttentionCoordinates& weights) {
  std::stable_sort(minima.begin(), minima.end(), [](const auto& a, const auto& b) {
    return a.converged != b.converged ? a.converged : a.action < b.action;
  });
  std::vector<LearnedMinimum> distinct;
  for (LearnedMinimum& one : minima) {
    if (!distinct.empty() && distinct.front().converged && !one.converged) break;
    const auto known =
        std::find_if(distinct.begin(), distinct.end(),
                     [&](const LearnedMinimum& other) { return same(one, other, weights); });
    if (known == distinct.end()) {
      distinct.push_back(std::move(one));
    } else {
      known->starts += one.starts;
    }
  }
  return distinct;
}

}  // namespace headway::posterior
