#include "headway/io/dataset_file.hpp"

#include <fstream>
#include <memory>
#include <utility>

#include "core/fail.hpp"
#include "headway/core/sha256.hpp"
#include "io/dataset_file/layout.hpp"
#include "io/dataset_file/members.hpp"
#include "io/first_reading.hpp"
#include "io/hdf5/examples.hpp"
#include "io/hdf5/isolated.hpp"

namespace headway::io {
namespace {

using ConstRowMatrixMap = Eigen::Map<const RowMatrixXd>;

/// Reads what the file has of a member.
struct ArrayReader {
  const Hdf5InputFile& file;
  const DatasetLayout& layout;

  void operator()(const std::string& path, std::vector<MatrixXd>& heads) const {
    if (layout.find(path) != nullptr) heads = file.read_matrices(path);
  }
  void operator()(const std::string& path, MatrixXd& values) const {
    const Tensor tensor = file.read_array(path);
    values = ConstRowMatrixMap(tensor.values.data(), tensor.shape.at(0), tensor.shape.at(1));
  }
  void operator()(const std::string& path, std::vector<std::string>& names) const {
    if (layout.find(path) != nullptr) names = file.read_strings(path);
  }
};

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
  if (in.eof()) return hash.hex_digest();
  fail(ErrorKind::kMissingFile, "{}: cannot be read to its end", file_path);
}

tasks::Dataset load(const std::string& file_path) {
  const auto file = std::make_shared<const Hdf5InputFile>(file_path);
  FaultList faults;
  const DatasetLayout layout = check_layout(*file, faults);
  if (!faults.empty()) bad_data("{}", faults.messages().front());  // changed since it was checked
  tasks::Dataset dataset;
  dataset.name = file_path;
  dataset.form = layout.form;
  dataset.heads = layout.heads;
  dataset.features = layout.extent("N_0");
  dataset.readout = layout.readout;
  dataset.note = layout.note;
  const ArrayReader read{*file, layout};
  dataset.layers.resize(layout.heads.size());
  visit_layers(read, dataset.layers);
  if (layout.network) {
    dataset.network.emplace().values.resize(layout.heads.size());
    visit_network(read, *dataset.network);
  }
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
    const bool named = faults.front().starts_with(file_path);
    bad_data("{}{}{}", named ? "" : file_path, named ? "" : ": ", faults.front());
  }
  const Hdf5Lock lock;
  try {
    tasks::Dataset dataset = load(file_path);
    dataset.content_hash = file_hash(file_path);
    return dataset;
  } catch (const std::bad_alloc&) {
    bad_data("{}: does not fit into memory", file_path);
  }
}

}  // namespace headway::io
