// Strings and attributes of HDF5 files.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <cstdint>
#include <cstring>

#include "headway/core/error.hpp"
#include "io/hdf5/input.hpp"

namespace headway::io {
namespace {

constexpr std::size_t kMaxAttributeBytes = std::size_t{64} << 20;

/// How to read elements of one string type from a data set or an attribute into memory.
using ReadInto = herr_t (*)(hid_t object, hid_t memory_type, void* out);

herr_t read_dataset_into(hid_t object, hid_t type, void* out) {
  return H5Dread(object, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, out);
}

std::string trimmed(const char* text, std::size_t size, H5T_str_t padding) {
  std::string value(text, padding == H5T_STR_SPACEPAD ? size : strnlen(text, size));
  while (padding == H5T_STR_SPACEPAD && !value.empty() && value.back() == ' ') value.pop_back();
  return value;
}

std::vector<std::string> read_variable_strings(hid_t object, hid_t type, std::size_t count,
                                               hid_t space, ReadInto read) {
  const Handle memory_type(H5Tcopy(H5T_C_S1), H5Tclose);
  H5Tset_size(memory_type.get(), H5T_VARIABLE);
  H5Tset_cset(memory_type.get(), H5Tget_cset(type));
  std::vector<char*> pointers(count, nullptr);
  const bool fine = read(object, memory_type.get(), pointers.data()) >= 0;
  std::vector<std::string> values;
  if (fine) {
    for (const char* p : pointers) values.emplace_back(p == nullptr ? "" : p);
    H5Dvlen_reclaim(memory_type.get(), space, H5P_DEFAULT, pointers.data());
  } else {
    throw Error(ErrorKind::kBadData, hdf5_error_text());
  }
  return values;
}

std::vector<std::string> read_fixed_strings(hid_t object, hid_t type, std::size_t count,
                                            ReadInto read) {
  const std::size_t size = H5Tget_size(type);
  std::vector<char> bytes(size * count + 1, '\0');
  if (read(object, type, bytes.data()) < 0) throw Error(ErrorKind::kBadData, hdf5_error_text());
  std::vector<std::string> values;
  for (std::size_t i = 0; i < count; ++i) {
    values.push_back(trimmed(bytes.data() + i * size, size, H5Tget_strpad(type)));
  }
  return values;
}

/// Strings of a data set or attribute; `name` is for messages.
std::vector<std::string> read_text(hid_t object, hid_t type, hid_t space, ReadInto read,
                                   const std::string& name) {
  const hssize_t points = H5Sget_simple_extent_npoints(space);
  if (points <= 0) return {};
  try {
    const auto count = static_cast<std::size_t>(points);
    return H5Tis_variable_str(type) > 0 ? read_variable_strings(object, type, count, space, read)
                                        : read_fixed_strings(object, type, count, read);
  } catch (const Error& e) {
    throw Error(ErrorKind::kBadData,
                fmt::format("{}: its text cannot be read: damaged (HDF5: {})", name, e.what()));
  } catch (const std::bad_alloc&) {
    throw Error(ErrorKind::kBadData, fmt::format("{}: its text does not fit into memory", name));
  }
}

std::string attribute_name(const std::string& object, const std::string& name) {
  return object.empty() || object == "/" ? fmt::format("root attribute {}", name)
                                         : fmt::format("{}, attribute {}", object, name);
}

/// Elements of an attribute, after a check against absurd sizes.
std::size_t attribute_points(hid_t space, hid_t type, const std::string& name) {
  const hssize_t points = H5Sget_simple_extent_npoints(space);
  const std::size_t size = H5Tget_size(type);
  if (points < 0 || size == 0 || static_cast<std::size_t>(points) > kMaxAttributeBytes / size) {
    throw Error(ErrorKind::kBadData,
                fmt::format("{}: {} elements of {} bytes; allowed: 64 MiB", name, points, size));
  }
  return static_cast<std::size_t>(points);
}

herr_t collect_attribute(hid_t, const char* name, const H5A_info_t*, void* out) {
  try {
    static_cast<std::vector<std::string>*>(out)->emplace_back(name);
  } catch (...) {
    return -1;
  }
  return 0;
}

}  // namespace

std::vector<std::string> Hdf5InputFile::read_strings(const std::string& path) const {
  const ArrayInfo array = info(path);
  const std::string fault = implausible_storage(array, file_bytes_, true);
  if (!fault.empty()) throw Error(ErrorKind::kBadData, fmt::format("{}: {}", path, fault));
  if (array.kind == ElementKind::kInteger) {
    std::vector<std::string> digits;
    for (const double v : read_array(path).values) digits.push_back(fmt::format("{:.0f}", v));
    return digits;
  }
  if (array.kind != ElementKind::kText) {
    throw Error(ErrorKind::kBadData,
                fmt::format("{}: type {}; allowed: strings", path, array.type_name));
  }
  const Handle object = open_object(path);
  const Handle type(H5Dget_type(object.get()), H5Tclose);
  const Handle space(H5Dget_space(object.get()), H5Sclose);
  return read_text(object.get(), type.get(), space.get(), read_dataset_into, path);
}

Handle Hdf5InputFile::open_attribute(const std::string& object, const std::string& name) const {
  const Handle owner = open_object(object);
  const htri_t exists = H5Aexists(owner.get(), name.c_str());
  if (exists == 0) return {};
  Handle attribute(exists > 0 ? H5Aopen(owner.get(), name.c_str(), H5P_DEFAULT) : -1, H5Aclose);
  if (!attribute.valid()) {
    throw Error(ErrorKind::kBadData, fmt::format("{}: cannot be opened: damaged (HDF5: {})",
                                                 attribute_name(object, name), hdf5_error_text()));
  }
  return attribute;
}

std::vector<std::string> Hdf5InputFile::attributes(const std::string& object) const {
  const Handle owner = open_object(object);
  std::vector<std::string> names;
  hsize_t position = 0;
  if (H5Aiterate2(owner.get(), H5_INDEX_NAME, H5_ITER_INC, &position, collect_attribute, &names) <
      0) {
    throw Error(ErrorKind::kBadData, fmt::format("{}: the attributes cannot be listed: damaged",
                                                 object.empty() ? "/" : object));
  }
  return names;
}

std::optional<std::string> Hdf5InputFile::text_attribute(const std::string& object,
                                                         const std::string& name) const {
  const Handle attribute = open_attribute(object, name);
  if (!attribute.valid()) return std::nullopt;
  const std::string label = attribute_name(object, name);
  const Handle type(H5Aget_type(attribute.get()), H5Tclose);
  const Handle space(H5Aget_space(attribute.get()), H5Sclose);
  if (H5Tget_class(type.get()) != H5T_STRING ||
      attribute_points(space.get(), type.get(), label) != 1) {
    throw Error(ErrorKind::kBadData, fmt::format("{}: allowed: one string", label));
  }
  return read_text(attribute.get(), type.get(), space.get(), H5Aread, label).at(0);
}

std::map<std::string, std::string> Hdf5InputFile::text_attributes(const std::string& object) const {
  std::map<std::string, std::string> texts;
  for (const std::string& name : attributes(object)) {
    const Handle attribute = open_attribute(object, name);
    const Handle type(H5Aget_type(attribute.get()), H5Tclose);
    const Handle space(H5Aget_space(attribute.get()), H5Sclose);
    if (H5Tget_class(type.get()) != H5T_STRING) continue;
    const std::string label = attribute_name(object, name);
    if (attribute_points(space.get(), type.get(), label) != 1) continue;
    texts[name] = read_text(attribute.get(), type.get(), space.get(), H5Aread, label).at(0);
  }
  return texts;
}

std::optional<std::vector<double>> Hdf5InputFile::number_attribute(const std::string& object,
                                                                   const std::string& name) const {
  const Handle attribute = open_attribute(object, name);
  if (!attribute.valid()) return std::nullopt;
  const std::string label = attribute_name(object, name);
  const Handle type(H5Aget_type(attribute.get()), H5Tclose);
  const Handle space(H5Aget_space(attribute.get()), H5Sclose);
  const H5T_class_t type_class = H5Tget_class(type.get());
  if (type_class != H5T_FLOAT && type_class != H5T_INTEGER && type_class != H5T_ENUM) {
    throw Error(ErrorKind::kBadData, fmt::format("{}: allowed: numbers", label));
  }
  std::vector<double> values(attribute_points(space.get(), type.get(), label));
  if (!values.empty() && H5Aread(attribute.get(), H5T_NATIVE_DOUBLE, values.data()) < 0) {
    throw Error(ErrorKind::kBadData,
                fmt::format("{}: cannot be read: damaged (HDF5: {})", label, hdf5_error_text()));
  }
  return values;
}

std::optional<std::uint64_t> Hdf5InputFile::unsigned_attribute(const std::string& object,
                                                               const std::string& name) const {
  const Handle attribute = open_attribute(object, name);
  if (!attribute.valid()) return std::nullopt;
  const std::string label = attribute_name(object, name);
  const Handle type(H5Aget_type(attribute.get()), H5Tclose);
  const Handle space(H5Aget_space(attribute.get()), H5Sclose);
  std::uint64_t value = 0;
  if (H5Tget_class(type.get()) != H5T_INTEGER ||
      attribute_points(space.get(), type.get(), label) != 1 ||
      H5Aread(attribute.get(), H5T_NATIVE_UINT64, &value) < 0) {
    throw Error(ErrorKind::kBadData, fmt::format("{}: allowed: one integer", label));
  }
  return value;
}

std::string Hdf5InputFile::attribute_text(const std::string& object,
                                          const std::string& name) const {
  const Handle attribute = open_attribute(object, name);
  if (!attribute.valid()) return {};
  const Handle type(H5Aget_type(attribute.get()), H5Tclose);
  const Handle space(H5Aget_space(attribute.get()), H5Sclose);
  const std::string label = attribute_name(object, name);
  if (H5Tget_class(type.get()) == H5T_STRING) {
    attribute_points(space.get(), type.get(), label);
    return fmt::format(
        "{}", fmt::join(read_text(attribute.get(), type.get(), space.get(), H5Aread, label), ", "));
  }
  const H5T_class_t type_class = H5Tget_class(type.get());
  if (type_class != H5T_FLOAT && type_class != H5T_INTEGER && type_class != H5T_ENUM) {
    return "(a type that is not shown)";
  }
  std::vector<double> values = *number_attribute(object, name);
  const bool one = values.size() == 1;
  const bool cut = values.size() > 16;
  if (cut) values.resize(16);
  return one ? fmt::format("{}", values[0])
             : fmt::format("[{}{}]", fmt::join(values, ", "), cut ? ", ..." : "");
}

}  // namespace headway::io
