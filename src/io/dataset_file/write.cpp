#include <algorithm>
#include <functional>
#include <numeric>

#include "headway/io/trained_network.hpp"
#include "io/dataset_file/members.hpp"
#include "io/dataset_file/rules.hpp"

namespace headway::io {
namespace {

constexpr Index kBlock = 64;  // examples in double precision at a time

/// An array of `shape` in single precision: read(first, count, out) gives some entries of its first
/// index.
template <class Read>
void write_blocks(const std::string& path, const std::vector<Index>& shape, const Read& read,
                  Hdf5OutputFile& out) {
  const Index size = std::accumulate(shape.begin() + 1, shape.end(), Index{1}, std::multiplies<>());
  std::vector<float> all(static_cast<std::size_t>(shape[0] * size));
  std::vector<double> block(static_cast<std::size_t>(kBlock * size));
  for (Index first = 0; first < shape[0]; first += kBlock) {
    const Index count = std::min(kBlock, shape[0] - first);
    read(first, count, block.data());
    std::transform(block.begin(), block.begin() + count * size, all.begin() + first * size,
                   [](double x) { return static_cast<float>(x); });
  }
  out.write(path, shape, all.data());
}

void write_path_features(const std::string& path, const tasks::Dataset& dataset,
                         const RowMatrixXd& features, Hdf5OutputFile& out) {
  const std::vector<float> values(features.data(), features.data() + features.size());
  out.write(path, {features.rows(), features.cols() / dataset.features, dataset.features},
            values.data());
  out.set(path, "heads", std::vector<std::int64_t>(dataset.heads.begin(), dataset.heads.end()));
}

void write_split(const std::string& group, const tasks::Dataset& dataset, const tasks::Split& split,
                 Hdf5OutputFile& out) {
  RecordWriter writer(out, group);
  writer("labels", split.labels, "y", {.layout = FieldLayout::kOutputs});
  writer("ids", split.ids, "names of the examples", {.optional = true});
  if (dataset.form == AttentionForm::kPathFeatures) {
    return write_path_features(group + "/path_features", dataset, split.path_features, out);
  }
  const ExampleSource& examples = *split.examples;
  const Index size = examples.size(), tokens = examples.tokens();
  const auto inputs = [&](auto... range) { examples.read_inputs(range...); };
  write_blocks(group + "/inputs", {size, tokens, examples.features()}, inputs, out);
  if (examples.has_mask()) {
    std::vector<std::uint8_t> mask(static_cast<std::size_t>(size * tokens));
    examples.read_mask(0, size, mask.data());
    const std::vector<std::int64_t> integers(mask.begin(), mask.end());
    out.write(group + "/mask", {size, tokens}, integers.data());
  }
  if (dataset.form == AttentionForm::kSupplied) {
    for (std::size_t l = 0; l < dataset.heads.size(); ++l) {
      const auto layer = [&](auto... range) {
        examples.read_attention(static_cast<int>(l) + 1, range...);
      };
      write_blocks(layer_path(group + "/attention", l), {size, dataset.heads[l], tokens, tokens},
                   layer, out);
    }
  }
}

/// Writes a member in single precision; nothing where it is empty.
struct ArrayWriter {
  Hdf5OutputFile& out;

  void operator()(const std::string& path, const MatrixXd& values) const {
    write(path, {values.rows(), values.cols()}, {&values, 1});
  }
  /// [H, rows, columns]
  void operator()(const std::string& path, const std::vector<MatrixXd>& heads) const {
    if (heads.empty()) return;
    write(path, {static_cast<Index>(heads.size()), heads[0].rows(), heads[0].cols()}, heads);
  }
  void operator()(const std::string& path, const std::vector<std::string>& names) const {
    if (!names.empty()) out.write_strings(path, names);
  }

 private:
  void write(const std::string& path, const std::vector<Index>& shape,
             std::span<const MatrixXd> matrices) const {
    using RowMatrixXf = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    std::vector<float> values;
    for (const MatrixXd& matrix : matrices) {
      const RowMatrixXf rows = matrix.cast<float>();
      values.insert(values.end(), rows.data(), rows.data() + rows.size());
    }
    out.write(path, shape, values.data());
  }
};

}  // namespace

void write_extracted(const std::string& file_path, const ExtractResult& result,
                     const std::vector<std::pair<std::string, std::string>>& provenance,
                     bool force) {
  const tasks::Dataset& dataset = result.dataset;
  const DatasetRules& rules = dataset_rules();
  const Hdf5Lock lock;
  Hdf5OutputFile out;
  out.set("/", "schema_name", rules.schema_name);
  out.set("/", "schema_version",
          std::vector<std::int64_t>(rules.schema_version.begin(), rules.schema_version.end()));
  if (!dataset.note.empty()) out.set("/", "note", dataset.note);
  if (dataset.any_rows) out.set("/", "attention_rows", std::string("any"));
  if (dataset.readout) out.set("/", "readout", std::string(word_of(*dataset.readout)));
  const ArrayWriter write{out};
  if (dataset.network) visit_network(write, *dataset.network);
  write_split("train", dataset, dataset.train, out);
  if (dataset.test) write_split("test", dataset, *dataset.test, out);
  for (const tasks::NamedSplit& set : dataset.sets) {
    write_split("sets/" + set.name, dataset, set.split, out);
  }
  visit_layers(write, dataset.layers);
  for (const auto& [name, text] : provenance) out.set("/", name, text);
  out.write_to(file_path, force);
}

}  // namespace headway::io
