#include "headway/theory/value_saddle.hpp"

#include <cmath>
#include <memory>
#include <vector>

#include "catch.hpp"
#include "headway/core/rng.hpp"
#include "headway/dataset.hpp"
#include "random_examples.hpp"
#include "theory_problems.hpp"

using namespace headway;
using model::ValueForm;
using model::ValueSites;
using numerics::Nonlinearity;

namespace {

constexpr Index kExamples = 14, kTokens = 3, kFeatures = 2;
constexpr int kHeads = 2;

struct Case {
  explicit Case(Index width, Index outputs = 1, ValueForm form = ValueForm::kHyla) {
    Rng rng(11, StreamPurpose::kTests);
    const tasks::MemoryExamples examples(
        testing::random_tensor({kExamples, kTokens, kFeatures}, rng), {},
        {testing::random_tensor({kExamples, kHeads, kTokens, kTokens}, rng)});
    Observer observer;
    sites = model::value_sites({form, Nonlinearity::kRelu}, examples, {kHeads}, {},
                               {.readout = Readout::kMean}, observer);
    problem.architecture.heads = {static_cast<int>(sites.readouts())};
    problem.architecture.widths = {width, width + 3};
    problem.architecture.variances = {1.2, 1.7, 0.9};
    problem.architecture.outputs = outputs;
    problem.temperature = 0.1;
    problem.sites = &sites;
    problem.labels = test::random_matrix(kExamples, outputs, rng);
    problem.kernels.threads = 1;
  }
  Case(const Case&) = delete;
  Case& operator=(const Case&) = delete;

  [[nodiscard]] Index inputs() const { return sites.directions.cols(); }
  [[nodiscard]] MatrixXd prior() const {
    return problem.architecture.variance(0) * MatrixXd::Identity(inputs(), inputs());
  }

  ValueSites sites;
  theory::ValueProblem problem;
};

double energy(const Case& c, const MatrixXd& s, const MatrixXd& u) {
  const theory::ValueFeatures features = theory::value_features(c.sites, c.sites, s, 1);
  return theory::make_path_kernels(features.train, c.problem.labels, c.sites.readouts())
      ->evaluate(u, c.problem.temperature)
      ->energy();
}

}  // namespace

TEST_CASE("features of value networks have the kernel as products, with new examples, too") {
  const Case c(10);
  Rng rng(12, StreamPurpose::kTests);
  const MatrixXd s = test::random_spd(c.inputs(), rng);
  const tasks::MemoryExamples others(testing::random_tensor({4, kTokens, kFeatures}, rng), {},
                                     {testing::random_tensor({4, kHeads, kTokens, kTokens}, rng)});
  Observer observer;
  const ValueSites other = model::value_sites({ValueForm::kHyla, Nonlinearity::kRelu}, others,
                                              {kHeads}, {}, {.readout = Readout::kMean}, observer);
  const theory::ValueFeatures features = theory::value_features(c.sites, other, s, 1);
  const MatrixXd factor = numerics::SpdFactor::factor(s)->lower();
  const model::WhitenedSites white(c.sites, factor), further(other, factor);
  const MatrixXd kernel = model::value_kernel(white, 1);
  const MatrixXd cross = model::value_kernel(further, white, 1);
  const MatrixXd own = model::value_kernel_diagonal(further);
  const double small = 1e-12 * kernel.cwiseAbs().maxCoeff<Eigen::PropagateNaN>();
  const Index d = features.train.cols() / kHeads;
  for (Index r = 0; r < kHeads; ++r) {
    for (Index q = 0; q < kHeads; ++q) {
      const MatrixXd train_r = features.train.middleCols(r * d, d);
      const MatrixXd other_r = features.other.middleCols(r * d, d);
      const MatrixXd train_q = features.train.middleCols(q * d, d);
      const MatrixXd other_q = features.other.middleCols(q * d, d);
      REQUIRE((train_r * train_q.transpose() -
               kernel.block(r * kExamples, q * kExamples, kExamples, kExamples))
                  .cwiseAbs()
                  .maxCoeff<Eigen::PropagateNaN>() < small);
      REQUIRE((other_r * train_q.transpose() - cross.block(r * 4, q * kExamples, 4, kExamples))
                  .cwiseAbs()
                  .maxCoeff<Eigen::PropagateNaN>() < 1e3 * small);
      for (Index i = 0; i < 4; ++i)
        REQUIRE(std::abs(other_r.row(i).dot(other_q.row(i)) - own(i * kHeads + r, q)) <
                1e3 * small);
    }
  }
}

