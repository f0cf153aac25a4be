// Where the weights of learned attention lie, and which priors there are.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "catch.hpp"
#include "headway/error.hpp"
#include "headway/model/learned_attention.hpp"
#include "random_examples.hpp"

using namespace headway;
using model::AttentionCoordinates;
using model::AttentionPrior;
using model::AttentionPriorForm;
using model::LearnedKind;

namespace {

template <class Work>
std::string fault(const Work& work, ErrorKind kind) {
  try {
    work();
  } catch (const Error& error) {
    CHECK(error.kind() == kind);
    return error.what();
  }
  return "none";
}

AttentionPrior two_layers(AttentionPriorForm form) {
  AttentionPrior prior;
  prior.heads = {2, 3};
  prior.form = form;
  prior.variance = 2.25;
  prior.dims = form == AttentionPriorForm::kMatrix ? 0 : 2;
  prior.frozen = {{1, 1}};
  return prior;
}

VectorXd counted(Index size) { return VectorXd::LinSpaced(size, 1.0, static_cast<double>(size)); }

}  // namespace

TEST_CASE("each entry of W has the name of its layer, head, row and column") {
  const AttentionCoordinates coordinates(two_layers(AttentionPriorForm::kMatrix), 3);
  const std::vector<std::string> names = coordinates.names();
  REQUIRE(coordinates.dimension() == 4 * 9);
  REQUIRE(names.size() == 4 * 9);
  const VectorXd z = counted(coordinates.dimension());
  for (std::size_t l = 0; l < 2; ++l) {
    for (int h = 0; h < (l == 0 ? 2 : 3); ++h) {
      if (l == 1 && h == 1) continue;
      const MatrixXd w = coordinates.weights(z, l, h);
      for (Index i = 0; i < 3; ++i) {
        for (Index j = 0; j < 3; ++j) {
          const auto k = static_cast<std::size_t>(std::lround(w(i, j) / 1.5)) - 1;
          CHECK(names.at(k) == fmt::format("W_{}^{}[{},{}]", l + 1, h + 1, i + 1, j + 1));
        }
      }
    }
  }
  CHECK(coordinates.offset(1, 1) == -1);
  CHECK(fault([&] { static_cast<void>(coordinates.weights(z, 1, 1)); }, ErrorKind::kInternal) ==
        "a frozen head has no weights");
}

TEST_CASE("queries and keys give W = s_w Q^T K / sqrt(G), and lie by their names") {
  const AttentionCoordinates coordinates(two_layers(AttentionPriorForm::kQueriesKeys), 3);
  const std::vector<std::string> names = coordinates.names();
  const Index size = coordinates.head_size();
  CHECK(size == 2 * 2 * 3);
  REQUIRE(names.size() == 4 * 12);
  const VectorXd z = counted(coordinates.dimension());
  const auto entry = [&](const std::string& name) {
    const auto at = std::find(names.begin(), names.end(), name);
    REQUIRE(at != names.end());
    return z[at - names.begin()];
  };
  const MatrixXd w = coordinates.weights(z, 1, 2);
  for (Index s = 1; s <= 3; ++s) {
    for (Index t = 1; t <= 3; ++t) {
      double sum = 0.0;
      for (Index g = 1; g <= 2; ++g) {
        sum += entry(fmt::format("Q_2^3[{},{}]", g, s)) * entry(fmt::format("K_2^3[{},{}]", g, t));
      }
      CHECK_THAT(w(s - 1, t - 1), Catch::Matchers::WithinRel(1.5 * sum / std::sqrt(2.0), 1e-13));
    }
  }
}

