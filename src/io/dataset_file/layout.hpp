#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "headway/core/examples.hpp"
#include "io/hdf5/input.hpp"

namespace headway::io {

/// Faults of a data-set file in the order in which they were found, at most kMaxFaultsPerDataset of
/// each data set.
class FaultList {
 public:
  /// `message` follows the name of the data set: "train/labels" + "[3]: nan; allowed: finite
  /// numbers".
  void add(const std::string& dataset, const std::string& message);
  /// An error met while looking at `dataset`; its text says where.
  void add_error(const std::string& dataset, const std::string& text);
  [[nodiscard]] bool empty() const { return messages_.empty(); }
  /// True when more of this data set's faults would only be counted.
  [[nodiscard]] int count(const std::string& dataset) const;
  /// The messages, then a line for each data set that has more.
  [[nodiscard]] std::vector<std::string> messages() const;

 private:
  std::vector<std::string> messages_;
  std::map<std::string, int> counts_;
};

/// Sizes of one split; data sets that are absent or faulty are empty names.
struct SplitLayout {
  std::string name;  ///< "train", "test" or "sets/<name>": the group that holds it
  Index examples = 0;
  Index outputs = 0;
  Index tokens = 0;
  std::string labels, inputs, mask, ids, path_features;  ///< paths of sound data sets
  std::vector<std::string> attention;                    ///< per layer
};

/// Weights of the network that was trained with the heads; names as in SplitLayout.
struct NetworkLayout {
  std::string input, readout;
  std::vector<std::string> values;  ///< per layer
};

/// What a data-set file says that it holds: names, shapes and types, no values yet.
struct DatasetLayout {
  AttentionForm form = AttentionForm::kWeights;
  std::vector<int> heads;
  Index features = 0;
  std::optional<Readout> readout;
  std::string note;
  std::vector<std::string> names;                ///< names/layer_<l> or "", per layer
  std::vector<std::string> weights, query, key;  ///< per layer
  SplitLayout train;
  std::optional<SplitLayout> test;
  std::vector<SplitLayout> sets;  ///< by name
  std::optional<NetworkLayout> network;
};

/// The name of a further set without the group that holds it.
std::string set_name(const SplitLayout& set);

/// Names of the groups that hold a split, whatever is in them: "train", "test", "sets/<name>", ...
std::vector<std::string> split_groups(const Hdf5InputFile& file);

/// Checks everything but the values: schema, members, shapes, types, storage, attributes, names and
/// ids.
DatasetLayout check_layout(const Hdf5InputFile& file, FaultList& faults);

/// Reads every number once, in blocks: finiteness, masks, attention rows. Skips data sets that
/// check_layout refused.
void check_values(const Hdf5InputFile& file, const DatasetLayout& layout, FaultList& faults);

/// All faults of the file, in this process (validate_dataset runs it in a forked copy). Under an
/// Hdf5Lock.
std::vector<std::string> dataset_faults(const std::string& file_path);

/// Examples in one block when a data set is read in order: about 16 MiB, whole chunks where that is
/// possible.
Index examples_per_block(const ArrayInfo& info);

}  // namespace headway::io