TEST_CASE("examples that are given twice leave the kernel singular, and its features right") {
  Rng rng(13, StreamPurpose::kTests);
  Tensor inputs = testing::random_tensor({6, kTokens, kFeatures}, rng);
  Tensor attention = testing::random_tensor({6, kHeads, kTokens, kTokens}, rng);
  std::copy_n(inputs.values.begin(), inputs.values.size() / 2,
              inputs.values.begin() + static_cast<long>(inputs.values.size() / 2));
  std::copy_n(attention.values.begin(), attention.values.size() / 2,
              attention.values.begin() + static_cast<long>(attention.values.size() / 2));
  Observer observer;
  const ValueSites sites = model::value_sites({ValueForm::kPerHead, Nonlinearity::kErf},
                                              tasks::MemoryExamples(inputs, {}, {attention}),
                                              {kHeads}, {}, {.readout = Readout::kMean}, observer);
  const Index inputs_of = sites.directions.cols();
  const MatrixXd s = MatrixXd::Identity(inputs_of, inputs_of);
  const theory::ValueFeatures features = theory::value_features(sites, sites, s, 1);
  REQUIRE(features.train.topRows(3).isApprox(features.train.bottomRows(3), 1e-7));
  REQUIRE(features.train.cols() == kHeads * (kHeads * 3 + kHeads));
}

TEST_CASE("the slope of the energy over S is its finite difference, with several outputs, too") {
  for (const Index outputs : {Index{1}, Index{2}}) {
    const Case c(10, outputs);
    Rng rng(14, StreamPurpose::kTests);
    const MatrixXd s = test::random_spd(c.inputs(), rng);
    const MatrixXd u = test::random_spd(kHeads * outputs, rng);
    const MatrixXd direction = test::random_symmetric(c.inputs(), rng);
    const double h = 1e-5;
    const double expected =
        (energy(c, s + h * direction, u) - energy(c, s - h * direction, u)) / (2.0 * h);
    const MatrixXd slope = theory::feature_energy_slope(c.problem, s, u);
    REQUIRE(std::abs(slope.cwiseProduct(direction).sum() - expected) < 1e-6 * std::abs(expected));
  }
}

TEST_CASE("at an adapted saddle point no step of S leads lower") {
  for (const ValueForm form : {ValueForm::kHyla, ValueForm::kAfterAttention}) {
    const Case c(6, 1, form);
    Observer observer;
    const theory::ValueSaddle saddle = theory::solve_adapted_saddle(
        c.problem, MatrixXd::Zero(c.inputs(), c.inputs()), {}, observer);
    INFO(saddle.message);
    REQUIRE(saddle.converged);
    Rng rng(15, StreamPurpose::kTests);
    const MatrixXd root = numerics::SpdFactor::factor(saddle.s)->lower();
    for (int trial = 0; trial < 6; ++trial) {
      const MatrixXd step = MatrixXd::Identity(c.inputs(), c.inputs()) +
                            1e-3 * test::random_symmetric(c.inputs(), rng);
      const MatrixXd s = root * step * root.transpose();
      const theory::SaddlePoint inner =
          theory::solve_value_saddle(c.problem, s, saddle.inner.order_parameters, {}, observer);
      REQUIRE(inner.evaluation.value + theory::feature_entropy(c.problem.architecture, s) >
              saddle.action());
    }
    // Fixed features are one choice of S, so the adapted action is lower.
    const theory::SaddlePoint fixed = theory::solve_value_saddle(
        c.problem, c.prior(), theory::gaussian_process_order_parameters(c.problem.architecture), {},
        observer);
    REQUIRE(saddle.action() <
            fixed.evaluation.value + theory::feature_entropy(c.problem.architecture, c.prior()));
  }
}

TEST_CASE("a wide value network is a Gaussian process with its prior features") {
  double last = 0.0;
  for (const Index width : {Index{100}, Index{10'000}, Index{1'000'000}}) {
    const Case c(width);
    Observer observer;
    const theory::ValueSaddle saddle = theory::solve_adapted_saddle(
        c.problem, MatrixXd::Zero(c.inputs(), c.inputs()), {}, observer);
    const theory::OrderParameters wide =
        theory::gaussian_process_order_parameters(c.problem.architecture);
    const double off = (saddle.s - c.prior()).cwiseAbs().maxCoeff<Eigen::PropagateNaN>() +
                       (saddle.inner.order_parameters.layers[0] - wide.layers[0])
                           .cwiseAbs()
                           .maxCoeff<Eigen::PropagateNaN>();
    // As 1/N, up to the next order at the smallest width.
    if (last > 0.0) REQUIRE(std::abs(100.0 * off / last - 1.0) < 0.5);
    last = off;
  }
}
