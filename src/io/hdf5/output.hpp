#pragma once

#include <bit>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "headway/core/types.hpp"
#include "io/hdf5/handle.hpp"

namespace headway::io {

/// An HDF5 file to be: built in memory, so that HDF5 never meets a full disk (it cannot recover
/// from one), then written in one go under a temporary name, synced and renamed. Missing groups are
/// made on the way. All under an Hdf5Lock. Errors: kInternal where HDF5 refuses (a name used
/// twice), kCannotWrite from write_to.
///
/// A changed byte is found when the file is read: every array of numbers has HDF5's Fletcher32
/// checksum; groups, shapes, attributes and scalars lie in headers that have checksums in the
/// format of HDF5 1.10; and texts, which HDF5 keeps in a heap without any, are guarded by seal().
class Hdf5OutputFile {
 public:
  Hdf5OutputFile();
  ~Hdf5OutputFile();

  void make_group(const std::string& path);
  /// `values`: row-major, as many as `shape` says; shape {} is a scalar. For double, float,
  /// std::int64_t, std::uint64_t and std::uint8_t.
  template <class Number>
  void write(const std::string& path, const std::vector<Index>& shape, const Number* values) {
    write_dataset(path, elements_of(shape, values));
  }
  void write_strings(const std::string& path, const std::vector<std::string>& values);

  /// An attribute of an object: one number, a list of them, or one text.
  template <class Number>
  requires(std::is_arithmetic_v<Number>) void set(const std::string& object,
                                                  const std::string& name, Number value) {
    write_attribute(object, name, elements_of({}, &value));
  }
  template <class Number>
  void set(const std::string& object, const std::string& name, const std::vector<Number>& values) {
    write_attribute(object, name, elements_of({static_cast<Index>(values.size())}, values.data()));
  }
  void set(const std::string& object, const std::string& name, const std::string& value);

  /// Writes the root attribute text_sha256 over all texts so far (text_digest.hpp).
  void seal();
  /// The bytes of the file, which live as long as this object; nothing can be added any more.
  std::string_view close();
  /// Puts the file at `file_path`, whole or not at all. Ends the life of this object.
  void write_to(const std::string& file_path, bool force);

 private:
  struct Elements {
    std::vector<Index> shape;
    hid_t type;  ///< in the file and in memory
    const void* values;
  };
  template <class Number>
  static Elements elements_of(const std::vector<Index>& shape, const Number* values) {
    static_assert(std::endian::native == std::endian::little, "numbers are written as they are");
    constexpr bool kSigned = std::is_signed_v<Number>, kEight = sizeof(Number) == 8;
    if constexpr (std::is_floating_point_v<Number>) {
      return {shape, kEight ? H5T_IEEE_F64LE : H5T_IEEE_F32LE, values};
    } else {
      static_assert(kEight || std::is_same_v<Number, std::uint8_t>);
      return {shape, !kEight ? H5T_STD_U8LE : kSigned ? H5T_STD_I64LE : H5T_STD_U64LE, values};
    }
  }
  Handle open_or_make_group(const std::string& path);
  void write_dataset(const std::string& path, const Elements& elements);
  void write_attribute(const std::string& object, const std::string& name,
                       const Elements& elements);

  struct Image;
  std::unique_ptr<Image> image_;  ///< the bytes, from the moment that the file is closed
  Handle file_;
  Handle group_creation_, text_type_;
  std::map<std::string, std::string> texts_;  ///< by place, for seal()
};

}  // namespace headway::io
