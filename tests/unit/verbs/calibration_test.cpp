#include "verbs/theory/calibration.hpp"

#include <atomic>
#include <cmath>
#include <memory>

#include "catch.hpp"
#include "headway/core/rng.hpp"
#include "headway/error.hpp"

using namespace headway;

namespace {

/// y_i = x + noise with x ~ N(0, 1), drawn afresh from its posterior; counts its transitions.
class Mean final : public sampling::SweepTarget, public posterior::PosteriorTarget {
 public:
  Mean(MatrixXd labels, std::shared_ptr<std::atomic<int>> sweeps)
      : labels_(std::move(labels)), sweeps_(std::move(sweeps)) {}
  [[nodiscard]] Index dimension() const override { return 1; }
  double log_density(const Eigen::Ref<const VectorXd>&, Eigen::Ref<VectorXd>) override {
    return 0.0;
  }
  double sweep(Rng& rng, Eigen::Ref<VectorXd> x) override {
    ++*sweeps_;
    const auto n = static_cast<double>(labels_.size());
    x[0] = labels_.sum() / (n + 1.0) + rng.normal() / std::sqrt(n + 1.0);
    return 0.0;
  }
  bool draw_start(Rng& rng, Eigen::Ref<VectorXd> x) override {
    x[0] = rng.normal();
    return true;
  }
  [[nodiscard]] std::unique_ptr<Target> clone() const override {
    return std::make_unique<Mean>(*this);
  }
  posterior::PosteriorDraw observe(const Eigen::Ref<const VectorXd>& x, bool) override {
    posterior::PosteriorDraw draw;
    draw.order_parameters.layers = {MatrixXd::Constant(1, 1, x[0])};
    draw.order_parameters.readout = MatrixXd::Constant(1, 1, x[0]);
    draw.mean = draw.order_parameters.readout;
    draw.variance = MatrixXd::Zero(1, 1);
    return draw;
  }
  MatrixXd draw_training_output(const Eigen::Ref<const VectorXd>& x, Rng&) override {
    return MatrixXd::Constant(labels_.rows(), 1, x[0]);
  }
  posterior::PriorOutputs draw_prior_outputs(const Eigen::Ref<const VectorXd>& x, Rng&) override {
    return {MatrixXd::Constant(labels_.rows(), 1, x[0]), MatrixXd::Constant(1, 1, x[0])};
  }

 private:
  MatrixXd labels_;
  std::shared_ptr<std::atomic<int>> sweeps_;
};

/// Stops after that many transitions.
class StopAfterSweeps final : public Observer {
 public:
  StopAfterSweeps(std::shared_ptr<std::atomic<int>> sweeps, int most)
      : sweeps_(std::move(sweeps)), most_(most) {}
  [[nodiscard]] bool interrupted() const override { return *sweeps_ >= most_; }

 private:
  std::shared_ptr<std::atomic<int>> sweeps_;
  int most_;
};

struct Means {
  std::shared_ptr<std::atomic<int>> sweeps = std::make_shared<std::atomic<int>>(0);
  model::Architecture architecture = model::uniform_architecture({1}, 4);
  sampling::SamplerOptions options;
  Means() {
    options.sampler = sampling::SamplerKind::kSweep;
    options.warmup = 0;
    options.draws = 20;
    options.threads = 1;
  }
  std::optional<SampledCalibration> run(const CalibrationRun& how, Observer& observer) {
    const auto target = [this](const MatrixXd& labels) -> std::unique_ptr<sampling::Target> {
      return std::make_unique<Mean>(labels, sweeps);
    };
    const CalibrationProblem problem{
        architecture, SampledNetwork::kLinear, 1.0, 1, networks_of(target(MatrixXd::Zero(3, 1))),
        target};
    return calibrate(problem, options, how, observer);
  }
};

}  // namespace

TEST_CASE(
    "calibration ends at the transition of the interruption and goes on from whole networks") {
  Means means;
  const SampledCalibration whole = *means.run({.networks = 30}, no_observer());
  CHECK(whole.p_value > 1e-6);
  CHECK(*means.sweeps == 30 * 20);
  MatrixXd done;
  int saves = 0;
  const CalibrationRun run{.networks = 30, .done = &done, .save = [&saves] { ++saves; }};
  *means.sweeps = 0;
  StopAfterSweeps observer(means.sweeps, 47);  // in the third network
  CHECK_FALSE(means.run(run, observer));
  CHECK(*means.sweeps == 47);
  CHECK(done.rows() == 2);
  CHECK(saves == 1);
  const SampledCalibration resumed = *means.run(run, no_observer());
  CHECK(*means.sweeps == 47 + 28 * 20);
  CHECK(resumed.ranks == whole.ranks);
  CHECK(resumed.p_value == whole.p_value);
  // What another study left is refused.
  means.options.draws = 200;
  CHECK_THROWS_AS(means.run(run, no_observer()), Error);
}

TEST_CASE("The smooth test of uniform numbers agrees with its definition") {
  // One number x: P_1 to P_4 at 2 x - 1 = 0.5, and chi^2_4 by its closed tail.
  const double p[] = {0.5, -0.125, -0.4375, -0.2890625};
  double square = 0.0;
  for (int k = 1; k <= 4; ++k) square += (2 * k + 1) * p[k - 1] * p[k - 1];
  CHECK_THAT(uniformity_p_value({0.75}),
             Catch::Matchers::WithinRel(std::exp(-square / 2) * (1 + square / 2), 1e-12));
}

TEST_CASE("The smooth test notices ranks that lean, or crowd in the middle or at the ends") {
  std::vector<double> even, lean, middle, ends;
  for (int i = 0; i < 400; ++i) {
    const double u = (i + 0.5) / 400;
    even.push_back(u);
    lean.push_back(std::pow(u, 1.3));
    middle.push_back(0.5 + 0.7 * (u - 0.5));
    ends.push_back(u < 0.5 ? 0.8 * u : 1.0 - 0.8 * (1.0 - u));
  }
  CHECK(uniformity_p_value(even) > 0.99);
  CHECK(uniformity_p_value(lean) < 1e-3);
  CHECK(uniformity_p_value(middle) < 1e-3);
  CHECK(uniformity_p_value(ends) < 1e-3);
}
