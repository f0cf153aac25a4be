// Changes of the inputs that leave path features alone, or change them in a known way.
#include <cmath>
#include <functional>
#include <numeric>

#include "catch.hpp"
#include "headway/dataset.hpp"
#include "headway/path_features.hpp"
#include "random_examples.hpp"
#include "reference_path_features.hpp"

using headway::AttentionKind;
using headway::ExampleSource;
using headway::Index;
using headway::LayerHeads;
using headway::MatrixXd;
using headway::Observer;
using headway::Readout;
using headway::Rng;
using headway::RowMatrixXd;
using headway::StreamPurpose;
using headway::Tensor;
using headway::tasks::MemoryExamples;

namespace {

using Layers = std::vector<LayerHeads>;

constexpr Index kExamples = 6;
constexpr Index kTokens = 5;
constexpr Index kFeatures = 7;

RowMatrixXd features(const ExampleSource& source, const std::vector<int>& heads,
                     const Layers& layers, Readout readout = Readout::kLastToken,
                     AttentionKind kind = AttentionKind::kSoftmax) {
  Observer observer;
  headway::model::PathFeatureOptions options;
  options.readout = readout;
  options.attention = kind;
  options.block = 4;
  return headway::model::path_features(source, heads, layers, options, observer);
}

Tensor random_inputs(std::uint64_t index) {
  Rng rng(3, StreamPurpose::kTests, index);
  return headway::testing::random_tensor({kExamples, kTokens, kFeatures}, rng);
}

Layers random_layers(const std::vector<int>& heads, std::uint64_t index) {
  Rng rng(4, StreamPurpose::kTests, index);
  return headway::testing::random_weight_layers(heads, kFeatures, rng);
}

double largest(const RowMatrixXd& difference) {
  return difference.cwiseAbs().maxCoeff<Eigen::PropagateNaN>();
}

const std::vector<Readout> kReadouts = {Readout::kLastToken, Readout::kFirstToken, Readout::kMean};

}  // namespace

TEST_CASE("Relabelling the heads permutes the paths") {
  const std::vector<int> heads = {2, 3};
  const MemoryExamples source(random_inputs(1));
  const Layers layers = random_layers(heads, 1);
  const RowMatrixXd before = features(source, heads, layers);
  Layers relabelled = layers;
  const std::vector<Index> order = {2, 0, 1};  // new head i of layer 2 is old head order[i]
  for (std::size_t i = 0; i < 3; ++i) {
    relabelled[1].weights[i] = layers[1].weights[static_cast<std::size_t>(order[i])];
  }
  std::swap(relabelled[0].weights[0], relabelled[0].weights[1]);
  const RowMatrixXd after = features(source, heads, relabelled);
  for (Index h1 = 0; h1 < 2; ++h1) {
    for (Index h2 = 0; h2 < 3; ++h2) {
      const Index old_path = (1 - h1) * 3 + order[static_cast<std::size_t>(h2)];
      CHECK(largest(after.middleCols((h1 * 3 + h2) * kFeatures, kFeatures) -
                    before.middleCols(old_path * kFeatures, kFeatures)) < 1e-13);
    }
  }
  CHECK(largest(after - before) > 1e-3);
}

TEST_CASE("Permuting the examples permutes the rows") {
  const std::vector<int> heads = {2, 2};
  const Tensor inputs = random_inputs(2);
  const Layers layers = random_layers(heads, 2);
  Tensor reversed = inputs;
  const Index stride = kTokens * kFeatures;
  for (Index mu = 0; mu < kExamples; ++mu) {
    std::copy_n(inputs.values.begin() + mu * stride, stride,
                reversed.values.begin() + (kExamples - 1 - mu) * stride);
  }
  const RowMatrixXd forward = features(MemoryExamples(inputs), heads, layers);
  const RowMatrixXd backward = features(MemoryExamples(reversed), heads, layers);
  CHECK(largest(forward.colwise().reverse() - backward) < 1e-13);
}

TEST_CASE("A masked sequence gives what the shorter one gives") {
  const std::vector<int> heads = {2, 2};
  const Layers layers = random_layers(heads, 3);
  const Tensor inputs = random_inputs(3);
  const std::vector<std::uint8_t> kept = {0, 1, 1, 0, 1};
  Tensor shorter({kExamples, 3, kFeatures});
  Tensor padded = inputs;
  std::vector<std::uint8_t> mask;
  auto out = shorter.values.begin();
  for (Index mu = 0; mu < kExamples; ++mu) {
    for (Index t = 0; t < kTokens; ++t) {
      auto token = padded.values.begin() + (mu * kTokens + t) * kFeatures;
      const bool real = kept[static_cast<std::size_t>(t)] != 0;
      mask.push_back(kept[static_cast<std::size_t>(t)]);
      if (real) {
        out = std::copy_n(token, kFeatures, out);
      } else {
        std::fill_n(token, kFeatures, std::nan(""));
      }
    }
  }
  const MemoryExamples masked(padded, mask);
  const MemoryExamples physically_shorter(shorter);
  for (const Readout readout : kReadouts) {
    for (const auto kind : {AttentionKind::kSoftmax, AttentionKind::kHardmax}) {
      CHECK(features(masked, heads, layers, readout, kind) ==
            features(physically_shorter, heads, layers, readout, kind));
    }
  }
}

