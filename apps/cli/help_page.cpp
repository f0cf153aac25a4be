#include "help_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "command_options.hpp"
#include "headway/core/text.hpp"
#include "headway/study/sections.hpp"
#include "verbs.hpp"

namespace headway::cli {

namespace {

constexpr const char* kHeadsSection = "task.layers.heads";

HelpSection exit_codes() {
  return {"Exit codes",
          "",
          {{"0", "done"},
           {"2",
            "finished, but not usable: a point did not converge, chains have not mixed, or a "
            "number is not finite; the result is written"},
           {"64", "the command line is wrong"},
           {"65", "bad data: a fault inside a data-set, image or result file"},
           {"66", "a file is missing or cannot be read"},
           {"69",
            "a library or device that this build or machine lacks, or not enough memory or threads "
            "(65 where a "
            "data set asks for more than there is)"},
           {"70", "a bug in Headway"},
           {"73",
            "the result cannot be written: the file exists, no permission, disk full; "
            "tables of finished work are printed"},
           {"78", "bad study: a fault of a value in it"},
           {"130", "interrupted; what was finished is written and marked partial"}}};
}

HelpSection program_examples() {
  return {"Examples",
          "",
          {{"headway solve hmm-four-paths", "a study that comes with Headway, by its name"},
           {"headway solve hmm-four-paths -o four.h5", "and keep everything in a result file"},
           {"headway solve data.h5 --set model.widths=[10,100]", "a data set in place of a study"},
           {"headway sample hmm-four-paths -o draws.h5",
            "posterior draws; after Ctrl-C the same command goes on"},
           {"headway align four.h5", "the order parameters of a result, used again"},
           {"headway train fuzzy-logic-small -o small.h5", "a grid of networks and seeds"},
           {"headway extract trained.h5 -o heads.h5",
            "the heads of a trained network, as a data set for solve and prune"},
           {"headway solve grid.toml --shard 0/4 -o part-0.h5", "one of four parts of a study"},
           {"headway merge part-*.h5 -o grid.h5", "and the parts put together"},
           {"headway inspect four.h5", "what a file holds, and how to make it again"}}};
}

HelpSection verb_list() {
  HelpSection section{"Verbs"};
  for (const Verb& verb : verbs()) section.entries.push_back({verb.name, verb.summary});
  return section;
}

std::string term_of(const CommandOption& option) {
  if (option.is_argument()) return option.value;
  return join(option.spellings()) + (option.is_switch() ? "" : " " + option.value);
}

HelpSection options_section(const Verb& verb, bool arguments) {
  HelpSection section{arguments ? "Arguments" : "Options"};
  for (const CommandOption& option : options_of(verb)) {
    if (option.is_argument() == arguments)
      section.entries.push_back({term_of(option), option.help});
  }
  if (!arguments) section.entries.push_back({"-h, --help", "print this help"});
  return section;
}

template <class Owner>
HelpSection table_section(std::string title, std::string lead, const OptionTable<Owner>& table) {
  HelpSection out{std::move(title), std::move(lead)};
  out.below = true;
  const Owner defaults;
  for (const auto& option : table.options) {
    const std::string fallback = option.required ? "" : option.write(defaults);
    out.entries.push_back({option.name, option.help + "\n" + option.allowed +
                                            (fallback.empty() ? "" : "; default " + fallback) +
                                            (option.required ? "; required" : "")});
  }
  return out;
}

/// The keys of one table of a study file.
HelpSection keys_section(const Section& section) {
  std::string title = section.name.empty() ? "Keys outside any table" : "[" + section.name + "]";
  if (section.task) title += fmt::format(" with kind = \"{}\"", word_of(*section.task));
  return table_section(std::move(title), section.help, section.table);
}

HelpSection prior_section() {
  return table_section(fmt::format("[{}]", kAttentionPriorSection),
                       "Prior of the attention, which is then learned.",
                       AttentionPriorOptions::table());
}

HelpSection values_section() {
  return table_section(fmt::format("[{}]", kValueNetworkSection),
                       "A hidden nonlinear layer in the values.", model::ValueNetwork::table());
}

/// The heads that the hidden-Markov task has.
HelpSection heads_section() {
  return table_section("[[task.layers]] heads = [{KEY = VALUE, ...}, ...]",
                       "The keys of a head. --set takes task.layers as a whole.",
                       tasks::HeadOptions::table());
}

HelpSection sweep_section() {
  return {"The table [sweep]",
          "Trains a run for every combination of the values of any keys; the last line changes "
          "fastest.",
          {{"\"train.attention\" = [\"softmax\", \"hyla\"]", "one key"},
           {"\"train\" = [{attention = \"softmax\"}, {attention = \"hyla\", layers = 4}]",
            "keys that change together"},
           {"seed = [1, 2, 3]", "the final table has the mean over seeds and its standard error"},
           {"\"task.seed\" = [1, 2]", "beside seed: a row, and so a mean over seed, for each"}},
          true};
}

bool takes_task(const Verb& verb, const Section& section) {
  return !section.task || verb.tasks == headway::Side::kBoth ||
         headway::description_of(*section.task).side == verb.tasks;
}

void add_keys(const Verb& verb, std::vector<HelpSection>& sections) {
  if (verb.sections.empty()) return;
  const bool has_task = std::ranges::find(verb.sections, "task") != verb.sections.end();
  const bool takes_any_study = verb.takes_study() && verb.input == nullptr;
  sections.push_back(
      {"The study file",
       fmt::format("The keys of the study file that {} follow, table by table. --set takes each "
                   "as TABLE.KEY=VALUE.{}",
                   has_task ? "matter here" : "belong to this verb",
                   takes_any_study && !has_task
                       ? " Those of [task] and [model] are in headway solve "
                         "--help; headway help KEY explains one."
                       : "")});
  for (const std::string& name : verb.sections) {
    for (const Section& section : headway::study_sections()) {
      if (section.name != name || !takes_task(verb, section)) continue;
      sections.push_back(keys_section(section));
      if (section.task == TaskKind::kHiddenMarkovChain) sections.push_back(heads_section());
    }
    if (name == "sweep") sections.push_back(sweep_section());
    if (name == kAttentionPriorSection) sections.push_back(prior_section());
    if (name == kValueNetworkSection) sections.push_back(values_section());
  }
}

/// A table of a study file, with its name in front of its keys.
struct KeyTable {
  std::string name;
  HelpSection section;
};

std::vector<KeyTable> key_tables() {
  std::vector<KeyTable> tables;
  for (const Section& section : headway::study_sections()) {
    tables.push_back({section.name, keys_section(section)});
  }
  tables.push_back({kAttentionPriorSection, prior_section()});
  tables.push_back({kValueNetworkSection, values_section()});
  tables.push_back({kHeadsSection, heads_section()});
  tables.push_back({"sweep", sweep_section()});
  return tables;
}

void add_unless_empty(HelpSection section, std::vector<HelpSection>& sections) {
  if (!section.entries.empty()) sections.push_back(std::move(section));
}

/// The keys that take this word as their value.
std::vector<HelpSection> sections_with_value(const std::string& word) {
  std::vector<HelpSection> found;
  for (KeyTable& table : key_tables()) {
    std::erase_if(table.section.entries, [quoted = quoted_text(word)](const Explained& entry) {
      return entry.meaning.find(quoted) == std::string::npos;
    });
    add_unless_empty(std::move(table.section), found);
  }
  return found;
}

}  // namespace

HelpPage program_page() {
  HelpPage page{"headway",
                "statistical-mechanics theory of attention networks",
                {"headway VERB [OPTION]... FILE...", "headway VERB --help", "headway --version"},
                "Headway computes what attention networks learn: from the theory of wide networks, "
                "from exact samples of the posterior, and from trained transformers. A verb says "
                "what to compute, a study file on what. Results go to standard output; progress, "
                "warnings and errors go to standard error.",
                {}};
  page.sections = {verb_list(), program_examples(), exit_codes()};
  return page;
}

std::vector<HelpSection> key_sections(const std::string& topic) {
  std::vector<HelpSection> found;
  for (KeyTable& table : key_tables()) {
    // "heads" is a key of tables, and itself the table task.layers.heads: its keys are shown then.
    if (table.name != topic && !table.name.ends_with("." + topic)) {
      const std::string before = table.name.empty() ? "" : table.name + ".";
      std::erase_if(table.section.entries, [&](const Explained& entry) {
        return entry.term != topic && before + entry.term != topic;
      });
    }
    add_unless_empty(std::move(table.section), found);
  }
  return found.empty() ? sections_with_value(topic) : found;
}

std::vector<std::string> key_topics() {
  std::vector<std::string> topics;
  const auto add = [&topics](const std::string& topic) {
    const bool bare =
        topic.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_.") == std::string::npos;
    if (!topic.empty() && bare && std::find(topics.begin(), topics.end(), topic) == topics.end()) {
      topics.push_back(topic);
    }
  };
  for (const KeyTable& table : key_tables()) {
    add(table.name);
    for (const Explained& entry : table.section.entries) {
      add(table.name.empty() ? entry.term : table.name + "." + entry.term);
    }
  }
  return topics;
}

HelpPage verb_page(const Verb& verb) {
  HelpPage page{"headway " + verb.name, verb.summary, {usage_line(verb)}, verb.about, {}};
  add_unless_empty(options_section(verb, true), page.sections);
  page.sections.push_back(options_section(verb, false));
  add_unless_empty({"Examples", "", verb.examples}, page.sections);
  if (!verb.tables.empty()) {
    page.sections.push_back({"What is printed", "The columns of the tables on standard output."});
  }
  for (const ExplainedTable& table : verb.tables) {
    page.sections.push_back({table.title, "", table.columns, true});
  }
  add_keys(verb, page.sections);
  if (verb.takes != Takes::kNothing) page.sections.push_back(exit_codes());
  return page;
}

}  // namespace headway::cli
