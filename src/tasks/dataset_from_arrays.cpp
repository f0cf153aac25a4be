#include "headway/dataset_from_arrays.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "headway/core/sha256.hpp"
#include "headway/error.hpp"

namespace headway {
tasks::Split split_of_path_features(const Tensor& path_features, const MatrixXd& labels) {
  const std::vector<Index>& shape = path_features.shape;
  if (shape.size() != 3 || path_features.values.size() != path_features.count()) {
    throw Error(ErrorKind::kBadData,
                fmt::format("path_features: has shape [{}] and {} numbers; allowed: [P, p, N_0] "
                            "and as many numbers",
                            fmt::join(shape, ", "), path_features.values.size()));
  }
  tasks::Split split;
  split.path_features =
      Eigen::Map<const RowMatrixXd>(path_features.values.data(), shape[0], shape[1] * shape[2]);
  split.labels = labels;
  return split;
}

tasks::Dataset dataset_from_path_features(const Tensor& path_features, const MatrixXd& labels,
                                          const std::vector<int>& heads) {
  tasks::Dataset dataset;
  dataset.name = tasks::kArraysInMemory;
  dataset.form = AttentionForm::kPathFeatures;
  dataset.heads = heads;
  dataset.train = split_of_path_features(path_features, labels);
  dataset.features = path_features.shape[2];
  Sha256 hash;
  hash.update(fmt::format("path features {} {}\n", path_features.shape, heads));
  hash.update(path_features.values.data(), path_features.values.size() * sizeof(double));
  hash.update(labels.data(), static_cast<std::size_t>(labels.size()) * sizeof(double));
  dataset.content_hash = hash.hex_digest();
  tasks::check_dataset(dataset);
  return dataset;
}

}  // namespace headway
