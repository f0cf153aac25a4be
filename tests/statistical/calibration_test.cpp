// Calibration by ranks: right samplers pass, of every kind of network, and broken ones are noticed.
#include "verbs/theory/calibration.hpp"

#include <cmath>
#include <memory>
#include <vector>

#include "calibration_problems.hpp"
#include "catch.hpp"
#include "headway/posterior/collapsed_chain.hpp"
#include "headway/posterior/exact_chain.hpp"
#include "headway/posterior/weight_posterior.hpp"

using namespace headway;             // NOLINT: a test
using namespace headway::posterior;  // NOLINT

namespace {

using sampling::SamplerKind;
using testing::Calibrated;
using testing::calibration_of;
using testing::WeightProblem;

// Neyman's statistic is chi^2 only for many networks, so that far in the tail it has some more.
constexpr double kLeast = 1e-5;

sampling::SamplerOptions short_chain(SamplerKind kind, int warmup, int draws, int thin = 1) {
  sampling::SamplerOptions options;
  options.sampler = kind;
  options.warmup = warmup;
  options.draws = draws;
  options.thin = thin;
  options.threads = 2;
  options.keep_draws = false;
  return options;
}

SampledCalibration calibrated(const Calibrated& of, const sampling::SamplerOptions& options,
                              int networks) {
  Observer observer;
  const auto result = calibrate(of.problem, options, {.networks = networks, .point = 3}, observer);
  REQUIRE(result);
  return *result;
}

void check_calibrated(const Calibrated& of, const sampling::SamplerOptions& options, int networks) {
  const SampledCalibration result = calibrated(of, options, networks);
  INFO(of.name << ", sampler " << sampling::sampler_name(options.sampler) << ", ranks among "
               << result.draws << ", p " << result.p_value);
  Index worst = 0;
  result.p_values.minCoeff<Eigen::PropagateNaN>(&worst);
  INFO("worst: " << result.statistics[static_cast<std::size_t>(worst)]);
  CHECK(result.p_value > kLeast);
  // Of seven, the fewest that are ranked, ranks say little. MALA and Langevin do not mix faster.
  if (options.sampler != SamplerKind::kMala && options.sampler != SamplerKind::kLangevin) {
    CHECK(result.draws >= 15);
  }
}

// Steps so short that MALA would accept 99 of 100 leave Langevin a bias of a few per cent of a
// deviation, which some hundred ranks cannot see.
sampling::SamplerOptions langevin(int thin) {
  sampling::SamplerOptions options = short_chain(SamplerKind::kLangevin, 400, 150, thin);
  options.target_accept = 0.99;
  return options;
}

void check_given_attention(const WeightProblem& problem, int networks) {
  check_calibrated(calibration_of<CollapsedChain>(problem),
                   short_chain(SamplerKind::kSweep, 50, 400), networks);
  check_calibrated(calibration_of<ExactChain>(problem), short_chain(SamplerKind::kNuts, 150, 200),
                   networks);
  const Calibrated weights = calibration_of<WeightPosterior>(problem);
  check_calibrated(weights, short_chain(SamplerKind::kSweep, 200, 1000), networks);
}

// Samplers of all weights along the gradient are slow, and need short chains of many steps.
void check_gradients(const WeightProblem& problem, int networks) {
  const Calibrated weights = calibration_of<WeightPosterior>(problem);
  check_calibrated(weights, short_chain(SamplerKind::kNuts, 200, 300), networks);
  check_calibrated(weights, short_chain(SamplerKind::kStaticHmc, 200, 300, 2), networks);
  check_calibrated(weights, short_chain(SamplerKind::kMala, 400, 200, 20), networks);
  check_calibrated(weights, langevin(100), networks);
}

std::vector<testing::LearnedProblem> learned_problems() {
  using model::AttentionPriorForm;
  using model::LearnedKind;
  return {{"softmax",
           {{2}, AttentionPriorForm::kMatrix, 4.0, 0, LearnedKind::kSoftmax, {}},
           Readout::kLastToken,
           false,
           1,
           {6, 3, 2}},
          {"linear",
           {{2}, AttentionPriorForm::kQueriesKeys, 4.0, 1, LearnedKind::kLinear, {}},
           Readout::kMean,
           false,
           1,
           {6, 3, 2}},
          {"two layers",
           {{1, 2}, AttentionPriorForm::kMatrix, 4.0, 0, LearnedKind::kSoftmax, {}},
           Readout::kLastToken,
           true,
           1,
           {6, 3, 2}},
          {"outputs",
           {{2}, AttentionPriorForm::kMatrix, 4.0, 0, LearnedKind::kSoftmax, {}},
           Readout::kLastToken,
           false,
           2,
           {5, 3, 2}},
          {"one frozen",
           {{2}, AttentionPriorForm::kMatrix, 4.0, 0, LearnedKind::kSoftmax, {{0, 1}}},
           Readout::kLastToken,
           false,
           1,
           {6, 3, 2}}};
}

void check_learned(const testing::LearnedProblem& problem, int networks) {
  const Calibrated of = calibration_of(problem, 0.3);
  sampling::SamplerOptions options = short_chain(SamplerKind::kNuts, 150, 150);
  options.replicas = 3;
  check_calibrated(of, options, networks);
  check_calibrated(of, short_chain(SamplerKind::kStaticHmc, 200, 200, 2), networks);
}

std::vector<Calibrated> value_problems() {
  using model::ValueForm;
  using numerics::Nonlinearity;
  return {calibration_of({ValueForm::kHyla, Nonlinearity::kRelu}, 1, 0.2),
          calibration_of({ValueForm::kPerHead, Nonlinearity::kErf}, 1, 0.2),
          calibration_of({ValueForm::kBeforeAttention, Nonlinearity::kErf}, 2, 0.3),
          calibration_of({ValueForm::kAfterAttention, Nonlinearity::kRelu}, 1, 0.2),
          calibration_of({ValueForm::kHyla, Nonlinearity::kErf}, 2, 0.3)};
}

void check_values(const Calibrated& of, int networks) {
  check_calibrated(of, short_chain(SamplerKind::kNuts, 150, 200), networks);
  sampling::SamplerOptions options = short_chain(SamplerKind::kStaticHmc, 200, 200, 2);
  options.replicas = 3;
  check_calibrated(of, options, networks);
}

}  // namespace

