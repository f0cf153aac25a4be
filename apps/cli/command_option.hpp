#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "options.hpp"

namespace headway::cli {

/// What a shell offers where the value of an option is typed.
enum class Offers {
  kNothing,
  kFiles,
  kStudies,  ///< the studies that come with Headway, and files
  kKeys,     ///< keys of a study file, for section.key=value
  kTopics,   ///< of help: verbs, and tables and keys of a study file
  kWords,    ///< CommandOption::words
};

/// Where the value of an option goes.
using OptionMember =
    std::variant<bool Options::*, std::string Options::*, std::vector<std::string> Options::*,
                 std::optional<int> Options::*, std::optional<std::uint64_t> Options::*>;

/// One option of the command line, or one argument that is known by its place. Parsing, --help,
/// the manual pages and completion in shells all read this description.
struct CommandOption {
  std::string names;  ///< "-o,--output"; without a dash, "input": an argument
  std::string value;  ///< what stands for its value, "FILE.h5"; empty for a switch
  std::string help;
  OptionMember member;
  Offers offers = Offers::kNothing;
  std::vector<std::string> words = {};   ///< the values that there are, for Offers::kWords
  std::uint64_t least = 0, most = 4096;  ///< of whole numbers
  bool required = false;                 ///< of arguments

  [[nodiscard]] bool is_argument() const { return !names.starts_with('-'); }
  [[nodiscard]] bool is_switch() const { return value.empty(); }
  /// "-o" and "--output".
  [[nodiscard]] std::vector<std::string> spellings() const;
  /// The longest of them, "--output".
  [[nodiscard]] std::string long_name() const { return spellings().back(); }
};

}  // namespace headway::cli
