// Hamiltonian Monte Carlo, MALA and Langevin against a sampler written to be obvious. From the same
// random numbers both make the same moves.
#include "sampling/static_hmc.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "catch.hpp"
#include "sampling_targets.hpp"

using namespace headway;            // NOLINT: a test
using namespace headway::sampling;  // NOLINT

namespace {

using Catch::Matchers::WithinRel;

/// A skew target, without density where its first coordinate is above 1.
class WalledTarget : public testing::GammaPoissonTarget {
 public:
  double log_density(const Eigen::Ref<const VectorXd>& q, Eigen::Ref<VectorXd> gradient) override {
    const double inside = GammaPoissonTarget::log_density(q, gradient);
    return q[0] > 1.0 ? -std::numeric_limits<double>::infinity() : inside;
  }
};

struct ObviousHmc {
  Target& target;
  MatrixXd inverse_mass;
  SamplerOptions options;
  bool corrected = true;

  VectorXd slope(const VectorXd& q) {
    VectorXd gradient(q.size());
    target.log_density(q, gradient);
    return gradient;
  }
  double density(const VectorXd& q) {
    VectorXd ignored(q.size());
    return target.log_density(q, ignored);
  }
  double energy(const VectorXd& q, const VectorXd& p) {
    return 0.5 * p.dot(inverse_mass * p) - density(q);
  }

  /// `momentum` is that of the sampler, drawn after the jitter of the step.
  TransitionStatistics move(VectorXd& position, double step_size, Rng& rng,
                            const VectorXd& momentum, bool jittered) {
    TransitionStatistics done;
    int steps = 1;
    double step = step_size;
    if (options.sampler == SamplerKind::kStaticHmc) {
      const double wanted = std::max(1.0, std::round(options.integration_time / step_size));
      done.saturated = wanted > options.max_leapfrog_steps;
      steps = static_cast<int>(std::min<double>(wanted, options.max_leapfrog_steps));
      if (jittered) step *= 1.0 + options.step_size_jitter * (2.0 * rng.uniform() - 1.0);
    }
    VectorXd skip(position.size());
    rng.fill_normal({skip.data(), static_cast<std::size_t>(skip.size())});
    VectorXd q = position, p = momentum;
    const double before = energy(q, p);
    while (done.evaluations < steps && std::isfinite(density(q))) {
      p += 0.5 * step * slope(q);
      q += step * inverse_mass * p;
      ++done.evaluations;
      if (std::isfinite(density(q))) p += 0.5 * step * slope(q);
    }
    const double after =
        std::isfinite(density(q)) ? energy(q, p) : std::numeric_limits<double>::infinity();
    done.step_size = step;
    done.acceptance = std::min(1.0, std::exp(before - after));
    done.divergent = after - before > options.divergence_threshold;
    const bool accepted = !corrected || rng.uniform() < std::exp(before - after);
    if (accepted && std::isfinite(after)) position = q;
    done.energy = accepted && std::isfinite(after) ? after : before;
    done.log_density = density(position);
    return done;
  }
};

Metric metric_of(MetricKind kind) {
  Metric metric(kind, 2);
  if (kind == MetricKind::kDiagonal) metric.set_inverse(Eigen::Vector2d(0.8, 0.3));
  if (kind == MetricKind::kDense) metric.set_inverse(Eigen::Matrix2d{{0.9, -0.4}, {-0.4, 0.5}});
  return metric;
}

MatrixXd inverse_mass_of(const Metric& metric) {
  MatrixXd inverse(2, 2);
  for (Index i = 0; i < 2; ++i) {
    VectorXd velocity(2);
    metric.velocity(VectorXd::Unit(2, i), velocity);
    inverse.col(i) = velocity;
  }
  return inverse;
}

struct Seen {
  int divergent = 0, saturated = 0, refused = 0, moved = 0, cut_short = 0;
};

/// 60 moves of both samplers from one place.
template <class Place>
void compare(Place& target, const SamplerOptions& options, MetricKind kind, double step,
             bool corrected, Seen& seen) {
  const Metric metric = metric_of(kind);
  Hamiltonian hamiltonian(target, metric);
  StaticHmc hmc(hamiltonian, options, 2, nullptr);
  hmc.set_corrected(corrected);
  ObviousHmc obvious{target, inverse_mass_of(metric), options, corrected};
  const bool jittered = options.step_size_jitter > 0.0;
  Rng rng(37, StreamPurpose::kTests);
  PhasePoint state(2);
  state.position = target.simulate(rng);
  state.position[0] = std::min(state.position[0], 0.9);
  hamiltonian.evaluate(state);
  for (int move = 0; move < 60; ++move) {
    INFO(metric_name(kind) << " step " << step << " move " << move);
    // The momentum that will be drawn, after the number for the jitter.
    Rng ahead = rng;
    if (jittered && options.sampler == SamplerKind::kStaticHmc) ahead.uniform();
    PhasePoint drawn = state;
    hamiltonian.draw_momentum(drawn, ahead);
    Rng same = rng;
    VectorXd position = state.position;
    const TransitionStatistics wanted =
        obvious.move(position, step, same, drawn.momentum, jittered);
    TransitionStatistics done;
    done.saturated = done.divergent = true;  // of an earlier transition
    const VectorXd before = state.position;
    REQUIRE(hmc.move(state, step, rng, done));
    REQUIRE(state.position.isApprox(position, 1e-10));
    CHECK_THAT(done.log_density, WithinRel(wanted.log_density, 1e-9));
    CHECK(done.log_density == state.log_density);
    CHECK_THAT(done.energy, WithinRel(wanted.energy, 1e-9));
    CHECK_THAT(done.acceptance, Catch::Matchers::WithinAbs(wanted.acceptance, 1e-9));
    CHECK_THAT(done.step_size, WithinRel(wanted.step_size, 1e-14));
    CHECK(done.evaluations == wanted.evaluations);
    CHECK(done.divergent == wanted.divergent);
    CHECK(done.saturated == wanted.saturated);
    CHECK(done.tree_depth == 0);
    CHECK(rng.next_u64() == same.next_u64());  // as many random numbers
    seen.divergent += done.divergent ? 1 : 0;
    seen.saturated += done.saturated ? 1 : 0;
    seen.cut_short += done.acceptance == 0.0 ? 1 : 0;
    (state.position == before ? seen.refused : seen.moved) += 1;
    if (state.position.cwiseAbs().maxCoeff() > 20.0) break;  // uncorrected, and gone
  }
}

}  // namespace

