#include "headway/dataset_file.hpp"

#include <algorithm>
#include <fstream>
#include <memory>
#include <utility>

#include "core/fail.hpp"
#include "headway/core/sha256.hpp"
#include "headway/core/text.hpp"
#include "headway/io/gram_file.hpp"
#include "headway/study.hpp"
#include "io/dataset_file/layout.hpp"
#include "io/dataset_file/members.hpp"
#include "io/first_reading.hpp"
#include "io/hdf5/describe.hpp"
#include "io/hdf5/file_seal.hpp"
#include "io/hdf5/isolated.hpp"
#include "io/hdf5/shared_array.hpp"

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

/// The examples of a split whose data sets have been checked. Under an Hdf5Lock.
std::shared_ptr<const ExampleSource> examples_of(const std::shared_ptr<const Hdf5InputFile>& file,
                                                 const DatasetLayout& layout,
                                                 const std::string& split) {
  std::vector<std::uint8_t> mask;
  if (layout.find(split + "/mask") != nullptr) {
    for (const double v : file->read_array(split + "/mask").values) mask.push_back(v != 0.0);
  }
  std::vector<std::shared_ptr<const tasks::ArraySource>> attention;
  if (layout.form == AttentionForm::kSupplied) {
    for (std::size_t l = 0; l < layout.heads.size(); ++l) {
      attention.push_back(std::make_shared<SharedArray>(file, layer_path(split + "/attention", l)));
    }
  }
  return std::make_shared<tasks::SourcedExamples>(
      std::make_shared<SharedArray>(file, split + "/inputs"), std::move(mask),
      std::move(attention));
}

