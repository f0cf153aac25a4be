#include "headway/io/study_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "headway/core/error.hpp"
#include "headway/core/nearest_word.hpp"
#include "headway/core/sha256.hpp"
#include "headway/io/dataset_file.hpp"
#include "headway/io/hdf5_file.hpp"
#include "headway/io/result_file.hpp"
#include "io/study_file/checks.hpp"
#include "io/study_file/paths.hpp"
#include "io/study_file/schema.hpp"
#include "io/study_file/sweep.hpp"
#include "io/study_file/text.hpp"
#include "io/study_file/unused.hpp"
#include "io/whole_file.hpp"

namespace headway::io {

namespace {

using detail::Entry;
using detail::Section;
using detail::Side;
using detail::StudyKey;
using detail::Value;
using studies::Study;

constexpr std::uint64_t kLargestStudyFile = std::uint64_t{4} << 20U;

/// The names of the tables, with the one whose keys are those of the others.
std::vector<std::string> table_names() {
  std::vector<std::string> names = detail::section_names();
  names.emplace_back("sweep");
  return names;
}

/// The keys outside any table, and the names of the tables.
std::vector<std::string> root_names() {
  std::vector<std::string> names;
  for (const StudyKey& k : detail::study_sections().front().keys) names.push_back(k.name);
  for (const std::string& name : table_names()) names.push_back("[" + name + "]");
  return names;
}

[[noreturn]] void refuse_unknown_root_key(const Entry& entry) {
  std::vector<std::string> bare;
  for (const StudyKey& k : detail::study_sections().front().keys) bare.push_back(k.name);
  for (const std::string& name : table_names()) bare.push_back(name);
  std::string guess = nearest_word(entry.key, bare);
  // A key of some section, written outside of it, is the other usual slip.
  for (const Section& section : detail::study_sections()) {
    for (const StudyKey& k : section.keys) {
      if (k.name == entry.key) guess = section.name + "." + k.name;
    }
  }
  throw Error(ErrorKind::kBadStudy,
              fmt::format("{}: {}: unknown key{}; a study has: {}", entry.value.place.text(),
                          detail::printable(detail::clip(entry.key, 60)),
                          guess.empty() ? "" : fmt::format(", did you mean \"{}\"?", guess),
                          detail::join(root_names())));
}

/// The key `name` of section `section` for this task kind, or an Error that says what is there.
const StudyKey& key_of(const std::string& section, const Entry& entry, const std::string& kind) {
  std::vector<std::string> known;
  for (const Section& s : detail::study_sections()) {
    if (s.name != section || !detail::applies(s, kind)) continue;
    for (const StudyKey& k : s.keys) {
      if (k.name == entry.key) return k;
      known.push_back(k.name);
    }
  }
  for (const Section& s : detail::study_sections()) {
    for (const StudyKey& k : s.keys) {
      if (s.name != section || k.name != entry.key || s.side != Side::kBoth) continue;
      throw Error(ErrorKind::kBadStudy,
                  fmt::format("{}: {}.{}: belongs to kind = \"{}\", and this study has kind = "
                              "\"{}\", which has: {}",
                              entry.value.place.text(), section, entry.key, s.task_kind, kind,
                              detail::join(known)));
    }
  }
  detail::refuse_unknown_key(entry, section, known);
}

/// A whole section of the other side: [model] where a network is trained, [train] for the theory.
void refuse_section_of_other_verbs(const std::string& name, const Value& value,
                                   const std::string& kind) {
  for (const Section& s : detail::study_sections()) {
    if (s.name != name || s.side == Side::kBoth || detail::applies(s, kind)) continue;
    throw Error(ErrorKind::kBadStudy,
                fmt::format("{}: [{}]: belongs to studies of {}, and this one has task.kind = "
                            "\"{}\"",
                            value.place.text(), name,
                            s.side == Side::kTraining
                                ? "headway train (task.kind = \"fuzzy_logic\", \"sraven\", "
                                  "\"text\" or \"omniglot\")"
                                : "the theory (task.kind = \"hidden_markov_chain\" or \"dataset\")",
                            kind));
  }
}

void read_section(const std::string& name, const Value& value, Study& study) {
  const Value::Table* table = value.get<Value::Table>();
  if (table == nullptr) detail::refuse(value, name, fmt::format("a table [{}]", name));
  if (const Value* kind = detail::find(*table, "kind"); name == "task" && kind != nullptr) {
    key_of(name, {"kind", *kind}, "").read(*kind, "task.kind", study);
  }
  refuse_section_of_other_verbs(name, value, study.task.kind);
  for (const Entry& entry : *table) {
    const StudyKey& k = key_of(name, entry, study.task.kind);
    k.read(entry.value, name + "." + entry.key, study);
  }
}

void check_schema(const Value::Table& root) {
  const Value* schema = detail::find(root, "schema");
  if (schema == nullptr) return;
  const std::int64_t* version = schema->get<std::int64_t>();
  if (version == nullptr || *version != 1) {
    detail::refuse(*schema, "schema", "1, the version that this build reads");
  }
}

Study study_of(const Value& root) {
  const Value::Table& table = *root.get<Value::Table>();
  check_schema(table);
  const std::vector<std::string> sections = detail::section_names();
  Study study;
  // First what decides which keys and sections there are, wherever the file has it.
  if (const Value* task = detail::find(table, "task")) read_section("task", *task, study);
  for (const Entry& entry : table) {
    if (entry.key == "task") continue;
    if (entry.key == "sweep") {
      study.sweep = detail::read_sweep(entry.value);
      if (detail::applies(detail::train_section(), study.task.kind)) continue;
      refuse_section_of_other_verbs("train", entry.value, study.task.kind);
    }
    if (std::find(sections.begin(), sections.end(), entry.key) != sections.end()) {
      read_section(entry.key, entry.value, study);
      continue;
    }
    const StudyKey* found = nullptr;
    for (const StudyKey& k : detail::study_sections().front().keys) {
      if (k.name == entry.key) found = &k;
    }
    if (found == nullptr) refuse_unknown_root_key(entry);
    found->read(entry.value, entry.key, study);
  }
  return study;
}

/// `headway solve DATA.h5`: a study with everything at its default, as text so that overlays and
/// messages work as they do for a file.
std::string study_text_for_dataset(const std::string& file_path) {
  const std::filesystem::path path = std::filesystem::absolute(file_path);
  return fmt::format("name = {}\n[task]\nkind = \"dataset\"\nfile = {}\n",
                     detail::toml_string(detail::clip(path.stem().string(), 190)),
                     detail::toml_string(path.lexically_normal().string()));
}

/// Where files lie is no part of what a study computes; their contents have a hash of their own.
void forget_files(Study& study) {
  study.task.file.clear();
  study.task.omniglot.files.clear();
  for (studies::OutOfDistributionSet& set : study.task.omniglot.out_of_distribution) {
    set.images.clear();
    set.labels.clear();
  }
  if (study.sweep.empty()) return;
  Value sweep = detail::parse_toml(detail::write_sweep(study.sweep), "study");
  std::size_t files = 0;
  detail::change_paths(sweep, [&files](const std::string&) { return std::to_string(++files); });
  study.sweep = detail::read_sweep(*detail::find(*sweep.get<Value::Table>(), "sweep"));
}

/// Every run of the sweep, read and checked.
std::vector<studies::TrainRun> runs_of(const Value& root) {
  std::vector<studies::TrainRun> runs;
  for (detail::SweptTable& swept : detail::expand_sweep(root)) {
    Study study = study_of(swept.root);
    detail::check_consistency(swept.root, study);
    runs.push_back({std::move(swept.settings), std::move(study)});
  }
  return runs;
}

}  // namespace

Study parse_study(std::string_view text, const std::string& source_name,
                  const std::vector<std::string>& overlays, const std::string& directory) {
  Value root = detail::parse_toml(text, source_name);
  const Value before = root;
  std::vector<std::string> set_by_hand;
  for (const std::string& overlay : overlays) {
    set_by_hand.push_back(detail::apply_overlay(root, overlay));
    detail::drop_swept_key(root, set_by_hand.back());
  }
  for (const std::string& key : set_by_hand) detail::refuse_table_axes_that_set(root, key);
  detail::drop_keys_made_idle(before, root);
  detail::resolve_paths(root, directory);
  Study study = study_of(root);
  if (study.sweep.empty()) {
    detail::check_consistency(root, study);
  } else {
    runs_of(root);  // what the sweep puts in must fit as well
  }
  detail::refuse_idle_keys(root);
  return study;
}

std::string overlay_key(const std::string& overlay) { return detail::overlay_key(overlay); }

std::vector<studies::TrainRun> train_runs(const Study& study) {
  Value root = detail::parse_toml(write_study(study), "study");
  detail::resolve_paths(root, "");
  return runs_of(root);
}

LoadedStudy read_study(const std::string& file_path, const std::vector<std::string>& overlays) {
  const std::string directory = std::filesystem::absolute(file_path).parent_path().string();
  if (!is_hdf5(file_path)) {
    const std::string text = read_whole_file(file_path, kLargestStudyFile, ErrorKind::kBadStudy);
    return {parse_study(text, file_path, overlays, directory), StudyOrigin::kStudyFile};
  }
  if (is_dataset_file(file_path)) {
    return {parse_study(study_text_for_dataset(file_path), file_path, overlays, directory),
            StudyOrigin::kDatasetFile};
  }
  if (is_result_file(file_path)) {
    const ResultProvenance provenance = read_result_provenance(file_path);
    return {parse_study(provenance.study_toml, file_path + ":study_toml", overlays, directory),
            StudyOrigin::kResultFile};
  }
  throw Error(ErrorKind::kBadData,
              fmt::format("{}: HDF5, but schema_name is neither \"headway-dataset\" nor "
                          "\"headway-result\": not a study, a data set or a result",
                          file_path));
}

std::string write_study(const Study& study) {
  std::string out;
  std::string open_section;
  for (const Section& section : detail::study_sections()) {
    if (!detail::applies(section, study.task.kind)) continue;
    if (section.name != open_section) out += fmt::format("\n[{}]\n", section.name);
    open_section = section.name;
    for (const StudyKey& k : section.keys) {
      const std::string text = k.write(study);
      if (!text.empty()) out += fmt::format("{} = {}\n", k.name, text);
    }
  }
  return out + detail::write_sweep(study.sweep);
}

std::string study_hash(const Study& study) {
  Study hashed = study;
  hashed.threads = 0;
  forget_files(hashed);
  return sha256_hex(write_study(hashed));
}

std::string solve_hash(const Study& study) {
  Study hashed = study;
  hashed.name = Study{}.name;
  hashed.align = {};
  hashed.prune = {};
  hashed.sample = {};
  return study_hash(hashed);
}

std::string sample_hash(const Study& study) {
  Study hashed = study;
  hashed.name = Study{}.name;
  hashed.align = {};
  hashed.prune = {};
  hashed.sample.checkpoint_seconds = studies::SampleOptions{}.checkpoint_seconds;
  return study_hash(hashed);
}

std::string train_hash(const Study& study) {
  Study hashed = study;
  hashed.name = Study{}.name;
  hashed.sweep.clear();
  hashed.train.run.checkpoint_every = training::TrainOptions{}.checkpoint_every;
  hashed.train.keep_weights = studies::TrainOptions{}.keep_weights;
  hashed.extract = {};
  return study_hash(hashed);
}

std::string study_help(const std::vector<std::string>& sections) {
  const Study defaults;
  std::string out;
  for (const Section& section : detail::study_sections()) {
    if (std::find(sections.begin(), sections.end(), section.name) == sections.end()) continue;
    std::string title = section.name.empty() ? "Outside any table" : "[" + section.name + "]";
    if (!section.task_kind.empty()) title += fmt::format(" kind = \"{}\"", section.task_kind);
    out += fmt::format("{}{}{}\n", title, section.help.empty() ? "" : ": ", section.help);
    for (const StudyKey& k : section.keys) {
      const std::string fallback = k.write(defaults);
      out += fmt::format("  {:<20} {}\n{:23}{}{}\n", k.name, k.help, "", k.allowed,
                         fallback.empty() ? "" : fmt::format("; default {}", fallback));
    }
  }
  if (std::find(sections.begin(), sections.end(), "sweep") != sections.end()) {
    out +=
        "[sweep]: runs for all combinations of the values of any keys, the last line fastest\n"
        "  \"train.attention\" = [\"softmax\", \"hyla\"]\n"
        "  \"train\" = [{attention = \"softmax\"}, {attention = \"hyla\", layers = 4}]\n"
        "  seed = [1, 2, 3]     the final table has mean and standard error over seeds\n";
  }
  return out;
}

}  // namespace headway::io
