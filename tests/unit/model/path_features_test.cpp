#include "headway/path_features.hpp"

#include <atomic>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <thread>

#include "catch.hpp"
#include "headway/dataset.hpp"
#include "headway/error.hpp"
#include "random_examples.hpp"
#include "reference_path_features.hpp"

using headway::AttentionKind;
using headway::Error;
using headway::ErrorKind;
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
using headway::VectorXd;
using headway::model::path_features;
using headway::model::PathFeatureOptions;
using headway::tasks::MemoryExamples;

namespace {

using Layers = std::vector<LayerHeads>;
// The library's and the obvious implementation, under one signature.
using Implementation = std::function<RowMatrixXd(const ExampleSource&, const std::vector<int>&,
                                                 const Layers&, Readout, AttentionKind)>;

RowMatrixXd fast(const ExampleSource& source, const std::vector<int>& heads, const Layers& layers,
                 Readout readout, AttentionKind kind) {
  Observer observer;
  PathFeatureOptions options;
  options.readout = readout;
  options.attention = kind;
  options.block = 2;
  return path_features(source, heads, layers, options, observer);
}

std::vector<Implementation> implementations() { return {fast, headway::reference::path_features}; }

double largest_difference(const RowMatrixXd& a, const RowMatrixXd& b) {
  REQUIRE(a.rows() == b.rows());
  REQUIRE(a.cols() == b.cols());
  return (a - b).cwiseAbs().maxCoeff<Eigen::PropagateNaN>();
}

constexpr auto kSoftmax = AttentionKind::kSoftmax;

// Supplied attention [P = 1, H, S, S] from one permutation a head: query s attends to key to[s].
Tensor permutations(const std::vector<std::vector<Index>>& heads) {
  const auto tokens = static_cast<Index>(heads[0].size());
  Tensor attention({1, static_cast<Index>(heads.size()), tokens, tokens});
  for (std::size_t h = 0; h < heads.size(); ++h) {
    for (Index s = 0; s < tokens; ++s) {
      const Index key = heads[h][static_cast<std::size_t>(s)];
      attention
          .values[static_cast<std::size_t>((static_cast<Index>(h) * tokens + s) * tokens + key)] =
          1.0;
    }
  }
  return attention;
}

}  // namespace

TEST_CASE("Uniform heads average the tokens") {
  Rng rng(2, StreamPurpose::kTests, 1);
  const Tensor inputs = headway::testing::random_tensor({3, 4, 5}, rng);
  const MemoryExamples source(inputs);
  Layers layers(2);
  layers[0].weights = {MatrixXd::Zero(5, 5), MatrixXd::Zero(5, 5)};
  layers[1].weights = {MatrixXd::Zero(5, 5)};
  for (const auto& implementation : implementations()) {
    for (const auto readout : {Readout::kLastToken, Readout::kFirstToken, Readout::kMean}) {
      for (const auto kind : {kSoftmax, AttentionKind::kHardmax}) {
        const RowMatrixXd xi = implementation(source, {2, 1}, layers, readout, kind);
        REQUIRE(xi.rows() == 3);
        REQUIRE(xi.cols() == 10);
        for (Index mu = 0; mu < 3; ++mu) {
          const Eigen::Map<const RowMatrixXd> x(inputs.values.data() + mu * 20, 4, 5);
          const Eigen::RowVectorXd mean = x.colwise().mean();
          CHECK((xi.row(mu).head(5) - mean).cwiseAbs().maxCoeff<Eigen::PropagateNaN>() < 1e-14);
          CHECK((xi.row(mu).tail(5) - mean).cwiseAbs().maxCoeff<Eigen::PropagateNaN>() < 1e-14);
        }
      }
    }
  }
}

TEST_CASE("Paths apply the last layer first and count the first layer slowest") {
  // Tokens are one-hot, so a path feature shows which token a path of permutations reaches.
  Tensor inputs({1, 4, 4});
  for (std::size_t t = 0; t < 4; ++t) inputs.values[5 * t] = 1.0;
  const std::vector<Index> cycle = {1, 2, 3, 0};
  const std::vector<Index> swap = {1, 0, 2, 3};
  const std::vector<Index> back = {3, 0, 1, 2};
  const MemoryExamples source(inputs, {},
                              {permutations({cycle, swap}), permutations({back, swap, cycle})});
  for (const auto& implementation : implementations()) {
    const RowMatrixXd xi = implementation(source, {2, 3}, {}, Readout::kLastToken, kSoftmax);
    REQUIRE(xi.cols() == 24);
    // Query 3: back -> 2, swap -> 3, cycle -> 0; then layer 1.
    const std::vector<Index> reached = {3, 0, 1,   // cycle after back, swap, cycle
                                        2, 3, 1};  // swap after back, swap, cycle
    for (Index path = 0; path < 6; ++path) {
      CAPTURE(path);
      CHECK(xi.row(0).segment(4 * path, 4) ==
            VectorXd::Unit(4, reached[static_cast<std::size_t>(path)]).transpose());
    }
    const RowMatrixXd first = implementation(source, {2, 3}, {}, Readout::kFirstToken, kSoftmax);
    CHECK(first.row(0).head(4) == VectorXd::Unit(4, 0).transpose());  // back -> 3, cycle -> 0
  }
}

