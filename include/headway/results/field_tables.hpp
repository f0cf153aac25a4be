#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "headway/results/field_list.hpp"

// What every field of a result file means: the table in src/io/README.md, the docstrings of Python,
// and the documentation that every result file carries.
namespace headway {

/// All fields of one kind of record.
struct FieldTable {
  /// Where results of some verbs have such records.
  struct Place {
    std::string verbs;  ///< with blanks between them; "": all
    std::string group;  ///< "points/<i>/"; "": the root
  };
  std::string key;
  std::string title;  ///< where it lies, in the words of the README
  std::vector<Place> places;
  std::vector<ListedField> fields;
};

/// The tables of all records of result files, and of files of Gram matrices.
std::vector<FieldTable> field_tables();

/// What a result of a verb may hold: names of fields from the root on, and their meanings.
struct Documentation {
  std::vector<std::string> field, meaning;
};
Documentation documentation_of(std::string_view verb);

}  // namespace headway
