// All samplers of one posterior agree: block Gibbs and NUTS on all weights, the collapsed chain,
// and NUTS on the exact chain of eq. 34, which has no weights. Only order parameters and predictors
// are compared, because nothing else of the weights is identified.
#include <algorithm>
#include <cmath>

#include "catch.hpp"
#include "chance.hpp"
#include "headway/posterior/collapsed_chain.hpp"
#include "headway/posterior/exact_chain.hpp"
#include "headway/posterior/weight_posterior.hpp"
#include "headway/sampling/sample.hpp"
#include "larger.hpp"
#include "weight_problems.hpp"

using namespace headway;             // NOLINT: a test
using namespace headway::posterior;  // NOLINT

namespace {

using testing::random_weight_data;
using testing::WeightData;
using testing::WeightProblem;

// There are about 150 comparisons in this file.
const double kBound = testing::largest_chain_z(150);

// Per kept draw: the entries of every U_l and of U_a, and f on the first test examples. One column
// a quantity.
class Quantities {
 public:
  Quantities(int chains, int draws, Index quantities)
      : draws_(draws), values_(static_cast<Index>(chains) * draws, quantities) {}
  void add(const sampling::Draw& draw, PosteriorTarget& posterior) {
    values_.row(draw.chain * draws_ + draw.index) = at(posterior, draw.position);
  }
  static VectorXd at(PosteriorTarget& posterior, const VectorXd& position) {
    const PosteriorDraw seen = posterior.observe(position, true);
    std::vector<double> all;
    for (const MatrixXd& u : seen.order_parameters.layers) append_lower(u, all);
    append_lower(seen.order_parameters.readout, all);
    for (const double f : seen.mean.reshaped()) all.push_back(f);
    return Eigen::Map<const VectorXd>(all.data(), static_cast<Index>(all.size()));
  }
  /// draws x chains.
  [[nodiscard]] MatrixXd draws(Index quantity) const {
    return values_.col(quantity).reshaped(draws_, values_.rows() / draws_);
  }
  [[nodiscard]] Index size() const { return values_.cols(); }

 private:
  static void append_lower(const MatrixXd& u, std::vector<double>& all) {
    for (Index j = 0; j < u.cols(); ++j) {
      for (Index i = j; i < u.rows(); ++i) all.push_back(u(i, j));
    }
  }
  Index draws_;
  MatrixXd values_;
};

class Observer final : public sampling::DrawRecorder {
 public:
  explicit Observer(Quantities& quantities) : quantities_(quantities) {}
  void record(const sampling::Draw& draw, sampling::Target& target) override {
    quantities_.add(draw, dynamic_cast<PosteriorTarget&>(target));
  }

 private:
  Quantities& quantities_;
};

sampling::SamplerOptions options_of(sampling::SamplerKind kind, int draws) {
  sampling::SamplerOptions options;
  options.sampler = kind;
  options.chains = 4;
  options.warmup = 1000;
  options.draws = draws;
  options.threads = 1;
  options.seed = 77;
  options.keep_draws = false;
  return options;
}

template <typename Posterior>
Quantities run(Posterior& posterior, const sampling::SamplerOptions& options) {
  const VectorXd somewhere = VectorXd::Constant(posterior.dimension(), 0.1);
  Quantities quantities(options.chains, options.draws, Quantities::at(posterior, somewhere).size());
  Observer observer(quantities);
  sampling::SamplingHooks hooks;
  hooks.recorder = &observer;
  sample(posterior, options, hooks);
  return quantities;
}

// Largest |difference of means| over its standard error.
double largest_deviation(const Quantities& a, const Quantities& b) {
  REQUIRE(a.size() == b.size());
  double largest = 0.0;
  for (Index q = 0; q < a.size(); ++q) {
    const MatrixXd x = a.draws(q);
    const MatrixXd y = b.draws(q);
    for (const MatrixXd& one : {x, y}) {
      const double effective = std::min(sampling::ess_bulk(one), sampling::ess_tail(one));
      CHECK(sampling::rank_normalized_rhat(one) <
            testing::largest_rhat(effective, static_cast<int>(one.cols()), 100));
    }
    const double error = std::hypot(sampling::mcse_mean(x), sampling::mcse_mean(y));
    largest = headway::testing::larger(largest, std::abs(x.mean() - y.mean()) / error);
  }
  return largest;
}

// Labels that the network can explain, so that the posterior of U is far from its prior.
WeightProblem two_layers() {
  return {{{2, 2}, {4, 3, 5}, {1.1, 0.9, 1.2, 1.0}, 1}, 0.1, 12, 3, 61};
}
WeightProblem singular() {  // N_1 < p: U_1 has rank 2
  return {{{3}, {2, 4}, {1.0, 1.2, 0.9}, 1}, 0.2, 10, 3, 62};
}
WeightProblem two_outputs() { return {{{2}, {4, 3}, {1.0, 1.1, 0.9}, 2}, 0.2, 8, 2, 63}; }

WeightData explained_data(const WeightProblem& problem) {
  WeightData data = random_weight_data(problem);
  Rng rng(64, StreamPurpose::kTests, problem.stream);
  const MatrixXd& x = data.kernels->features();
  const MatrixXd slope =
      testing::random_matrix(problem.features, problem.architecture.outputs, rng);
  const MatrixXd labels = 4.0 * x.leftCols(problem.features) * slope;
  const MatrixXd test = x.topRows(3) + 0.3 * testing::random_matrix(3, x.cols(), rng);
  return {theory::make_path_kernels(x, labels, problem.architecture.paths()),
          std::make_shared<const MatrixXd>(test)};
}

Quantities exact_draws(const WeightProblem& problem, int draws = 2000) {
  const WeightData data = explained_data(problem);
  ExactChain chain(problem.architecture, problem.temperature, data.kernels, data.test_features);
  return run(chain, options_of(sampling::SamplerKind::kNuts, draws));
}

// Drawn once: three test cases compare with it.
const Quantities& exact_two_layers() {
  static const Quantities draws = exact_draws(two_layers());
  return draws;
}

Quantities weight_draws(const WeightProblem& problem, const sampling::SamplerOptions& options) {
  const WeightData data = explained_data(problem);
  WeightPosterior posterior(problem.architecture, problem.temperature, data.kernels,
                            data.test_features);
  return run(posterior, options);
}

}  // namespace

