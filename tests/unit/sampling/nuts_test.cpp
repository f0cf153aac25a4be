// NUTS against a sampler written to be obvious: it keeps every point of its trajectory, and works
// out each sum and each velocity from them anew. From the same random numbers both make the same
// moves.
#include "sampling/nuts.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "catch.hpp"
#include "sampling_targets.hpp"

using namespace headway;            // NOLINT: a test
using namespace headway::sampling;  // NOLINT

namespace {

using Points = std::vector<PhasePoint>;

class ObviousNuts {
 public:
  ObviousNuts(Hamiltonian& hamiltonian, const Metric& metric, const SamplerOptions& options)
      : hamiltonian_(hamiltonian), metric_(metric), options_(options) {}

  void move(PhasePoint& state, double step, Rng& rng, TransitionStatistics& done) {
    hamiltonian_.draw_momentum(state, rng);
    start_ = hamiltonian_.energy(state);
    step_ = step;
    acceptance_ = 0.0;
    leapfrogs_ = 0;
    diverged_ = false;
    Points trajectory = {state};  // its last point is the end that grows
    PhasePoint draw = state;
    int depth = 0;
    bool on = true;
    while (on && depth < options_.max_tree_depth) {
      if (rng.uniform() < 0.5) {
        std::reverse(trajectory.begin(), trajectory.end());
        step_ = -step_;
      }
      Points more;
      const std::optional<PhasePoint> chosen = grow(trajectory.back(), depth, more, rng);
      if (!chosen) break;
      ++depth;
      const double gain = weight(more) - weight(trajectory);
      if (gain > 0.0 || rng.uniform() < std::exp(gain)) draw = *chosen;
      on = straight(trajectory, more);
      trajectory.insert(trajectory.end(), more.begin(), more.end());
    }
    state = draw;
    done.tree_depth = depth;
    done.evaluations = leapfrogs_;
    done.acceptance = acceptance_ / leapfrogs_;
    done.divergent = diverged_;
    done.saturated = on && depth == options_.max_tree_depth && !diverged_;
  }

 private:
  /// 2^depth points from `from` on, and the draw among them; nothing where they turn or diverge.
  std::optional<PhasePoint> grow(const PhasePoint& from, int depth, Points& points, Rng& rng) {
    if (depth == 0) {
      PhasePoint z = from;
      hamiltonian_.leapfrog(z, step_);
      ++leapfrogs_;
      const double gain = start_ - hamiltonian_.energy(z);
      acceptance_ += std::min(1.0, std::exp(gain));
      points = {z};
      diverged_ = -gain > options_.divergence_threshold;
      if (diverged_) return std::nullopt;
      return z;
    }
    std::optional<PhasePoint> draw = grow(from, depth - 1, points, rng);
    if (!draw) return draw;
    Points second;
    const std::optional<PhasePoint> other = grow(points.back(), depth - 1, second, rng);
    if (!other) return other;
    const Points first = points;
    points.insert(points.end(), second.begin(), second.end());
    if (rng.uniform() < std::exp(weight(second) - weight(points))) draw = other;
    if (!straight(first, second)) return std::nullopt;
    return draw;
  }

  [[nodiscard]] double weight(const Points& points) const {
    double sum = 0.0;
    for (PhasePoint z : points) sum += std::exp(start_ - hamiltonian_.energy(z));
    return std::log(sum);
  }

  /// The ends of a stretch both move along the sum of its momenta.
  [[nodiscard]] bool straight(Points::const_iterator begin, Points::const_iterator end) const {
    VectorXd sum = VectorXd::Zero(begin->momentum.size());
    for (auto z = begin; z != end; ++z) sum += z->momentum;
    VectorXd velocity(sum.size());
    metric_.velocity(begin->momentum, velocity);
    const bool at_begin = velocity.dot(sum) > 0.0;
    metric_.velocity(std::prev(end)->momentum, velocity);
    return at_begin && velocity.dot(sum) > 0.0;
  }
  /// Both together, and each with the nearest point of the other.
  [[nodiscard]] bool straight(const Points& first, const Points& second) const {
    Points all = first;
    all.insert(all.end(), second.begin(), second.end());
    const auto seam = all.begin() + static_cast<std::ptrdiff_t>(first.size());
    return straight(all.begin(), all.end()) && straight(all.begin(), seam + 1) &&
           straight(seam - 1, all.end());
  }

  Hamiltonian& hamiltonian_;
  const Metric& metric_;
  SamplerOptions options_;
  double start_ = 0.0;
  double step_ = 0.0;
  double acceptance_ = 0.0;
  int leapfrogs_ = 0;
  bool diverged_ = false;
};

Metric metric_of(MetricKind kind) {
  Metric metric(kind, 2);
  if (kind == MetricKind::kDiagonal) metric.set_inverse(Eigen::Vector2d(0.8, 0.3));
  if (kind == MetricKind::kDense) metric.set_inverse(Eigen::Matrix2d{{0.9, -0.4}, {-0.4, 0.5}});
  return metric;
}

}  // namespace

TEST_CASE("NUTS makes the moves of a sampler that keeps its whole trajectory") {
  constexpr int kMoves = 200;
  int deepest = 0;
  int divergent = 0;
  int saturated = 0;
  for (const MetricKind kind : {MetricKind::kUnit, MetricKind::kDiagonal, MetricKind::kDense}) {
    for (const double step : {0.05, 0.15, 0.5, 1.2, 4.0}) {
      SamplerOptions options;
      options.max_tree_depth = step == 0.15 ? 3 : 10;
      testing::GammaPoissonTarget target;
      const Metric metric = metric_of(kind);
      Hamiltonian hamiltonian(target, metric);
      Nuts nuts(hamiltonian, options, 2, nullptr);
      ObviousNuts obvious(hamiltonian, metric, options);
      Rng rng(31, StreamPurpose::kTests);
      PhasePoint state(2);
      state.position = target.simulate(rng);
      hamiltonian.evaluate(state);
      for (int move = 0; move < kMoves; ++move) {
        INFO(metric_name(kind) << " step " << step << " move " << move);
        PhasePoint expected = state;
        Rng same = rng;
        TransitionStatistics done, wanted;
        obvious.move(expected, step, same, wanted);
        REQUIRE(nuts.move(state, step, rng, done));
        CHECK(state.position.isApprox(expected.position, 1e-12));
        CHECK_THAT(state.log_density, Catch::Matchers::WithinRel(expected.log_density, 1e-12));
        CHECK(done.log_density == state.log_density);
        CHECK_THAT(done.energy, Catch::Matchers::WithinRel(hamiltonian.energy(expected), 1e-12));
        CHECK_THAT(done.acceptance, Catch::Matchers::WithinRel(wanted.acceptance, 1e-12));
        CHECK(done.step_size == step);
        CHECK(done.tree_depth == wanted.tree_depth);
        CHECK(done.evaluations == wanted.evaluations);
        CHECK(done.divergent == wanted.divergent);
        CHECK(done.saturated == wanted.saturated);
        CHECK(rng.next_u64() == same.next_u64());  // as many random numbers
        deepest = std::max(deepest, done.tree_depth);
        divergent += done.divergent ? 1 : 0;
        saturated += done.saturated ? 1 : 0;
      }
    }
  }
  CHECK(deepest >= 5);
  CHECK(divergent > 0);
  CHECK(saturated > 0);
}
