// What samplers refuse: points without a density, starts, targets and options.
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

#include "catch.hpp"
#include "headway/error.hpp"
#include "headway/sampling/sample.hpp"
#include "sampling_targets.hpp"
#include "short_runs.hpp"

using namespace headway;            // NOLINT: a test
using namespace headway::sampling;  // NOLINT

namespace {

using Catch::Matchers::WithinRel;
using testing::error_of;
using testing::FunctionTarget;
using testing::GibbsPairTarget;
using testing::short_run;

double standard_normal(const Eigen::Ref<const VectorXd>& q, Eigen::Ref<VectorXd> gradient) {
  gradient = -q;
  return -0.5 * q.squaredNorm();
}

}  // namespace

TEST_CASE("minus infinity, NaN, a NaN gradient and std::domain_error all reject a point alike") {
  // A half-normal on q_0 > 0: the rest of the line is rejected in four ways.
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto run = [&](int way) {
    const FunctionTarget target(1, [=](const auto& q, Eigen::Ref<VectorXd> gradient) {
      gradient = -q;
      if (q[0] > 0.0) return -0.5 * q.squaredNorm();
      if (way == 0) return -std::numeric_limits<double>::infinity();
      if (way == 1) return nan;
      if (way == 2) throw std::domain_error("left of zero");
      gradient[0] = nan;
      return 0.0;
    });
    SamplerOptions options = short_run(SamplerKind::kNuts);
    options.draws = 200;
    return sample(target, options);
  };
  const SamplingResult first = run(0);
  CHECK(first.coordinate_draws(0).minCoeff<Eigen::PropagateNaN>() > 0.0);
  CHECK(first.summary.divergences[0] > 0);
  for (const int way : {1, 2, 3}) CHECK(run(way).coordinate_draws(0) == first.coordinate_draws(0));
}

TEST_CASE("other exceptions of a target pass through") {
  const FunctionTarget target(1, [](const auto&, const auto&) -> double {
    throw Error(ErrorKind::kBadData, "no such kernel");
  });
  SamplerOptions options = short_run(SamplerKind::kNuts);
  options.threads = 2;
  CHECK(error_of([&] { sample(target, options); }, ErrorKind::kBadData) == "no such kernel");
}

TEST_CASE("a chain that cannot start says why") {
  const auto message = [](const FunctionTarget& target, const SamplerOptions& options) {
    return error_of([&] { sample(target, options); }, ErrorKind::kBadStudy);
  };
  const FunctionTarget nowhere(
      2, [](const auto&, const auto&) { return -std::numeric_limits<double>::infinity(); });
  SamplerOptions options = short_run(SamplerKind::kNuts);
  const std::string density =
      " cannot start: the density or its gradient is zero, infinite or NaN at ";
  options.start_attempts = 30;
  options.initial_radius = 1.5;
  CHECK(message(nowhere, options) ==
        "chain 1" + density +
            "all of 30 random positions. Give starting positions, change initial_radius = 1.5, or "
            "check the target");
  options.starts = {VectorXd::Zero(2), VectorXd::Zero(2), VectorXd::Zero(2)};
  CHECK(message(nowhere, options) == "chain 1" + density + "the given position starts[0]");
  const FunctionTarget bounded(2, [](const auto& q, Eigen::Ref<VectorXd> gradient) {
    gradient = -q;
    return q[0] > 4.0 ? -std::numeric_limits<double>::infinity() : -0.5 * q.squaredNorm();
  });
  SamplerOptions third = options;
  third.starts[2][0] = 5.0;
  CHECK(message(bounded, third) == "chain 3" + density + "the given position starts[2]");
  const FunctionTarget flat(2, [](const auto&, Eigen::Ref<VectorXd> gradient) {
    gradient.setZero();
    return 0.0;
  });
  CHECK(message(flat, options) ==
        "chain 1 cannot start: the density looks constant over any distance, so it is not a proper "
        "posterior");
  const FunctionTarget jump(2, [](const auto& q, Eigen::Ref<VectorXd> gradient) {
    gradient.setConstant(1e3);
    return q.isZero(0.0) ? 0.0 : -1e300;
  });
  CHECK(message(jump, options) ==
        "chain 1 cannot start: no step size is small enough at its starting point. The log density "
        "jumps there, or its gradient is wrong");
}

