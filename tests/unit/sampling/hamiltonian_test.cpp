// The integrator is reversible and preserves volume, and its energy error is of second order. The
// metric gives momenta of the right covariance.
#include "sampling/hamiltonian.hpp"

#include <Eigen/LU>
#include <cmath>
#include <limits>
#include <vector>

#include "catch.hpp"
#include "sampling/nuts.hpp"
#include "sampling_targets.hpp"

using namespace headway;            // NOLINT: a test
using namespace headway::sampling;  // NOLINT

namespace {

using Catch::Matchers::WithinAbs;
using Catch::Matchers::WithinRel;
using testing::GammaPoissonTarget;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// A skew, correlated target with simulated counts, a metric and a point with momentum.
struct Scene {
  explicit Scene(MetricKind kind) : metric(kind, 2), hamiltonian(target, metric), point(2) {
    if (kind == MetricKind::kDiagonal) metric.set_inverse(Eigen::Vector2d(0.8, 0.3));
    if (kind == MetricKind::kDense) metric.set_inverse(Eigen::Matrix2d{{0.9, -0.4}, {-0.4, 0.5}});
    Rng rng(4, StreamPurpose::kTests);
    point.position = target.simulate(rng);
    hamiltonian.evaluate(point);
    hamiltonian.draw_momentum(point, rng);
  }
  GammaPoissonTarget target;
  Metric metric;
  Hamiltonian hamiltonian;
  PhasePoint point;
};

const std::vector<MetricKind> kMetrics = {MetricKind::kUnit, MetricKind::kDiagonal,
                                          MetricKind::kDense};

double energy_error(Scene& scene, double step, double time) {
  PhasePoint z = scene.point;
  const double before = scene.hamiltonian.energy(z);
  const int steps = static_cast<int>(std::lround(time / step));
  for (int i = 0; i < steps; ++i) scene.hamiltonian.leapfrog(z, step);
  return scene.hamiltonian.energy(z) - before;
}

}  // namespace

TEST_CASE("leapfrog steps are undone by steps back") {
  for (const MetricKind kind : kMetrics) {
    Scene scene(kind);
    PhasePoint z = scene.point;
    for (int i = 0; i < 50; ++i) scene.hamiltonian.leapfrog(z, 0.2);
    CHECK((z.position - scene.point.position).norm() > 0.1);
    for (int i = 0; i < 50; ++i) scene.hamiltonian.leapfrog(z, -0.2);
    CHECK_THAT((z.position - scene.point.position).norm(), WithinAbs(0.0, 1e-11));
    CHECK_THAT((z.momentum - scene.point.momentum).norm(), WithinAbs(0.0, 1e-11));
    CHECK(scene.hamiltonian.evaluations() == 101);
  }
}

TEST_CASE("the energy error of leapfrog falls with the square of the step") {
  for (const MetricKind kind : kMetrics) {
    Scene scene(kind);
    const double coarse = energy_error(scene, 0.04, 1.2);
    const double fine = energy_error(scene, 0.02, 1.2);
    const double finest = energy_error(scene, 0.01, 1.2);
    CHECK(std::abs(coarse) > 1e-8);
    CHECK_THAT(coarse / fine, WithinRel(4.0, 0.02));
    CHECK_THAT(fine / finest, WithinRel(4.0, 0.01));
  }
}

TEST_CASE("a leapfrog step preserves volume in phase space") {
  for (const MetricKind kind : kMetrics) {
    Scene scene(kind);
    const auto map = [&scene](Eigen::Vector4d x) {
      PhasePoint z = scene.point;
      z.position = x.head(2);
      z.momentum = x.tail(2);
      scene.hamiltonian.evaluate(z);
      scene.hamiltonian.leapfrog(z, 0.5);
      Eigen::Vector4d y;
      y << z.position, z.momentum;
      return y;
    };
    Eigen::Vector4d x;
    x << scene.point.position, scene.point.momentum;
    Eigen::Matrix4d jacobian;
    constexpr double kStep = 1e-5;
    for (Index i = 0; i < 4; ++i) {
      const Eigen::Vector4d dx = kStep * Eigen::Vector4d::Unit(i);
      jacobian.col(i) = (map(x + dx) - map(x - dx)) / (2.0 * kStep);
    }
    CHECK_THAT(jacobian.determinant(), WithinAbs(1.0, 1e-8));
  }
}

