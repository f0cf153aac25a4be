#include <fmt/format.h>

#include <algorithm>

#include "core/whole_number.hpp"
#include "headway/core/nearest_word.hpp"
#include "headway/core/option_error.hpp"
#include "headway/core/text.hpp"
#include "headway/error.hpp"
#include "headway/study/sections.hpp"
#include "study/sweep_axes.hpp"

namespace headway {
namespace {

constexpr std::size_t kLongestShown = 60;
constexpr const char* kSweep = "sweep";  // the table whose keys are those of the others

[[noreturn]] void refuse_unknown_root_key(const OptionEntry& entry) {
  std::vector<std::string> bare = names_of(Study::table()), shown = bare;
  std::vector<std::string> tables = section_names();
  tables.emplace_back(kSweep);
  for (const std::string& name : tables) {
    bare.push_back(name);
    shown.push_back("[" + name + "]");
  }
  std::string guess = nearest_word(entry.key, bare);
  // The other usual slip: a key of some section that is written outside of it.
  for (const Section& section : study_sections()) {
    for (const Option<Study>& o : section.table.options) {
      if (o.name == entry.key) guess = section.name + "." + o.name;
    }
  }
  throw OptionError(
      fmt::format("{}: unknown key{}; a study has: {}", printable(clip(entry.key, kLongestShown)),
                  guess.empty() ? "" : fmt::format(", did you mean \"{}\"?", guess), join(shown)),
      {entry.key})
      .at(entry.value.place.text());
}

/// A key that `section` does not have for this kind of task, or that no kind has.
[[noreturn]] void refuse_key(const std::string& section, const OptionEntry& entry, TaskKind kind) {
  std::vector<std::string> known;
  for (const Section& s : study_sections()) {
    if (s.name != section || !applies(s, kind)) continue;
    for (const std::string& name : names_of(s.table)) known.push_back(name);
  }
  for (const Section& s : study_sections()) {
    if (s.name != section || !s.task) continue;
    for (const Option<Study>& o : s.table.options) {
      if (o.name != entry.key) continue;
      throw OptionError(
          fmt::format("{}.{}: belongs to kind = \"{}\", but this study has kind = \"{}\", whose "
                      "keys are: {}",
                      section, entry.key, word_of(*s.task), word_of(kind), join(known)),
          {section + "." + entry.key, "task.kind"})
          .at(entry.value.place.text());
    }
  }
  refuse_unknown_key(entry, section, known);
}

/// A whole section of the other side: [model] where a network is trained, [train] for the theory.
void refuse_section_of_other_verbs(const std::string& name, const OptionValue& value, TaskKind kind,
                                   const std::string& shown) {
  for (const Section& s : study_sections()) {
    if (s.name != name || applies(s, kind) || s.task) continue;
    throw OptionError(
        fmt::format(
            "[{}]: belongs to studies of {} (task.kind = {}), but this one has task.kind = \"{}\"",
            shown, s.side == Side::kTraining ? "headway train" : "the theory",
            kinds_in_words(s.side, " or "), word_of(kind)),
        {shown, "task.kind"})
        .at(value.place.text());
  }
}

/// Whether `value` is a list of values that a key of the networks to train takes one by one, so
/// that [sweep] may have it.
bool could_be_swept(const Option<Study>& option, const OptionValue& value, const std::string& key,
                    Study study) {
  const auto* values = value.get<OptionValue::Array>();
  if (values == nullptr || values->empty()) return false;
  if (key != "seed" && !key.starts_with("task.") && !key.starts_with("train.")) return false;
  if (!is_training_task(study.task.kind())) return false;
  try {
    for (const OptionValue& one : *values) option.read(one, key, study);
  } catch (const Error&) {
    return false;
  }
  return true;
}

void read_option(const Option<Study>& option, const OptionValue& value, const std::string& key,
                 Study& study) {
  try {
    option.read(value, key, study);
  } catch (const OptionError& error) {
    if (!could_be_swept(option, value, key, study)) throw;
    throw error.followed_by(fmt::format("; several: sweep.{} = {}", key, text_of(value)));
  }
}

void read_section(const std::string& name, const OptionValue& value, Study& study) {
  const auto* table = value.get<OptionValue::Table>();
  if (table == nullptr) refuse(value, name, fmt::format("a table [{}]", name));
  // First the key that decides which other keys there are.
  if (const OptionValue* kind = find(*table, "kind"); name == "task" && kind != nullptr) {
    find_option("task.kind", study.task.kind())->read(*kind, "task.kind", study);
  }
  refuse_section_of_other_verbs(name, value, study.task.kind(), name);
  for (const OptionEntry& entry : *table) {
    const Option<Study>* found = find_option(name + "." + entry.key, study.task.kind());
    if (found == nullptr) refuse_key(name, entry, study.task.kind());
    read_option(*found, entry.value, name + "." + entry.key, study);
  }
}

void check_schema(const OptionValue::Table& root) {
  const OptionValue* schema = find(root, "schema");
  if (schema == nullptr) return;
  const std::optional<std::int64_t> version = whole_number(*schema);
  if (version != 1) {
    refuse(*schema, "schema", "1, the version that this program reads");
  }
}

}  // namespace

void read_task(const OptionValue& keys, Study& study) { read_section("task", keys, study); }

void read_sections(const OptionValue& root, Study& study) {
  const auto& table = *root.get<OptionValue::Table>();
  check_schema(table);
  const std::vector<std::string> sections = section_names();
  if (const OptionValue* task = find(table, "task")) read_section("task", *task, study);
  for (const OptionEntry& entry : table) {
    if (entry.key == "task") continue;
    if (entry.key == kSweep) {
      study.sweep = read_sweep(entry.value);
      refuse_section_of_other_verbs("train", entry.value, study.task.kind(), kSweep);
    } else if (std::find(sections.begin(), sections.end(), entry.key) != sections.end()) {
      read_section(entry.key, entry.value, study);
    } else {
      const bool dotted = entry.key.find('.') != std::string::npos;
      const Option<Study>* found = dotted ? nullptr : find_option(entry.key, study.task.kind());
      if (found == nullptr) refuse_unknown_root_key(entry);
      read_option(*found, entry.value, entry.key, study);
    }
  }
}

}  // namespace headway
