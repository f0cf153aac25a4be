#include "command_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "headway/core/text.hpp"
#include "headway/study/sections.hpp"

namespace headway::cli {

namespace {

constexpr const char* kStudyInput =
    "study (TOML), the name of one that comes with Headway, or a data-set or result file (HDF5) in "
    "place of one";

CommandOption input_argument(const Verb& verb) {
  CommandOption input{"input", "FILE", "data-set file (HDF5)", &Options::input, Offers::kFiles};
  input.required = true;
  if (verb.takes_study()) {
    input.help = kStudyInput;
    input.offers = Offers::kStudies;
  } else if (verb.takes == Takes::kParts) {
    input.help = "result of one part (HDF5)";
  }
  if (verb.input != nullptr) input.help = verb.input;
  return input;
}

CommandOption further_inputs(const Verb& verb) {
  return {"more", "FILE...", verb.more_inputs, &Options::more_inputs, Offers::kFiles};
}

void add_study_options(const Verb& verb, std::vector<CommandOption>& options) {
  options.push_back({"--set", "KEY=VALUE",
                     "replace one line of the study: section.key=value, where the value is TOML, "
                     "else a string; may be repeated",
                     &Options::overlays, Offers::kKeys});
  if (verb.seeded) {
    CommandOption seed{"--seed", "N", "root of every random stream, as --set seed=N",
                       &Options::seed};
    seed.most = std::numeric_limits<std::int64_t>::max();
    options.push_back(seed);
  }
  const bool networks = verb.tasks == headway::Side::kTraining;
  options.push_back({"--threads", "N",
                     networks ? "number of threads, 0 for all cores; changes no result, except "
                                "with train.eager"
                              : "number of threads, 0 for all cores; changes no result",
                     &Options::threads});
}

void add_output_options(std::vector<CommandOption>& options) {
  options.push_back({"-o,--output", "FILE.h5",
                     "write the result to this HDF5 file; without it nothing is written",
                     &Options::output, Offers::kFiles});
  options.push_back({"--force", "", "overwrite an existing result file", &Options::force});
}

/// `name` without the brackets and dots of "FILE..." in a usage line.
std::string usage_of(const CommandOption& argument) {
  return argument.required ? argument.value : "[" + argument.value + "]";
}

bool is_wanted(const std::string& section, const std::vector<std::string>& sections) {
  return sections.empty() || std::find(sections.begin(), sections.end(), section) != sections.end();
}

/// The words in quotes of "one of "a", "b"", of "true or false" those two; else nothing.
std::vector<std::string> allowed_words(const std::string& allowed) {
  if (allowed == "true or false") return {"true", "false"};
  const bool single = allowed.starts_with('"');
  if (!single && !allowed.starts_with("one of \"")) return {};
  std::vector<std::string> words;
  for (std::size_t at = allowed.find('"'); at != std::string::npos;
       at = allowed.find('"', at + 1)) {
    const std::size_t end = allowed.find('"', at + 1);
    if (end == std::string::npos) break;
    words.push_back(allowed.substr(at + 1, end - at - 1));
    at = end;
  }
  return words;
}

}  // namespace

std::vector<std::string> CommandOption::spellings() const { return split(names, ','); }

std::vector<CommandOption> options_of(const Verb& verb) {
  if (verb.takes == Takes::kNothing) return verb.own;
  std::vector<CommandOption> options = {input_argument(verb)};
  if (verb.more_inputs != nullptr) options.push_back(further_inputs(verb));
  if (verb.takes_study()) add_study_options(verb, options);
  const bool writes = verb.takes == Takes::kComputes || verb.takes == Takes::kParts;
  if (writes) add_output_options(options);
  options.insert(options.end(), verb.own.begin(), verb.own.end());
  if (verb.takes == Takes::kComputes) {
    options.push_back({"--dry-run", "",
                       "check study and data, print sizes and costs, compute nothing",
                       &Options::dry_run});
  }
  options.push_back({"--json", "", verb.json, &Options::json});
  options.push_back({"-q,--quiet", "", "show no progress", &Options::quiet});
  options.push_back({"-v,--verbose", "",
                     "say more on standard error: BLAS, threads, instruction sets, the solver",
                     &Options::verbose});
  return options;
}

const CommandOption* option_named(const std::vector<CommandOption>& options,
                                  const std::string& spelling) {
  for (const CommandOption& option : options) {
    const std::vector<std::string> spellings = option.spellings();
    if (std::find(spellings.begin(), spellings.end(), spelling) != spellings.end()) return &option;
  }
  return nullptr;
}

std::string usage_line(const Verb& verb) {
  std::string out = "headway " + verb.name;
  const std::vector<CommandOption> options = options_of(verb);
  const bool has_options =
      std::any_of(options.begin(), options.end(), [](const auto& o) { return !o.is_argument(); });
  if (has_options) out += " [OPTION]...";
  for (const CommandOption& option : options) {
    if (option.is_argument()) out += " " + usage_of(option);
  }
  return out;
}

std::vector<std::string> study_keys(const std::vector<std::string>& sections) {
  std::vector<std::string> keys;
  for (const Section& section : headway::study_sections()) {
    if (!is_wanted(section.name, sections)) continue;
    for (const auto& option : section.table.options) {
      const std::string key = section.name.empty() ? option.name : section.name + "." + option.name;
      if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
    }
  }
  return keys;
}

std::vector<std::string> words_of_key(const std::string& key) {
  const std::size_t dot = key.find('.');
  const std::string name = dot == std::string::npos ? "" : key.substr(0, dot);
  for (const Section& section : headway::study_sections()) {
    if (section.name != name) continue;
    for (const auto& option : section.table.options) {
      if (key == (name.empty() ? option.name : name + "." + option.name)) {
        return allowed_words(option.allowed);
      }
    }
  }
  return {};
}

}  // namespace headway::cli