TEST_CASE("Hardmax is the limit of large beta") {
  const std::vector<int> heads = {2, 2};
  const MemoryExamples source(random_inputs(4));
  const Layers layers = random_layers(heads, 4);
  const RowMatrixXd hard = features(source, heads, layers, Readout::kMean, AttentionKind::kHardmax);
  double before = largest(features(source, heads, layers, Readout::kMean) - hard);
  CHECK(before > 0.1);
  for (const double beta : {1e2, 1e6, 1e12}) {
    Layers sharper = layers;
    for (LayerHeads& layer : sharper) {
      for (MatrixXd& w : layer.weights) w *= beta;
    }
    const double now = largest(features(source, heads, sharper, Readout::kMean) - hard);
    CHECK(now <= before);
    before = now;
  }
  CHECK(before < 1e-13);
}

TEST_CASE("Supplying the attention that weights give changes nothing") {
  const std::vector<int> heads = {2, 3};
  const Layers layers = random_layers(heads, 5);
  const Tensor inputs = random_inputs(5);
  std::vector<Tensor> attention;
  for (std::size_t l = 0; l < heads.size(); ++l) {
    Tensor of_layer({kExamples, heads[l], kTokens, kTokens});
    auto out = of_layer.values.begin();
    for (Index mu = 0; mu < kExamples; ++mu) {
      const Eigen::Map<const RowMatrixXd> x(inputs.values.data() + mu * kTokens * kFeatures,
                                            kTokens, kFeatures);
      for (const MatrixXd& omega : headway::reference::softmax_attention(x, layers[l])) {
        const RowMatrixXd rows = omega;
        out = std::copy_n(rows.data(), rows.size(), out);
      }
    }
    attention.push_back(std::move(of_layer));
  }
  for (const Readout readout : kReadouts) {
    const RowMatrixXd from_weights = features(MemoryExamples(inputs), heads, layers, readout);
    const RowMatrixXd supplied =
        features(MemoryExamples(inputs, {}, attention), heads, {}, readout);
    CHECK(largest(from_weights - supplied) < 1e-13);
  }
}

TEST_CASE("Query and key matrices are weights W = Q^T K / sqrt(G)") {
  const std::vector<int> heads = {2, 2};
  Rng rng(5, StreamPurpose::kTests, 6);
  const Layers query_key = headway::testing::random_query_key_layers(heads, kFeatures, 3, rng);
  Layers weights(2);
  for (std::size_t l = 0; l < 2; ++l) {
    for (std::size_t h = 0; h < 2; ++h) {
      weights[l].weights.push_back(query_key[l].query[h].transpose() * query_key[l].key[h] /
                                   std::sqrt(3.0));
    }
  }
  const MemoryExamples source(random_inputs(6));
  for (const Readout readout : kReadouts) {
    CHECK(largest(features(source, heads, query_key, readout) -
                  features(source, heads, weights, readout)) < 1e-13);
  }
}

TEST_CASE(
    "Path features are linear in what the attention does not see, with weights summing to one") {
  // The last feature never enters the logits. Where it is 1 for every token, so is its path
  // feature; where it is one-hot in the position, the path feature is the weight of that position.
  const std::vector<int> heads = {2, 2};
  Layers layers = random_layers(heads, 7);
  for (LayerHeads& layer : layers) {
    for (MatrixXd& w : layer.weights) {
      w.row(kFeatures - 1).setZero();
      w.col(kFeatures - 1).setZero();
    }
  }
  const auto last_features = [&](const std::function<double(Index)>& value) {
    Tensor inputs = random_inputs(7);
    for (Index i = 0; i < kExamples * kTokens; ++i) {
      inputs.values[static_cast<std::size_t>(i * kFeatures + kFeatures - 1)] = value(i % kTokens);
    }
    const RowMatrixXd xi = features(MemoryExamples(inputs), heads, layers, Readout::kMean);
    MatrixXd last(kExamples, 4);
    for (Index path = 0; path < 4; ++path) last.col(path) = xi.col((path + 1) * kFeatures - 1);
    return last;
  };
  CHECK((last_features([](Index) { return 1.0; }).array() - 1.0)
            .abs()
            .maxCoeff<Eigen::PropagateNaN>() < 1e-14);
  MatrixXd sum = MatrixXd::Zero(kExamples, 4);
  for (Index position = 0; position < kTokens; ++position) {
    const MatrixXd weight =
        last_features([position](Index t) { return t == position ? 1.0 : 0.0; });
    CHECK(weight.minCoeff<Eigen::PropagateNaN>() > 0.0);
    sum += weight;
  }
  CHECK((sum.array() - 1.0).abs().maxCoeff<Eigen::PropagateNaN>() < 1e-14);
}
