#include "headway/posterior/learned_chain.hpp"

#include <cmath>
#include <numbers>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "headway/error.hpp"
#include "headway/posterior/exact_chain.hpp"
#include "learned_problems.hpp"

using namespace headway;
using posterior::LearnedChain;
using testing::learned_chain;
using testing::learned_data;
using testing::learned_problems;
using testing::LearnedData;
using testing::LearnedProblem;

namespace {

VectorXd prior_draw(LearnedChain& chain, std::uint64_t stream = 3) {
  Rng rng(80, StreamPurpose::kTests, stream);
  VectorXd x(chain.dimension());
  chain.draw_start(rng, x);
  return x;
}

void check_gradient(LearnedChain& chain, const VectorXd& x) {
  VectorXd gradient(x.size());
  REQUIRE(std::isfinite(chain.log_density(x, gradient)));
  VectorXd ignored(x.size());
  for (Index k = 0; k < x.size(); ++k) {
    const double h = 1e-4;
    const auto value = [&](double step) {
      return chain.log_density(x + step * VectorXd::Unit(x.size(), k), ignored);
    };
    const double numerical =
        (8.0 * (value(h) - value(-h)) - (value(2 * h) - value(-2 * h))) / (12.0 * h);
    CHECK(std::abs(gradient[k] - numerical) < 1e-7 * std::max(1.0, std::abs(numerical)));
  }
}

}  // namespace

TEST_CASE("the gradient over attention and factors agrees with finite differences") {
  for (const LearnedProblem& problem : learned_problems()) {
    for (const Index width : {2, 9}) {  // U_1 singular, and not
      INFO(problem.name << ", width " << width);
      const LearnedData data = learned_data(problem);
      LearnedChain chain = learned_chain(problem, data, 0.3, width);
      check_gradient(chain, prior_draw(chain));
    }
  }
  LearnedProblem problem = learned_problems()[2];
  LearnedChain chain = learned_chain(problem, learned_data(problem));
  chain.set_inverse_temperature(0.3);
  check_gradient(chain, prior_draw(chain));
}

TEST_CASE("given the attention, the density is that of the exact chain") {
  for (const LearnedProblem& problem : learned_problems()) {
    INFO(problem.name);
    const LearnedData data = learned_data(problem);
    LearnedChain chain = learned_chain(problem, data);
    const VectorXd x = prior_draw(chain);
    const VectorXd z = x.head(chain.weights());
    model::LearnedAttention::Workspace workspace;
    MatrixXd features;
    REQUIRE(data.attention->path_features(z, chain.feature_scale(), workspace, features));
    theory::PathKernelOptions options;
    options.form =
        problem.outputs == 1 ? theory::KernelForm::kStored : theory::KernelForm::kStreamed;
    posterior::ExactChain exact(
        testing::learned_architecture(problem), 0.2,
        theory::make_path_kernels(features, *data.labels, chain.prior().architecture().paths(),
                                  options),
        std::make_shared<MatrixXd>(features));
    VectorXd gradient(x.size());
    VectorXd exact_gradient(exact.dimension());
    const double prior = -0.5 * z.squaredNorm() -
                         0.5 * static_cast<double>(z.size()) * std::log(2.0 * std::numbers::pi);
    const double expected = exact.log_density(x.tail(exact.dimension()), exact_gradient);
    CHECK_THAT(chain.log_density(x, gradient),
               Catch::Matchers::WithinAbs(expected + prior, 1e-9 * std::abs(expected)));
    CHECK((gradient.tail(exact.dimension()) - exact_gradient).norm() <
          1e-8 * std::max(1.0, exact_gradient.norm()));
    const posterior::PosteriorDraw draw = chain.observe(x, true);
    const posterior::PosteriorDraw expected_draw = exact.observe(x.tail(exact.dimension()), true);
    const double likelihood =
        expected - chain.prior().log_prior(x.tail(exact.dimension()), exact_gradient);
    CHECK_THAT(draw.log_likelihood, Catch::Matchers::WithinRel(likelihood, 1e-9));
    CHECK(draw.log_likelihood == chain.log_likelihood(x));
    const model::AttentionStatistics seen = data.attention->statistics(z, workspace);
    CHECK((draw.attention_entropy == seen.entropy ||
           (std::isnan(draw.attention_entropy) && std::isnan(seen.entropy))));
    CHECK(draw.attention_largest == seen.largest);
    REQUIRE(draw.order_parameters.layers.size() == expected_draw.order_parameters.layers.size());
    for (std::size_t l = 0; l < draw.order_parameters.layers.size(); ++l) {
      CHECK(draw.order_parameters.layers[l] == expected_draw.order_parameters.layers[l]);
    }
    CHECK(draw.order_parameters.readout == expected_draw.order_parameters.readout);
    CHECK(chain.observe(x, false).mean.size() == 0);
    CHECK(chain.observe(x, false).log_likelihood == draw.log_likelihood);
    const std::vector<std::string> names = chain.coordinate_names();
    CHECK(static_cast<Index>(names.size()) == chain.dimension());
    CHECK(std::set<std::string>(names.begin(), names.end()).size() == names.size());
    CHECK((draw.mean - expected_draw.mean).norm() <
          1e-8 * std::max(1.0, expected_draw.mean.norm()));
    CHECK((draw.variance - expected_draw.variance).norm() <
          1e-8 * std::max(1.0, expected_draw.variance.norm()));
  }
}

