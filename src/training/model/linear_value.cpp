#include "headway/training/linear_value.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "headway/core/text.hpp"
#include "headway/error.hpp"
#include "headway/path_features.hpp"

namespace headway::training {
namespace {

using ConstRowMap =
    Eigen::Map<const Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>;

[[noreturn]] void refuse(const std::string& what) {
  throw Error(ErrorKind::kBadData, "these are not the weights of a linear-value network: " + what);
}

const NamedTensor* find(const std::vector<NamedTensor>& parameters, const std::string& name) {
  const auto found = std::find_if(parameters.begin(), parameters.end(),
                                  [&](const NamedTensor& t) { return t.name == name; });
  return found == parameters.end() ? nullptr : &*found;
}

/// The tensor `name`, whose sizes must be `shape`, -1 for any.
const NamedTensor& tensor(const std::vector<NamedTensor>& parameters, const std::string& name,
                          const std::vector<Index>& shape) {
  const NamedTensor* found = find(parameters, name);
  if (found == nullptr) refuse(fmt::format("{} is missing", name));
  bool fits = found->shape.size() == shape.size();
  Index count = 1;
  for (std::size_t i = 0; fits && i < shape.size(); ++i) {
    fits = found->shape[i] > 0 && (shape[i] < 0 || found->shape[i] == shape[i]);
    count *= found->shape[i];
  }
  if (!fits || static_cast<Index>(found->values.size()) != count) {
    refuse(fmt::format("{} has shape [{}]", name, join(found->shape, ", ")));
  }
  for (const float x : found->values) {
    if (!std::isfinite(x)) refuse(fmt::format("{} holds {}", name, x));
  }
  return *found;
}

/// Matrix `index` of a tensor [.., rows, columns].
MatrixXd matrix(const NamedTensor& t, Index index = 0) {
  const Index rows = t.shape[t.shape.size() - 2];
  const Index columns = t.shape.back();
  return ConstRowMap(t.values.data() + index * rows * columns, rows, columns).cast<double>();
}

std::vector<MatrixXd> matrices(const NamedTensor& t) {
  std::vector<MatrixXd> out;
  for (Index h = 0; h < t.shape.front(); ++h) out.push_back(matrix(t, h));
  return out;
}

}  // namespace

std::vector<int> TrainedLinearValue::head_counts() const {
  std::vector<int> counts;
  counts.reserve(heads.size());
  for (const LayerHeads& layer : heads) counts.push_back(static_cast<int>(layer.query.size()));
  return counts;
}

TrainedLinearValue linear_value_network(const std::vector<NamedTensor>& parameters) {
  TrainedLinearValue out;
  const NamedTensor& input = tensor(parameters, "input.weight", {-1, -1});
  const Index dim = input.shape[0];
  const Index features = input.shape[1];
  out.network.input = matrix(input);
  for (Index l = 1; find(parameters, fmt::format("layers.{}.query.weight", l)) != nullptr; ++l) {
    const auto of_layer = [&](const char* name, const std::vector<Index>& shape) -> const auto& {
      return tensor(parameters, fmt::format("layers.{}.{}.weight", l, name), shape);
    };
    const NamedTensor& query = of_layer("query", {-1, -1, features});
    const NamedTensor& key = of_layer("key", query.shape);
    const NamedTensor& value = of_layer("value", {query.shape[0], dim, dim});
    out.heads.push_back({{}, matrices(query), matrices(key), {}});
    out.network.values.push_back(matrices(value));
  }
  if (out.heads.empty()) refuse("layers.1.query.weight is missing");
  out.network.readout = matrix(tensor(parameters, "readout.weight", {-1, dim}));
  const std::size_t known = 2 + 3 * out.heads.size();
  if (parameters.size() != known) {
    refuse(fmt::format("there are {} tensors; a network of {} layers has {}", parameters.size(),
                       out.heads.size(), known));
  }
  return out;
}

TrainedPathOutputs trained_path_outputs(const TrainedLinearValue& trained,
                                        const ExampleSource& examples, const VectorXd& labels,
                                        int threads, Observer& observer) {
  const Index features = trained.network.input.cols();
  if (trained.network.readout.rows() != 1 || features != examples.features() ||
      labels.size() != examples.size()) {
    throw Error(
        ErrorKind::kBadData,
        fmt::format(
            "path outputs: the network has {} outputs and {} features, and there are {} labels, "
            "for {} examples of {} features: must be 1 output, and as many labels and features",
            trained.network.readout.rows(), features, labels.size(), examples.size(),
            examples.features()));
  }
  model::PathFeatureOptions options;
  options.readout = Readout::kMean;
  options.threads = threads;
  const RowMatrixXd path_features =
      model::path_features(examples, trained.head_counts(), trained.heads, options, observer);
  TrainedPathOutputs out;
  out.heads = trained.head_counts();
  out.labels = labels;
  out.outputs = model::path_outputs(trained.network, path_features);
  return out;
}

}  // namespace headway::training