TEST_CASE("Path features agree with the definition in every form, with and without masks") {
  Rng rng(2, StreamPurpose::kTests, 2);
  const headway::testing::Shape shape{5, 4, 6};
  for (const std::vector<int>& heads : std::vector<std::vector<int>>{{3}, {2, 3}, {3, 1, 2}}) {
    const Layers weights = headway::testing::random_weight_layers(heads, 6, rng);
    const Layers query_key = headway::testing::random_query_key_layers(heads, 6, 3, rng);
    const Tensor inputs = headway::testing::random_tensor({5, 4, 6}, rng);
    const auto mask = headway::testing::random_mask(shape, rng);
    for (const bool masked : {false, true}) {
      const MemoryExamples source(inputs, masked ? mask : std::vector<std::uint8_t>{});
      for (const Layers& layers : {weights, query_key}) {
        for (const auto readout : {Readout::kLastToken, Readout::kFirstToken, Readout::kMean}) {
          for (const auto kind : {kSoftmax, AttentionKind::kHardmax}) {
            CAPTURE(heads, masked, static_cast<int>(readout), static_cast<int>(kind));
            const RowMatrixXd expected =
                headway::reference::path_features(source, heads, layers, readout, kind);
            CHECK(largest_difference(fast(source, heads, layers, readout, kind), expected) < 1e-13);
          }
        }
      }
    }
  }
}

TEST_CASE("Supplied attention agrees with the definition; padding is ignored whatever it holds") {
  Rng rng(2, StreamPurpose::kTests, 3);
  const double nan = std::nan("");
  Tensor inputs = headway::testing::random_tensor({2, 3, 4}, rng);
  for (std::size_t i = 4; i < 8; ++i) inputs.values[i] = nan;  // token 1 of example 0
  std::vector<Tensor> attention;
  for (const Index h : {2, 1})
    attention.push_back(headway::testing::random_tensor({2, h, 3, 3}, rng));
  const std::vector<std::uint8_t> mask = {1, 0, 1, 1, 1, 1};
  for (std::size_t l = 0; l < 2; ++l) {
    const std::size_t heads = l == 0 ? 2 : 1;
    for (std::size_t h = 0; h < heads; ++h) {
      for (std::size_t i = 0; i < 3; ++i) {
        attention[l].values[h * 9 + i * 3 + 1] = 0.0;  // nobody attends to the padded token
        attention[l].values[h * 9 + 3 + i] = nan;      // and its own row is ignored
      }
    }
  }
  const MemoryExamples source(inputs, mask, attention);
  for (const auto readout : {Readout::kLastToken, Readout::kFirstToken, Readout::kMean}) {
    const RowMatrixXd xi = fast(source, {2, 1}, {}, readout, kSoftmax);
    CHECK(xi.allFinite());
    CHECK(largest_difference(xi, headway::reference::path_features(source, {2, 1}, {}, readout,
                                                                   kSoftmax)) < 1e-13);
  }
}

TEST_CASE("Threads and blocks do not change the result") {
  Rng rng(2, StreamPurpose::kTests, 4);
  const MemoryExamples source(headway::testing::random_tensor({37, 5, 6}, rng));
  const Layers layers = headway::testing::random_weight_layers({2, 2}, 6, rng);
  Observer observer;
  PathFeatureOptions options;
  options.block = 4;
  const RowMatrixXd one = path_features(source, {2, 2}, layers, options, observer);
  for (const int threads : {2, 3, 8}) {
    options.threads = threads;
    CHECK(path_features(source, {2, 2}, layers, options, observer) == one);
  }
  options.threads = 1;
  for (const Index block : {1, 7, 37, 1000, 0}) {
    options.block = block;
    CHECK(largest_difference(path_features(source, {2, 2}, layers, options, observer), one) <
          1e-13);
  }
}

