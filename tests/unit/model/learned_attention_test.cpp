#include "headway/model/learned_attention.hpp"

#include <cmath>

#include "catch.hpp"
#include "headway/error.hpp"
#include "headway/path_features.hpp"
#include "learned_problems.hpp"

using namespace headway;
using model::AttentionPriorForm;
using model::LearnedAttention;
using model::LearnedKind;
using testing::learned_data;
using testing::learned_problems;
using testing::LearnedData;
using testing::LearnedProblem;

namespace {

VectorXd random_weights(Index size, std::uint64_t stream = 1) {
  Rng rng(78, StreamPurpose::kTests, stream);
  VectorXd z(size);
  rng.fill_normal({z.data(), static_cast<std::size_t>(size)});
  return z;
}

// The learned heads as a data set would give them, frozen ones as they are given.
std::vector<LayerHeads> as_given(const LearnedProblem& problem, const LearnedData& data,
                                 const VectorXd& z) {
  std::vector<LayerHeads> layers = data.given;
  const auto n = static_cast<double>(problem.shape.features);
  for (std::size_t l = 0; l < layers.size(); ++l) {
    for (int h = 0; h < problem.prior.heads[l]; ++h) {
      if (problem.prior.is_frozen(l, h)) continue;
      layers[l].weights[static_cast<std::size_t>(h)] =
          data.attention->coordinates().weights(z, l, h) / n;
    }
  }
  return layers;
}

MatrixXd features_at(const LearnedAttention& attention, const VectorXd& z, double scale = 1.0) {
  LearnedAttention::Workspace workspace;
  MatrixXd x;
  REQUIRE(attention.path_features(z, scale, workspace, x));
  return x;
}

}  // namespace

TEST_CASE("path features are those of the same attention given by a data set") {
  for (const LearnedProblem& problem : learned_problems()) {
    if (problem.prior.kind == LearnedKind::kLinear) continue;
    INFO(problem.name);
    const LearnedData data = learned_data(problem);
    const VectorXd z = random_weights(data.attention->dimension());
    Observer observer;
    model::PathFeatureOptions options;
    options.readout = problem.readout;
    const RowMatrixXd expected = model::path_features(
        *data.examples, problem.prior.heads, as_given(problem, data, z), options, observer);
    CHECK((features_at(*data.attention, z, 0.7) - 0.7 * expected)
              .cwiseAbs()
              .maxCoeff<Eigen::PropagateNaN>() < 1e-13);
  }
}

TEST_CASE("a data set's heads have weights with the same logits") {
  for (const LearnedProblem& problem : learned_problems()) {
    if (problem.prior.kind == LearnedKind::kLinear) continue;
    INFO(problem.name);
    const LearnedData data = learned_data(problem);
    const auto& coordinates = data.attention->coordinates();
    const VectorXd z = random_weights(data.attention->dimension());
    const VectorXd found = coordinates.of_heads(as_given(problem, data, z));
    CHECK((features_at(*data.attention, found) - features_at(*data.attention, z))
              .cwiseAbs()
              .maxCoeff<Eigen::PropagateNaN>() < 1e-12);
    // For one matrix W the weights are unique. Of all W_Q and W_K, these have the smallest norm.
    CHECK(found.norm() < z.norm() * (1.0 + 1e-14));
    std::vector<LayerHeads> fewer = as_given(problem, data, z);
    fewer.pop_back();
    CHECK_THROWS_AS(coordinates.of_heads(fewer), Error);
  }
}

TEST_CASE("a start of too few dimensions has the nearest logits") {
  model::AttentionPrior prior;
  prior.heads = {1};
  prior.form = AttentionPriorForm::kQueriesKeys;
  prior.dims = 1;
  const model::AttentionCoordinates coordinates(prior, 2);
  LayerHeads layer;
  layer.query = {MatrixXd::Identity(2, 2)};  // logits (W_Q x) . (W_K y) / sqrt(2)
  layer.key = {(MatrixXd(2, 2) << 3.0, 0.0, 0.0, -1.0).finished()};
  const MatrixXd w = coordinates.weights(coordinates.of_heads({layer}), 0, 0) / 2.0;
  CHECK((w - (MatrixXd(2, 2) << 3.0, 0.0, 0.0, 0.0).finished() / std::sqrt(2.0)).norm() < 1e-14);
}

TEST_CASE("linear attention of one head averages with logits over S") {
  LearnedProblem problem = learned_problems()[0];
  problem.prior.kind = LearnedKind::kLinear;
  const LearnedData data = learned_data(problem);
  const VectorXd z = random_weights(9);
  const MatrixXd w = 2.0 * Eigen::Map<const MatrixXd>(z.data(), 3, 3);  // s_w = 2
  const MatrixXd x = features_at(*data.attention, z);
  std::vector<double> inputs(7 * 4 * 3);
  data.examples->read_inputs(0, 7, inputs.data());
  for (Index i = 0; i < 7; ++i) {
    const Eigen::Map<const RowMatrixXd> tokens(inputs.data() + i * 12, 4, 3);
    const VectorXd logits = tokens * w.transpose() * tokens.row(3).transpose() / 3.0;
    const VectorXd expected = tokens.transpose() * logits / 4.0;
    CHECK((x.row(i).transpose() - expected).norm() < 1e-13);
  }
}

