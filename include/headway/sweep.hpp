#pragma once

#include <functional>
#include <string>
#include <vector>

#include "headway/train_run.hpp"
#include "headway/train_task.hpp"

namespace headway {

/// The axes of a table [sweep] in the order of its lines; a key given twice (in the file and by
/// --set) counts as given last. Error{kBadStudy} unless each is a list of different values of one
/// key, and no two set the same key.
std::vector<SweepAxis> read_sweep(const OptionValue& sweep);

/// The values that the axes give the dotted `key`, by axes of it and of its whole table.
std::vector<const OptionValue*> swept_values(const std::vector<SweepAxis>& axes,
                                             const std::string& key);

/// The axis that sets the dotted `key` among others of its table, and the value that does; or
/// nulls.
struct SweptTable {
  const SweepAxis* axis = nullptr;
  const OptionValue* table = nullptr;
};
SweptTable table_that_sets(const std::vector<SweepAxis>& axes, const std::string& key);

/// The runs that a training study asks for: one for each combination of its sweep (the last axis
/// fastest), or the study alone; a value that is a table is merged into the section that its key
/// names. Each is checked: Error{kBadStudy} as read_sections() and check_study(), with the place of
/// the swept value at fault; also for more than 1000 runs.
std::vector<TrainRun> train_runs(const Study& study);

/// Puts `change` of it in place of every path that a tree of sections names, in [task] and in the
/// axes of [sweep] that set it (TaskDescription::paths). Values of a wrong type, and empty ones,
/// stay: who reads the key refuses them.
using PathChange = std::function<std::string(const std::string&)>;
void change_paths(OptionValue& root, const PathChange& change);
void change_paths(SweepAxis& axis, const PathChange& change);

/// Takes out of [sweep] what was set by hand: the axis of `key`, and those of what the table `set`
/// has below it.
void drop_axes(OptionValue& root, const std::string& key, const OptionValue& set);
/// Error{kBadStudy} where a line of [sweep] that sets a whole table sets `key`, which was set by
/// hand: its runs would not have that value.
void refuse_table_axes_that_set(const OptionValue& root, const std::string& key);

/// The [sweep] table as text, "" when there are no axes.
std::string sweep_text(const std::vector<SweepAxis>& sweep);

}  // namespace headway
