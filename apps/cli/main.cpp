#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <exception>
#include <limits>
#include <new>
#include <sstream>

#include "headway/core/error.hpp"
#include "headway/io/provenance.hpp"
#include "headway/numerics/dense.hpp"
#include "headway/studies/sections.hpp"
#include "options.hpp"
#include "shipped_studies.hpp"
#include "startup.hpp"
#include "terminal.hpp"

namespace headway::cli {

const std::vector<Verb>& verbs() {
  static const std::vector<Verb> all = {
      {"solve",
       "saddle point of the theory: order parameters, predictor, accuracy per sweep point",
       &run_solve,
       true,
       {"", "task", "model", "solve"}},
      {"align",
       "overlap of the eigenvectors of the renormalised kernel with the labels",
       &run_align,
       true,
       {"align"}},
      {"prune",
       "head scores, accuracy without each head, cumulative pruning; also of a trained network",
       &run_prune,
       true,
       {"prune"}},
      {"sample",
       "posterior draws with error bars, exact at every width, beside the theory",
       &run_sample,
       true,
       {"sample"}},
      {"train",
       "transformers or networks of attention paths on fuzzy logic, SRAVEN, text or drawings",
       &run_train,
       true,
       {"", "task", "train", "sweep"}},
      {"extract",
       "the heads of a trained linear-value network as a data set of the theory",
       &run_extract,
       true,
       {"extract"}},
      {"inspect",
       "the resolved study, or what an HDF5 file holds and how to remake it",
       &run_inspect,
       false,
       {}},
      {"validate", "check a data-set file and list every fault", &run_validate, false, {}},
  };
  return all;
}

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
  headway extract trained.h5 -o heads.h5                  its heads as a data set for solve, prune, ...
  headway inspect four.h5                                 what it holds, and how to remake it

Exit codes: 0 ok; 2 finished but a point is not usable; 64 usage; 65 bad data; 66 file missing;
69 part not built or not enough memory; 70 bug; 73 cannot write; 78 bad study; 130 interrupted.
)";

/// Verbs that later versions have; naming one deserves a better answer than "unknown".
bool is_planned(const std::string& verb) { return verb == "latents"; }

std::string version_text() {
  const io::BuildInfo build = io::build_info();
  return fmt::format("headway {}\ncommit {}\n{}, {}\n{}\n", build.version, build.git_commit,
                     build.compiler, build.build_type, numerics::blas_description());
}

void add_options(CLI::App& command, const Verb& verb, Options& options) {
  const bool study = verb.computes || std::string(verb.name) == "inspect";
  command
      .add_option("input", options.input,
                  study ? "study (TOML), the name of one that comes with Headway, or a data-set or "
                          "result file (HDF5) in place of one"
                        : "data-set file (HDF5)")
      ->required()
      ->type_name("FILE");
  command.add_flag("--json", options.json, "one JSON object on standard output and nothing else");
  if (study) {
    command
        .add_option("--set", options.overlays,
                    "section.key=value, as if that line of the study were edited: a TOML value, "
                    "else a string (repeatable)")
        ->type_name("KEY=VALUE")
        ->allow_extra_args(false);
    command.add_option("--seed", options.seed, "root of every random stream (as --set seed=N)")
        ->type_name("N")
        ->check(
            CLI::Range(std::uint64_t{0}, std::uint64_t{std::numeric_limits<std::int64_t>::max()}));
    command.add_option("--threads", options.threads, "0 = all cores; never changes a result")
        ->type_name("N")
        ->check(CLI::Range(0, 4096));
  }
  CLI::Option* quiet =
      command.add_flag("-q,--quiet", options.quiet, "no progress on standard error");
  command
      .add_flag("-v,--verbose", options.verbose,
                "more on standard error: BLAS, threads, instruction sets, solver notes")
      ->excludes(quiet);
  if (!verb.computes) return;
  command
      .add_option("-o,--output", options.output,
                  "result file (HDF5); without it nothing is written to disk")
      ->type_name("FILE.h5");
  if (std::string(verb.name) == "train") {
    command
        .add_option("--export", options.weights,
                    "the parameters at the end (not of the best checkpoint) as NumPy arrays (.npz) "
                    "or .safetensors; several runs of a sweep: one file each, numbered")
        ->type_name("FILE");
  }
  command.add_flag("--force", options.force, "overwrite an existing result file");
  command.add_flag("--dry-run", options.dry_run,
                   "check study and data, print sizes and costs, compute nothing");
}

/// The words after the options of `headway VERB --help`.
std::string footer_of(const Verb& verb) {
  if (verb.sections.empty()) return "";
  return fmt::format("\nKeys of the study file (and of --set):\n{}",
                     studies::study_help(verb.sections));
}

int usage_error(const std::string& what) {
  write_message(fmt::format("headway: {}\nheadway --help explains the usage.", what));
  return static_cast<int>(ErrorKind::kUsage);
}

std::string verb_list() {
  std::string names;
  for (const Verb& verb : verbs()) names += (names.empty() ? "" : ", ") + std::string(verb.name);
  return names;
}

int parse_and_run(int argc, char** argv) {
  Options options;
  options.command.assign(argv, argv + argc);
  const std::string first = argc > 1 ? argv[1] : "";
  if (is_planned(first)) {
    throw Error(
        ErrorKind::kUnavailable,
        fmt::format("{}: this build does not have this verb; it has: {}", first, verb_list()));
  }
  if (first.empty()) return usage_error(fmt::format("no verb given; allowed: {}", verb_list()));
  CLI::App app("Headway: the statistical-mechanics theory of attention networks.", "headway");
  app.footer(kExamples);
  app.set_version_flag("--version", [] { return version_text(); });
  app.require_subcommand(1);
  const Verb* chosen = nullptr;
  bool known = first[0] == '-';
  for (const Verb& verb : verbs()) {
    known = known || first == verb.name;
    CLI::App* command = app.add_subcommand(verb.name, verb.summary);
    add_options(*command, verb, options);
    command->footer([&verb] { return footer_of(verb); });
    command->callback([&chosen, &verb] { chosen = &verb; });
  }
  if (!known) return usage_error(fmt::format("{}: no such verb; allowed: {}", first, verb_list()));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::ostringstream out;
    std::ostringstream ignored;
    if (app.exit(error, out, ignored) != 0) return usage_error(error.what());
    write_output(out.str());
    return kExitOk;
  }
  numerics::use_single_threaded_blas();
  options.input = find_input(options.input);
  return chosen->run(options);
}

int report(int code, const std::string& message) {
  write_message("headway: " + message);
  return code;
}

}  // namespace

int run_program(int argc, char** argv) {
  bind_thread_pools(argv);
  guard_standard_streams();
  install_signal_handlers();
  try {
    return parse_and_run(argc, argv);
  } catch (const Error& error) {
    return report(error.exit_code(), error.what());
  } catch (const std::bad_alloc&) {
    return report(static_cast<int>(ErrorKind::kUnavailable),
                  "not enough memory; fewer examples, tokens or features, --set "
                  "solve.kernels=streamed, or in training smaller dims or batches (with "
                  "train.accumulation for the same sum), need less (--dry-run shows the sizes)");
  } catch (const std::exception& error) {
    return report(static_cast<int>(ErrorKind::kInternal),
                  fmt::format("this is a bug in Headway, please report it with the study that "
                              "caused it: {}",
                              error.what()));
  } catch (...) {
    return report(static_cast<int>(ErrorKind::kInternal),
                  "this is a bug in Headway, please report it with the study that caused it");
  }
}

}  // namespace headway::cli

int main(int argc, char** argv) { return headway::cli::run_program(argc, argv); }
