// Strings and attributes of HDF5 files.
#include "headway/core/text.hpp"

#include <cstdint>
#include <cstring>

#include "core/fail.hpp"
#include "io/hdf5/input.hpp"

namespace headway::io {
namespace {

constexpr std::size_t kMaxAttributeBytes = std::size_t{64} << 20;
constexpr std::size_t kMostNumbersShown = 16;

/// How to read the elements of a data set or an attribute into memory.
using ReadInto = herr_t (*)(hid_t object, hid_t memory_type, void* out);

herr_t read_dataset_into(hid_t object, hid_t type, void* out) {
  return H5Dread(object, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, out);
}

std::string trimmed(const char* text, std::size_t size, H5T_str_t padding) {
  if (padding == H5T_STR_NULLTERM) return {text, strnlen(text, size)};
  std::string value(text, size);
  const char filled = padding == H5T_STR_SPACEPAD ? ' ' : '\0';
  while (!value.empty() && value.back() == filled) value.pop_back();
  return value;
}

/// `count` strings of either kind; `where` is for messages.
std::vector<std::string> read_texts(hid_t object, hid_t type, hid_t space, ReadInto read,
                                    const std::string& where) {
  const hssize_t points = H5Sget_simple_extent_npoints(space);
  if (points <= 0) return {};
  const auto count = static_cast<std::size_t>(points);
  std::vector<std::string> values;
  bool fine = false;
  try {
    if (H5Tis_variable_str(type) > 0) {
      const Handle memory_type(H5Tcopy(H5T_C_S1), H5Tclose);
      H5Tset_size(memory_type.get(), H5T_VARIABLE);
      H5Tset_cset(memory_type.get(), H5Tget_cset(type));
      std::vector<char*> pointers(count, nullptr);
      fine = read(object, memory_type.get(), pointers.data()) >= 0;
      if (fine) {
        for (const char* p : pointers) values.emplace_back(p == nullptr ? "" : p);
        H5Dvlen_reclaim(memory_type.get(), space, H5P_DEFAULT, pointers.data());
      }
    } else {
      const std::size_t size = H5Tget_size(type);
      std::vector<char> bytes(size * count + 1, '\0');
      fine = read(object, type, bytes.data()) >= 0;
      for (std::size_t i = 0; fine && i < count; ++i) {
        values.push_back(trimmed(bytes.data() + i * size, size, H5Tget_strpad(type)));
      }
    }
  } catch (const std::bad_alloc&) {
    bad_data("{}: its text does not fit into memory", where);
  }
  if (!fine) damaged(where + ": its text cannot be read");
  return values;
}

}  // namespace

std::string attribute_label(const std::string& object, const std::string& name) {
  const bool at_root = object.empty() || object == "/";
  return (at_root ? "root attribute " : object + ", attribute ") + name;
}

/// An open attribute.
class Hdf5Attribute {
 public:
  Hdf5Attribute(Handle attribute, std::string label)
      : attribute_(std::move(attribute)),
        type_(H5Aget_type(attribute_.get()), H5Tclose),
        space_(H5Aget_space(attribute_.get()), H5Sclose),
        label_(std::move(label)) {}

  [[nodiscard]] const std::string& label() const { return label_; }
  [[nodiscard]] bool is(H5T_class_t type) const { return H5Tget_class(type_.get()) == type; }
  [[nodiscard]] bool is_number() const { return is(H5T_FLOAT) || is(H5T_INTEGER) || is(H5T_ENUM); }
  [[nodiscard]] bool is_one_text() const { return is(H5T_STRING) && count() == 1; }
  /// Elements, after a check against absurd sizes.
  [[nodiscard]] std::size_t count() const {
    const hssize_t points = H5Sget_simple_extent_npoints(space_.get());
    const std::size_t size = H5Tget_size(type_.get());
    if (points < 0 || size == 0 || static_cast<std::size_t>(points) > kMaxAttributeBytes / size) {
      bad_data("{}: {} elements of {} bytes; allowed: 64 MiB", label_, points, size);
    }
    return static_cast<std::size_t>(points);
  }
  [[nodiscard]] bool read(hid_t memory_type, void* out) const {
    return H5Aread(attribute_.get(), memory_type, out) >= 0;
  }
  [[nodiscard]] std::vector<std::string> texts() const {
    return read_texts(attribute_.get(), type_.get(), space_.get(), H5Aread, label_);
  }

