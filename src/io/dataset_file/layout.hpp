#pragma once

#include <exception>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/fail.hpp"
#include "headway/core/examples.hpp"
#include "headway/dataset_file.hpp"
#include "io/dataset_file/rules.hpp"
#include "io/dataset_file/tree.hpp"

namespace headway::io {

/// Faults of a data-set file in the order in which they were found, at most kMaxFaultsPerDataset of
/// each data set.
class FaultList {
 public:
  using NameOf = std::function<std::string(const std::string&)>;
  /// `name_of`: by which name the reader of the messages knows what lies at a path; null: the path.
  explicit FaultList(NameOf name_of = nullptr) : name_of_(std::move(name_of)) {}

  /// `text` follows the name of the data set: "train/labels" + "[3]: nan; allowed: finite numbers".
  /// Those of the root ("/") stand alone.
  template <class... Args>
  void add(const std::string& dataset, fmt::format_string<Args...> text, Args&&... args) {
    const std::string message = fmt::format(text, std::forward<Args>(args)...);
    add_text(dataset, dataset == "/" ? message : name(dataset) + message);
  }
  /// Runs one part of the checks; damage found by HDF5 on the way is a fault of `dataset` like any
  /// other.
  template <class Check>
  void guard(const std::string& dataset, Check check) {
    try {
      check();
    } catch (const Error& e) {
      add_text(dataset, e.what());
    } catch (const std::exception&) {  // bad_alloc or length_error
      add(dataset, ": one example does not fit into memory");
    }
  }
  [[nodiscard]] bool empty() const { return messages_.empty(); }
  /// How many this data set has.
  [[nodiscard]] int count(const std::string& dataset) const {
    const auto found = counts_.find(dataset);
    return found == counts_.end() ? 0 : found->second;
  }
  /// The messages, then a line for each data set that has more.
  [[nodiscard]] std::vector<std::string> messages() const {
    std::vector<std::string> all = messages_;
    for (const auto& [dataset, count] : counts_) {
      if (count <= kMaxFaultsPerDataset) continue;
      all.push_back(fmt::format("{}: {} more faults", name(dataset), count - kMaxFaultsPerDataset));
    }
    return all;
  }

 private:
  [[nodiscard]] std::string name(const std::string& path) const {
    return name_of_ ? name_of_(path) : path;
  }
  void add_text(const std::string& dataset, const std::string& text) {
    if (++counts_[dataset] <= kMaxFaultsPerDataset) messages_.push_back(text);
  }

  std::vector<std::string> messages_;
  std::map<std::string, int> counts_;
  NameOf name_of_;
};

/// A data set of the table that is there, of the right type and rank.
struct FoundArray {
  std::string path;
  std::string split;  ///< "train", "test", "sets/<name>", or "" outside of the splits
  const DatasetMember* member = nullptr;
  ArrayInfo info;
};

/// What a data-set file says that it holds: names, shapes and types, no values yet.
struct DatasetLayout {
  struct Extent {
    Index value = 0;
    std::string source;  ///< the data set that it was taken from
  };

  AttentionForm form = AttentionForm::kWeights;
  bool known_form = false;  ///< exactly one is given
  std::vector<int> heads;   ///< H_1, ..., H_L; 0 where unknown
  std::optional<Readout> readout;
  std::string note;
  bool any_rows = false;  ///< supplied attention may be signed, with rows of any sum
  bool network = false;
  /// Further sets alone, for `predict`: without train and test, and perhaps without attention.
  bool new_inputs = false;
  std::vector<std::string> splits;  ///< groups: "train", then "test" and "sets/<name>" by name
  std::vector<FoundArray> arrays;   ///< in the order of the table
  std::map<std::string, Extent> extents;  ///< by symbol: "N_0", "H_2", "train: P"

  /// The data set at this path; null when it is absent or faulty.
  [[nodiscard]] const ArrayInfo* find(const std::string& path) const;
  /// A symbol's extent, 0 where unknown.
  [[nodiscard]] Index extent(const std::string& symbol) const;
};

/// Holds single data sets of a file to their rows of the table. What is wrong becomes a fault; what
/// can be read goes into layout.arrays, and sound extents into layout.extents.
struct ArrayChecker {
  const DatasetTree& tree;
  FaultList& faults;
  DatasetLayout& layout;

  /// `layer`: from 1, or 0 where the member has none. An absent data set is a fault where `needed`.
  void check(const DatasetMember& member, const std::string& split, int layer, bool needed) const;
};

/// Why there is not what was looked for, "a group" say: "is missing", "is a link to another file".
std::string absence(NodeKind kind, std::string_view wanted);

/// Is this the fault that inputs come without attention?
bool is_missing_attention(const std::string& fault);

/// "mnist" of "sets/mnist"; "" of train and test.
std::string set_name(const std::string& split);

/// "train: P": the key of a symbol's extent.
std::string extent_key(const std::string& symbol, const std::string& split);

/// Checks everything but the values: schema, members, shapes, types, storage, attributes, names and
/// ids.
DatasetLayout check_layout(const DatasetTree& tree, FaultList& faults);
DatasetLayout check_layout(const Hdf5InputFile& file, FaultList& faults);

/// Reads every number once: finiteness, masks, attention rows. Skips arrays that check_layout
/// refused. `checked`: of the training examples, but for their mask, a share of the blocks.
void check_values(const DatasetTree& tree, const DatasetLayout& layout, const CheckedShare& checked,
                  FaultList& faults);

/// All faults of the file, in this process (validate_dataset runs it in a forked copy). Under an
/// Hdf5Lock.
std::vector<std::string> dataset_faults(const Hdf5InputFile& file,
                                        const CheckedShare& checked = {});

}  // namespace headway::io