TEST_CASE("the derivative of path features agrees with finite differences") {
  for (const LearnedProblem& problem : learned_problems()) {
    INFO(problem.name);
    const LearnedData data = learned_data(problem);
    const LearnedAttention& attention = *data.attention;
    const VectorXd z = random_weights(attention.dimension());
    LearnedAttention::Workspace workspace;
    MatrixXd x;
    REQUIRE(attention.path_features(z, 0.8, workspace, x));
    Rng rng(79, StreamPurpose::kTests);
    const MatrixXd slope = testing::random_matrix(x.rows(), x.cols(), rng);
    VectorXd gradient = VectorXd::Zero(z.size());
    attention.pull_back(z, 0.8, slope, workspace, gradient);
    for (Index k = 0; k < z.size(); ++k) {
      const double h = 1e-5;
      const auto value = [&](double step) {
        return slope
            .cwiseProduct(features_at(attention, z + step * VectorXd::Unit(z.size(), k), 0.8))
            .sum();
      };
      // fourth order
      const double numerical =
          (8.0 * (value(h) - value(-h)) - (value(2 * h) - value(-2 * h))) / (12.0 * h);
      CHECK(std::abs(gradient[k] - numerical) < 1e-7 * std::max(1.0, gradient.norm()));
    }
  }
}

TEST_CASE("features and derivatives do not depend on the number of threads") {
  const LearnedProblem problem = learned_problems().back();
  const LearnedData one = learned_data(problem, 1);
  const LearnedData four = learned_data(problem, 4);
  const VectorXd z = random_weights(one.attention->dimension());
  const auto both = [&](const LearnedAttention& attention) {
    LearnedAttention::Workspace workspace;
    MatrixXd x;
    REQUIRE(attention.path_features(z, 1.0, workspace, x));
    VectorXd gradient = VectorXd::Zero(z.size());
    attention.pull_back(z, 1.0, x, workspace, gradient);
    return std::make_pair(x, gradient);
  };
  const auto a = both(*one.attention);
  const auto b = both(*four.attention);
  CHECK(a.first == b.first);
  CHECK(a.second == b.second);
}

TEST_CASE("exchanging heads of a layer exchanges paths") {
  const LearnedProblem problem = learned_problems()[2];  // heads [2, 3]
  const LearnedData data = learned_data(problem);
  const VectorXd z = random_weights(data.attention->dimension());
  const MatrixXd x = features_at(*data.attention, z);
  const MatrixXd y =
      features_at(*data.attention, data.attention->coordinates().permuted(z, 1, {2, 0, 1}));
  const Index n = 3;
  for (Index first = 0; first < 2; ++first) {
    const std::vector<Index> from = {2, 0, 1};
    for (Index h = 0; h < 3; ++h) {
      CHECK((y.middleCols((first * 3 + h) * n, n) -
             x.middleCols((first * 3 + from[static_cast<std::size_t>(h)]) * n, n))
                .cwiseAbs()
                .maxCoeff<Eigen::PropagateNaN>() < 1e-14);
    }
  }
}

TEST_CASE("uniform attention has the entropy log S and the largest weight 1 / S") {
  const LearnedData data = learned_data(learned_problems()[1]);
  LearnedAttention::Workspace workspace;
  MatrixXd x;
  const VectorXd z = VectorXd::Zero(data.attention->dimension());
  REQUIRE(data.attention->path_features(z, 1.0, workspace, x));
  const model::AttentionStatistics seen = data.attention->statistics(z, workspace);
  CHECK_THAT(seen.entropy, Catch::Matchers::WithinRel(std::log(4.0), 1e-14));
  CHECK_THAT(seen.largest, Catch::Matchers::WithinRel(0.25, 1e-14));
}

TEST_CASE("the prior refuses options that do not fit") {
  const auto message = [](auto&& change) {
    model::AttentionPrior prior = {
        {2, 2}, AttentionPriorForm::kQueriesKeys, 1.0, 2, LearnedKind::kSoftmax, {}};
    change(prior);
    try {
      prior.validate(3);
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::kBadStudy);
      return std::string(error.what());
    }
    return std::string();
  };
  using Catch::Matchers::ContainsSubstring;
  CHECK(message([](auto&) {}).empty());
  CHECK_THAT(
      message([](auto& p) { p.variance = 0.0; }),
      ContainsSubstring("model.attention_prior.variance = 0") && ContainsSubstring("above 0"));
  CHECK_THAT(
      message([](auto& p) { p.dims = 4; }),
      ContainsSubstring("model.attention_prior.dims = 4") && ContainsSubstring("from 1 to 3"));
  CHECK_THAT(message([](auto& p) { p.dims = 0; }), ContainsSubstring("from 1 to 3"));
  CHECK_THAT(message([](auto& p) { p.heads = {}; }),
             ContainsSubstring("model.attention_prior.heads"));
  CHECK_THAT(message([](auto& p) {
               p.frozen = {{0, 2}};
             }),
             ContainsSubstring("model.attention_prior.frozen = [1, 3]"));
}
