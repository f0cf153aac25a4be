#include "headway/analysis/removal.hpp"

#include <cmath>
#include <string>
#include <vector>

#include "catch.hpp"
#include "headway/analysis/head_scores.hpp"
#include "headway/core/labels.hpp"
#include "headway/dataset.hpp"
#include "headway/error.hpp"
#include "headway/model/linear_value_network.hpp"
#include "headway/path_features.hpp"
#include "random_examples.hpp"
#include "reference_path_features.hpp"

using namespace headway;
using namespace headway::analysis;
using Catch::Matchers::WithinAbs;

namespace {

constexpr Index kExamples = 7;
constexpr Index kTokens = 4;
constexpr Index kFeatures = 5;

/// A random network, its attention on random inputs, and its path outputs.
struct Drawn {
  explicit Drawn(std::vector<int> heads, Index outputs = 1) : rng(8, StreamPurpose::kTests) {
    model::Architecture architecture;
    architecture.heads = std::move(heads);
    architecture.outputs = outputs;
    for (std::size_t l = 0; l <= architecture.heads.size(); ++l) {
      architecture.widths.push_back(3 + static_cast<Index>(l));
    }
    architecture.variances.assign(architecture.heads.size() + 2, 1.3);
    network = model::draw_from_prior(architecture, kFeatures, rng);
    const auto layers = testing::random_weight_layers(architecture.heads, kFeatures, rng);
    inputs = testing::random_tensor({kExamples, kTokens, kFeatures}, rng);
    model::PathFeatureOptions options;
    options.readout = Readout::kMean;
    Observer observer;
    paths = {architecture.heads, outputs,
             model::path_outputs(
                 network, model::path_features(tasks::MemoryExamples(inputs), architecture.heads,
                                               layers, options, observer))};
    for (Index mu = 0; mu < kExamples; ++mu) {
      std::vector<std::vector<MatrixXd>> omega;
      for (const LayerHeads& layer : layers) {
        omega.push_back(reference::softmax_attention(example(mu), layer));
      }
      attention.push_back(std::move(omega));
    }
  }
  [[nodiscard]] Eigen::Map<const RowMatrixXd> example(Index mu) const {
    return {inputs.values.data() + mu * kTokens * kFeatures, kTokens, kFeatures};
  }
  /// The outputs of the network itself, computed through all of its layers.
  [[nodiscard]] MatrixXd outputs_of(const model::LinearValueNetwork& changed) const {
    MatrixXd f(kExamples, paths.outputs);
    for (Index mu = 0; mu < kExamples; ++mu) {
      f.row(mu) = model::network_output(changed, example(mu), attention[mu],
                                        model::readout_vector(Readout::kMean, kTokens));
    }
    return f;
  }
  [[nodiscard]] model::LinearValueNetwork scaled(std::size_t layer, std::size_t head,
                                                 double factor) const {
    model::LinearValueNetwork changed = network;
    changed.values[layer][head] *= factor;
    return changed;
  }

  Rng rng;
  model::LinearValueNetwork network;
  Tensor inputs;
  PathOutputs paths;
  std::vector<std::vector<std::vector<MatrixXd>>> attention;
};

MatrixXd random_signs(Index rows, Rng& rng) {
  return MatrixXd::NullaryExpr(rows, 1, [&] { return rng.uniform() < 0.5 ? -1.0 : 1.0; });
}

}  // namespace

TEST_CASE("path outputs add up to the network, and pruned ones to the network without the heads") {
  for (const Index outputs : {Index{1}, Index{2}}) {
    Drawn drawn({2, 3, 2}, outputs);
    CHECK((outputs_without(drawn.paths, {}) - drawn.outputs_of(drawn.network)).norm() < 1e-12);
    // Head 3 is the second of layer 2 (heads 0, 1 | 2, 3, 4 | 5, 6).
    model::LinearValueNetwork changed = drawn.scaled(1, 1, 0.0);
    CHECK((outputs_without(drawn.paths, {3}, Rescaling::kNone) - drawn.outputs_of(changed)).norm() <
          1e-12);
    for (MatrixXd& v : changed.values[1]) v *= std::sqrt(3.0 / 2.0);
    CHECK((outputs_without(drawn.paths, {3}) - drawn.outputs_of(changed)).norm() < 1e-12);
    // With head 0 of layer 1 and head 4 gone too: layers 1 and 2 keep one of 2 and one of 3.
    changed = drawn.scaled(1, 1, 0.0);
    changed.values[1][2].setZero();
    changed.values[0][0].setZero();
    changed.values[0][1] *= std::sqrt(2.0);
    changed.values[1][0] *= std::sqrt(3.0);
    const MatrixXd pruned = outputs_without(drawn.paths, {3, 0, 4});
    CHECK((pruned - drawn.outputs_of(changed)).norm() < 1e-12);
    CHECK(pruned.norm() > 1e-2);
  }
}

