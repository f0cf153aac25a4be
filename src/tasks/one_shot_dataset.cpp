#include <fmt/format.h>

#include <utility>

#include "headway/core/option_table.hpp"
#include "headway/core/sha256.hpp"
#include "headway/error.hpp"
#include "headway/tasks/one_shot_images.hpp"

namespace headway::tasks {
namespace {

constexpr Index kLargestOneShotSplit = 100'000'000;
constexpr Index kLargestFirst = Index{1} << 50U;

// Examples first, ..., first + count - 1 of one split, drawn anew on every read.
class OneShotExamples final : public ExampleSource {
 public:
  OneShotExamples(std::shared_ptr<const OneShotImagesGenerator> generator, OneShotSplit split,
                  Index first, Index count)
      : generator_(std::move(generator)), split_(split), first_(first), count_(count) {}

  [[nodiscard]] Index size() const override { return count_; }
  [[nodiscard]] Index tokens() const override { return kOneShotTokens; }
  [[nodiscard]] Index features() const override { return kOneShotFeatures; }
  [[nodiscard]] bool thread_safe() const override { return true; }

  void read_inputs(Index begin, Index count, double* out) const override {
    for (Index i = 0; i < count; ++i) {
      generator_->inputs(generator_->tuple(split_, first_ + begin + i),
                         out + i * kOneShotTokens * kOneShotFeatures);
    }
  }

  [[nodiscard]] MatrixXd labels() const {
    MatrixXd labels(count_, 1);
    for (Index i = 0; i < count_; ++i) labels(i, 0) = generator_->tuple(split_, first_ + i).label;
    return labels;
  }

 private:
  std::shared_ptr<const OneShotImagesGenerator> generator_;
  OneShotSplit split_;
  Index first_;
  Index count_;
};

void require_matrix(const MatrixXd& matrix, Index rows, const std::string& what) {
  if (matrix.rows() != rows || rows < 1 || matrix.cols() != kOneShotFeatures) {
    throw Error(
        ErrorKind::kBadData,
        fmt::format("{}: is {} x {}: must be G x N_0 = {} x {}, the same G in all heads of a "
                    "layer",
                    what, matrix.rows(), matrix.cols(), rows, kOneShotFeatures));
  }
  if (!matrix.allFinite()) {
    throw Error(ErrorKind::kBadData, fmt::format("{}: has an entry that is not finite", what));
  }
}

void check_layer(const LayerHeads& layer, std::size_t l) {
  if (!layer.weights.empty() || layer.query.empty() || layer.query.size() != layer.key.size() ||
      (!layer.names.empty() && layer.names.size() != layer.query.size())) {
    throw Error(
        ErrorKind::kBadData,
        fmt::format("attention of layer {}: {} query, {} key and {} weight matrices, {} "
                    "names: must be as many query as key matrices, at least one, no weights, "
                    "and a name for each head or none",
                    l + 1, layer.query.size(), layer.key.size(), layer.weights.size(),
                    layer.names.size()));
  }
  const Index rows = layer.query.front().rows();
  for (std::size_t h = 0; h < layer.query.size(); ++h) {
    require_matrix(layer.query[h], rows, fmt::format("query of layer {}, head {}", l + 1, h + 1));
    require_matrix(layer.key[h], rows, fmt::format("key of layer {}, head {}", l + 1, h + 1));
  }
}

void add_to_hash(const MatrixXd& matrix, Sha256& hash) {
  hash.update(fmt::format("{} {}\n", matrix.rows(), matrix.cols()));
  hash.update(matrix.data(), static_cast<std::size_t>(matrix.size()) * sizeof(double));
}

}  // namespace

void OneShotDatasetOptions::validate() const {
  using O = OneShotDatasetOptions;  // of the library alone: no study has these keys
  static const OptionTable<O> table = {{
      option("train_examples", &O::train_examples, integer<Index>(1, kLargestOneShotSplit),
             "training examples P"),
      option("test_examples", &O::test_examples, integer<Index>(0, kLargestOneShotSplit),
             "test examples; 0: no test set"),
      option("first_train", &O::first_train, integer<Index>(0, kLargestFirst),
             "index of the first training example"),
      option("first_test", &O::first_test, integer<Index>(0, kLargestFirst),
             "index of the first test example"),
  }};
  check_options(table, *this, "OneShotDatasetOptions");
}

Split one_shot_split(const std::shared_ptr<const OneShotImagesGenerator>& generator,
                     OneShotSplit split, Index first, Index count) {
  const auto examples = std::make_shared<OneShotExamples>(generator, split, first, count);
  Split result;
  result.labels = examples->labels();
  result.examples = examples;
  return result;
}

Dataset make_one_shot_dataset(const std::shared_ptr<const OneShotImagesGenerator>& train,
                              const std::shared_ptr<const OneShotImagesGenerator>& test,
                              std::vector<LayerHeads> heads, const OneShotDatasetOptions& options) {
  options.validate();
  if (heads.empty()) {
    throw Error(ErrorKind::kBadData, "attention: no layer of heads: must have at least one");
  }
  Sha256 hash;
  hash.update(fmt::format("one_shot_dataset 1\n{} {} {}\n", train->content_hash(),
                          options.first_train, options.train_examples));
  Dataset data;
  data.name = "one_shot_images";
  data.form = AttentionForm::kQueryKey;
  data.features = kOneShotFeatures;
  for (std::size_t l = 0; l < heads.size(); ++l) {
    LayerHeads& layer = heads[l];
    check_layer(layer, l);
    const bool named = !layer.names.empty();
    for (std::size_t h = 0; h < layer.query.size(); ++h) {
      if (!named) layer.names.push_back(fmt::format("head {}", h + 1));
      add_to_hash(layer.query[h], hash);
      add_to_hash(layer.key[h], hash);
    }
    data.heads.push_back(static_cast<int>(layer.query.size()));
  }
  data.layers = std::move(heads);
  data.train =
      one_shot_split(train, OneShotSplit::kTrain, options.first_train, options.train_examples);
  if (options.test_examples > 0) {
    data.test = one_shot_split(test, options.test_split, options.first_test, options.test_examples);
    hash.update(fmt::format("test {} {} {} {}\n", test->content_hash(),
                            static_cast<int>(options.test_split), options.first_test,
                            options.test_examples));
  }
  data.note = fmt::format("one-shot image classification in context [T24], images of {}",
                          train->images().name);
  data.content_hash = hash.hex_digest();
  return data;
}

}  // namespace headway::tasks