TEST_CASE("HMC, MALA and Langevin make the moves of a sampler that is obvious") {
  Seen seen;
  for (const MetricKind kind : {MetricKind::kUnit, MetricKind::kDiagonal, MetricKind::kDense}) {
    for (const double step : {0.05, 0.3, 0.9}) {
      for (const double jitter : {0.0, 0.2}) {
        SamplerOptions options;
        options.sampler = SamplerKind::kStaticHmc;
        options.step_size_jitter = jitter;
        options.max_leapfrog_steps = 20;
        options.divergence_threshold = 2.0;
        testing::GammaPoissonTarget target;
        compare(target, options, kind, step, true, seen);
        WalledTarget walled;
        compare(walled, options, kind, step, true, seen);
      }
      SamplerOptions single;
      single.sampler = SamplerKind::kMala;
      testing::GammaPoissonTarget target;
      compare(target, single, kind, step, true, seen);
      single.sampler = SamplerKind::kLangevin;
      WalledTarget walled;
      compare(walled, single, kind, step, false, seen);
    }
  }
  CHECK(seen.divergent > 10);
  CHECK(seen.saturated > 10);
  CHECK(seen.refused > 10);
  CHECK(seen.moved > 500);
  CHECK(seen.cut_short > 10);
}

TEST_CASE("a trajectory is as long as asked, to half a step, and has at least one") {
  testing::FunctionTarget free(1, [](const auto&, Eigen::Ref<VectorXd> gradient) {
    gradient.setZero();
    return 0.0;
  });
  const Metric metric(MetricKind::kUnit, 1);
  Hamiltonian hamiltonian(free, metric);
  const auto evaluations = [&](double time, double step, int most) {
    SamplerOptions options;
    options.sampler = SamplerKind::kStaticHmc;
    options.integration_time = time;
    options.step_size_jitter = 0.0;
    options.max_leapfrog_steps = most;
    StaticHmc hmc(hamiltonian, options, 1, nullptr);
    PhasePoint state(1);
    hamiltonian.evaluate(state);
    Rng rng(3, StreamPurpose::kTests);
    TransitionStatistics done;
    CHECK(hmc.move(state, step, rng, done));
    CHECK(done.saturated == (time / step > most + 0.5));
    return done.evaluations;
  };
  CHECK(evaluations(1.0, 0.25, 100) == 4);
  CHECK(evaluations(1.0, 0.29, 100) == 3);
  CHECK(evaluations(1.0, 0.28, 100) == 4);
  CHECK(evaluations(1.0, 50.0, 100) == 1);
  CHECK(evaluations(1.0, 0.01, 100) == 100);  // just not too many
  CHECK(evaluations(1.0, 0.01, 99) == 99);
  CHECK(evaluations(1.0, 1e-300, 7) == 7);
}

TEST_CASE("a transition that is stopped leaves the state as it was") {
  class StopAtThird final : public StopSignal {
   public:
    bool stop_requested() override { return ++asked >= 3; }
    int asked = 0;
  };
  testing::GammaPoissonTarget target;
  Rng rng(5, StreamPurpose::kTests);
  PhasePoint state(2);
  state.position = target.simulate(rng);
  const Metric metric(MetricKind::kUnit, 2);
  Hamiltonian hamiltonian(target, metric);
  hamiltonian.evaluate(state);
  const PhasePoint before = state;
  StopAtThird stop;
  SamplerOptions options;
  options.sampler = SamplerKind::kStaticHmc;
  StaticHmc hmc(hamiltonian, options, 2, &stop);
  TransitionStatistics done;
  CHECK_FALSE(hmc.move(state, 0.01, rng, done));
  CHECK(stop.asked == 3);  // before each step
  CHECK(hamiltonian.evaluations() == 3);
  CHECK(state.position == before.position);
  CHECK(state.gradient == before.gradient);
  CHECK(state.log_density == before.log_density);
}