tasks::Split read_split(const std::shared_ptr<const Hdf5InputFile>& file,
                        const DatasetLayout& layout, const std::string& name, FeaturesIn place) {
  tasks::Split split;
  const Index examples = layout.extent(extent_key("P", name));
  split.labels.resize(examples, 0);
  if (layout.find(name + "/labels") != nullptr) {
    const Tensor labels = file->read_array(name + "/labels");
    split.labels = ConstRowMatrixMap(labels.values.data(), examples, layout.extent("C"));
  }
  if (layout.find(name + "/ids") != nullptr) split.ids = file->read_strings(name + "/ids");
  if (layout.form != AttentionForm::kPathFeatures) {
    split.examples = examples_of(file, layout, name);
  } else if (place == FeaturesIn::kFile && name == "train") {
    split.feature_source = std::make_shared<SharedArray>(file, name + "/path_features");
  } else {
    const Tensor xi = file->read_array(name + "/path_features");
    split.path_features = ConstRowMatrixMap(xi.values.data(), examples,
                                            static_cast<Index>(xi.values.size()) / examples);
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

/// Whether a data set must give its attention.
enum class Attention { kNeeded, kLearned };

/// The faults that matter: if attention is learned, it may be missing.
std::vector<std::string> needed_of(std::vector<std::string> faults, Attention attention) {
  if (attention == Attention::kLearned) {
    std::erase_if(faults, [](const std::string& fault) { return is_missing_attention(fault); });
  }
  return faults;
}

tasks::Dataset load(const std::string& file_path, FeaturesIn place, Attention attention) {
  const auto file = std::make_shared<const Hdf5InputFile>(file_path);
  FaultList faults;
  const DatasetLayout layout = check_layout(*file, faults);
  const std::vector<std::string> left = needed_of(faults.messages(), attention);
  if (!left.empty()) bad_data("{}", left.front());  // changed since it was checked
  tasks::Dataset dataset;
  dataset.name = file_path;
  dataset.form = layout.form;
  dataset.heads = layout.heads;
  dataset.features = layout.extent("N_0");
  dataset.readout = layout.readout;
  dataset.note = layout.note;
  dataset.any_rows = layout.any_rows;
  const ArrayReader read{*file, layout};
  dataset.layers.resize(layout.heads.size());
  visit_layers(read, dataset.layers);
  if (layout.network) {
    dataset.network.emplace().values.resize(layout.heads.size());
    visit_network(read, *dataset.network);
  }
  for (const std::string& name : layout.splits) {
    tasks::Split split = read_split(file, layout, name, place);
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

std::string split_text(const DatasetLayout& layout, const std::string& split) {
  const auto has = [&](const char* name) { return layout.find(split + name) != nullptr; };
  std::string text = count_text(layout.extent(extent_key("P", split)), "example") + ", ";
  text += has("/labels") ? count_text(layout.extent("C"), "output") : "no labels";
  if (has("/inputs")) text += ", " + count_text(layout.extent("S"), "token");
  if (has("/mask")) text += ", masked";
  if (has("/ids")) text += ", with ids";
  return text;
}

}  // namespace

std::string describe_dataset(const Hdf5InputFile& file) {
  FaultList faults;
  const DatasetLayout layout = check_layout(file, faults);
  const DatasetRules& rules = dataset_rules();
  std::string sets;
  std::string test = "none";
  for (const std::string& split : layout.splits) {
    if (split == "test") test = split_text(layout, split);
    if (set_name(split).empty()) continue;
    sets += fmt::format("  set        {}: {}\n", set_name(split), split_text(layout, split));
  }
  std::string out;
  if (!layout.new_inputs) {
    out += fmt::format("  train      {}\n  test       {}\n", split_text(layout, "train"), test);
  }
  out += fmt::format("{}  features   {}\n", sets, layout.extent("N_0"));
  if (!layout.heads.empty()) {
    out += fmt::format("  attention  {}\n  heads      [{}]\n",
                       rules.forms[static_cast<std::size_t>(layout.form)].means,
                       join(layout.heads, ", "));
  }
  const bool none = !layout.new_inputs && layout.heads.empty();
  if (none) out += "  attention  none: a study must let it be learned (model.attention_prior)\n";
  for (std::size_t l = 1; l <= layout.heads.size(); ++l) {
    const std::string names = fmt::format("names/layer_{}", l);
    if (layout.find(names) == nullptr) continue;
    out += fmt::format("  layer {}    {}\n", l, join(file.read_strings(names)));
  }
  if (layout.network) {
    out += "  network    the values, input and readout trained with these heads\n";
  }
  if (layout.readout) out += fmt::format("  readout    {}\n", word_of(*layout.readout));
  if (layout.any_rows) out += "  rows       any: attention may be signed, for value networks\n";
  if (!layout.note.empty()) out += fmt::format("  note       {}\n", printable(layout.note));
  if (layout.new_inputs) {
    return out + fmt::format(
                     "\nTo check all of it:  headway validate {0}\n"
                     "To predict on it:    headway predict RESULT.h5 {0}\n",
                     shell_command({file.file_path()}));
  }
  out += fmt::format(
      "\nTo check all of it:  headway validate {0}\n"
      "To solve it:         headway solve {0} {1}--set model.widths=[10,100]\n",
      shell_command({file.file_path()}), none ? "--set model.attention_prior.heads=[1] " : "");
  return out;
}

bool is_dataset_file(const std::string& file_path, const CheckedShare& checked) {
  const std::string schema = schema_name(file_path, checked);
  return schema == dataset_rules().schema_name || schema == kGramSchema;
}

namespace {

std::vector<std::string> faults_of(const std::string& file_path, const CheckedShare& checked) {
  check_is_hdf5(file_path);  // an Error, not a fault
  try {
    const FirstReading reading = first_reading(file_path, checked);
    if (reading.schema == dataset_rules().schema_name) return reading.faults;
    if (reading.schema == kGramSchema) {
      read_gram(file_path);
      return {};
    }
    return run_isolated(file_path, [&] { return dataset_faults(Hdf5InputFile(file_path)); });
  } catch (const Error& e) {
    if (e.kind() != ErrorKind::kBadData) throw;
    return {e.what()};  // an HDF5 file that is damaged: a fault of the file
  }
}

tasks::Dataset read_any(const std::string& file_path, FeaturesIn place, const CheckedShare& checked,
                        Attention attention = Attention::kNeeded) {
  const std::vector<std::string> faults = needed_of(faults_of(file_path, checked), attention);
  if (!faults.empty()) {
    const bool named = faults.front().starts_with(file_path);
    bad_data("{}{}{}", named ? "" : file_path, named ? "" : ": ", faults.front());
  }
  if (first_reading(file_path, checked).schema == kGramSchema) {
    tasks::Dataset dataset = headway::dataset_of(read_gram(file_path), file_path);
    dataset.content_hash = file_hash(file_path);
    return dataset;
  }
  const Hdf5Lock lock;
  try {
    tasks::Dataset dataset = load(file_path, place, attention);
    dataset.content_hash =
        place == FeaturesIn::kMemory ? file_hash(file_path) : sha256_hex(content_mark(file_path));
    return dataset;
  } catch (const std::bad_alloc&) {
    fail(ErrorKind::kUnavailable, "{}: not enough memory for it", file_path);
  }
}

/// Error{kBadData} for new inputs alone.
void require_training_examples(const tasks::Dataset& dataset) {
  if (dataset.train_examples() > 0) return;
  bad_data(
      "{}: train: is missing; allowed: training examples with labels. Its further sets are new "
      "inputs, which headway predict takes",
      dataset.name);
}

/// Adds the arrays in a group and below that are not in the layout.
void list_ignored(const Hdf5InputFile& file, const std::string& group, const DatasetLayout& layout,
                  std::vector<std::string>& ignored) {
  for (const std::string& name : file.members(group.empty() ? "/" : group)) {
    const std::string path = group.empty() ? name : group + "/" + name;
    const NodeKind kind = file.kind(path);
    if (kind == NodeKind::kGroup) {
      list_ignored(file, path, layout, ignored);
    } else if (layout.find(path) == nullptr) {
      ignored.push_back(path);
    }
  }
}

}  // namespace

std::vector<std::string> ignored_members(const std::string& file_path) {
  std::vector<std::string> ignored;
  if (first_reading(file_path).schema == kGramSchema) return ignored;
  const Hdf5Lock lock;
  const Hdf5InputFile file(file_path);
  FaultList faults;
  list_ignored(file, "", check_layout(file, faults), ignored);
  return ignored;
}

tasks::Dataset read_dataset(const std::string& file_path, FeaturesIn place,
                            const CheckedShare& checked) {
  tasks::Dataset dataset = read_any(file_path, place, checked);
  require_training_examples(dataset);
  return dataset;
}

tasks::Dataset read_dataset_to_learn(const std::string& file_path) {
  tasks::Dataset dataset = read_any(file_path, FeaturesIn::kMemory, {}, Attention::kLearned);
  require_training_examples(dataset);
  return dataset;
}

tasks::Dataset read_new_inputs(const std::string& file_path) {
  return read_any(file_path, FeaturesIn::kMemory, {});
}

std::vector<std::string> validate_dataset(const std::string& file_path) {
  return needed_of(faults_of(file_path, {}), Attention::kLearned);
}

MatrixXd training_labels(const std::string& file_path) {
  const Hdf5Lock lock;
  const Hdf5InputFile file(file_path);
  constexpr const char* kLabels = "train/labels";
  if (file.kind(kLabels) != NodeKind::kDataset) return {};
  const Tensor labels = file.read_array(kLabels);
  const Index examples = labels.shape[0];
  const Index outputs = labels.shape.size() > 1 ? labels.shape[1] : 1;
  return ConstRowMatrixMap(labels.values.data(), examples, outputs);
}

bool lacks_attention(const std::string& file_path) {
  const std::vector<std::string> faults = faults_of(file_path, {});
  return std::any_of(faults.begin(), faults.end(), is_missing_attention);
}

}  // namespace headway::io
