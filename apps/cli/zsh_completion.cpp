#include <fmt/format.h>

#include <algorithm>

#include "command_options.hpp"
#include "completion.hpp"
#include "headway/core/text.hpp"
#include "verbs.hpp"

namespace headway::cli {

namespace {

/// A word between single quotes.
std::string zsh_quoted(const std::string& text) {
  std::string out = "'";
  for (const char letter : text)
    out += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  return out + "'";
}

/// A backslash before each of some letters.
std::string escaped(const std::string& text, const std::string& letters) {
  std::string out;
  for (const char letter : text) {
    if (letters.find(letter) != std::string::npos) out += '\\';
    out += letter;
  }
  return out;
}

/// The function that completes a value.
std::string zsh_action(const CommandOption& option) {
  switch (option.offers) {
    case Offers::kNothing:
      return " ";
    case Offers::kFiles:
      return "_files";
    case Offers::kStudies:
      return "_headway_studies";
    case Offers::kKeys:
      return "_headway_keys";
    case Offers::kTopics:
      return "_headway_topics";
    case Offers::kWords:
      return "(" + join(option.words, " ") + ")";
  }
  return " ";
}

/// A line of _arguments for one spelling of an option, or for an argument.
std::string zsh_spec(const CommandOption& option, const std::string& spelling) {
  const std::string value = ":" + escaped(option.value, ":") + ":" + zsh_action(option);
  if (option.is_argument()) return zsh_quoted((option.required ? ":" : "*:") + value.substr(1));
  const bool repeats = std::holds_alternative<std::vector<std::string> Options::*>(option.member);
  const std::string excluded = repeats ? "*" : "(" + join(option.spellings(), " ") + ")";
  return zsh_quoted(excluded + spelling + "[" + escaped(option.help, "[]\\") + "]" +
                    (option.is_switch() ? "" : value));
}

std::string arguments_of(const Verb& verb) {
  std::string out = fmt::format("        {})\n          _arguments -s -S", verb.name);
  for (const CommandOption& option : options_of(verb)) {
    for (const std::string& spelling : option.spellings()) {
      out += " \\\n            " + zsh_spec(option, spelling);
    }
  }
  return out + " \\\n            '(-h --help)'{-h,--help}'[print help]'\n          ;;\n";
}

std::string zsh_list(const std::vector<std::string>& words, const char* indent) {
  std::string out;
  for (const std::string& word : words) out += indent + zsh_quoted(word) + "\n";
  return out;
}

std::string values_of_keys() {
  std::string out;
  for (const std::string& key : study_keys()) {
    const std::vector<std::string> words = words_of_key(key);
    if (!words.empty()) out += fmt::format("      *{}=) compadd {} ;;\n", key, join(words, " "));
  }
  return out;
}

std::vector<std::string> tables_of_keys() {
  std::vector<std::string> tables;
  for (const std::string& key : study_keys()) {
    const std::size_t dot = key.find('.');
    if (dot == std::string::npos) continue;
    const std::string table = key.substr(0, dot + 1);
    if (std::find(tables.begin(), tables.end(), table) == tables.end()) tables.push_back(table);
  }
  return tables;
}

std::vector<std::string> keys_where(bool in_table) {
  std::vector<std::string> keys;
  for (const std::string& key : study_keys()) {
    if ((key.find('.') != std::string::npos) == in_table) keys.push_back(key);
  }
  return keys;
}

constexpr const char* kZshStudies = R"zsh(
_headway_studies() {
  local -a names
  names=(${(f)"$(_call_program studies headway studies --names 2>/dev/null)"})
  _alternative 'studies:study of Headway:compadd -a names' 'files:file:_files'
}
)zsh";

/// First the table that a key is in, then the key with "=", then its value.
std::string keys_function() {
  return "\n_headway_keys() {\n  local -a tables outside keys\n  tables=(\n" +
         zsh_list(tables_of_keys(), "    ") + "  )\n  outside=(\n" +
         zsh_list(keys_where(false), "    ") + "  )\n  keys=(\n" +
         zsh_list(keys_where(true), "    ") +
         "  )\n"
         "  if compset -P 1 '*='; then\n"
         "    case $IPREFIX in\n" +
         values_of_keys() +
         "      *) _files ;;\n"
         "    esac\n"
         "  elif [[ $PREFIX == *.* ]]; then\n"
         "    compadd -S = -a keys\n"
         "  else\n"
         "    compadd -S '' -a tables\n"
         "    compadd -S = -a outside\n"
         "  fi\n"
         "}\n";
}

std::string verbs_function() {
  std::vector<std::string> lines;
  for (const Verb& verb : verbs()) {
    lines.push_back(verb.name + ":" + escaped(verb.summary, ":\\"));
  }
  return "\n_headway_verbs() {\n  local -a verbs\n  verbs=(\n" + zsh_list(lines, "    ") +
         "  )\n  _describe -t verbs verb verbs\n}\n";
}

std::string topics_function() {
  return "\n_headway_topics() {\n  local -a topics dotted\n  topics=(\n" +
         zsh_list(help_topics(false), "    ") + "  )\n  dotted=(\n" +
         zsh_list(help_topics(true), "    ") +
         "  )\n"
         "  if [[ $PREFIX == *.* ]]; then\n"
         "    compadd -a dotted\n"
         "  else\n"
         "    _headway_verbs\n"
         "    compadd -S '' -a topics\n"
         "  fi\n"
         "}\n";
}

}  // namespace

std::string zsh_completion() {
  std::string out =
      "#compdef headway\n# Completion of headway in zsh, printed by: headway completion zsh\n";
  out += verbs_function() + kZshStudies + keys_function() + topics_function();
  out +=
      "\n_headway() {\n"
      "  local context state line\n"
      "  typeset -A opt_args\n"
      "  _arguments -C '(-h --help)'{-h,--help}'[print help]' '--version[print the version]' \\\n"
      "    '1:verb:_headway_verbs' '*::argument:->rest'\n"
      "  case $state in\n"
      "    rest)\n"
      "      case $words[1] in\n";
  for (const Verb& verb : verbs()) out += arguments_of(verb);
  return out +
         "      esac\n"
         "      ;;\n"
         "  esac\n"
         "}\n\n"
         "# Called by the completion system, or read by a shell to define it.\n"
         "if [[ $zsh_eval_context[-1] == loadautofunc ]]; then\n"
         "  _headway \"$@\"\n"
         "else\n"
         "  compdef _headway headway\n"
         "fi\n";
}

}  // namespace headway::cli
