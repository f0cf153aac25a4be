#include <fmt/format.h>

#include <utility>

#include "headway/core/sha256.hpp"
#include "headway/core/text.hpp"
#include "headway/dataset.hpp"
#include "headway/error.hpp"

namespace headway::tasks {
namespace {

// The hash of a data set, fed with its arrays in their order.
class ContentHash {
 public:
  explicit ContentHash(const std::string& kind) { hash_.update(kind); }
  void add(const Tensor& array) {
    hash_.update(fmt::format("[{}]\n", join(array.shape)));
    hash_.update(array.values.data(), array.values.size() * sizeof(double));
  }
  void add(const MatrixXd& matrix) {
    hash_.update(fmt::format("{} {}\n", matrix.rows(), matrix.cols()));
    hash_.update(matrix.data(), static_cast<std::size_t>(matrix.size()) * sizeof(double));
  }
  void add(const std::vector<std::uint8_t>& mask) {
    hash_.update(fmt::format("{}\n", mask.size()));
    hash_.update(mask.data(), mask.size());
  }
  std::string digest() { return hash_.hex_digest(); }

 private:
  Sha256 hash_;
};

Dataset in_memory(AttentionForm form) {
  Dataset dataset;
  dataset.name = kArraysInMemory;
  dataset.form = form;
  return dataset;
}

// The members that both factories of tokens fill in the same way.
void set_inputs(Tensor inputs, const MatrixXd& labels, std::vector<std::uint8_t> mask,
                std::vector<Tensor> attention, Dataset* dataset) {
  dataset->train =
      Split::from_inputs(std::move(inputs), labels, std::move(mask), std::move(attention));
  dataset->features = dataset->train.examples->features();
  check_dataset(*dataset);
}

}  // namespace

Split Split::from_path_features(const Tensor& path_features, const MatrixXd& labels) {
  const std::vector<Index>& shape = path_features.shape;
  if (shape.size() != 3 || path_features.values.size() != path_features.count()) {
    throw Error(ErrorKind::kBadData,
                fmt::format("path_features: has shape [{}] and {} numbers; allowed: [P, p, N_0] "
                            "and as many numbers",
                            join(shape, ", "), path_features.values.size()));
  }
  Split split;
  split.path_features =
      Eigen::Map<const RowMatrixXd>(path_features.values.data(), shape[0], shape[1] * shape[2]);
  split.labels = labels;
  return split;
}

Split Split::from_inputs(Tensor inputs, const MatrixXd& labels, std::vector<std::uint8_t> mask,
                         std::vector<Tensor> attention) {
  Split split;
  split.examples =
      std::make_shared<MemoryExamples>(std::move(inputs), std::move(mask), std::move(attention));
  split.labels = labels;
  return split;
}

Dataset Dataset::from_path_features(const Tensor& path_features, const MatrixXd& labels,
                                    const std::vector<int>& heads) {
  Dataset dataset = in_memory(AttentionForm::kPathFeatures);
  dataset.heads = heads;
  dataset.train = Split::from_path_features(path_features, labels);
  dataset.features = path_features.shape[2];
  ContentHash hash(fmt::format("path features [{}]\n", join(heads)));
  hash.add(path_features);
  hash.add(labels);
  dataset.content_hash = hash.digest();
  check_dataset(dataset);
  return dataset;
}

Dataset Dataset::from_inputs(Tensor inputs, const MatrixXd& labels, std::vector<LayerHeads> layers,
                             std::vector<std::uint8_t> mask) {
  const bool weights = !layers.empty() && !layers.front().weights.empty();
  Dataset dataset = in_memory(weights ? AttentionForm::kWeights : AttentionForm::kQueryKey);
  ContentHash hash("heads\n");
  for (const LayerHeads& layer : layers) {
    dataset.heads.push_back(static_cast<int>((weights ? layer.weights : layer.query).size()));
    for (const auto* matrices : {&layer.weights, &layer.query, &layer.key}) {
      for (const MatrixXd& matrix : *matrices) hash.add(matrix);
    }
  }
  hash.add(inputs);
  hash.add(labels);
  hash.add(mask);
  dataset.content_hash = hash.digest();
  dataset.layers = std::move(layers);
  set_inputs(std::move(inputs), labels, std::move(mask), {}, &dataset);
  return dataset;
}

Dataset Dataset::from_attention(Tensor inputs, const MatrixXd& labels,
                                std::vector<Tensor> attention, std::vector<std::uint8_t> mask) {
  Dataset dataset = in_memory(AttentionForm::kSupplied);
  ContentHash hash("attention\n");
  for (const Tensor& layer : attention) {
    dataset.heads.push_back(layer.shape.size() == 4 ? static_cast<int>(layer.shape[1]) : 0);
    hash.add(layer);
  }
  hash.add(inputs);
  hash.add(labels);
  hash.add(mask);
  dataset.content_hash = hash.digest();
  dataset.layers.resize(attention.size());
  set_inputs(std::move(inputs), labels, std::move(mask), std::move(attention), &dataset);
  return dataset;
}

}  // namespace headway::tasks
