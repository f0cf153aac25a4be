#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "headway/dataset.hpp"

namespace headway::io {

/// Arrays in memory that are to be a data set, by the paths that they would have in a file.
struct GivenArrays {
  struct Array {
    std::string type;  ///< of numpy: "float32", "float64", "uint8", ...; "string"
    std::shared_ptr<const tasks::ArraySource> numbers;  ///< null for texts
    std::vector<std::string> texts = {};
  };
  std::map<std::string, Array> arrays;
  std::set<std::string> empty_groups;
  std::optional<std::vector<double>> heads;  ///< of path features
  std::optional<std::string> readout, attention_rows;
  /// By which name the caller knows what lies at a path.
  std::function<std::string(const std::string&)> name_of;
};

/// What arrays are as a data set.
struct CheckedArrays {
  std::vector<std::string> faults;  ///< if any, what stands below may be incomplete
  std::vector<int> heads;           ///< H_1, ..., H_L
  std::optional<AttentionForm> form;
  std::vector<std::string> splits;  ///< "train", then "test" and "sets/<name>" by name
};

/// Holds arrays to the rules of a data-set file, as validate_dataset() does with a file, and with
/// its words. Numbers are read in blocks. `learned`: inputs may come without attention. Cost: one
/// pass over all numbers.
CheckedArrays check_arrays(const GivenArrays& given, bool learned);

}  // namespace headway::io
