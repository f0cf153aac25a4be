#pragma once

#include <optional>
#include <string>
#include <vector>

#include "headway/core/option_table.hpp"
#include "headway/study.hpp"
#include "headway/study/task_kinds.hpp"

namespace headway {

/// One table of a study file; the keys outside any table form the section "".
struct Section {
  std::string name;
  std::optional<TaskKind> task;  ///< of [task] alone: the kind that has these keys
  std::string help;
  OptionTable<Study> table;
  Side side = Side::kBoth;
};

/// Every section and key of a study file. Reading, writing, checking, suggestions, hashes and help
/// all come from here; the keys themselves are declared beside the structs that hold them.
const std::vector<Section>& study_sections();

/// The names of the sections, each once, without "".
std::vector<std::string> section_names();

/// Does the section belong to a study of this kind of task?
bool applies(const Section& section, TaskKind kind);

/// The option at the dotted key ("train.heads", "seed") of studies of this kind, or null.
const Option<Study>* find_option(const std::string& key, TaskKind kind);

/// The study in a tree of sections; what it leaves out stays as it is in `study`. [sweep] is read,
/// and put into nothing. Error{kBadStudy} naming place, key, value and what is allowed, for an
/// unknown key (with the nearest known one), a wrong type or a value out of range. Whether values
/// fit each other is for check_study().
void read_sections(const OptionValue& root, Study& study);

/// As read_sections(), of a table of keys of [task] alone.
void read_task(const OptionValue& keys, Study& study);

/// Error{kBadStudy}, with the keys at fault, unless every value is in its range and all fit each
/// other, as far as the study alone tells. Its sweep is not looked at: see train_runs().
void check_study(const Study& study);

/// The fully resolved study as text (TOML): what a result file holds, and what hashes are made of;
/// without the sections named in `left_out`.
std::string study_text(const Study& study, const std::vector<std::string>& left_out = {});

/// One section of it.
std::string section_text(const Study& study, const std::string& name);

}  // namespace headway
