#include "io/hdf5/dimensions.hpp"

#include <cstdint>

#include "core/fail.hpp"
#include "headway/core/text.hpp"

namespace headway::io {
namespace {

void require_written(bool fine, const std::string& name) {
  if (!fine) fail(ErrorKind::kInternal, "dimension {}: HDF5 refuses to write it", name);
}

/// netCDF-4 reads attributes of scales as texts of a fixed size.
void set_scale_text(hid_t object, const char* name, const std::string& text) {
  const Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
  const Handle space(H5Screate(H5S_SCALAR), H5Sclose);
  require_written(H5Tset_size(type.get(), text.size() + 1) >= 0, name);
  const Handle attribute(
      H5Acreate2(object, name, type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
  require_written(attribute.valid() && H5Awrite(attribute.get(), type.get(), text.c_str()) >= 0,
                  name);
}

/// "This is a netCDF dimension but not a netCDF variable. %10d", as netCDF-4 marks it.
std::string not_a_variable(Index size) {
  return fmt::format("This is a netCDF dimension but not a netCDF variable. {:10}", size);
}

}  // namespace

void Dimensions::note(const std::string& path, const std::vector<Index>& shape,
                      std::string_view axes) {
  if (!shape.empty()) arrays_.push_back({path, shape, std::string(axes)});
}

const Dimensions::Scale& Dimensions::scale(hid_t file, const std::string& name, Index size) {
  const auto known = scales_.find(name);
  if (known != scales_.end()) {
    if (known->second.size == size) return known->second;
    return scale(file, fmt::format("{}_{}", name, size), size);
  }
  if (H5Lexists(file, name.c_str(), H5P_DEFAULT) > 0) return scale(file, name + "_axis", size);
  // Its numbers are never read. One byte each, with HDF5's checksum as in every array.
  const auto extent = static_cast<hsize_t>(size);
  const Handle space(H5Screate_simple(1, &extent, nullptr), H5Sclose);
  const Handle creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  bool fine = H5Pset_obj_track_times(creation.get(), false) >= 0;
  if (size > 0) {
    fine = fine && H5Pset_chunk(creation.get(), 1, &extent) >= 0 &&
           H5Pset_fletcher32(creation.get()) >= 0;
  }
  const Handle dataset(H5Dcreate2(file, name.c_str(), H5T_STD_U8LE, space.get(), H5P_DEFAULT,
                                  creation.get(), H5P_DEFAULT),
                       H5Dclose);
  const std::vector<std::uint8_t> zeros(static_cast<std::size_t>(size), 0);
  require_written(fine && dataset.valid(), name);
  require_written(size == 0 || H5Dwrite(dataset.get(), H5T_NATIVE_UINT8, H5S_ALL, H5S_ALL,
                                        H5P_DEFAULT, zeros.data()) >= 0,
                  name);
  set_scale_text(dataset.get(), "CLASS", kScaleClass);
  set_scale_text(dataset.get(), "NAME", not_a_variable(size));
  Scale& made = scales_[name];
  made.size = size;
  require_written(H5Rcreate(&made.reference, file, name.c_str(), H5R_OBJECT, -1) >= 0, name);
  return made;
}

std::vector<std::pair<std::pair<std::string, std::string>, std::string>> Dimensions::write(
    hid_t file) {
  const Handle list_type(H5Tvlen_create(H5T_STD_REF_OBJ), H5Tclose);
  for (const Noted& array : arrays_) {
    const std::vector<std::string> names =
        array.axes.empty() ? std::vector<std::string>{} : split(array.axes, ' ');
    std::vector<hobj_ref_t> references;
    for (std::size_t d = 0; d < array.shape.size(); ++d) {
      std::string name = d < names.size() ? names[d] : fmt::format("size_{}", array.shape[d]);
      for (std::size_t e = 0; names.empty() && e < d; ++e) {
        if (array.shape[e] == array.shape[d]) name += "_other";
      }
      references.push_back(scale(file, name, array.shape[d]).reference);
    }
    std::vector<hvl_t> lists;
    for (hobj_ref_t& reference : references) lists.push_back({1, &reference});
    const auto rank = static_cast<hsize_t>(lists.size());
    const Handle space(H5Screate_simple(1, &rank, nullptr), H5Sclose);
    const Handle dataset(H5Dopen2(file, array.path.c_str(), H5P_DEFAULT), H5Dclose);
    require_written(dataset.valid(), array.path);
    const Handle attribute(H5Acreate2(dataset.get(), "DIMENSION_LIST", list_type.get(), space.get(),
                                      H5P_DEFAULT, H5P_DEFAULT),
                           H5Aclose);
    require_written(
        attribute.valid() && H5Awrite(attribute.get(), list_type.get(), lists.data()) >= 0,
        array.path);
  }
  std::vector<std::pair<std::pair<std::string, std::string>, std::string>> texts;
  for (const auto& [name, scale] : scales_) {
    texts.push_back({{name, "CLASS"}, kScaleClass});
    texts.push_back({{name, "NAME"}, not_a_variable(scale.size)});
  }
  return texts;
}

}  // namespace headway::io
