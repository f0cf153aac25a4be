#include "model/attention.hpp"

#include <cmath>
#include <limits>
#include <string>

#include "catch.hpp"
#include "headway/error.hpp"
#include "model/head_products.hpp"
#include "random_examples.hpp"
#include "reference_path_features.hpp"

using Catch::Matchers::WithinAbs;
using headway::AttentionKind;
using headway::Error;
using headway::ErrorKind;
using headway::Index;
using headway::LayerHeads;
using headway::MatrixXd;
using headway::Rng;
using headway::RowMatrixXd;
using headway::StreamPurpose;
using headway::VectorXd;
using namespace headway::model;

TEST_CASE("Softmax takes the logits of one query in a column") {
  MatrixXd logits(3, 2);  // a column is a query
  logits << 0.0, std::log(1.0), 0.0, std::log(2.0), 0.0, std::log(5.0);
  REQUIRE(attention_from_logits(AttentionKind::kSoftmax, logits));
  MatrixXd expected(3, 2);
  expected << 1.0 / 3.0, 0.125, 1.0 / 3.0, 0.25, 1.0 / 3.0, 0.625;
  CHECK((logits - expected).cwiseAbs().maxCoeff<Eigen::PropagateNaN>() < 1e-15);
}

TEST_CASE("Softmax does not overflow and does not depend on a common shift") {
  MatrixXd logits(3, 1);
  logits << 1e308, 1e308, -1e308;
  REQUIRE(attention_from_logits(AttentionKind::kSoftmax, logits));
  CHECK(logits == (MatrixXd(3, 1) << 0.5, 0.5, 0.0).finished());
  MatrixXd near(3, 1);
  near << 0.3, -1.0, 2.0;
  MatrixXd far = near.array() + 1024.0;
  REQUIRE(attention_from_logits(AttentionKind::kSoftmax, near));
  REQUIRE(attention_from_logits(AttentionKind::kSoftmax, far));
  CHECK((near - far).cwiseAbs().maxCoeff<Eigen::PropagateNaN>() < 1e-12);
}

TEST_CASE("Hardmax shares ties equally, up to rounding") {
  MatrixXd logits(4, 3);
  logits.col(0) << 1.0, 3.0, 2.0, 0.0;
  logits.col(1) << 5.0, -1.0, 5.0 * (1.0 - 1e-15), 5.0;
  logits.col(2) << 0.0, 0.0, 0.0, 0.0;
  REQUIRE(attention_from_logits(AttentionKind::kHardmax, logits));
  CHECK(logits.col(0) == (VectorXd(4) << 0, 1, 0, 0).finished());
  const double third = 1.0 / 3.0;
  CHECK(logits.col(1) == (VectorXd(4) << third, 0, third, third).finished());
  CHECK(logits.col(2) == VectorXd::Constant(4, 0.25));
}

TEST_CASE("Logits that are not finite are refused and left alone") {
  for (const double bad : {std::nan(""), std::numeric_limits<double>::infinity(),
                           -std::numeric_limits<double>::infinity()}) {
    MatrixXd logits(2, 1);
    logits << 0.5, bad;
    CHECK_FALSE(attention_from_logits(AttentionKind::kSoftmax, logits));
    CHECK_FALSE(attention_from_logits(AttentionKind::kHardmax, logits));
    CHECK(logits(0, 0) == 0.5);
  }
}

namespace {

// Attention [query, key] of one head over tokens that are all real.
MatrixXd attention_of(const RowMatrixXd& inputs, const LayerHeads& layer, int head,
                      AttentionKind kind) {
  const MatrixXd tokens = inputs.transpose();
  MatrixXd logits(tokens.cols(), tokens.cols());
  HeadProducts(layer, head, tokens, tokens).logits(0, 0, logits);
  REQUIRE(attention_from_logits(kind, logits));
  return logits.transpose();
}

}  // namespace

