#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "headway/core/words.hpp"

namespace headway {

/// A record lists its fields once. Beside the struct stands a function template that shows a
/// visitor every member with its name and its meaning:
///
///   template <class Visitor, RecordOf<IterationRecord> Record>
///   void fields(Visitor& visit, Record& r) {
///     visit("action", r.action, "S / max N");
///     visit("gradient_norm", r.gradient_norm, "largest entry of dS/dU / max N");
///   }
///
/// Files, JSON, Python and the table of all fields (io/README.md) are visitors of this list, so a
/// number is added to a result by one member and one line here. `fields` is found by argument-
/// dependent lookup, for a const record (writing) and one that is not (reading). The order is that
/// of JSON. Fields that a reader has filled in may decide which fields follow:
///
///     visit("defined", r.defined, "whether the correction exists");
///     if (!shows(visit, r.defined)) return;
///
/// A record that has no group of its own in the file is shown by calling its `fields` with the same
/// visitor, with what its names need as further arguments (fields(visit, r.order_parameters,
/// "_sd")).
template <class T, class Record>
concept RecordOf = std::same_as<std::remove_const_t<T>, Record>;

/// Where a field appears.
enum class FieldPlace : std::uint8_t { kEverywhere, kFile, kJson };

/// How a member lies in an HDF5 file, and in JSON where that has a choice. With kPlain numbers,
/// words and texts are attributes of the record's group. Arrays are data sets, and records are
/// groups. Vectors of records are groups <name>/0, <name>/1, ... (JSON: a list). Lists of lists of
/// numbers are rows of one array; short rows end in NaN or -1.
enum class FieldLayout : std::uint8_t {
  kPlain,
  kAttribute,  ///< a list of numbers as one attribute; of texts as one text, a line each
  kOutputs,    ///< a matrix [examples, outputs], [examples] where there is one output; left out
               ///< when it has no rows
  kReadout,    ///< a C x C matrix, a scalar for C = 1; left out when empty
  kLayers,     ///< one array for each layer: <name>/layer_1, ...; empty ones are left out
  kStacked,    ///< matrices of one shape as one array [n, rows, columns]; left out when empty
  kByName,     ///< records as groups <name>/<key> (JSON: an object by key), by the field kKey
  kKey,        ///< the text that names a record in kByName
  kColumns,    ///< records as arrays <name>/<field>, one entry for each record (JSON: a list)
  kLists,      ///< as kColumns, in JSON too: an object of lists
  kTable,      ///< records of numbers as one array [n, fields], attribute `columns` names them
  kMerged,     ///< a record whose fields are among those of its holder in JSON
};

struct FieldForm {
  std::string_view json = {};      ///< name in JSON where it is another
  std::string_view old_name = {};  ///< older files have it under this name
  FieldPlace place = FieldPlace::kEverywhere;
  FieldLayout layout = FieldLayout::kPlain;
  bool optional = false;  ///< older files lack it: the member then keeps what it has
  std::int64_t least = std::numeric_limits<std::int64_t>::min();  ///< of whole numbers
  /// Names of an array's dimensions in Python, slowest first: "example output". An array of one
  /// output lacks "output" and "output_other". With several outputs "path" of layer l has C p_l
  /// entries. Of kColumns: the dimension of the records.
  std::string_view axes = {};
};

namespace detail {

struct AnyVisitor {
  template <class T>
  void operator()(const std::string&, T&, const char*, const FieldForm& = {}) {}
};

/// Finds the field kKey.
struct KeyVisitor {
  std::string found;
  const std::string* set = nullptr;  ///< its new value

  template <class T>
  void operator()(const std::string&, T& value, const char*, const FieldForm& form = {}) {
    if constexpr (std::same_as<std::remove_const_t<T>, std::string>) {
      if (form.layout != FieldLayout::kKey) return;
      if constexpr (!std::is_const_v<T>) {
        if (set != nullptr) value = *set;
      }
      found = value;
    }
  }
};

template <class T>
struct ElementOf {
  using Type = void;
};
template <class T>
struct ElementOf<std::vector<T>> {
  using Type = T;
};

}  // namespace detail

/// Has a field list.
template <class T>
concept IsRecord = requires(detail::AnyVisitor& visit, T& record) {
  fields(visit, record);
};

/// Is a std::vector of such.
template <class T>
concept IsRecords = IsRecord<typename detail::ElementOf<std::remove_const_t<T>>::Type>;

/// `condition`; but always true for a visitor that lists all fields that a record may have.
template <class Visitor>
bool shows(const Visitor& /*visit*/, bool condition) {
  if constexpr (requires { Visitor::kListsEverything; }) return true;
  return condition;
}

/// The text that names `record` where records are kept by name: its field of layout kKey.
template <IsRecord Record>
std::string record_key(const Record& record) {
  detail::KeyVisitor visit;
  fields(visit, record);
  return visit.found;
}
template <IsRecord Record>
void set_record_key(Record& record, const std::string& key) {
  detail::KeyVisitor visit{{}, &key};
  fields(visit, record);
}

}  // namespace headway