TEST_CASE("weights and factors of exchanged heads have the same density") {
  const LearnedProblem problem = learned_problems()[1];  // heads [2]
  LearnedChain chain = learned_chain(problem, learned_data(problem), 0.2, 2);
  const VectorXd x = prior_draw(chain);
  // Narrow: B_1 is 2 x 2, all entries normal. Exchanged heads exchange its rows.
  VectorXd y = x;
  y.head(chain.weights()) = chain.coordinates().permuted(x.head(chain.weights()), 0, {1, 0});
  const auto b = Eigen::Map<const MatrixXd>(x.data() + x.size() - 4, 2, 2);
  Eigen::Map<MatrixXd>(y.data() + y.size() - 4, 2, 2) = b.colwise().reverse();
  VectorXd ignored(x.size());
  CHECK_THAT(chain.log_density(y, ignored),
             Catch::Matchers::WithinRel(chain.log_density(x, ignored), 1e-12));
}

TEST_CASE("at inverse temperature 0 the density is the prior's, and a sweep draws from it") {
  const LearnedProblem problem = learned_problems()[2];
  LearnedChain chain = learned_chain(problem, learned_data(problem));
  chain.set_inverse_temperature(0.0);
  VectorXd x = prior_draw(chain);
  VectorXd gradient(x.size());
  VectorXd of_chain(chain.prior().dimension());
  const double expected =
      chain.prior().log_prior(x.tail(of_chain.size()), of_chain) -
      0.5 * x.head(chain.weights()).squaredNorm() -
      0.5 * static_cast<double>(chain.weights()) * std::log(2.0 * std::numbers::pi);
  CHECK_THAT(chain.log_density(x, gradient), Catch::Matchers::WithinRel(expected, 1e-13));
  CHECK((gradient.head(chain.weights()) + x.head(chain.weights())).norm() == 0.0);
  Rng rng(81, StreamPurpose::kTests);
  double squares = 0.0;
  for (int i = 0; i < 400; ++i) {
    chain.sweep(rng, x);
    squares += x.head(chain.weights()).squaredNorm() / 400.0;
  }
  const auto count = static_cast<double>(chain.weights());
  CHECK(std::abs(squares - count) < 5.0 * std::sqrt(2.0 * count / 400.0));
}

TEST_CASE("a temperature of 0 is refused") {
  const LearnedProblem problem = learned_problems()[0];
  const LearnedData data = learned_data(problem);
  CHECK_THROWS_WITH(learned_chain(problem, data, 0.0),
                    "model.temperature = 0: learned attention needs a finite temperature > 0");
}

TEST_CASE("a chain of learned attention refuses labels and architectures of other data") {
  const LearnedProblem problem = learned_problems()[2];  // heads [2, 3], 7 examples
  const LearnedData data = learned_data(problem);
  const auto refusal = [&](std::vector<int> heads, Index outputs, const MatrixXd& labels) {
    model::Architecture a = model::uniform_architecture(std::move(heads), 4, 1.0, outputs);
    try {
      LearnedChain(a, 0.2, data.attention, std::make_shared<MatrixXd>(labels), data.attention);
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::kBadStudy);
      return std::string(error.what());
    }
    return std::string("none");
  };
  const auto sizes = [](int paths, int outputs, const std::string& labels) {
    return "learned attention: the architecture has " + std::to_string(paths) + " paths and " +
           std::to_string(outputs) +
           " outputs, the attention 6 paths and 7 examples, the labels are " + labels;
  };
  CHECK(refusal({2, 3}, 1, *data.labels) == "none");
  CHECK(refusal({3, 2}, 1, *data.labels) == sizes(6, 1, "7 x 1"));
  CHECK(refusal({2, 2}, 1, *data.labels) == sizes(4, 1, "7 x 1"));
  CHECK(refusal({2, 3}, 2, *data.labels) == sizes(6, 2, "7 x 1"));
  CHECK(refusal({2, 3}, 1, MatrixXd::Zero(6, 1)) == sizes(6, 1, "6 x 1"));
}
