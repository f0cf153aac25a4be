#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "headway/core/field_sink.hpp"
#include "headway/types.hpp"
#include "io/hdf5/dimensions.hpp"
#include "io/hdf5/handle.hpp"

namespace headway::io {

/// An HDF5 file to be: built in memory, so that HDF5 never meets a full disk (it cannot recover
/// from one), then written in one go under a temporary name, synced and renamed. Missing groups are
/// made on the way. All under an Hdf5Lock. Errors: kInternal where HDF5 refuses (a name used
/// twice), kCannotWrite from write_to.
///
/// A changed byte is found when the file is read, by the check sum at its end (file_seal.hpp).
/// HDF5's own Fletcher32 of each array, and seal() for texts, also serve those who read a part of
/// the file.
class Hdf5OutputFile final : public FieldSink {
 public:
  Hdf5OutputFile();
  ~Hdf5OutputFile() override;

  using FieldSink::set;
  void make_group(const std::string& path) override;
  void set(const std::string& object, const std::string& name, const std::string& value) override;

  /// Gives all arrays so far dimensions with names (dimensions.hpp), and writes the root attribute
  /// text_sha256 over all texts (text_digest.hpp).
  void seal();
  /// The bytes of the file, which live as long as this object; nothing can be added any more.
  std::string_view close();
  /// Puts the file at `file_path`, sealed, whole or not at all. Ends the life of this object.
  void write_to(const std::string& file_path, bool force);

 private:
  /// Of a type of HDF5, in the file and in memory.
  struct Typed {
    std::vector<Index> shape;
    hid_t type;
    const void* values;
  };
  static Typed typed(const Elements& elements);
  Handle open_or_make_group(const std::string& path);
  void write_texts(const std::string& path, const std::vector<std::string>& values,
                   std::string_view axes) override;
  void write_dataset(const std::string& path, const Elements& elements) override;
  void write_attribute(const std::string& object, const std::string& name,
                       const Elements& elements) override;
  void put_dataset(const std::string& path, const Typed& values);
  void put_attribute(const std::string& object, const std::string& name, const Typed& values);

  struct Image;
  std::unique_ptr<Image> image_;  ///< the bytes, from the moment that the file is closed
  Handle file_;
  Handle group_creation_, text_type_;
  std::map<std::string, std::string> texts_;  ///< by place, for seal()
  Dimensions dimensions_;
};

}  // namespace headway::io
