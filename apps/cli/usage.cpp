#include "usage.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "command_options.hpp"
#include "headway/core/nearest_word.hpp"
#include "headway/core/text.hpp"
#include "verbs.hpp"

namespace headway::cli {

namespace {

std::vector<std::string> verb_names() {
  std::vector<std::string> names;
  for (const Verb& verb : verbs()) names.push_back(verb.name);
  return names;
}

/// A word that may have been meant, how far it is from what was typed, and how to write it.
struct Guess {
  std::string name;
  std::string text;
  int distance = 1 << 20;
};

std::string bare(const std::string& option) { return option.substr(option.find_first_not_of('-')); }

Guess nearest_option(const Verb& verb, const std::string& word) {
  std::vector<std::string> names;
  for (const CommandOption& option : options_of(verb)) {
    if (!option.is_argument()) names.push_back(bare(option.long_name()));
  }
  const std::string name = nearest_word(word, names);
  return name.empty() ? Guess{} : Guess{name, "--" + name, edit_distance(word, name)};
}

/// The key whose last part, or whose whole, is nearest to the word, as --set takes it.
Guess nearest_key(const std::vector<std::string>& sections, const std::string& word,
                  const std::string& value) {
  const bool whole = word.find('.') != std::string::npos;
  const std::vector<std::string> keys = study_keys(sections);
  std::vector<std::string> names;
  for (const std::string& key : keys) names.push_back(whole ? key : key.substr(key.rfind('.') + 1));
  const std::string name = nearest_word(word, names);
  if (name.empty()) return {};
  const auto at = std::find(names.begin(), names.end(), name) - names.begin();
  const std::string& key = keys[static_cast<std::size_t>(at)];
  return {key,
          value.empty() ? "--set " + key + "=..." : shell_command({"--set", key + "=" + value}),
          edit_distance(word, name)};
}

/// What was probably meant by an unknown option; "" where nothing is near.
std::string meant_by(const Verb& verb, const std::string& word, const std::string& value) {
  Guess best = nearest_option(verb, word);
  if (verb.takes_study()) {
    Guess key = nearest_key(verb.sections, word, value);
    if (key.text.empty()) key = nearest_key({}, word, value);
    if (key.distance < best.distance) best = key;
  }
  return best.text;
}

/// "train" or "solve, sample": the verbs that have this option; "" for none.
std::string verbs_with(const std::string& option) {
  std::vector<std::string> names;
  for (const Verb& verb : verbs()) {
    if (option_named(options_of(verb), option) != nullptr) names.push_back(verb.name);
  }
  return join(names);
}

/// The value of an unknown option: after its "=", else the next argument, unless that is an option.
std::string value_beside(const std::string& word, const std::vector<std::string>& arguments) {
  const std::size_t equals = word.find('=');
  if (equals != std::string::npos) return word.substr(equals + 1);
  const auto at = std::find(arguments.begin(), arguments.end(), word);
  if (at == arguments.end() || at + 1 == arguments.end() || (at + 1)->starts_with('-')) return "";
  return *(at + 1);
}

}  // namespace

std::string unknown_option(const Verb& verb, const std::string& word,
                           const std::vector<std::string>& arguments) {
  const std::string name = word.substr(0, word.find('='));
  std::string guess;
  if (name.find_first_not_of('-') != std::string::npos) {
    const std::string owners = verbs_with(name);
    const std::string meant = meant_by(verb, bare(name), value_beside(word, arguments));
    if (!owners.empty()) {
      guess = "; it is an option of " + owners;
    } else if (!meant.empty()) {
      guess = "; did you mean " + meant + "?";
    }
  }
  return fmt::format("{}: {} has no such option{}\nheadway {} --help lists its options{}", name,
                     verb.name, guess, verb.name,
                     verb.sections.empty() ? "" : " and the keys of --set");
}

std::string without_verb(const std::string& first) {
  if (!first.empty()) {
    return fmt::format(
        "{}: no such option; a verb comes first, as in headway solve\n"
        "headway --help lists the verbs",
        first);
  }
  return "a verb is missing, as in: headway solve hmm-four-paths\nverbs: " + join(verb_names()) +
         "\nheadway --help says what they do, headway studies what comes with Headway";
}

std::string unknown_verb(const std::string& word) {
  const std::string guess = nearest_word(word, verb_names());
  return fmt::format("{}: no such verb{}\nverbs: {}", word,
                     guess.empty() ? "" : fmt::format("; did you mean {}?", guess),
                     join(verb_names()));
}

std::string unknown_topic(const std::string& word) {
  const Guess key = nearest_key({}, word, "");
  std::string guess = nearest_word(word, verb_names());
  if (guess.empty() || edit_distance(word, guess) > key.distance) guess = key.name;
  return fmt::format("{}: no such verb, and no key of study files{}\nverbs: {}", word,
                     guess.empty() ? "" : fmt::format("; did you mean {}?", guess),
                     join(verb_names()));
}

std::string without_input(const Verb& verb) {
  std::string out;
  for (const CommandOption& option : options_of(verb)) {
    if (!option.is_argument() || !option.required) continue;
    out = fmt::format("{} needs {}: {}", verb.name, option.value, option.help);
    break;
  }
  if (!verb.examples.empty()) out += "\nfor example: " + verb.examples.front().term;
  if (verb.takes_study() && verb.input == nullptr) {
    out += "\nheadway studies lists the studies that come with Headway";
  }
  return out + fmt::format("\nheadway {} --help explains everything", verb.name);
}

std::string argument_too_many(const Verb& verb, const std::string& word) {
  return fmt::format("{}: one argument too many; usage: {}", word, usage_line(verb));
}

std::string wrong_count(const CommandOption& option, bool too_many) {
  if (too_many) return option.long_name() + ": is given more than once";
  return fmt::format("{}: needs a value, {} {}: {}", option.long_name(), option.long_name(),
                     option.value, option.help);
}

}  // namespace headway::cli
