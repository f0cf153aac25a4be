#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headway/types.hpp"
#include "io/hdf5/handle.hpp"

namespace headway::io {

/// Gives each array of a file dimensions with names, as netCDF-4 writes them: an HDF5 dimension
/// scale at the root for each dimension, which arrays refer to. So xarray and the tools of netCDF
/// open the file. A name has one size in the whole file. Where an array has another size, its
/// dimension is called "<name>_<size>"; an axis without a name is called "size_<size>".
///
/// The scales do not list the arrays that use them (REFERENCE_LIST of HDF5, which no reader of
/// netCDF-4 needs): the list would be written anew for each array.
class Dimensions {
 public:
  /// An array of the file. `axes`: names of its dimensions, slowest first, with a blank between
  /// them; "": they have none.
  void note(const std::string& path, const std::vector<Index>& shape, std::string_view axes);

  /// Writes the scales and what refers to them. Returns the texts of their attributes, each with
  /// the path of its scale and its name.
  std::vector<std::pair<std::pair<std::string, std::string>, std::string>> write(hid_t file);

 private:
  struct Scale {
    Index size = 0;
    hobj_ref_t reference{};
  };
  const Scale& scale(hid_t file, const std::string& name, Index size);

  struct Noted {
    std::string path;
    std::vector<Index> shape;
    std::string axes;
  };
  std::vector<Noted> arrays_;
  std::map<std::string, Scale> scales_;  ///< by the name in the file
};

/// The attribute CLASS of a dimension scale.
inline constexpr const char* kScaleClass = "DIMENSION_SCALE";

}  // namespace headway::io
