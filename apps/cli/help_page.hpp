#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "verb.hpp"

namespace headway::cli {

/// A part of a page: terms with their meanings.
struct HelpSection {
  std::string title;
  std::string lead = {};  ///< a paragraph before the terms
  std::vector<Explained> entries = {};
  bool below = false;  ///< belongs to the section before it
};

/// What is to be said of the program or of one verb. --help and the manual page are two ways to
/// print it.
struct HelpPage {
  std::string name;     ///< "headway", "headway solve"
  std::string summary;  ///< one line
  std::vector<std::string> usage;
  std::string about;  ///< a paragraph
  std::vector<HelpSection> sections;
};

HelpPage program_page();
HelpPage verb_page(const Verb& verb);

/// What --help says of a key of study files ("model.widths", or "widths" in whatever tables have
/// it), or of a whole table ("model"); nothing where there is no such key or table.
std::vector<HelpSection> key_sections(const std::string& topic);

/// Every topic that key_sections() knows by its whole name: "model", "model.widths".
std::vector<std::string> key_topics();

/// Columns that help is wrapped to: those of the terminal, at most 100, which is also what pipes
/// and files get.
std::size_t help_columns();

/// What --help prints: no line is longer than `columns`, but for words that are.
std::string help_text(const HelpPage& page, std::size_t columns = help_columns());

/// One section of it, with an empty line before.
std::string help_section_text(const HelpSection& section, std::size_t columns);

/// A manual page of section 1, as man and mandoc read it.
std::string manual_text(const HelpPage& page);

/// "headway-solve"
std::string manual_name(const HelpPage& page);

}  // namespace headway::cli