 private:
  Handle attribute_, type_, space_;
  std::string label_;
};

std::vector<std::string> Hdf5InputFile::read_strings(const std::string& path) const {
  const ArrayInfo array = info(path);
  const std::string fault = implausible_storage(array, file_bytes_, true);
  if (!fault.empty()) bad_data("{}: {}", path, fault);
  if (array.kind == ElementKind::kInteger) {
    std::vector<std::string> digits;
    for (const double v : read_array(path).values) digits.push_back(fmt::format("{:.0f}", v));
    return digits;
  }
  if (array.kind != ElementKind::kText) {
    bad_data("{}: type {}; allowed: strings", path, array.type_name);
  }
  const Handle object = open_object(path);
  const Handle type(H5Dget_type(object.get()), H5Tclose);
  const Handle space(H5Dget_space(object.get()), H5Sclose);
  return read_texts(object.get(), type.get(), space.get(), read_dataset_into, path);
}

std::optional<Hdf5Attribute> Hdf5InputFile::open_attribute(const std::string& object,
                                                           const std::string& name) const {
  const Handle owner = open_object(object);
  const htri_t exists = H5Aexists(owner.get(), name.c_str());
  if (exists == 0) return std::nullopt;
  const std::string label = attribute_label(object, name);
  Handle attribute(exists > 0 ? H5Aopen(owner.get(), name.c_str(), H5P_DEFAULT) : -1, H5Aclose);
  if (!attribute.valid()) damaged(label + ": cannot be opened");
  return Hdf5Attribute(std::move(attribute), label);
}

bool Hdf5InputFile::has_attribute(const std::string& object, const std::string& name) const {
  return open_attribute(object, name).has_value();
}

bool Hdf5InputFile::has_text_attribute(const std::string& object, const std::string& name) const {
  const auto attribute = open_attribute(object, name);
  return attribute && attribute->is_one_text();
}

std::optional<std::string> Hdf5InputFile::text_attribute(const std::string& object,
                                                         const std::string& name) const {
  const auto attribute = open_attribute(object, name);
  if (!attribute) return std::nullopt;
  if (!attribute->is_one_text()) bad_data("{}: allowed: one string", attribute->label());
  return attribute->texts().at(0);
}

std::optional<std::vector<double>> Hdf5InputFile::number_attribute(const std::string& object,
                                                                   const std::string& name) const {
  const auto attribute = open_attribute(object, name);
  if (!attribute) return std::nullopt;
  if (!attribute->is_number()) bad_data("{}: allowed: numbers", attribute->label());
  std::vector<double> values(attribute->count());
  if (!values.empty() && !attribute->read(H5T_NATIVE_DOUBLE, values.data())) {
    damaged(attribute->label() + ": cannot be read");
  }
  return values;
}

std::optional<std::uint64_t> Hdf5InputFile::unsigned_attribute(const std::string& object,
                                                               const std::string& name) const {
  const auto attribute = open_attribute(object, name);
  if (!attribute) return std::nullopt;
  std::uint64_t value = 0;
  std::int64_t with_sign = 0;  // HDF5 makes 0 of a negative number
  if (!attribute->is(H5T_INTEGER) || attribute->count() != 1 ||
      !attribute->read(H5T_NATIVE_UINT64, &value) ||
      !attribute->read(H5T_NATIVE_INT64, &with_sign) || with_sign < 0) {
    bad_data("{}: allowed: one integer >= 0", attribute->label());
  }
  return value;
}

std::string Hdf5InputFile::attribute_text(const std::string& object,
                                          const std::string& name) const {
  const auto attribute = open_attribute(object, name);
  if (!attribute) return {};
  if (attribute->is(H5T_STRING)) {
    static_cast<void>(attribute->count());
    return join(attribute->texts());
  }
  if (!attribute->is_number()) return "(a type that is not shown)";
  std::vector<double> values = *number_attribute(object, name);
  if (values.size() == 1) return fmt::format("{}", values[0]);
  const bool cut = values.size() > kMostNumbersShown;
  if (cut) values.resize(kMostNumbersShown);
  return fmt::format("[{}{}]", join(values, ", "), cut ? ", ..." : "");
}

}  // namespace headway::io