TEST_CASE("momenta have the mass matrix as covariance, velocities its inverse") {
  for (const MetricKind kind : kMetrics) {
    Scene scene(kind);
    MatrixXd inverse = MatrixXd::Identity(2, 2);
    if (kind == MetricKind::kDiagonal) inverse.diagonal() = scene.metric.inverse().col(0);
    if (kind == MetricKind::kDense) inverse = scene.metric.inverse();
    Rng rng(6, StreamPurpose::kTests);
    MatrixXd momenta = MatrixXd::Zero(2, 2);
    MatrixXd velocities = MatrixXd::Zero(2, 2);
    constexpr int kCount = 100000;
    for (int i = 0; i < kCount; ++i) {
      scene.hamiltonian.draw_momentum(scene.point, rng);
      scene.hamiltonian.energy(scene.point);
      momenta += scene.point.momentum * scene.point.momentum.transpose() / kCount;
      velocities += scene.point.velocity * scene.point.velocity.transpose() / kCount;
    }
    // Standard error of an entry: at most sqrt(2 / count) of the largest variance.
    const double bound = 6.0 * std::sqrt(2.0 / kCount);
    const MatrixXd mass = inverse.inverse();
    CHECK((momenta - mass).cwiseAbs().maxCoeff<Eigen::PropagateNaN>() < bound * mass.maxCoeff());
    CHECK((velocities - inverse).cwiseAbs().maxCoeff<Eigen::PropagateNaN>() <
          bound * inverse.maxCoeff());
  }
}

TEST_CASE("the gradient of the test target is that of its density") {
  // A wrong gradient would cost efficiency, not exactness, so no statistical test would see it.
  GammaPoissonTarget counts;
  Rng rng(8, StreamPurpose::kTests);
  const VectorXd q = counts.simulate(rng);
  const auto check = [](Target& target, const VectorXd& at) {
    VectorXd gradient(at.size());
    VectorXd scratch(at.size());
    target.log_density(at, gradient);
    for (Index i = 0; i < at.size(); ++i) {
      constexpr double kStep = 1e-5;
      const VectorXd dx = kStep * VectorXd::Unit(at.size(), i);
      const double slope =
          (target.log_density(at + dx, scratch) - target.log_density(at - dx, scratch)) /
          (2.0 * kStep);
      CHECK_THAT(gradient[i], WithinAbs(slope, 1e-7 * (1.0 + std::abs(slope))));
    }
  };
  check(counts, q);
}

TEST_CASE("a rejected point has infinite energy and NUTS stays away from it") {
  testing::FunctionTarget wall(1, [](const auto& x, Eigen::Ref<VectorXd> gradient) {
    gradient[0] = -1.0;
    return x[0] > 0.0 ? -x[0] : -kInfinity;
  });
  const Metric metric(MetricKind::kUnit, 1);
  Hamiltonian hamiltonian(wall, metric);
  PhasePoint z(1);
  z.position[0] = 0.05;
  hamiltonian.evaluate(z);
  z.momentum[0] = -3.0;
  hamiltonian.leapfrog(z, 0.5);
  CHECK(hamiltonian.energy(z) == kInfinity);
}

TEST_CASE("the first step size straddles an acceptance of 0.8") {
  for (const double scale : {1e-4, 1.0, 1e3}) {
    testing::FunctionTarget target(5, [scale](const auto& q, Eigen::Ref<VectorXd> gradient) {
      gradient = -q / (scale * scale);
      return 0.5 * q.dot(gradient);
    });
    const Metric metric(MetricKind::kUnit, 5);
    Hamiltonian hamiltonian(target, metric);
    PhasePoint z(5);
    z.position.setConstant(scale);
    hamiltonian.evaluate(z);
    Rng rng(2, StreamPurpose::kTests);
    const double step = find_step_size(hamiltonian, z, 1.0, rng);
    // For a Gaussian of this scale the leapfrog energy error is of order one at a step of about the
    // scale.
    CHECK(step > 0.1 * scale);
    CHECK(step < 4.0 * scale);
  }
}

TEST_CASE("log_sum_exp neither overflows nor loses infinities") {
  CHECK_THAT(log_sum_exp(1000.0, 1000.0), WithinRel(1000.0 + std::log(2.0), 1e-15));
  CHECK_THAT(log_sum_exp(-kInfinity, -3.0), WithinAbs(-3.0, 0.0));
  CHECK(log_sum_exp(-kInfinity, -kInfinity) == -kInfinity);
}
