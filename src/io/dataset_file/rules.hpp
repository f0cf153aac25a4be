#pragma once

#include <map>
#include <string>
#include <vector>

#include "headway/core/examples.hpp"

namespace headway::io {

/// One data set of a data-set file, or one of each split and layer: a row of the table that the
/// Python package reads too, src/io/dataset_file/dataset_members.json.
struct DatasetMember {
  enum class Values { kFinite, kMask, kAttention, kText };
  enum class Needed { kAlways, kInItsGroup, kNever, kBesideTrain };

  std::string path;  ///< "<split>/attention/layer_<l>"
  /// Symbols of the extents, in all allowed ranks, the highest last. A symbol that a lower rank
  /// leaves out is 1. A symbol has one value in the whole file, except P, which each split has for
  /// itself.
  std::vector<std::vector<std::string>> shapes;
  Values values = Values::kFinite;
  Needed needed = Needed::kAlways;
  std::vector<AttentionForm> forms;          ///< that have it; empty: all
  bool is_form = false;                      ///< it is what makes a file one of that form
  bool in_memory = true;                     ///< read whole, else in blocks of examples
  std::string attribute;                     ///< that it must have: "heads"
  std::map<std::string, std::string> hints;  ///< advice where this symbol's extent is wrong

  [[nodiscard]] bool in_split() const { return path.starts_with("<split>/"); }
  [[nodiscard]] bool layered() const { return path.ends_with("/layer_<l>"); }
  [[nodiscard]] bool has_form(AttentionForm form) const;
  /// Its path in a split, without the layer: the group that holds the layers, where it has them.
  [[nodiscard]] std::string path_in(const std::string& split) const;
  /// "[P, H_2, S, S]", "[P] or [P, C]"; layer 0: none.
  [[nodiscard]] std::string axes(int layer, int layers) const;
};

struct DatasetForm {
  std::string name;   ///< in messages
  std::string means;  ///< for inspection
};

/// All rules of a data-set file that can be tabled. What else is checked: the root attributes, the
/// names of sets and groups, heads against paths (layout.cpp), storage (hdf5/array.cpp).
struct DatasetRules {
  std::string schema_name;
  std::vector<double> schema_version;
  double largest = 0.0;  ///< of a number, in size: the energy has products of four
  double row_sum_tolerance = 0.0, row_sum_tolerance_float32 = 0.0;
  std::vector<DatasetForm> forms;  ///< in the order of AttentionForm
  std::vector<DatasetMember> members;

  /// Names of the table in a group: the root "", "<split>", "attention", "network".
  [[nodiscard]] std::vector<std::string> children(const std::string& group) const;
};

const DatasetRules& dataset_rules();

/// Text of src/io/dataset_file/dataset_members.json (a source that CMake generates).
extern const char* const kDatasetMemberTable;

/// "N_<l+1>" in layer 2 of 3: "N_3"; above the last layer stands the readout's: "N_a".
std::string symbol_in(const std::string& symbol, int layer, int layers);

}  // namespace headway::io
