#include "command_line.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <limits>
#include <sstream>

#include "headway/core/error.hpp"
#include "headway/numerics/dense.hpp"
#include "headway/studies/provenance.hpp"
#include "headway/studies/sections.hpp"
#include "verbs.hpp"

namespace headway::cli {

namespace {

constexpr const char* kExamples = R"(
Examples:
  headway solve hmm-four-paths                            a study that comes with Headway, by name
  headway solve hmm-four-paths.toml -o four.h5            and keep everything in a result file
  headway solve data.h5 --set model.widths=[10,100]       a data set in place of a study
  headway solve s.toml --set model.temperature=0.1 --json one JSON object on standard output
  headway sample hmm-four-paths.toml -o draws.h5          posterior draws; run again after Ctrl-C: resumes
  headway align four.h5                                   reuse the order parameters of a result
  headway train fuzzy-logic-small.toml -o small.h5        a grid of variants and seeds; resumes as well
  headway train s.toml --export weights.npz               and the trained parameters for NumPy
  headway train omniglot-one-shot.toml -o trained.h5      one-shot classification of drawings
  headway evaluate small.h5 --set task.sequence_length=48 its networks on other data of their kind
  headway latents small.h5 -o codes.h5                    what their attention weights say of the task
  headway extract trained.h5 -o heads.h5                  its heads as a data set for solve, prune, ...
  headway solve s.toml --shard 0/4 -o part0.h5            one of four parts, as in a job array
  headway merge part0.h5 part1.h5 part2.h5 part3.h5 -o s.h5  and the whole of them
  headway gram part1.h5 part2.h5 -o gram.h5               data larger than memory, for solve and sample
  headway inspect four.h5                                 what it holds, and how to remake it

Exit codes: 0 ok; 2 finished but a point is not usable; 64 usage; 65 bad data; 66 file missing;
69 part not built or not enough memory; 70 bug; 73 cannot write; 78 bad study; 130 interrupted.
)";

std::string version_text() {
  const studies::BuildInfo build = studies::build_info();
  return fmt::format("headway {}\ncommit {}\n{}, {}\n{}\n", build.version, build.git_commit,
                     build.compiler, build.build_type, numerics::blas_description());
}

void add_study_options(CLI::App& command, bool seeded, Options& options) {
  command
      .add_option("--set", options.overlays,
                  "section.key=value, as if that line of the study were edited: a TOML value, "
                  "else a string (repeatable)")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  if (seeded) {
    command.add_option("--seed", options.seed, "root of every random stream (as --set seed=N)")
        ->type_name("N")
        ->check(
            CLI::Range(std::uint64_t{0}, std::uint64_t{std::numeric_limits<std::int64_t>::max()}));
  }
  command.add_option("--threads", options.threads, "0 = all cores; never changes a result")
      ->type_name("N")
      ->check(CLI::Range(0, 4096));
}

const CLI::Validator kNotEmpty(
    [](const std::string& text) { return std::string(text.empty() ? "must not be empty" : ""); },
    "");

void add_options(CLI::App& command, const Verb& verb, Options& options) {
  const bool study = verb.takes == Takes::kStudy || verb.takes == Takes::kComputes;
  const char* file = verb.input != nullptr         ? verb.input
                     : verb.takes == Takes::kParts ? "result of one part (HDF5)"
                     : study ? "study (TOML), the name of one that comes with Headway, or a "
                               "data-set or result file (HDF5) in place of one"
                             : "data-set file (HDF5)";
  command.add_option("input", options.input, file)->required()->type_name("FILE");
  if (verb.more_inputs != nullptr)
    command.add_option("more", options.more_inputs, verb.more_inputs)->type_name("FILE...");
  command.add_flag("--json", options.json, verb.json);
  if (study) add_study_options(command, verb.seeded, options);
  CLI::Option* quiet =
      command.add_flag("-q,--quiet", options.quiet, "no progress on standard error");
  command
      .add_flag("-v,--verbose", options.verbose,
                "more on standard error: BLAS, threads, instruction sets, solver notes")
      ->excludes(quiet);
  if (verb.takes == Takes::kFile || verb.takes == Takes::kStudy) return;
  command
      .add_option("-o,--output", options.output,
                  "result file (HDF5); without it nothing is written to disk")
      ->type_name("FILE.h5")
      ->check(kNotEmpty);
  for (const OwnOption& own : verb.own) {
    if (const auto* text = std::get_if<std::string Options::*>(&own.member)) {
      command.add_option(own.name, options.*(*text), own.help)
          ->type_name(own.value)
          ->check(kNotEmpty);
    } else {
      command.add_option(own.name, options.*std::get<1>(own.member), own.help)
          ->type_name(own.value)
          ->check(CLI::Range(1, 4096));
    }
  }
  command.add_flag("--force", options.force, "overwrite an existing result file");
  if (verb.takes == Takes::kParts) return;
  command.add_flag("--dry-run", options.dry_run,
                   "check study and data, print sizes and costs, compute nothing");
}

/// The words after the options of `headway VERB --help`.
std::string footer_of(const Verb& verb) {
  if (verb.sections.empty()) return "";
  return fmt::format("\nKeys of the study file (and of --set):\n{}",
                     studies::study_help(verb.sections));
}

[[noreturn]] void usage_error(const std::string& what) {
  throw Error(ErrorKind::kUsage, what + "\nheadway --help explains the usage.");
}

std::string verb_list() {
  std::string names;
  for (const Verb& verb : verbs()) names += (names.empty() ? "" : ", ") + verb.name;
  return names;
}

/// The first argument must be a verb or an option.
void check_first(const std::string& first) {
  if (first.empty()) usage_error(fmt::format("no verb given; allowed: {}", verb_list()));
  if (first[0] == '-') return;
  for (const Verb& verb : verbs()) {
    if (first == verb.name) return;
  }
  usage_error(fmt::format("{}: no such verb; allowed: {}", first, verb_list()));
}

}  // namespace

CommandLine parse_command_line(int argc, char** argv) {
  check_first(argc > 1 ? argv[1] : "");
  CommandLine line;
  line.options.command.assign(argv, argv + argc);
  CLI::App app("Headway: the statistical-mechanics theory of attention networks.", "headway");
  app.footer(kExamples);
  app.set_version_flag("--version", [] { return version_text(); });
  app.require_subcommand(1);
  for (const Verb& verb : verbs()) {
    CLI::App* command = app.add_subcommand(verb.name, verb.summary);
    add_options(*command, verb, line.options);
    command->footer([&verb] { return footer_of(verb); });
    command->callback([&line, &verb] { line.verb = &verb; });
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::ostringstream out;
    std::ostringstream ignored;
    if (app.exit(error, out, ignored) != 0) usage_error(error.what());
    line.verb = nullptr;
    line.text = out.str();
  }
  return line;
}

}  // namespace headway::cli
