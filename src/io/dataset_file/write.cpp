#include "io/dataset_file/write.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "io/dataset_file/rules.hpp"

namespace headway::io {
namespace {

constexpr Index kBlock = 64;  // examples in double precision at a time

void write_inputs(const std::string& path, const ExampleSource& examples, Hdf5OutputFile& out) {
  const Index per_example = examples.tokens() * examples.features();
  std::vector<float> all(static_cast<std::size_t>(examples.size() * per_example));
  std::vector<double> block(static_cast<std::size_t>(kBlock * per_example));
  for (Index first = 0; first < examples.size(); first += kBlock) {
    const Index count = std::min(kBlock, examples.size() - first);
    examples.read_inputs(first, count, block.data());
    std::transform(block.begin(), block.begin() + count * per_example,
                   all.begin() + first * per_example,
                   [](double x) { return static_cast<float>(x); });
  }
  out.write_floats(path, {examples.size(), examples.tokens(), examples.features()}, all.data());
}

void write_mask(const std::string& path, const ExampleSource& examples, Hdf5OutputFile& out) {
  std::vector<std::uint8_t> mask(static_cast<std::size_t>(examples.size() * examples.tokens()));
  examples.read_mask(0, examples.size(), mask.data());
  out.write_integers(path, {examples.size(), examples.tokens()}, {mask.begin(), mask.end()});
}

/// [P, H, S, S] of every layer.
void write_attention(const std::string& path, const std::vector<int>& heads,
                     const ExampleSource& examples, Hdf5OutputFile& out) {
  const Index tokens = examples.tokens();
  for (std::size_t l = 0; l < heads.size(); ++l) {
    const Index per_example = heads[l] * tokens * tokens;
    std::vector<float> all(static_cast<std::size_t>(examples.size() * per_example));
    std::vector<double> block(static_cast<std::size_t>(kBlock * per_example));
    for (Index first = 0; first < examples.size(); first += kBlock) {
      const Index count = std::min(kBlock, examples.size() - first);
      examples.read_attention(static_cast<int>(l) + 1, first, count, block.data());
      std::transform(block.begin(), block.begin() + count * per_example,
                     all.begin() + first * per_example,
                     [](double x) { return static_cast<float>(x); });
    }
    out.write_floats(fmt::format("{}/layer_{}", path, l + 1),
                     {examples.size(), heads[l], tokens, tokens}, all.data());
  }
}

void write_path_features(const std::string& path, const tasks::Dataset& dataset,
                         const RowMatrixXd& features, Hdf5OutputFile& out) {
  const std::vector<float> values(features.data(), features.data() + features.size());
  out.write_floats(path, {features.rows(), features.cols() / dataset.features, dataset.features},
                   values.data());
  out.set(path, "heads", std::vector<std::int64_t>(dataset.heads.begin(), dataset.heads.end()));
}

void write_split(const std::string& group, const tasks::Dataset& dataset, const tasks::Split& split,
                 Hdf5OutputFile& out) {
  out.write_outputs(group + "/labels", split.labels);
  if (!split.ids.empty()) out.write_strings(group + "/ids", split.ids);
  if (dataset.form == AttentionForm::kPathFeatures) {
    write_path_features(group + "/path_features", dataset, split.path_features, out);
    return;
  }
  write_inputs(group + "/inputs", *split.examples, out);
  if (split.examples->has_mask()) write_mask(group + "/mask", *split.examples, out);
  if (dataset.form == AttentionForm::kSupplied) {
    write_attention(group + "/attention", dataset.heads, *split.examples, out);
  }
}

/// [H, rows, columns]
void write_matrices(const std::string& path, const std::vector<MatrixXd>& heads,
                    Hdf5OutputFile& out) {
  using RowMatrixXf = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  std::vector<float> values;
  for (const MatrixXd& head : heads) {
    const RowMatrixXf rows = head.cast<float>();
    values.insert(values.end(), rows.data(), rows.data() + rows.size());
  }
  out.write_floats(path,
                   {static_cast<Index>(heads.size()), heads.front().rows(), heads.front().cols()},
                   values.data());
}

void write_network(const LinearValueNetwork& network, Hdf5OutputFile& out) {
  using RowMatrixXf = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const auto write = [&](const std::string& path, const MatrixXd& values) {
    const RowMatrixXf rows = values.cast<float>();
    out.write_floats(path, {rows.rows(), rows.cols()}, rows.data());
  };
  write("network/input", network.input);
  for (std::size_t l = 0; l < network.values.size(); ++l) {
    write_matrices(fmt::format("network/values/layer_{}", l + 1), network.values[l], out);
  }
  write("network/readout", network.readout);
}

}  // namespace

void write_dataset(const tasks::Dataset& dataset, Hdf5OutputFile& out) {
  const DatasetRules& rules = dataset_rules();
  out.set("/", "schema_name", rules.schema_name);
  out.set("/", "schema_version",
          std::vector<std::int64_t>(rules.schema_version.begin(), rules.schema_version.end()));
  if (!dataset.note.empty()) out.set("/", "note", dataset.note);
  if (dataset.readout) {
    out.set("/", "readout", rules.readouts[static_cast<std::size_t>(*dataset.readout)]);
  }
  if (dataset.network) write_network(*dataset.network, out);
  write_split("train", dataset, dataset.train, out);
  if (dataset.test) write_split("test", dataset, *dataset.test, out);
  for (const tasks::NamedSplit& set : dataset.sets) {
    write_split("sets/" + set.name, dataset, set.split, out);
  }
  for (std::size_t l = 0; l < dataset.layers.size(); ++l) {
    const LayerHeads& layer = dataset.layers[l];
    const std::string name = fmt::format("layer_{}", l + 1);
    if (!layer.weights.empty()) {
      write_matrices("attention/weights/" + name, layer.weights, out);
    } else if (!layer.query.empty()) {
      write_matrices("attention/query/" + name, layer.query, out);
      write_matrices("attention/key/" + name, layer.key, out);
    }
    if (!layer.names.empty()) out.write_strings("names/" + name, layer.names);
  }
}

}  // namespace headway::io
