// Manual pages: the same pages as --help, in the language of man(7).
#include <fmt/format.h>

#include <algorithm>

#include "headway/core/text.hpp"
#include "headway/provenance.hpp"
#include "help_page.hpp"
#include "verbs.hpp"

namespace headway::cli {

namespace {

/// Text as the formatter shows it: dashes of options stay dashes, and no line is a request.
std::string roff(const std::string& text) {
  std::string out;
  for (const char letter : text) {
    if (letter == '\\') {
      out += "\\e";
    } else if (letter == '-') {
      out += "\\-";
    } else {
      out += letter;
    }
  }
  return !out.empty() && (out[0] == '.' || out[0] == '\'') ? "\\&" + out : out;
}

/// An argument of a request, between quotes.
std::string roff_argument(const std::string& text) {
  std::string out;
  for (const char letter : roff(text))
    out += letter == '"' ? std::string("\\(dq") : std::string(1, letter);
  return '"' + out + '"';
}

std::string upper_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  return text;
}

std::string manual_section(const HelpSection& section) {
  std::string out = section.below
                        ? fmt::format(".SS {}\n", roff_argument(section.title))
                        : fmt::format(".SH {}\n", roff_argument(upper_case(section.title)));
  if (!section.lead.empty()) out += roff(section.lead) + "\n";
  for (const Explained& entry : section.entries) {
    out += fmt::format(".TP\n.B {}\n", roff_argument(entry.term));
    bool first = true;
    for (const std::string& paragraph : split(entry.meaning, '\n')) {
      out += (first ? "" : ".br\n") + roff(paragraph) + "\n";
      first = false;
    }
  }
  return out;
}

std::string see_also(const HelpPage& page) {
  std::string out = ".SH \"SEE ALSO\"\n";
  std::vector<std::string> names;
  if (page.name != "headway") names.push_back("headway");
  for (const Verb& verb : verbs()) {
    if (page.name != "headway " + verb.name) names.push_back("headway-" + verb.name);
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    out += fmt::format(".BR {} (1){}\n", roff(names[i]), i + 1 < names.size() ? "," : "");
  }
  return out;
}

}  // namespace

std::string manual_name(const HelpPage& page) {
  std::string name = page.name;
  std::replace(name.begin(), name.end(), ' ', '-');
  return name;
}

std::string manual_text(const HelpPage& page) {
  const BuildInfo build = headway::build_info();
  std::string out =
      fmt::format(".TH {} 1 \"{}\" {} \"Headway\"\n", roff_argument(upper_case(manual_name(page))),
                  build.date, roff_argument("headway " + build.version));
  out += fmt::format(".SH NAME\n{} \\- {}\n.SH SYNOPSIS\n", roff(manual_name(page)),
                     roff(page.summary));
  for (const std::string& line : page.usage) {
    out +=
        fmt::format("{}.B {}\n", &line == &page.usage.front() ? "" : ".br\n", roff_argument(line));
  }
  if (!page.about.empty()) out += ".SH DESCRIPTION\n" + roff(page.about) + "\n";
  for (const HelpSection& section : page.sections) out += manual_section(section);
  return out + see_also(page);
}

}  // namespace headway::cli