TEST_CASE("Block Gibbs agrees with the exact chain") {
  const sampling::SamplerOptions options = options_of(sampling::SamplerKind::kSweep, 10000);
  const auto check = [&](const WeightProblem& problem, const Quantities& exact) {
    INFO(testing::describe(problem));
    const double largest = largest_deviation(weight_draws(problem, options), exact);
    INFO("largest deviation " << largest << " standard errors");
    CHECK(largest < kBound);
  };
  check(two_layers(), exact_two_layers());
  check(singular(), exact_draws(singular()));
  check(two_outputs(), exact_draws(two_outputs()));
}

Quantities collapsed_draws(const WeightProblem& problem) {
  const WeightData data = explained_data(problem);
  CollapsedChain chain(problem.architecture, problem.temperature, data.kernels, data.test_features);
  return run(chain, options_of(sampling::SamplerKind::kSweep, 4000));
}

TEST_CASE("The collapsed chain agrees with the exact chain and with block Gibbs") {
  const auto check = [&](const WeightProblem& problem, const Quantities& other) {
    INFO(testing::describe(problem));
    const double largest = largest_deviation(collapsed_draws(problem), other);
    INFO("largest deviation " << largest << " standard errors");
    CHECK(largest < kBound);
  };
  check(two_layers(), exact_two_layers());
  check(singular(), exact_draws(singular()));
  check(two_outputs(),
        weight_draws(two_outputs(), options_of(sampling::SamplerKind::kSweep, 10000)));
}

TEST_CASE("All weight samplers agree with ten times as many draws", "[.long]") {
  sampling::SamplerOptions options = options_of(sampling::SamplerKind::kSweep, 100000);
  options.seed = 78;
  for (const WeightProblem& problem : {singular(), two_outputs()}) {
    INFO(testing::describe(problem));
    const double largest =
        largest_deviation(weight_draws(problem, options), exact_draws(problem, 20000));
    INFO("largest deviation " << largest << " standard errors");
    CHECK(largest < kBound);
  }
}

TEST_CASE("Block Gibbs at another temperature differs from the exact chain") {
  // The same data: explained_data does not depend on the temperature.
  WeightProblem warmer = two_layers();
  warmer.temperature *= 1.5;
  const Quantities draws = weight_draws(warmer, options_of(sampling::SamplerKind::kSweep, 10000));
  CHECK(largest_deviation(draws, exact_two_layers()) > kBound);
}

TEST_CASE("NUTS on all weights agrees with the exact chain") {
  const Quantities draws =
      weight_draws(two_layers(), options_of(sampling::SamplerKind::kNuts, 1000));
  const double largest = largest_deviation(draws, exact_two_layers());
  INFO("largest deviation " << largest << " standard errors");
  CHECK(largest < kBound);
}
