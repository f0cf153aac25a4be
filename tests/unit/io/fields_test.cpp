// src/io/README.md says of every field what the lists say.
// HEADWAY_WRITE_FIELDS=1 build/release/bin/unit_sanitized_tests -# "[#fields_test]" writes it anew.
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "catch.hpp"
#include "headway/results/field_tables.hpp"

using namespace headway;  // NOLINT(google-build-using-namespace)

namespace {

/// A text as Markdown's tables take it.
std::string cell(std::string text) {
  for (std::size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2) {
    text.insert(at, "\\");
  }
  return text;
}

std::string markdown() {
  std::string out;
  for (const FieldTable& section : field_tables()) {
    out += "\n" + section.title + ":\n\n| in the file | in JSON | meaning |\n|---|---|---|\n";
    for (const ListedField& f : section.fields) {
      const std::string file =
          f.name.empty() ? "" : "`" + f.name + "`" + (f.kind == "array" ? " (array)" : "");
      const std::string json = f.json.empty()     ? ""
                               : f.json == f.name ? "the same"
                                                  : "`" + f.json + "`";
      out += "| " + file + " | " + json + " | " + cell(f.meaning) + " |\n";
    }
  }
  return out + "\n";
}

std::string read(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

/// The README with `table` between its two marks.
std::string with_table(const std::string& readme, const std::string& table) {
  const std::string begin = "<!-- fields:begin -->\n", end = "<!-- fields:end -->";
  const std::size_t from = readme.find(begin), to = readme.find(end);
  REQUIRE(from != std::string::npos);
  REQUIRE(to != std::string::npos);
  return readme.substr(0, from + begin.size()) + table + readme.substr(to);
}

void check(const std::string& path, const std::string& wanted) {
  if (std::getenv("HEADWAY_WRITE_FIELDS") != nullptr) std::ofstream(path) << wanted;
  INFO(path << " is not what the lists say: HEADWAY_WRITE_FIELDS=1 with this test writes it anew");
  CHECK((read(path) == wanted));
}

}  // namespace

TEST_CASE("The table of fields in src/io/README.md is that of the lists") {
  const std::string path = HEADWAY_SOURCE_DIR "/src/io/README.md";
  check(path, with_table(read(path), markdown()));
}

TEST_CASE("A verb documents the fields of its own records") {
  const Documentation aligned = documentation_of("align");
  const auto place = [&](const std::string& name) {
    return std::count(aligned.field.begin(), aligned.field.end(), name);
  };
  CHECK(aligned.field.size() == aligned.meaning.size());
  for (const char* name : {"study_hash", "heads", "points/<i>/accuracy",
                           "points/<i>/alignment/overlaps", "gaussian_process/<j>/mean"}) {
    CHECK(place(name) == 1);
  }
  CHECK(place("points/<i>/pruning/score") == 0);
  CHECK(place("runs/<i>/label") == 0);
}