TEST_CASE("a layer must keep a head") {
  const std::string left = "; at least one must stay";
  CHECK_THROWS_WITH(path_factors({2, 3}, {0, 1}, Rescaling::kLayer),
                    "layer 1: all of its 2 heads are removed" + left);
  CHECK_THROWS_WITH(path_factors({2, 3}, {4, 0, 2, 3}, Rescaling::kLayer),
                    "layer 2: all of its 3 heads are removed" + left);
  CHECK_THROWS_WITH(path_factors({1, 3}, {0}, Rescaling::kNone),
                    "layer 1: all of its 1 heads are removed" + left);
  CHECK_THROWS_WITH(path_factors({2, 3}, {5}, Rescaling::kNone),
                    "removed head 5: must be from 0 to 4");
  CHECK_THROWS_WITH(path_factors({2, 3}, {-1}, Rescaling::kNone),
                    "removed head -1: must be from 0 to 4");
  CHECK_NOTHROW(path_factors({2, 3}, {0, 3, 4}, Rescaling::kNone));
  CHECK(path_factors({2, 2}, {1, 1}, Rescaling::kNone) == Eigen::Vector4d(1, 1, 0, 0));
}

TEST_CASE("quality of outputs and its errors agree with those computed by hand") {
  const MatrixXd labels = (MatrixXd(4, 1) << 1, 1, -1, -1).finished();
  const MatrixXd outputs = (MatrixXd(4, 1) << 0.5, 0, -2, -1).finished();  // 0 is wrong
  const Quality q = quality_of(outputs, labels);
  CHECK(q.accuracy.mean == 0.75);
  CHECK_THAT(q.accuracy.error, WithinAbs(std::sqrt(0.75 * 0.25 / 3.0), 1e-15));
  CHECK_THAT(q.squared_error.mean, WithinAbs((0.25 + 1 + 1 + 0) / 4, 1e-15));
  const Quality real = quality_of(outputs, 0.5 * labels);
  CHECK(std::isnan(real.accuracy.mean));
  const MatrixXd one_hot = (MatrixXd(2, 2) << 1, 0, 0, 1).finished();
  const MatrixXd both = (MatrixXd(2, 2) << 0.2, 0.1, 0.7, 0.6).finished();
  CHECK(quality_of(both, one_hot).accuracy.mean == 0.5);
  CHECK_THAT(quality_of(both, one_hot).squared_error.mean,
             WithinAbs((0.64 + 0.01 + 0.49 + 0.16) / 4, 1e-15));
}

TEST_CASE("drops are paired differences, and a layer's only head has no drop") {
  Drawn drawn({3, 1});
  const MatrixXd labels = random_signs(kExamples, drawn.rng);
  const HeadDrops drops = head_drops({3, 1}, removal_of(drawn.paths, labels));
  REQUIRE(drops.score.cols() == 4);
  CHECK(std::isnan(drops.score(0, 3)));
  CHECK(std::isnan(drops.error(0, 3)));
  const QualityCurve curve = quality_curve(removal_of(drawn.paths, labels), {1});
  CHECK_THAT(drops.score.col(1).mean(),
             WithinAbs(curve.quality[0].accuracy.mean - curve.quality[1].accuracy.mean, 1e-14));
  CHECK_THAT(
      drops.error.col(1).mean(),
      WithinAbs(curve.quality[1].squared_error.mean - curve.quality[0].squared_error.mean, 1e-13));
  CHECK(drops.score.leftCols(3).cwiseAbs().maxCoeff() > 0.0);
  const MatrixXd real = 0.3 * labels;
  CHECK(head_drops({3, 1}, removal_of(drawn.paths, real)).score.size() == 0);
  const std::string sizes = "path outputs 7 x 3 and labels ", allowed = ": must be P x 3 and P x 1";
  CHECK_THROWS_WITH(removal_of(drawn.paths, labels.topRows(3)), sizes + "3 x 1" + allowed);
  CHECK_THROWS_WITH(removal_of(drawn.paths, MatrixXd::Zero(7, 2)), sizes + "7 x 2" + allowed);
  CHECK_THROWS_WITH(gradient_sensitivity(drawn.paths, labels.topRows(6)),
                    sizes + "6 x 1" + allowed);
  // Asked for the heads alone, the only head of a layer has a drop, too.
  const Removal alone = [](const std::vector<int>& removed) {
    return ExampleQuality{VectorXd::Ones(2),
                          VectorXd::Constant(2, removed.empty() ? 1.0 : removed[0] + 3.0)};
  };
  CHECK(head_drops({1, 1}, alone, true).error == MatrixXd{{2.0, 3.0}, {2.0, 3.0}});
  CHECK(head_drops({1, 1}, alone, true).score == MatrixXd::Zero(2, 2));
  CHECK(head_drops({1, 1}, alone).error.array().isNaN().all());
}

