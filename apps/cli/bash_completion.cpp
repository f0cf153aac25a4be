#include <fmt/format.h>

#include <algorithm>

#include "command_options.hpp"
#include "completion.hpp"
#include "headway/core/text.hpp"
#include "verbs.hpp"

namespace headway::cli {

namespace {

/// A line of a case statement that prints words.
std::string case_line(const std::string& pattern, const std::string& printed) {
  return fmt::format("    {}) echo \"{}\" ;;\n", pattern, printed);
}

std::string options_line(const Verb& verb) {
  std::vector<std::string> names;
  for (const CommandOption& option : options_of(verb)) {
    if (option.is_argument()) continue;
    for (const std::string& name : option.spellings()) names.push_back(name);
  }
  names.emplace_back("--help");
  return case_line(verb.name, join(names, " "));
}

/// What the function _headway does for a value.
std::string bash_word(const CommandOption& option) {
  switch (option.offers) {
    case Offers::kNothing:
      return "nothing";
    case Offers::kFiles:
      return "files";
    case Offers::kStudies:
      return "studies";
    case Offers::kKeys:
      return "keys";
    case Offers::kTopics:
      return "topics";
    case Offers::kWords:
      return join(option.words, " ");
  }
  return "nothing";
}

/// What stands after each option that takes a value, and at the place of the arguments.
std::string values_lines(const Verb& verb) {
  std::string out;
  std::string argument = "nothing";
  for (const CommandOption& option : options_of(verb)) {
    if (option.is_argument()) {
      argument = bash_word(option);
    } else if (!option.is_switch()) {
      for (const std::string& name : option.spellings()) {
        out += case_line(fmt::format("\"{} {}\"", verb.name, name), bash_word(option));
      }
    }
  }
  return out + case_line(fmt::format("\"{} \"", verb.name), argument);
}

std::string words_lines() {
  std::string out;
  for (const std::string& key : study_keys()) {
    const std::vector<std::string> words = words_of_key(key);
    if (!words.empty()) out += case_line(key, join(words, " "));
  }
  return out;
}

/// Names of tables, "model.", and keys outside of them, "seed=".
std::string first_parts() {
  std::vector<std::string> parts;
  for (const std::string& key : study_keys()) {
    const std::size_t dot = key.find('.');
    const std::string part = dot == std::string::npos ? key + "=" : key.substr(0, dot + 1);
    if (std::find(parts.begin(), parts.end(), part) == parts.end()) parts.push_back(part);
  }
  return join(parts, " ");
}

std::string whole_keys() {
  std::vector<std::string> keys;
  for (const std::string& key : study_keys()) keys.push_back(key + "=");
  return join(keys, " ");
}

constexpr const char* kBashFunctions = R"bash(
# Adds the lines that a command prints. An array of "$(...)" would expand file names with brackets.
_headway_add() {
  mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <("$@")
}

# Takes those of the words $1 that begin with $cur.
_headway_offer() {
  local IFS=$' \t\n'
  _headway_add compgen -W "$1" -- "$cur"
}

_headway_offer_files() {
  compopt -o filenames 2>/dev/null
  _headway_add compgen -f -- "$cur"
}

# A key of a study file with "="; first the table that it is in, then the rest. After "=" its values.
_headway_offer_keys() {
  if [[ $cur == *=* ]]; then
    local key=${cur%%=*} IFS=$' \t\n'
    _headway_add compgen -P "$key=" -W "$(_headway_words_of_key "$key")" -- "${cur#*=}"
    return
  fi
  compopt -o nospace 2>/dev/null
  if [[ $cur == *.* ]]; then
    _headway_offer "$_headway_keys"
  else
    _headway_offer "$_headway_tables"
  fi
}

_headway_offer_value() {
  case $1 in
    nothing) ;;
    files) _headway_offer_files ;;
    keys) _headway_offer_keys ;;
    topics)
      compopt -o nospace 2>/dev/null
      if [[ $cur == *.* ]]; then
        _headway_offer "$_headway_dotted_topics"
      else
        _headway_offer "$_headway_verbs $_headway_topics"
      fi
      ;;
    studies)
      _headway_offer "$("${COMP_WORDS[0]}" studies --names 2>/dev/null)"
      _headway_offer_files
      ;;
    *) _headway_offer "$1" ;;
  esac
}

_headway() {
  local word cur last value joined= i
  local -a typed=()
  COMPREPLY=()
  # bash breaks words at "=" and ":"; here they are whole again.
  for ((i = 0; i <= COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    if ((i > 0)) && [[ $joined || $word == [=:]* ]]; then
      typed[${#typed[@]}-1]+=$word
    else
      typed+=("$word")
    fi
    joined=
    [[ $word == *[=:] ]] && joined=yes
  done
  cur=${typed[${#typed[@]}-1]}
  last=
  ((${#typed[@]} > 2)) && last=${typed[${#typed[@]}-2]}
  if ((${#typed[@]} == 2)); then
    _headway_offer "$_headway_verbs --help --version"
    return
  fi
  if [[ $cur == --*=* ]]; then
    last=${cur%%=*}
    cur=${cur#*=}
  fi
  value=$(_headway_value_of "${typed[1]} $last")
  if [[ $value ]]; then
    _headway_offer_value "$value"
  elif [[ $cur == -* ]]; then
    _headway_offer "$(_headway_options_of "${typed[1]}")"
  else
    _headway_offer_value "$(_headway_value_of "${typed[1]} ")"
  fi
  # bash replaces what stands after the last break.
  local kept=${cur%"${cur##*[=:]}"}
  [[ $kept && $COMP_WORDBREAKS == *[=:]* ]] && COMPREPLY=("${COMPREPLY[@]#"$kept"}")
  return 0
}

complete -o default -F _headway headway
)bash";

}  // namespace

std::string bash_completion() {
  std::vector<std::string> names;
  std::string options;
  std::string values;
  for (const Verb& verb : verbs()) {
    names.push_back(verb.name);
    options += options_line(verb);
    values += values_lines(verb);
  }
  std::string out = "# Completion of headway in bash, printed by: headway completion bash\n\n";
  out += fmt::format("_headway_verbs=\"{}\"\n", join(names, " "));
  out += fmt::format("_headway_tables=\"{}\"\n", first_parts());
  out += fmt::format("_headway_keys=\"{}\"\n", whole_keys());
  out += fmt::format("_headway_topics=\"{}\"\n", join(help_topics(false), " "));
  out += fmt::format("_headway_dotted_topics=\"{}\"\n", join(help_topics(true), " "));
  out += "\n_headway_options_of() {\n  case $1 in\n" + options + "  esac\n}\n";
  out +=
      "\n# What is offered after an option (\"solve --set\"), or for an argument (\"solve \").\n";
  out += "_headway_value_of() {\n  case $1 in\n" + values + "  esac\n}\n";
  out += "\n_headway_words_of_key() {\n  case $1 in\n" + words_lines() + "  esac\n}\n";
  return out + kBashFunctions;
}

}  // namespace headway::cli