namespace {

// Serves other examples, and watches how it is read.
class WatchedSource final : public ExampleSource {
 public:
  explicit WatchedSource(const MemoryExamples& examples) : examples_(examples) {}
  [[nodiscard]] Index size() const override { return examples_.size(); }
  [[nodiscard]] Index tokens() const override { return examples_.tokens(); }
  [[nodiscard]] Index features() const override { return examples_.features(); }
  void read_inputs(Index begin, Index count, double* out) const override {
    watch(count, [&] { examples_.read_inputs(begin, count, out); });
  }
  void read_attention(int layer, Index begin, Index count, double* out) const override {
    layers_read.push_back(layer);
    watch(count, [&] { examples_.read_attention(layer, begin, count, out); });
  }

  mutable std::atomic<int> most_readers{0};
  mutable std::atomic<Index> largest_block{0};
  mutable std::vector<int> layers_read;

 private:
  template <typename Read>
  void watch(Index count, Read&& read) const {
    const int now = ++readers_;
    if (now > most_readers) most_readers = now;
    if (count > largest_block) largest_block = count;
    std::this_thread::sleep_for(std::chrono::microseconds(200));  // let others come in
    read();
    --readers_;
  }

  const MemoryExamples& examples_;
  mutable std::atomic<int> readers_{0};
};

}  // namespace

TEST_CASE("Examples are read one call at a time, in blocks, and each layer once from the last") {
  Rng rng(2, StreamPurpose::kTests, 5);
  const MemoryExamples examples(headway::testing::random_tensor({12, 3, 2}, rng), {},
                                {headway::testing::random_tensor({12, 2, 3, 3}, rng),
                                 headway::testing::random_tensor({12, 1, 3, 3}, rng),
                                 headway::testing::random_tensor({12, 2, 3, 3}, rng)});
  const WatchedSource source(examples);
  Observer observer;
  PathFeatureOptions options;
  options.block = 4;
  const RowMatrixXd serial = path_features(source, {2, 1, 2}, {}, options, observer);
  CHECK(source.layers_read == std::vector<int>{3, 2, 1, 3, 2, 1, 3, 2, 1});
  CHECK(source.largest_block == 4);
  options.threads = 3;
  CHECK(path_features(source, {2, 1, 2}, {}, options, observer) == serial);
  CHECK(source.most_readers == 1);
  // By default a block's attention stays below 32 MiB: here 1024^2 numbers a head of one example.
  const MemoryExamples long_sequence(Tensor({9, 1024, 1}), {}, {Tensor({9, 1, 1024, 1024})});
  const WatchedSource large(long_sequence);
  path_features(large, {1}, {}, {}, observer);
  CHECK(large.largest_block <= 4);
}

TEST_CASE("Progress is reported and a request to stop is followed") {
  class Watcher final : public Observer {
   public:
    explicit Watcher(double stop_at) : stop_at_(stop_at) {}
    void progress(std::string_view, double done, double total) override {
      CHECK(done > done_);
      CHECK(total == 10.0);
      done_ = done;
    }
    [[nodiscard]] bool interrupted() const override { return done_ >= stop_at_; }
    double done_ = 0.0;

   private:
    double stop_at_;
  };
  Rng rng(2, StreamPurpose::kTests, 6);
  const MemoryExamples source(headway::testing::random_tensor({10, 3, 2}, rng));
  const Layers layers = headway::testing::random_weight_layers({1}, 2, rng);
  PathFeatureOptions options;
  options.block = 3;
  Watcher patient(100.0);
  path_features(source, {1}, layers, options, patient);
  CHECK(patient.done_ == 10.0);
  Watcher hasty(6.0);
  try {
    path_features(source, {1}, layers, options, hasty);
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kInterrupted);
    CHECK(std::string(error.what()) == "path features: stopped by the user");
    CHECK(hasty.done_ == 6.0);
  }
}

