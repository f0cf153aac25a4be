#include "headway/posterior/value_chain.hpp"

#include <cmath>
#include <memory>

#include "catch.hpp"
#include "headway/core/rng.hpp"
#include "headway/dataset.hpp"
#include "headway/error.hpp"
#include "random_examples.hpp"
#include "theory_problems.hpp"

using namespace headway;
using model::ValueForm;
using numerics::Nonlinearity;

namespace {

constexpr Index kExamples = 7, kTokens = 3, kFeatures = 2, kUnits = 3;
constexpr int kHeads = 2;

posterior::ValueChain chain_of(ValueForm form, Nonlinearity phi, Index outputs, Rng& rng) {
  const tasks::MemoryExamples examples(
      testing::random_tensor({kExamples, kTokens, kFeatures}, rng), {},
      {testing::random_tensor({kExamples, kHeads, kTokens, kTokens}, rng)});
  Observer observer;
  auto sites = std::make_shared<const model::ValueSites>(model::value_sites(
      {form, phi}, examples, {kHeads}, {}, {.readout = Readout::kMean}, observer));
  model::Architecture architecture;
  architecture.heads = {static_cast<int>(sites->readouts())};
  architecture.widths = {kUnits, 5};
  architecture.variances = {1.2, 1.7, 0.9};
  architecture.outputs = outputs;
  return {
      architecture, 0.3,
      sites,        std::make_shared<const MatrixXd>(test::random_matrix(kExamples, outputs, rng)),
      sites,        "test"};
}

}  // namespace

TEST_CASE("the gradient of the posterior of a value network is its finite difference") {
  for (const ValueForm form : {ValueForm::kHyla, ValueForm::kPerHead, ValueForm::kBeforeAttention,
                               ValueForm::kAfterAttention}) {
    for (const Index outputs : {Index{1}, Index{2}}) {
      Rng rng(21, StreamPurpose::kTests);
      // The slope of relu jumps, so a step may cross a kink: erf has none.
      posterior::ValueChain chain = chain_of(form, Nonlinearity::kErf, outputs, rng);
      for (const double beta : {1.0, 0.4}) {
        chain.set_inverse_temperature(beta);
        VectorXd x(chain.dimension()), gradient(chain.dimension()), unused(chain.dimension());
        for (double& entry : x) entry = rng.normal();
        chain.log_density(x, gradient);
        const double h = 1e-6;
        for (Index k = 0; k < x.size(); ++k) {
          VectorXd up = x, down = x;
          up[k] += h;
          down[k] -= h;
          const double slope =
              (chain.log_density(up, unused) - chain.log_density(down, unused)) / (2.0 * h);
          REQUIRE(std::abs(gradient[k] - slope) < 1e-6 * (1.0 + std::abs(slope)));
        }
      }
    }
  }
}

TEST_CASE("what a draw says does not depend on the order of its hidden units") {
  Rng rng(22, StreamPurpose::kTests);
  posterior::ValueChain chain = chain_of(ValueForm::kHyla, Nonlinearity::kRelu, 1, rng);
  VectorXd x(chain.dimension());
  for (double& entry : x) entry = rng.normal();
  const posterior::PosteriorDraw draw = chain.observe(x, true);
  REQUIRE(draw.order_parameters.layers.front().rows() == kHeads);
  REQUIRE((draw.feature_covariance - draw.feature_covariance.transpose()).norm() == 0.0);
  REQUIRE(draw.mean.rows() == kExamples);
  REQUIRE((draw.variance.array() > 0.0).all());
  VectorXd turned = x;
  const Index d = chain.weights() / kUnits;
  turned.segment(0, d) = x.segment(d, d);
  turned.segment(d, d) = x.segment(0, d);
  const posterior::PosteriorDraw other = chain.observe(turned, true);
  REQUIRE((other.mean - draw.mean).cwiseAbs().maxCoeff<Eigen::PropagateNaN>() < 1e-12);
  REQUIRE((other.order_parameters.layers.front() - draw.order_parameters.layers.front())
              .cwiseAbs()
              .maxCoeff<Eigen::PropagateNaN>() < 1e-12);
}

TEST_CASE("T = 0 is refused for samples of value networks") {
  Rng rng(23, StreamPurpose::kTests);
  const tasks::MemoryExamples examples(
      testing::random_tensor({kExamples, kTokens, kFeatures}, rng), {},
      {testing::random_tensor({kExamples, kHeads, kTokens, kTokens}, rng)});
  Observer observer;
  auto sites = std::make_shared<const model::ValueSites>(
      model::value_sites({}, examples, {kHeads}, {}, {.readout = Readout::kMean}, observer));
  REQUIRE_THROWS_WITH(posterior::ValueChain(
                          model::uniform_architecture({kHeads}, 4), 0.0, sites,
                          std::make_shared<const MatrixXd>(MatrixXd::Ones(kExamples, 1)), nullptr),
                      Catch::Matchers::ContainsSubstring("model.temperature = 0"));
}