TEST_CASE("samplers are calibrated in networks of several outputs and layers, narrow or not") {
  for (const std::size_t which : {1, 2, 5}) {
    check_given_attention(testing::weight_problems()[which], 200);
  }
}

TEST_CASE("samplers of given attention are calibrated") {
  for (const std::size_t which : {0, 4}) {
    check_given_attention(testing::networks_of_users()[which], 100);
  }
}

TEST_CASE("samplers of all weights along the gradient are calibrated") {
  check_gradients(testing::weight_problems()[1], 60);
}

TEST_CASE("samplers of learned attention are calibrated") {
  for (const std::size_t which : {0, 1}) check_learned(learned_problems()[which], 60);
}

TEST_CASE("samplers of value networks are calibrated") {
  const std::vector<Calibrated> problems = value_problems();
  for (const std::size_t which : {0, 2}) check_values(problems[which], 60);
}

TEST_CASE("every sampler is calibrated on 1,000 networks of five problems each", "[.long]") {
  for (const WeightProblem& problem : testing::networks_of_users()) {
    check_given_attention(problem, 1000);
  }
  for (const std::size_t which : {0, 1, 2, 4, 5}) {
    check_gradients(testing::weight_problems()[which], 1000);
  }
  for (const testing::LearnedProblem& problem : learned_problems()) check_learned(problem, 1000);
  for (const Calibrated& of : value_problems()) check_values(of, 1000);
}

