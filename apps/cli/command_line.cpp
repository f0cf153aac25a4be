#include "command_line.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <string_view>

#include "command_options.hpp"
#include "headway/error.hpp"
#include "headway/numerics/blas.hpp"
#include "headway/provenance.hpp"
#include "help_page.hpp"
#include "usage.hpp"
#include "verbs.hpp"

namespace headway::cli {

namespace {

std::string version_text() {
  const BuildInfo build = headway::build_info();
  return fmt::format("headway {}\ncommit {}{}\n{}, {}\n{}\n", build.version, build.git_commit,
                     build.date.empty() ? "" : ", " + build.date, build.compiler, build.build_type,
                     numerics::blas_description());
}

/// "" for a value that an option takes, else what it must be.
std::string fault_of_text(const CommandOption& /*option*/, const std::string& value) {
  return value.empty() ? "must not be empty" : "";
}

std::string fault_of_number(const CommandOption& option, const std::string& value) {
  std::uint64_t number = 0;
  const auto [end, failure] = std::from_chars(value.data(), value.data() + value.size(), number);
  const bool whole = failure == std::errc() && end == value.data() + value.size();
  if (whole && number >= option.least && number <= option.most) return "";
  return fmt::format("{}: must be a whole number from {} to {}", value, option.least, option.most);
}

CLI::Validator checked(const CommandOption& option,
                       std::string (*fault)(const CommandOption&, const std::string&)) {
  return CLI::Validator([option, fault](const std::string& value) { return fault(option, value); },
                        "");
}

/// Has the parser know an option of the table.
struct Adder {
  CLI::App& command;
  const CommandOption& option;
  Options& options;

  void operator()(bool Options::*member) const { command.add_flag(option.names, options.*member); }
  void operator()(std::string Options::*member) const {
    CLI::Option* added = command.add_option(option.names, options.*member);
    if (!option.is_argument()) added->check(checked(option, &fault_of_text));
  }
  void operator()(std::vector<std::string> Options::*member) const {
    CLI::Option* added = command.add_option(option.names, options.*member);
    if (!option.is_argument()) added->allow_extra_args(false);
  }
  template <class Number>
  void operator()(std::optional<Number> Options::*member) const {
    command.add_option(option.names, options.*member)->check(checked(option, &fault_of_number));
  }
};

[[noreturn]] void usage_error(const std::string& what) { throw Error(ErrorKind::kUsage, what); }

/// What the parser threw, in our words where it is one of the two things that users meet.
std::string fault_of_parsing(const CLI::ParseError& error,
                             const std::vector<CommandOption>& options) {
  std::string what = error.what();
  const CommandOption* option = option_named(options, what.substr(0, what.find(':')));
  if (option == nullptr || dynamic_cast<const CLI::ArgumentMismatch*>(&error) == nullptr) {
    return what;
  }
  return wrong_count(*option, what.find("received") != std::string::npos);
}

/// What must be there and what excludes each other, when every option has been read.
void check_arguments(const Verb& verb, const CommandLine& line,
                     const std::vector<std::string>& unknown) {
  const auto mark = std::find(unknown.begin(), unknown.end(), "--");  // which the parser keeps
  const auto dashed =
      std::find_if(unknown.begin(), mark, [](const auto& one) { return one.starts_with('-'); });
  if (dashed != mark) usage_error(unknown_option(verb, *dashed, line.options.command));
  const auto word = mark == unknown.begin() && mark != unknown.end() ? mark + 1 : unknown.begin();
  if (word != unknown.end()) usage_error(argument_too_many(verb, *word));
  for (const CommandOption& option : options_of(verb)) {
    const auto* text = std::get_if<std::string Options::*>(&option.member);
    if (option.required && text != nullptr && (line.options.*(*text)).empty()) {
      usage_error(without_input(verb));
    }
  }
  if (line.options.quiet && line.options.verbose) {
    usage_error("--quiet and --verbose: only one of them can be given");
  }
}

/// The arguments after the verb. The parser takes the "=" of "-o=x.h5" for a part of the value, so
/// such a word becomes two. After "--" all words are arguments.
std::vector<std::string> words_of(int argc, char** argv,
                                  const std::vector<CommandOption>& options) {
  std::vector<std::string> words;
  bool only_arguments = false;
  for (const std::string& word : std::vector<std::string>(argv + 1, argv + argc)) {
    only_arguments = only_arguments || word == "--";
    const std::size_t sign = word.find('=');
    const bool is_short = !only_arguments && word.starts_with('-') && !word.starts_with("--");
    const CommandOption* option = nullptr;
    if (is_short && sign != std::string::npos && sign > 1) {
      option = option_named(options, std::string("-") + word[sign - 1]);
    }
    if (option == nullptr || option->is_switch()) {
      words.push_back(word);
    } else {
      words.push_back(word.substr(0, sign));
      words.push_back(word.substr(sign + 1));
    }
  }
  return words;
}

void parse_verb(const Verb& verb, int argc, char** argv, CommandLine& line) {
  const std::vector<CommandOption> options = options_of(verb);
  CLI::App command(verb.summary, "headway " + verb.name);
  for (const CommandOption& option : options) {
    std::visit(Adder{command, option, line.options}, option.member);
  }
  command.allow_extras();
  try {
    std::vector<std::string> words = words_of(argc, argv, options);
    std::reverse(words.begin(), words.end());  // as the parser wants them
    command.parse(words);
  } catch (const CLI::CallForHelp&) {
    line.text = help_text(verb_page(verb));
    return;
  } catch (const CLI::ParseError& error) {
    usage_error(fault_of_parsing(error, options) +
                fmt::format("\nheadway {} --help explains the options", verb.name));
  }
  check_arguments(verb, line, command.remaining());
  line.verb = &verb;
}

}  // namespace

CommandLine parse_command_line(int argc, char** argv) {
  CommandLine line;
  line.options.command.assign(argv, argv + argc);
  const std::string_view first = argc > 1 ? argv[1] : "";
  if (first == "-h" || first == "--help") {
    line.text = help_text(program_page());
    return line;
  }
  if (first == "--version") {
    line.text = version_text();
    return line;
  }
  if (first.empty() || first.starts_with('-')) usage_error(without_verb(std::string(first)));
  const Verb* verb = find_verb(first);
  if (verb == nullptr) usage_error(unknown_verb(std::string(first)));
  parse_verb(*verb, argc - 1, argv + 1, line);
  return line;
}

}  // namespace headway::cli
