#include "headway/io/dataset_file.hpp"

#include <fmt/core.h>

#include <fstream>
#include <memory>
#include <utility>

#include "headway/core/error.hpp"
#include "headway/core/sha256.hpp"
#include "io/dataset_file/layout.hpp"
#include "io/first_reading.hpp"
#include "io/hdf5/examples.hpp"
#include "io/hdf5/isolated.hpp"
#include "io/hdf5/schema.hpp"

namespace headway::io {
namespace {

using ConstRowMatrixMap = Eigen::Map<const RowMatrixXd>;

/// [H, rows, columns] -> H matrices.
std::vector<MatrixXd> read_matrices(const Hdf5InputFile& file, const std::string& path) {
  const Tensor tensor = file.read_array(path);
  const Index rows = tensor.shape.at(1), columns = tensor.shape.at(2);
  std::vector<MatrixXd> matrices;
  for (Index h = 0; h < tensor.shape[0]; ++h) {
    matrices.emplace_back(
        ConstRowMatrixMap(tensor.values.data() + h * rows * columns, rows, columns));
  }
  return matrices;
}

std::string layer_path(const std::string& group, std::size_t layer) {
  return fmt::format("{}/layer_{}", group, layer + 1);
}

std::vector<LayerHeads> read_layers(const Hdf5InputFile& file, const DatasetLayout& layout) {
  std::vector<LayerHeads> layers(layout.heads.size());
  for (std::size_t l = 0; l < layers.size(); ++l) {
    if (layout.form == AttentionForm::kWeights) {
      layers[l].weights = read_matrices(file, layer_path("attention/weights", l));
    }
    if (layout.form == AttentionForm::kQueryKey) {
      layers[l].query = read_matrices(file, layer_path("attention/query", l));
      layers[l].key = read_matrices(file, layer_path("attention/key", l));
    }
    const std::string names = layer_path("names", l);
    if (layout.find(names) != nullptr) layers[l].names = file.read_strings(names);
  }
  return layers;
}

MatrixXd read_matrix(const Hdf5InputFile& file, const std::string& path) {
  const Tensor tensor = file.read_array(path);
  return ConstRowMatrixMap(tensor.values.data(), tensor.shape.at(0), tensor.shape.at(1));
}

LinearValueNetwork read_network(const Hdf5InputFile& file, std::size_t layers) {
  LinearValueNetwork network;
  network.input = read_matrix(file, "network/input");
  for (std::size_t l = 0; l < layers; ++l) {
    network.values.push_back(read_matrices(file, layer_path("network/values", l)));
  }
  network.readout = read_matrix(file, "network/readout");
  return network;
}

std::shared_ptr<const ExampleSource> open_examples(const std::shared_ptr<const Hdf5InputFile>& file,
                                                   const DatasetLayout& layout,
                                                   const std::string& split) {
  ExamplePaths paths{split + "/inputs", "", {}};
  if (layout.find(split + "/mask") != nullptr) paths.mask = split + "/mask";
  if (layout.form == AttentionForm::kSupplied) {
    for (std::size_t l = 0; l < layout.heads.size(); ++l) {
      paths.attention.push_back(layer_path(split + "/attention", l));
    }
  }
  return std::make_shared<Hdf5Examples>(file, paths);
}

tasks::Split read_split(const std::shared_ptr<const Hdf5InputFile>& file,
                        const DatasetLayout& layout, const std::string& name) {
  tasks::Split split;
  const Index examples = layout.extent(extent_key("P", name));
  const Tensor labels = file->read_array(name + "/labels");
  split.labels = ConstRowMatrixMap(labels.values.data(), examples, layout.extent("C"));
  if (layout.find(name + "/ids") != nullptr) split.ids = file->read_strings(name + "/ids");
  if (layout.form == AttentionForm::kPathFeatures) {
    const Tensor xi = file->read_array(name + "/path_features");
    split.path_features = ConstRowMatrixMap(xi.values.data(), examples,
                                            static_cast<Index>(xi.values.size()) / examples);
  } else {
    split.examples = open_examples(file, layout, name);
  }
  return split;
}

std::string file_hash(const std::string& file_path) {
  std::ifstream in(file_path, std::ios::binary);
  std::vector<char> buffer(std::size_t{1} << 20);
  Sha256 hash;
  while (in) {
    in.read(buffer.data(), static_cast<std::streamsize>(buffer.size()));
    hash.update(buffer.data(), static_cast<std::size_t>(in.gcount()));
  }
  if (!in.eof()) {
    throw Error(ErrorKind::kMissingFile, fmt::format("{}: cannot be read to its end", file_path));
  }
  return hash.hex_digest();
}

tasks::Dataset load(const std::string& file_path) {
  const auto file = std::make_shared<const Hdf5InputFile>(file_path);
  FaultList faults;
  const DatasetLayout layout = check_layout(*file, faults);
  if (!faults.empty()) {  // the file changed since it was checked
    throw Error(ErrorKind::kBadData, faults.messages().front());
  }
  tasks::Dataset dataset;
  dataset.name = file_path;
  dataset.form = layout.form;
  dataset.heads = layout.heads;
  dataset.features = layout.extent("N_0");
  dataset.readout = layout.readout;
  dataset.note = layout.note;
  dataset.layers = read_layers(*file, layout);
  if (layout.network) dataset.network = read_network(*file, layout.heads.size());
  for (const std::string& name : layout.splits) {
    tasks::Split split = read_split(file, layout, name);
    if (name == "train") {
      dataset.train = std::move(split);
    } else if (name == "test") {
      dataset.test = std::move(split);
    } else {
      dataset.sets.push_back({set_name(name), std::move(split)});
    }
  }
  return dataset;
}

}  // namespace

bool is_dataset_file(const std::string& file_path) {
  return schema_name(file_path) == dataset_rules().schema_name;
}

std::vector<std::string> validate_dataset(const std::string& file_path) {
  check_is_hdf5(file_path);  // an Error, not a fault
  try {
    const FirstReading reading = first_reading(file_path);
    if (reading.schema == dataset_rules().schema_name) return reading.faults;
    return run_isolated(file_path, [&] { return dataset_faults(Hdf5InputFile(file_path)); });
  } catch (const Error& e) {
    if (e.kind() != ErrorKind::kBadData) throw;
    return {e.what()};  // an HDF5 file that is damaged: a fault of the file
  }
}

tasks::Dataset read_dataset(const std::string& file_path) {
  const std::vector<std::string> faults = validate_dataset(file_path);
  if (!faults.empty()) {
    const bool named = faults.front().rfind(file_path, 0) == 0;
    throw Error(ErrorKind::kBadData,
                named ? faults.front() : fmt::format("{}: {}", file_path, faults.front()));
  }
  const Hdf5Lock lock;
  tasks::Dataset dataset;
  try {
    dataset = load(file_path);
  } catch (const std::bad_alloc&) {
    throw Error(ErrorKind::kBadData, fmt::format("{}: does not fit into memory", file_path));
  }
  dataset.content_hash = file_hash(file_path);
  return dataset;
}

}  // namespace headway::io