namespace {

constexpr Index kBrokenReadout = 3;  // N_a

/// The exact chain with an error.
class BrokenChain final : public sampling::Target, public PosteriorTarget {
 public:
  enum class Fault { kNoJacobian, kSwappedSlopes };
  BrokenChain(ExactChain chain, Fault fault) : chain_(std::move(chain)), fault_(fault) {}
  [[nodiscard]] Index dimension() const override { return chain_.dimension(); }
  double log_density(const Eigen::Ref<const VectorXd>& q, Eigen::Ref<VectorXd> gradient) override {
    double value = chain_.log_density(q, gradient);
    if (fault_ == Fault::kSwappedSlopes) {
      std::swap(gradient[0], gradient[1]);
      return value;
    }
    // Leaves out the Jacobian dB / dq of the readout's coordinate (eq. 38).
    const double slope = 1.0 / std::sqrt(2.0 * kBrokenReadout);
    value -= slope * q[0];
    gradient[0] -= slope;
    return value;
  }
  bool draw_start(Rng& rng, Eigen::Ref<VectorXd> q) override { return chain_.draw_start(rng, q); }
  [[nodiscard]] std::unique_ptr<Target> clone() const override {
    return std::make_unique<BrokenChain>(*this);
  }
  PosteriorDraw observe(const Eigen::Ref<const VectorXd>& q, bool predictor) override {
    return chain_.observe(q, predictor);
  }
  MatrixXd draw_training_output(const Eigen::Ref<const VectorXd>& q, Rng& rng) override {
    return chain_.draw_training_output(q, rng);
  }

 private:
  ExactChain chain_;
  Fault fault_;
};

double p_of_broken(BrokenChain::Fault fault, const sampling::SamplerOptions& options) {
  const WeightProblem problem{{{2}, {4, kBrokenReadout}, {1.0, 1.0, 1.0}, 1}, 0.2, 6, 3, 87};
  Calibrated of = calibration_of<ExactChain>(problem);
  of.problem.target = [right = of.problem.target,
                       fault](const MatrixXd& labels) -> std::unique_ptr<sampling::Target> {
    const auto chain = right(labels);
    return std::make_unique<BrokenChain>(dynamic_cast<const ExactChain&>(*chain), fault);
  };
  return calibrated(of, options, 400).p_value;
}

}  // namespace

TEST_CASE("a density without its Jacobian is noticed") {
  CHECK(p_of_broken(BrokenChain::Fault::kNoJacobian, short_chain(SamplerKind::kNuts, 150, 200)) <
        0.001);
}

// The acceptance test of NUTS, HMC and MALA would mend what a wrong slope does: any force that
// depends on the position alone gives trajectories that are reversible and keep volume.
TEST_CASE("slopes of two coordinates that are swapped are noticed in Langevin") {
  CHECK(p_of_broken(BrokenChain::Fault::kSwappedSlopes, langevin(20)) < 0.001);
}

namespace {

// In each of 60 directions that the labels tell of, the squared residual is T chi^2_1: a wrong T
// moves it by (factor - 1) sqrt(60 / 2) of its deviations.
WeightProblem many_directions() { return {{{2}, {2, 3}, {1.0, 1.0, 1.0}, 1}, 0.05, 60, 40, 71}; }

void check_factors(const std::vector<double>& factors, int networks) {
  const auto options = short_chain(SamplerKind::kSweep, 20, 60);
  CHECK(calibrated(calibration_of<CollapsedChain>(many_directions()), options, networks).p_value >
        kLeast);
  for (const double factor : factors) {
    const SampledCalibration off =
        calibrated(calibration_of<CollapsedChain>(many_directions(), factor), options, networks);
    INFO("factor " << factor << " p " << off.p_value);
    CHECK(off.p_value < 0.001);
    CHECK(off.p_values[0] < 0.001);  // the squared residual
  }
}

}  // namespace

TEST_CASE("a temperature that is wrong by an eighth is noticed") {
  check_factors({0.88, 1.12}, 400);
}

TEST_CASE("a temperature that is wrong by three per cent is noticed", "[.long]") {
  check_factors({0.97, 1.03}, 5000);
}

TEST_CASE("of learned attention and of value networks a temperature wrong by half is noticed") {
  const auto options = short_chain(SamplerKind::kNuts, 150, 150);
  CHECK(calibrated(calibration_of(learned_problems()[0], 0.3, 1.5), options, 250).p_value < 0.001);
  CHECK(calibrated(
            calibration_of({model::ValueForm::kHyla, numerics::Nonlinearity::kErf}, 1, 0.2, 1.5),
            options, 250)
            .p_value < 0.001);
}
