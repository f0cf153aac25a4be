#include "io/dataset_file/write.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "headway/core/error.hpp"
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

void write_split(const std::string& group, const tasks::Split& split, Hdf5OutputFile& out) {
  if (split.examples == nullptr) {
    throw Error(ErrorKind::kInternal, group + ": a data set without inputs cannot be written");
  }
  write_inputs(group + "/inputs", *split.examples, out);
  out.write_outputs(group + "/labels", split.labels);
  if (split.examples->has_mask()) write_mask(group + "/mask", *split.examples, out);
  if (!split.ids.empty()) out.write_strings(group + "/ids", split.ids);
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
  write_split("train", dataset.train, out);
  if (dataset.test) write_split("test", *dataset.test, out);
  for (const tasks::NamedSplit& set : dataset.sets) write_split("sets/" + set.name, set.split, out);
  for (std::size_t l = 0; l < dataset.layers.size(); ++l) {
    const LayerHeads& layer = dataset.layers[l];
    const std::string name = fmt::format("layer_{}", l + 1);
    if (!layer.weights.empty()) {
      write_matrices("attention/weights/" + name, layer.weights, out);
    } else if (!layer.query.empty()) {
      write_matrices("attention/query/" + name, layer.query, out);
      write_matrices("attention/key/" + name, layer.key, out);
    } else {
      throw Error(ErrorKind::kInternal, name +
                                            ": a data set without head matrices cannot be "
                                            "written");
    }
    if (!layer.names.empty()) out.write_strings("names/" + name, layer.names);
  }
}

}  // namespace headway::io