TEST_CASE("given starts are used, and random starts spread over the radius") {
  const FunctionTarget target(2, standard_normal);
  SamplerOptions options = short_run(SamplerKind::kMala);
  options.warmup = 0;
  options.draws = 1;
  options.step_size = 1e-9;
  options.chains = 40;
  options.initial_radius = 5.0;
  const MatrixXd first = sample(target, options).coordinate_draws(0);
  CHECK(first.cwiseAbs().maxCoeff<Eigen::PropagateNaN>() <= 5.0 + 1e-6);
  CHECK(first.cwiseAbs().maxCoeff() > 4.0);
  CHECK(first.minCoeff() < -3.0);
  options.chains = 2;
  options.starts = {VectorXd::Constant(2, 0.25), VectorXd::Constant(2, -1.5)};
  const MatrixXd given = sample(target, options).coordinate_draws(1);
  CHECK_THAT(given(0, 0), WithinRel(0.25, 1e-6));
  CHECK_THAT(given(0, 1), WithinRel(-1.5, 1e-6));
}

TEST_CASE("a sampler refuses a target that it cannot run on") {
  const FunctionTarget target(1, standard_normal);
  const SamplerOptions options = short_run(SamplerKind::kSweep);
  CHECK(error_of([&] { sample(target, options); }, ErrorKind::kBadStudy) ==
        "sampler = \"sweep\": needs a target that has its own transition");
}

TEST_CASE("the information metric is the target's own matrix, and refused without one") {
  SamplerOptions options = short_run(SamplerKind::kNuts);
  options.metric = MetricKind::kInformation;
  const testing::GaussianTarget gaussian = testing::correlated_gaussian(5);
  for (const int warmup : {1, 40}) {  // from the start position alone, and in windows
    options.warmup = warmup;
    const MatrixXd inverse = sample(gaussian, options).state.chains[1].inverse_metric;
    CHECK((inverse - gaussian.covariance()).norm() < 1e-12 * inverse.norm());
  }
  const FunctionTarget without(2, standard_normal);
  CHECK(
      error_of([&] { sample(without, options); }, ErrorKind::kBadStudy) ==
      "sampler option metric = \"information\": must be \"unit\", \"diagonal\" or \"dense\": this "
      "target does not provide its expected information");
  options.sampler = SamplerKind::kSweep;  // has no metric
  CHECK_NOTHROW(sample(GibbsPairTarget(), options));
  // Information that is nowhere defined leaves the unit metric, and the chain runs.
  class Lost : public testing::GaussianTarget {
   public:
    using GaussianTarget::GaussianTarget;
    [[nodiscard]] MatrixXd information(const Eigen::Ref<const VectorXd>& q) override {
      if (q[0] > 0.0) throw std::domain_error("none here");
      return MatrixXd::Constant(2, 2, std::nan(""));
    }
    [[nodiscard]] std::unique_ptr<Target> clone() const override {
      return std::make_unique<Lost>(*this);
    }
  };
  options.sampler = SamplerKind::kNuts;
  const Lost lost(Eigen::Vector2d::Zero(), Eigen::Matrix2d::Identity());
  CHECK(sample(lost, options).state.chains[0].inverse_metric.isIdentity(0.0));
}

TEST_CASE("replica exchange is refused without a temperature, and a schedule that does not fit") {
  SamplerOptions options = short_run(SamplerKind::kNuts);
  options.replicas = 3;
  CHECK(error_of([&] { sample(testing::correlated_gaussian(2), options); }, ErrorKind::kBadStudy) ==
        "sampler option replicas: must be 1: this target has no temperature");
  using Schedule = std::vector<double>;
  const auto refused = [&](const Schedule& schedule) {
    options.inverse_temperatures = schedule;
    return error_of([&] { options.validate(2); }, ErrorKind::kBadStudy);
  };
  const std::string allowed =
      ": must be empty, or 3 falling numbers from 1 to 0, one for each replica";
  CHECK(refused({1.0, 0.5, 0.5}) == "sampler.inverse_temperatures = [1, 0.5, 0.5]" + allowed);
  CHECK(refused({1.0, 0.0}) == "sampler.inverse_temperatures = [1, 0]" + allowed);
  CHECK(refused({0.9, 0.5, 0.0}) == "sampler.inverse_temperatures = [0.9, 0.5, 0]" + allowed);
  CHECK(refused({1.0, 0.5, 0.1}) == "sampler.inverse_temperatures = [1, 0.5, 0.1]" + allowed);
  CHECK(refused({1.0, 1.0, 0.0}) == "sampler.inverse_temperatures = [1, 1, 0]" + allowed);
  CHECK(refused({1.0, 0.5, 0.0}) == "(no error)");
  options.replicas = 1;
  CHECK(refused({1.0}) ==
        "sampler.inverse_temperatures = [1]: must be empty, or 1 falling numbers "
        "from 1 to 0, one for each replica");
}