TEST_CASE("The attention of a head agrees with the definition") {
  Rng rng(1, StreamPurpose::kTests, 100);
  const auto weights = headway::testing::random_weight_layers({3}, 6, rng)[0];
  const auto query_key = headway::testing::random_query_key_layers({2}, 6, 4, rng)[0];
  const RowMatrixXd inputs = headway::testing::random_matrix(5, 6, rng);
  const headway::reference::Example example{inputs, std::vector<std::uint8_t>(5, 1)};
  for (const LayerHeads& layer : {weights, query_key}) {
    const auto by_products = headway::reference::softmax_attention(inputs, layer);
    REQUIRE(static_cast<int>(by_products.size()) == head_count(layer));
    for (int h = 0; h < head_count(layer); ++h) {
      const auto i = static_cast<std::size_t>(h);
      for (const auto kind : {AttentionKind::kSoftmax, AttentionKind::kHardmax}) {
        const MatrixXd expected = headway::reference::attention(example, layer, i, kind);
        CHECK((attention_of(inputs, layer, h, kind) - expected)
                  .cwiseAbs()
                  .maxCoeff<Eigen::PropagateNaN>() < 1e-13);
        if (kind == AttentionKind::kHardmax) continue;
        CHECK((by_products[i] - expected).cwiseAbs().maxCoeff<Eigen::PropagateNaN>() < 1e-13);
      }
    }
  }
}

TEST_CASE("The query comes first in the logits x_s^T W x_t") {
  LayerHeads layer;
  layer.weights = {MatrixXd::Zero(2, 2)};
  layer.weights[0](0, 1) = 4.0;  // query feature 0 with key feature 1
  const RowMatrixXd inputs = RowMatrixXd::Identity(2, 2);
  const MatrixXd omega = attention_of(inputs, layer, 0, AttentionKind::kHardmax);
  CHECK(omega == (MatrixXd(2, 2) << 0, 1, 0.5, 0.5).finished());
}

TEST_CASE("A layer that does not fit is an error that names layer and head") {
  const auto message_of = [](const LayerHeads& layer, int heads) {
    try {
      validate_layer(layer, 2, heads, 3);
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::kBadData);
      return std::string(error.what());
    }
    return std::string("no error");
  };
  const MatrixXd square = MatrixXd::Zero(3, 3);
  const MatrixXd wide = MatrixXd::Zero(2, 3);
  LayerHeads weights;
  weights.weights = {square, square};
  CHECK(message_of(weights, 2) == "no error");
  const std::string heads = "attention of layer 2: has ", first = "attention of layer 2, head 1: ";
  CHECK(message_of(weights, 3) == heads + "2 heads: must have 3 (and at least 1)");
  CHECK(message_of(weights, 1) == heads + "2 heads: must have 1 (and at least 1)");
  CHECK(message_of(weights, 0) == heads + "2 heads: must have 0 (and at least 1)");
  const std::string square_one = "weights is 2 x 3: must be N_0 x N_0 = 3 x 3";
  weights.weights[1] = wide;
  CHECK(message_of(weights, 2) == "attention of layer 2, head 2: " + square_one);
  weights.weights[0] = wide;
  CHECK(message_of(weights, 2) == first + square_one);
  weights.weights[0] = wide.transpose();
  CHECK(message_of(weights, 2) == first + "weights is 3 x 2: must be N_0 x N_0 = 3 x 3");
  const std::string either =
      " matrices: must have either weights, or as many query as key matrices";
  CHECK(message_of(LayerHeads{}, 1) == heads + "0 weights, 0 query and 0 key" + either);
  LayerHeads pairs;
  pairs.query = {wide};
  CHECK(message_of(pairs, 1) == heads + "0 weights, 1 query and 0 key" + either);
  const std::string size = ": must be G x N_0 with N_0 = 3, the same G >= 1 for both";
  pairs.key = {square};
  CHECK(message_of(pairs, 1) == first + "key is 3 x 3" + size);
  pairs.key = {MatrixXd::Zero(2, 4)};
  CHECK(message_of(pairs, 1) == first + "key is 2 x 4" + size);
  pairs.key = {wide};
  CHECK(message_of(pairs, 1) == "no error");
  pairs.query = {MatrixXd::Zero(2, 4)};
  CHECK(message_of(pairs, 1) == first + "query is 2 x 4" + size);
  pairs.query = {MatrixXd::Zero(0, 3)};
  CHECK(message_of(pairs, 1) == first + "query is 0 x 3" + size);
  pairs.weights = {square};
  CHECK(message_of(pairs, 1) == heads + "1 weights, 1 query and 1 key" + either);
}