TEST_CASE("heads that are exchanged take their weights along, but frozen ones stay") {
  const AttentionCoordinates coordinates(two_layers(AttentionPriorForm::kMatrix), 2);
  const VectorXd z = counted(coordinates.dimension());
  const VectorXd moved = coordinates.permuted(z, 1, {2, 1, 0});
  CHECK(coordinates.weights(moved, 1, 0) == coordinates.weights(z, 1, 2));
  CHECK(coordinates.weights(moved, 1, 2) == coordinates.weights(z, 1, 0));
  CHECK(coordinates.weights(moved, 0, 0) == coordinates.weights(z, 0, 0));
  CHECK(coordinates.permuted(moved, 1, {2, 1, 0}) == z);
  for (const std::vector<int>& order : {std::vector<int>{1, 0, 2}, {0, 2, 1}}) {
    CHECK(fault([&] { static_cast<void>(coordinates.permuted(z, 1, order)); },
                ErrorKind::kInternal) == "frozen heads cannot be exchanged");
  }
}

TEST_CASE("weights of given heads make their logits, and frozen heads are passed over") {
  Rng rng(84, StreamPurpose::kTests);
  std::vector<LayerHeads> given = testing::random_weight_layers({2, 3}, 3, rng);
  const AttentionCoordinates coordinates(two_layers(AttentionPriorForm::kMatrix), 3);
  const VectorXd z = coordinates.of_heads(given);
  for (const auto& [l, h] : {std::pair<std::size_t, int>{0, 0}, {0, 1}, {1, 0}, {1, 2}}) {
    // logits x_s^T W x_t / N_0
    CHECK((coordinates.weights(z, l, h) / 3.0 - given[l].weights[static_cast<std::size_t>(h)])
              .norm() < 1e-14);
  }
  given.pop_back();
  CHECK(fault([&] { static_cast<void>(coordinates.of_heads(given)); }, ErrorKind::kBadData) ==
        "attention of 1 layers is given, not of 2");
}

TEST_CASE("a prior that is none says which key, its value and what is allowed") {
  const auto refusal = [](const auto& change) {
    AttentionPrior prior = two_layers(AttentionPriorForm::kQueriesKeys);
    change(prior);
    return fault([&] { prior.validate(3); }, ErrorKind::kBadStudy);
  };
  CHECK(refusal([](AttentionPrior&) {}) == "none");
  CHECK(refusal([](AttentionPrior& p) { p.heads.clear(); }) ==
        "model.attention_prior.heads = []: must have one entry H_l >= 1 for each layer");
  CHECK(refusal([](AttentionPrior& p) {
          p.heads = {2, 0};
        }) == "model.attention_prior.heads = [2, 0]: must be whole numbers of at least 1");
  for (const double variance : {0.0, -1.0, std::nan(""), HUGE_VAL}) {
    CHECK(refusal([&](AttentionPrior& p) { p.variance = variance; }) ==
          fmt::format("model.attention_prior.variance = {}: must be a finite number above 0",
                      variance));
  }
  const std::string dims = ": must be a whole number from 1 to 3, the number of input features";
  CHECK(refusal([](AttentionPrior& p) { p.dims = 0; }) == "model.attention_prior.dims = 0" + dims);
  CHECK(refusal([](AttentionPrior& p) { p.dims = 3; }) == "none");
  CHECK(refusal([](AttentionPrior& p) { p.dims = 4; }) == "model.attention_prior.dims = 4" + dims);
  CHECK(refusal([](AttentionPrior& p) {
          p.form = AttentionPriorForm::kMatrix;  // has no dims
          p.dims = 4;
        }) == "none");
  const std::string layers =
      "]: must be a layer from 1 to 2 and one of its heads, heads being [2, 3]";
  CHECK(refusal([](AttentionPrior& p) {
          p.frozen = {{0, 1}, {0, 2}};
        }) == "model.attention_prior.frozen = [1, 3" + layers);
  CHECK(refusal([](AttentionPrior& p) {
          p.frozen = {{2, 0}};
        }) == "model.attention_prior.frozen = [3, 1" + layers);
  CHECK(refusal([](AttentionPrior& p) {
          p.frozen = {{1, -1}};
        }) == "model.attention_prior.frozen = [2, 0" + layers);
}
