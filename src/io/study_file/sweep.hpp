#pragma once

#include <string>
#include <vector>

#include "headway/studies/training.hpp"
#include "io/study_file/value.hpp"

namespace headway::io::detail {

/// The lines of [sweep] in the order of the file; a key given twice (in the file and by --set)
/// counts as given last. Error{kBadStudy} unless each is a list of different values of one key, and
/// no two set the same key.
std::vector<studies::SweepAxis> read_sweep(const Value& sweep);

/// Takes the axis `key` out of the study's [sweep]: it was set by hand; if to a table, the axes of
/// the keys that this has, too.
void drop_swept_key(Value& root, const std::string& key);

/// Error{kBadStudy} where a line of [sweep] that sets a whole table sets `key`, which was set by
/// hand: its runs would not have that value.
void refuse_table_axes_that_set(const Value& root, const std::string& key);

/// What [sweep] gives the dotted `key`, by axes of it and of its whole table.
std::vector<const Value*> swept_values(const Value& root, const std::string& key);

/// One combination of a sweep: the study's table with the values put in.
struct SweptTable {
  std::vector<studies::Setting> settings;
  Value root;
};

/// All combinations, the last axis fastest; without [sweep] the study itself. A value that is a
/// table is merged into the section that its key names. Error{kBadStudy} for more than 1000.
std::vector<SweptTable> expand_sweep(const Value& root);

/// The [sweep] table of a study as TOML text, "" when there is none.
std::string write_sweep(const std::vector<studies::SweepAxis>& sweep);

}  // namespace headway::io::detail
