#include "headway/jobs/shipped_studies.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <vector>

#include "headway/core/nearest_word.hpp"
#include "headway/core/plugin.hpp"
#include "headway/error.hpp"

namespace headway::jobs {

namespace {

namespace fs = std::filesystem;

std::vector<fs::path> folders() {
  return {own_prefix() / "share/headway/studies", HEADWAY_STUDIES_BUILT, HEADWAY_STUDIES_INSTALLED};
}

bool is_bare_name(const std::string& input) {
  constexpr const char* kLetters = "abcdefghijklmnopqrstuvwxyz0123456789-_";
  return !input.empty() && input.find_first_not_of(kLetters) == std::string::npos;
}

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) {
    if (entry.path().extension() == ".toml") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

/// What a line says after "# Field: "; "" where it says nothing of that.
std::string said_of(const std::string& field, const std::string& line) {
  const std::string mark = "# " + field + ": ";
  return line.starts_with(mark) ? line.substr(mark.size()) : "";
}

ShippedStudy described(const fs::path& file) {
  ShippedStudy study{file.stem().string(), file.string(), "", "", ""};
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (study.about.empty()) study.about = said_of("About", line);
    if (study.verbs.empty()) study.verbs = said_of("Verbs", line);
    if (study.time.empty()) study.time = said_of("Time", line);
  }
  return study;
}

}  // namespace

std::vector<ShippedStudy> shipped_studies() {
  std::vector<ShippedStudy> studies;
  for (const fs::path& folder : folders()) {
    for (const std::string& name : names_in(folder)) {
      studies.push_back(described(folder / (name + ".toml")));
    }
    if (!studies.empty()) break;
  }
  return studies;
}

std::string find_input(const std::string& input) {
  std::error_code ignored;
  // A link that leads nowhere is there, too: its reader says what is wrong with it.
  if (!is_bare_name(input) || fs::exists(fs::symlink_status(input, ignored))) return input;
  std::vector<std::string> known;
  for (const fs::path& folder : folders()) {
    const fs::path study = folder / (input + ".toml");
    if (fs::exists(study, ignored)) return study.string();
    if (known.empty()) known = names_in(folder);
  }
  const std::string guess = nearest_word(input, known);
  throw Error(
      ErrorKind::kMissingFile,
      fmt::format("{}: cannot be opened: no such file, and no study of that name comes with "
                  "Headway{}",
                  input, guess.empty() ? "" : fmt::format(" (did you mean \"{}\"?)", guess)));
}

}  // namespace headway::jobs
