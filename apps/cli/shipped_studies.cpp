#include "shipped_studies.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "headway/core/error.hpp"
#include "headway/core/nearest_word.hpp"

namespace headway::cli {

namespace {

namespace fs = std::filesystem;

/// See add_studies_folder().
std::vector<fs::path>& further_folders() {
  static std::vector<fs::path> folders;
  return folders;
}

std::vector<fs::path> folders() {
  std::vector<fs::path> out = further_folders();
  out.insert(out.end(), {HEADWAY_STUDIES_BUILT, HEADWAY_STUDIES_INSTALLED});
  std::error_code failure;
  const fs::path program = fs::read_symlink("/proc/self/exe", failure);
  if (!failure) out.push_back(program.parent_path().parent_path() / "share/headway/studies");
  return out;
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

}  // namespace

void add_studies_folder(const std::string& folder) { further_folders().emplace_back(folder); }

std::string find_input(const std::string& input) {
  std::error_code ignored;
  if (!is_bare_name(input) || fs::exists(input, ignored)) return input;
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

}  // namespace headway::cli