TEST_CASE("Examples and heads that do not fit are errors that say where") {
  Rng rng(2, StreamPurpose::kTests, 7);
  const Tensor inputs = headway::testing::random_tensor({5, 3, 4}, rng);
  const Layers layers = headway::testing::random_weight_layers({2, 1}, 4, rng);
  const auto message_of = [](const ExampleSource& source, const std::vector<int>& heads,
                             const Layers& given) {
    try {
      fast(source, heads, given, Readout::kMean, kSoftmax);
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::kBadData);
      return std::string(error.what());
    }
    return std::string("no error");
  };
  const auto has = [](const std::string& message, const std::string& part) {
    CHECK(message == part);
  };
  const MemoryExamples good(inputs);
  has(message_of(good, {2, 1}, layers), "no error");
  has(message_of(good, {}, {}), "attention: must have at least one layer");
  has(message_of(MemoryExamples(headway::Tensor({5, 0, 4})), {2, 1}, layers),
      "inputs: have no tokens, must have at least one");
  has(message_of(good, {2}, layers), "attention: has 2 layers of head matrices for 1 layers");
  has(message_of(good, {1, 1}, layers),
      "attention of layer 1: has 2 heads: must have 1 (and at least 1)");
  has(message_of(good, {2, 1}, headway::testing::random_weight_layers({2, 1}, 5, rng)),
      "attention of layer 1, head 1: weights is 5 x 5: must be N_0 x N_0 = 4 x 4");
  has(message_of(good, {0}, {}), "attention of layer 1: has 0 heads: must have at least 1");
  has(message_of(good, {1000000, 1000000, 1000000}, {}),
      "heads [1000000, 1000000, 1000000]: their path features would take 149011611938 GiB");

  Layers overflowing = layers;
  overflowing[1].weights[0] *= 1e308;
  overflowing[1].weights[0] *= 1e10;
  has(message_of(good, {2, 1}, overflowing),
      "attention of layer 2, head 1: a logit of example 0 (from 0) is not finite");
  Tensor broken = inputs;
  broken.values[4 * 12 + 5] = std::nan("");
  has(message_of(MemoryExamples(broken), {2, 1}, layers),
      "attention of layer 2, head 1: a logit of example 4 (from 0) is not finite");
  const std::vector<std::uint8_t> empty_example = {1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 1, 1, 1};
  has(message_of(MemoryExamples(inputs, empty_example), {2, 1}, layers),
      "mask of example 3 (from 0): has no real token, must have at least one");

  Tensor attention({5, 1, 3, 3});
  for (std::size_t i = 0; i < attention.values.size(); i += 3) attention.values[i] = 1.0;
  has(message_of(MemoryExamples(inputs, {}, {attention}), {1}, {}), "no error");
  has(message_of(MemoryExamples(inputs, {0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, {attention}),
                 {1}, {}),
      "attention of example 0 (from 0), query 1 (from 0): attends to a padded token, must have 0 "
      "there");
  has(message_of(MemoryExamples(broken, {}, {attention}), {1}, {}),
      "example 4 (from 0): its inputs or attention are not finite");
}

TEST_CASE("The flops of path features are twice the multiplications, counted one by one") {
  Rng rng(2, StreamPurpose::kTests, 8);
  constexpr Index kExamples = 3, kTokens = 5, kInputs = 4, kWidth = 2;
  const MemoryExamples examples(
      headway::testing::random_tensor({kExamples, kTokens, kInputs}, rng));
  const std::vector<int> heads = {2, 3};
  Layers mixed = headway::testing::random_weight_layers(heads, kInputs, rng);
  mixed[1] = headway::testing::random_query_key_layers({3}, kInputs, kWidth, rng)[0];
  Layers turned = headway::testing::random_query_key_layers(heads, kInputs, kWidth, rng);
  turned[1] = headway::testing::random_weight_layers({3}, kInputs, rng)[0];
  for (const Layers& layers : {Layers{}, mixed, turned}) {
    for (const Readout readout : {Readout::kMean, Readout::kFirstToken, Readout::kLastToken}) {
      double count = 0.0;
      const auto each = [&count](Index a, Index b, Index c) {
        for (Index i = 0; i < a * b * c; ++i) count += 1.0;
      };
      Index queries = readout == Readout::kMean ? kTokens : 1, paths = 1;
      for (const std::size_t l : {std::size_t{1}, std::size_t{0}}) {
        for (int h = 0; h < heads[l]; ++h) {
          if (!layers.empty() && !layers[l].weights.empty()) {
            each(queries, kInputs, kInputs);  // queries times W
            each(queries, kInputs, kTokens);  // times keys
          } else if (!layers.empty()) {
            each(queries + kTokens, kInputs, kWidth);
            each(queries, kWidth, kTokens);
          }
          each(queries, kTokens, paths);  // attention times the weights of the paths above
        }
        paths *= heads[l];
        queries = kTokens;
      }
      each(paths, kTokens, kInputs);
      CHECK(headway::model::path_feature_flops(examples, heads, layers, readout) ==
            2.0 * count * static_cast<double>(kExamples));
    }
  }
}
