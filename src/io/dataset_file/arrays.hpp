#pragma once

#include <optional>
#include <string>
#include <vector>

#include "io/dataset_file/layout.hpp"

namespace headway::io {

/// Holds single data sets of a file to their rows of the table. What is wrong becomes a fault; what
/// can be read goes into layout.arrays, and sound extents into layout.extents.
class ArrayChecker {
 public:
  ArrayChecker(const Hdf5InputFile& file, FaultList& faults, DatasetLayout& layout)
      : file_(file), faults_(faults), layout_(layout) {}

  /// `layer`: from 1, or 0 where the member has none. An absent data set is a fault where `needed`.
  void check(const DatasetMember& member, const std::string& split, int layer, bool needed);

 private:
  struct Wanted {
    std::string axes;
    std::vector<std::string> symbols, keys;
  };

  void check_present(FoundArray array, const Wanted& wanted);
  std::string type_fault(const FoundArray& array) const;
  bool rank_fits(const FoundArray& array) const;
  std::string extent_faults(const FoundArray& array, const Wanted& wanted);
  std::string shape_fault(const FoundArray& array, const Wanted& wanted) const;
  void check_text(const std::string& path);

  const Hdf5InputFile& file_;
  FaultList& faults_;
  DatasetLayout& layout_;
};

}  // namespace headway::io
