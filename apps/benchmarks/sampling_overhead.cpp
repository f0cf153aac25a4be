// What the samplers cost beyond the target: processor time per gradient evaluation on a density
// that costs next to nothing, and the time to diagnose one quantity.
#include <fmt/format.h>

#include <ctime>
#include <memory>

#include "headway/core/rng.hpp"
#include "headway/sampling/sample.hpp"

namespace {

using namespace headway;
using namespace headway::sampling;

// Processor time, so that other programs on the machine do not count.
double seconds_now() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

class StandardNormal : public Target {
 public:
  explicit StandardNormal(Index dimension) : dimension_(dimension) {}
  [[nodiscard]] Index dimension() const override { return dimension_; }
  double log_density(const Eigen::Ref<const VectorXd>& q, Eigen::Ref<VectorXd> gradient) override {
    gradient = -q;
    return 0.5 * q.dot(gradient);
  }
  [[nodiscard]] std::unique_ptr<Target> clone() const override {
    return std::make_unique<StandardNormal>(*this);
  }

 private:
  Index dimension_;
};

double nanoseconds_of_gradient(Index dimension) {
  StandardNormal target(dimension);
  VectorXd q = VectorXd::Ones(dimension);
  VectorXd gradient(dimension);
  constexpr int kCalls = 1000000;
  double sum = 0.0;
  const double begin = seconds_now();
  for (int i = 0; i < kCalls; ++i) {
    sum += target.log_density(q, gradient);
    q[0] += 1e-9 * gradient[0];
  }
  const double seconds = (seconds_now() - begin);
  return sum > 0.0 ? 0.0 : 1e9 * seconds / kCalls;  // uses sum, so that the loop stays
}

void time_sampler(SamplerKind kind, MetricKind metric, Index dimension) {
  SamplerOptions options;
  options.sampler = kind;
  options.metric = metric;
  options.chains = 1;
  options.threads = 1;
  options.warmup = 0;
  options.draws = 1500000 / static_cast<int>(dimension);
  options.step_size = 0.3;
  options.keep_draws = false;
  const double begin = seconds_now();
  const SamplingResult result = sample(StandardNormal(dimension), options);
  const double each =
      1e9 * (seconds_now() - begin) / static_cast<double>(result.summary.evaluations);
  fmt::print("{:>8}  {:>8}  {:>9}  {:12.0f}  {:14.0f}\n", sampler_name(kind), metric_name(metric),
             dimension, each, each - nanoseconds_of_gradient(dimension));
}

}  // namespace

int main() {
  fmt::print(" sampler    metric  dimension  ns/evaluation  ns without the target\n");
  for (const Index dimension : {Index{14}, Index{136}}) {
    for (const SamplerKind kind :
         {SamplerKind::kNuts, SamplerKind::kStaticHmc, SamplerKind::kMala}) {
      for (const MetricKind metric : {MetricKind::kDiagonal, MetricKind::kDense}) {
        time_sampler(kind, metric, dimension);
      }
    }
  }
  Rng rng(1, StreamPurpose::kTests);
  MatrixXd draws(2000, 4);
  for (double& x : draws.reshaped()) x = rng.normal();
  constexpr int kRepetitions = 50;
  const double begin = seconds_now();
  double sum = 0.0;
  for (int i = 0; i < kRepetitions; ++i) sum += diagnose_quantity(draws).rhat;
  fmt::print("diagnose_quantity of 4 x 2000 draws: {:.2f} ms (R-hat {:.3f})\n",
             1e3 * (seconds_now() - begin) / kRepetitions, sum / kRepetitions);
  return 0;
}
