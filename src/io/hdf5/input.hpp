#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headway/types.hpp"
#include "io/hdf5/handle.hpp"

namespace headway::io {

// All of this file is called under an Hdf5Lock. Faults inside the file are Error{kBadData} with a
// message that starts with the name of the data set or attribute; the public functions put the
// file's name before it.

/// Error{kMissingFile} when the file is missing or unreadable, Error{kBadData} when it is not HDF5.
void check_is_hdf5(const std::string& file_path);

/// What a path inside the file leads to.
enum class NodeKind { kAbsent, kGroup, kDataset, kOther, kDanglingLink, kExternalLink };

enum class ElementKind { kFloat32, kFloat64, kInteger, kBoolean, kText, kUnsupported };

/// Shape, type and storage of a data set.
struct ArrayInfo {
  std::vector<Index> shape;  ///< empty for a scalar; {0} for a null data space
  ElementKind kind = ElementKind::kUnsupported;
  std::string type_name;  ///< "float64", "compound", ...: for messages
  std::size_t element_bytes = 0;
  std::uint64_t stored_bytes = 0;
  std::vector<Index> chunk;        ///< empty unless chunked
  std::uint64_t pieces = 1;        ///< in which it is stored: its chunks, else one
  std::uint64_t written = 1;       ///< of them: HDF5 reads those that nobody wrote as zeros
  bool outside = false;            ///< virtual, or raw data in other files
  bool fletcher32 = false;         ///< has HDF5's checksum
  std::string unavailable_filter;  ///< a compression that this HDF5 lacks, else empty

  [[nodiscard]] bool is_number() const {
    return kind != ElementKind::kText && kind != ElementKind::kUnsupported;
  }
  /// Product of the shape, or nullopt when it overflows 2^62.
  [[nodiscard]] std::optional<std::uint64_t> elements() const;
};

/// "[3, 4]"; "a scalar" for rank 0.
std::string shape_text(const std::vector<Index>& shape);

/// Why the data set cannot be read, or cannot be what it claims; "" if nothing speaks against it.
/// Reasons are sizes that overflow, sizes above what any compression of the stored bytes explains,
/// data outside of the file, and a missing filter. `in_memory`: it will be held whole as doubles,
/// so it must also fit this machine's memory.
std::string implausible_storage(const ArrayInfo& info, std::uint64_t file_bytes, bool in_memory);

/// One open data set of numbers, read by ranges of its first index.
class Hdf5Array {
 public:
  Hdf5Array(Handle dataset, std::string path, ArrayInfo info)
      : dataset_(std::move(dataset)), path_(std::move(path)), info_(std::move(info)) {}

  [[nodiscard]] const ArrayInfo& info() const { return info_; }
  /// Doubles in one entry of the first index.
  [[nodiscard]] Index row_size() const;
  /// Entries [begin, begin + count) of the first index, converted to double, row-major.
  void read_rows(Index begin, Index count, double* out) const;
  /// All elements, also of a scalar, as `memory_type` has them, into room for them.
  void read_all(hid_t memory_type, void* out) const;

 private:
  Handle dataset_;
  std::string path_;
  ArrayInfo info_;
};

/// "root attribute seed"; "points/0, attribute seed".
std::string attribute_label(const std::string& object, const std::string& name);

class Hdf5Attribute;  // text.cpp

/// An HDF5 file opened for reading. Objects in other files (external links) are never followed.
class Hdf5InputFile {
 public:
  /// Errors: kMissingFile when missing, unreadable or no regular file; kBadData when not HDF5 or
  /// damaged. `bytes`: what the file has, which HDF5 copies; then nothing is read from the disk.
  explicit Hdf5InputFile(const std::string& file_path, std::string_view bytes = {});

  [[nodiscard]] const std::string& file_path() const { return file_path_; }
  [[nodiscard]] std::uint64_t file_bytes() const { return file_bytes_; }
  [[nodiscard]] NodeKind kind(const std::string& path) const;
  /// Names in a group, sorted by name; empty when it is not there.
  [[nodiscard]] std::vector<std::string> members(const std::string& group) const;
  [[nodiscard]] ArrayInfo info(const std::string& path) const;
  /// A data set of numbers. `in_memory`: it will be read whole.
  [[nodiscard]] Hdf5Array open_array(const std::string& path, bool in_memory = false) const;
  /// The whole data set, also a scalar (shape {}, one value); std::bad_alloc where memory ends.
  [[nodiscard]] Tensor read_array(const std::string& path) const;
  /// [n, rows, columns] as n matrices.
  [[nodiscard]] std::vector<MatrixXd> read_matrices(const std::string& path) const;
  /// A data set of integers of 64 bits, exactly.
  template <class Integer>
  [[nodiscard]] std::vector<Integer> read_integers(const std::string& path) const;
  /// A data set of fixed or variable-length strings, of any shape, in row-major order; integers
  /// become their digits.
  [[nodiscard]] std::vector<std::string> read_strings(const std::string& path) const;

  /// Names of the attributes of an object.
  [[nodiscard]] std::vector<std::string> attributes(const std::string& object) const;
  [[nodiscard]] bool has_attribute(const std::string& object, const std::string& name) const;
  /// Whether it is there and one text.
  [[nodiscard]] bool has_text_attribute(const std::string& object, const std::string& name) const;
  /// nullopt when the attribute is absent; Error{kBadData} when it is of another type.
  [[nodiscard]] std::optional<std::string> text_attribute(const std::string& object,
                                                          const std::string& name) const;
  [[nodiscard]] std::optional<std::vector<double>> number_attribute(const std::string& object,
                                                                    const std::string& name) const;
  /// One unsigned 64-bit integer, exactly.
  [[nodiscard]] std::optional<std::uint64_t> unsigned_attribute(const std::string& object,
                                                                const std::string& name) const;
  /// An attribute of any type as short text, for inspection.
  [[nodiscard]] std::string attribute_text(const std::string& object,
                                           const std::string& name) const;

 private:
  [[nodiscard]] Handle open_object(const std::string& path) const;
  [[nodiscard]] std::optional<Hdf5Attribute> open_attribute(const std::string& object,
                                                            const std::string& name) const;

  std::string file_path_;
  std::uint64_t file_bytes_ = 0;
  Handle file_;
  Handle link_access_;
};

/// Calls `visit` with what the array is, a first row, a number of rows and their values, for all
/// rows of an array that is no scalar, block by block: about 16 MiB of doubles; whole chunks, so
/// that none is unpacked twice, where that takes at most 64 MiB. Of the blocks, those with numbers
/// part, part + parts, ... alone.
void for_each_block(
    const Hdf5InputFile& file, const std::string& path,
    const std::function<void(const ArrayInfo&, Index, Index, std::span<const double>)>& visit,
    Index part = 0, Index parts = 1);

}  // namespace headway::io
