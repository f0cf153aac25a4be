#pragma once

#include <optional>
#include <string>
#include <vector>

#include "headway/core/examples.hpp"
#include "io/dataset_file/layout.hpp"

/// What the parts of check_layout share.
namespace headway::io {

/// What an array has to be. A negative extent allows any.
struct WantedArray {
  std::vector<Index> shape;
  std::string axes;  ///< "[P, S, N_0]": for messages
  bool in_memory = false;
  bool text = false;
};

/// Looks at the arrays of one file; what is wrong with them becomes faults.
class ArrayChecker {
 public:
  ArrayChecker(const Hdf5InputFile& file, FaultList& faults) : file_(file), faults_(faults) {}

  /// The array when it is there and as wanted, else nullopt and a fault (none where an array that
  /// is not required is absent).
  std::optional<ArrayInfo> wanted_array(const std::string& path, const WantedArray& wanted,
                                        bool required = true);
  bool shape_fits(const std::string& path, const ArrayInfo& info, const WantedArray& wanted);

 protected:
  const Hdf5InputFile& file_;
  FaultList& faults_;
};

/// The group network, where there is one, in layout.network. After the heads and outputs are known.
void check_network(const Hdf5InputFile& file, FaultList& faults, DatasetLayout& layout);

}  // namespace headway::io