TEST_CASE("gradient sensitivity equals finite differences of the loss in the head masks") {
  for (const Index outputs : {Index{1}, Index{2}}) {
    Drawn drawn({2, 2}, outputs);
    const MatrixXd labels = testing::random_matrix(kExamples, outputs, drawn.rng);
    const std::vector<double> sensitivity = gradient_sensitivity(drawn.paths, labels);
    const auto losses = [&](const model::LinearValueNetwork& changed) -> VectorXd {
      return (drawn.outputs_of(changed) - labels).array().square().rowwise().mean();
    };
    const double step = 1e-4;
    for (std::size_t h = 0; h < 4; ++h) {
      const VectorXd slope = (losses(drawn.scaled(h / 2, h % 2, 1.0 + step)) -
                              losses(drawn.scaled(h / 2, h % 2, 1.0 - step))) /
                             (2.0 * step);
      CHECK_THAT(sensitivity[h], WithinAbs(slope.cwiseAbs().mean(), 1e-7));
    }
  }
}

TEST_CASE("scores normalised by layer, weight norms and path norms agree with their definitions") {
  const std::vector<double> normalised = normalised_by_layer({3, 4, 0, 0}, {2, 2});
  CHECK_THAT(normalised[0], WithinAbs(0.6, 1e-15));
  CHECK_THAT(normalised[1], WithinAbs(0.8, 1e-15));
  CHECK(normalised[2] == 0.0);
  Drawn drawn({2, 2}, 2);
  const std::vector<double> norms = weight_norms(drawn.network.values);
  CHECK_THAT(norms[2], WithinAbs(drawn.network.values[1][0].norm(), 1e-15));
  const MatrixXd v = model::effective_weights(drawn.network);
  const MatrixXd u = v * v.transpose() / static_cast<double>(v.cols());
  const double scale = std::sqrt(static_cast<double>(v.cols()));
  // Paths (1,1) (1,2) (2,1) (2,2), two outputs each: head 2 of layer 1 has rows 4 to 7.
  CHECK_THAT(scale * path_norms(u, {2, 2}, 2)[1], WithinAbs(v.bottomRows(4).norm(), 1e-12));
  CHECK_THAT(scale * path_norms(u, {2, 2}, 2)[2],
             WithinAbs(std::hypot(v.topRows(2).norm(), v.middleRows(4, 2).norm()), 1e-12));
}

TEST_CASE("greedy order removes what is missed least, by accuracy and then by squared error") {
  // Heads [4, 1]. Head 0 carries the labels, head 1 adds a little to them, head 2 hurts, and head 3
  // is noise that flips no sign. Without head 1 or 3 the accuracy is the same, but not the error.
  PathOutputs paths{{4, 1}, 1, MatrixXd(4, 4)};
  const MatrixXd labels = (MatrixXd(4, 1) << 1, 1, -1, -1).finished();
  paths.values.col(0) = labels;
  paths.values.col(1) = 0.1 * labels;
  paths.values.col(2) << -3, 0.1, 0.1, 0.1;
  paths.values.col(3) << 0.3, -0.3, 0.3, -0.3;
  const Removal removal = removal_of(paths, labels, Rescaling::kNone);
  const std::vector<int> order = greedy_order(paths.heads, removal);
  CHECK(order == std::vector<int>{2, 3, 1});
  const QualityCurve curve = quality_curve(removal, order);
  CHECK(curve.quality[0].accuracy.mean == 0.75);
  CHECK(curve.quality[1].accuracy.mean == 1.0);
  CHECK(curve.quality[3].squared_error.mean == 0.0);
  CHECK(keep_last_heads({3, 2, 1, 0}, {3, 1}) == std::vector<int>{2, 1});
}
