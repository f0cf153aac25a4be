#include <fmt/format.h>

#include "headway/core/text.hpp"
#include "headway/error.hpp"
#include "headway/jobs/shipped_studies.hpp"
#include "headway/results/table.hpp"
#include "help_page.hpp"
#include "jobs/json_text.hpp"
#include "terminal.hpp"
#include "verbs.hpp"

namespace headway::cli {

namespace {

/// "solve" and "align" of "solve, align".
std::vector<std::string> listed(const std::string& text) {
  std::vector<std::string> words;
  for (const std::string& word : split(text, ',')) words.push_back(word.substr(word[0] == ' '));
  return words;
}

std::string studies_json(const std::vector<jobs::ShippedStudy>& studies) {
  nlohmann::ordered_json out;
  out["studies"] = nlohmann::ordered_json::array();
  for (const jobs::ShippedStudy& study : studies) {
    out["studies"].push_back({{"name", study.name},
                              {"about", study.about},
                              {"verbs", listed(study.verbs)},
                              {"time", study.time},
                              {"file", study.file}});
  }
  return jobs::json_text(out);
}

std::string studies_names(const std::vector<jobs::ShippedStudy>& studies) {
  std::string out;
  for (const jobs::ShippedStudy& study : studies) out += study.name + "\n";
  return out;
}

/// Name and meaning side by side, and below what it is for and how long it takes.
std::string studies_text(const std::vector<jobs::ShippedStudy>& studies) {
  HelpSection list{"Studies that come with Headway"};
  for (const jobs::ShippedStudy& study : studies) {
    const std::string time = study.time.empty() ? "" : "; time: " + study.time;
    list.entries.push_back({study.name, study.about + "\nwith " + study.verbs + time});
  }
  const std::size_t columns = help_columns();
  return help_section_text(list, columns).substr(1) + "\n" +
         indented(
             "Run one with its verb, as in: headway solve hmm-four-paths. Times are of two "
             "processor cores unless they say otherwise.",
             0, columns) +
         "\n";
}

int list_studies(const Options& options) {
  const std::vector<jobs::ShippedStudy> studies = jobs::shipped_studies();
  if (studies.empty()) {
    throw Error(ErrorKind::kMissingFile, "studies: none are installed beside this program");
  }
  if (options.json) {
    write_output(studies_json(studies));
  } else {
    write_output(options.names_only ? studies_names(studies) : studies_text(studies));
  }
  return kExitOk;
}

}  // namespace

Verb studies_verb() {
  return {.name = "studies",
          .summary = "list the studies that come with Headway",
          .own = {{"--json", "", "print one JSON object and nothing else", &Options::json},
                  {"--names", "", "print the names alone, one a line", &Options::names_only}},
          .about =
              "Lists every study that comes with Headway: its name, what it is, the verbs that "
              "it is for, and the time that it takes. Give the name to a verb in place of a "
              "file.",
          .examples = {{"headway studies", "the list"},
                       {"headway inspect hmm-four-paths", "one of them, with all defaults"}},
          .takes = Takes::kNothing,
          .run = &list_studies};
}

}  // namespace headway::cli
