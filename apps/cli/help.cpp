#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "completion.hpp"
#include "headway/error.hpp"
#include "help_page.hpp"
#include "terminal.hpp"
#include "usage.hpp"
#include "verbs.hpp"

namespace headway::cli {

namespace {

void write_page(const std::filesystem::path& file, const std::string& text) {
  std::error_code ignored;
  std::filesystem::create_directories(file.parent_path(), ignored);  // what fails shows below
  std::ofstream out(file, std::ios::binary);
  out << text;
  out.close();
  if (out) return;
  throw Error(ErrorKind::kCannotWrite,
              fmt::format("{}: cannot be written: {}", file.string(), std::strerror(errno)));
}

/// Every manual page and completion, in the folders that packages have them in.
void write_pages(const std::filesystem::path& folder) {
  std::vector<HelpPage> pages = {program_page()};
  for (const Verb& verb : verbs()) pages.push_back(verb_page(verb));
  for (const HelpPage& page : pages) {
    write_page(folder / "man/man1" / (manual_name(page) + ".1"), manual_text(page));
  }
  write_page(folder / "bash-completion/completions/headway", bash_completion());
  write_page(folder / "zsh/site-functions/_headway", zsh_completion());
}

std::string help_of_key(const std::string& topic, bool manual) {
  const std::vector<HelpSection> sections = key_sections(topic);
  if (sections.empty()) throw Error(ErrorKind::kUsage, unknown_topic(topic));
  if (manual) {
    throw Error(ErrorKind::kUsage,
                fmt::format("--man: {} is a key or table of study files; allowed: a verb", topic));
  }
  std::string text;
  for (const HelpSection& section : sections) text += help_section_text(section, help_columns());
  return text.substr(1);  // each begins with an empty line
}

int print_help(const Options& options) {
  if (!options.folder.empty()) {
    write_pages(options.folder);
    return kExitOk;
  }
  const Verb* verb = find_verb(options.topic);
  if (verb == nullptr && !options.topic.empty()) {
    write_output(help_of_key(options.topic, options.manual));
    return kExitOk;
  }
  const HelpPage page = verb == nullptr ? program_page() : verb_page(*verb);
  write_output(options.manual ? manual_text(page) : help_text(page));
  return kExitOk;
}

}  // namespace

Verb help_verb() {
  return {.name = "help",
          .summary = "explain the program, a verb, or a key of study files",
          .own = {{"topic", "VERB|KEY",
                   "the verb to explain, or a key or table of study files; without it, the program",
                   &Options::topic, Offers::kTopics},
                  {"--man", "", "print a manual page in the language of man", &Options::manual},
                  {"--write", "FOLDER",
                   "write all manual pages and the completions of shells below this folder, as "
                   "packages install them",
                   &Options::folder, Offers::kFiles}},
          .about = "Prints what --help prints.",
          .examples = {{"headway help solve", "what solve does, its options and keys"},
                       {"headway help model.temperature", "a key: what it is, and what is allowed"},
                       {"headway help heads", "every key of that name"},
                       {"headway help hyla", "the keys that take this value"},
                       {"headway help task.layers.heads", "the keys of a table"},
                       {"headway help solve --man | man -l -", "the same as a manual page"}},
          .takes = Takes::kNothing,
          .run = &print_help};
}

}  // namespace headway::cli
