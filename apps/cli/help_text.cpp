// What --help prints.
#include <algorithm>

#include "headway/core/text.hpp"
#include "headway/results/table.hpp"
#include "help_page.hpp"
#include "terminal.hpp"

namespace headway::cli {

namespace {

constexpr std::size_t kFewestColumns = 40;
constexpr std::size_t kMostColumns = 100;
constexpr std::size_t kIndent = 2;
constexpr std::size_t kLongestTerm = 26;  ///< whose meaning begins on the same line

std::string with_capital(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] -= 'a' - 'A';
  return text;
}

/// Where the meanings of a section begin: right of its terms, or below them where most are long.
std::size_t column_of(const HelpSection& section) {
  std::size_t longest = 0;
  std::size_t few = 0;
  for (const Explained& entry : section.entries) {
    if (entry.term.size() > kLongestTerm) continue;
    longest = std::max(longest, entry.term.size());
    ++few;
  }
  return 2 * few < section.entries.size() ? 3 * kIndent : kIndent + longest + 2;
}

std::string entry_text(const Explained& entry, std::size_t column, std::size_t columns) {
  std::string out = std::string(kIndent, ' ') + entry.term;
  bool beside = out.size() + 2 <= column;
  for (const std::string& paragraph : split(entry.meaning, '\n')) {
    out += beside ? std::string(column - out.size(), ' ') : "\n" + std::string(column, ' ');
    out += indented(paragraph, column, columns);
    beside = false;
  }
  return out + "\n";
}

}  // namespace

std::size_t help_columns() {
  const std::size_t terminal = output_columns();
  if (terminal == 0) return kMostColumns;
  return std::clamp(terminal, kFewestColumns, kMostColumns);
}

std::string help_section_text(const HelpSection& section, std::size_t columns) {
  std::string out = "\n" + indented(section.title + ":", kIndent, columns) + "\n";
  if (!section.lead.empty()) {
    out +=
        std::string(kIndent, ' ') + indented(with_capital(section.lead), kIndent, columns) + "\n";
  }
  const std::size_t column = column_of(section);
  for (const Explained& entry : section.entries) out += entry_text(entry, column, columns);
  return out;
}

std::string help_text(const HelpPage& page, std::size_t columns) {
  std::string out = indented(page.name + ": " + page.summary, kIndent, columns) + "\n\nUsage:\n";
  for (const std::string& line : page.usage) out += "  " + line + "\n";
  if (!page.about.empty()) out += "\n" + indented(page.about, 0, columns) + "\n";
  for (const HelpSection& section : page.sections) out += help_section_text(section, columns);
  return out;
}

}  // namespace headway::cli
