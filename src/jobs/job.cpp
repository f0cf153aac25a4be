#include "course.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "headway/checkpoints.hpp"
#include "headway/core/cpu.hpp"
#include "headway/core/deal.hpp"
#include "headway/core/output_path.hpp"
#include "headway/core/parallel.hpp"
#include "headway/core/text.hpp"
#include "headway/error.hpp"
#include "headway/numerics/blas.hpp"
#include "headway/schedule/parts.hpp"
#include "table.hpp"
#include "terminal.hpp"

namespace headway::cli {

namespace {

/// The files that the computation reads, which the output must not replace. A result is none of
/// them: its rerun may replace it.
std::vector<std::string> inputs_of(const Options& options, const Job& job) {
  std::vector<std::string> inputs;
  if (job.origin != io::StudyOrigin::kResultFile) inputs.push_back(options.input);
  inputs.insert(inputs.end(), options.more_inputs.begin(), options.more_inputs.end());
  if (!job.study.task.file().empty()) inputs.push_back(job.study.task.file());
  inputs.insert(inputs.end(), job.study.prune.trained().theory.begin(),
                job.study.prune.trained().theory.end());
  const OmniglotOptions& images = job.study.task.as<OmniglotOptions>();
  inputs.insert(inputs.end(), images.files.begin(), images.files.end());
  for (const OutOfDistributionSet& set : images.out_of_distribution) {
    inputs.insert(inputs.end(), {set.images, set.labels});
  }
  return inputs;
}

/// Makes the folder that the output shall be in.
void make_folder(const std::string& output, const std::filesystem::path& folder) {
  std::error_code failure;
  if (folder.empty() || std::filesystem::is_directory(folder, failure)) return;
  std::filesystem::create_directories(folder, failure);
  if (!failure) return;
  throw Error(ErrorKind::kCannotWrite,
              fmt::format("{}: cannot be written: the folder {} cannot be made: {}", output,
                          folder.string(), failure.message()));
}

}  // namespace

std::vector<std::string> Options::study_overlays() const {
  std::vector<std::string> all;
  if (calibrate) all.emplace_back("sample.calibrate=1000");  // --set comes later, and wins
  all.insert(all.end(), overlays.begin(), overlays.end());
  if (seed) all.push_back(fmt::format("seed={}", *seed));
  if (threads) all.push_back(fmt::format("threads={}", *threads));
  if (!layers.empty()) all.push_back(fmt::format("extract.layers=[{}]", layers));
  if (!form.empty()) all.push_back(fmt::format("extract.form={}", quoted_text(form)));
  if (!theory.empty()) {
    std::string files;
    for (const std::string& file : split(theory, ',')) {
      files += (files.empty() ? "" : ", ") + quoted_text(file);
    }
    all.push_back(fmt::format("prune.theory=[{}]", files));
  }
  return all;
}

void check_output_early(const Options& options, const Job& job, std::string_view kind,
                        bool may_continue) {
  const auto is_output = [&options](const std::string& input) {
    std::error_code ignored;
    return std::filesystem::equivalent(input, options.output, ignored);
  };
  std::vector<std::string> inputs = inputs_of(options, job);
  if (job.origin == io::StudyOrigin::kResultFile && is_output(options.input) &&
      io::read_result_kind(options.input) != kind) {
    inputs.push_back(options.input);
  }
  for (const std::string& input : inputs) {
    if (!is_output(input)) continue;
    throw Error(ErrorKind::kCannotWrite,
                fmt::format("{}: is the input {}; give another output", options.output, input));
  }
  check_output(options, options.force || (may_continue && io::is_result_file(options.output)));
}

void check_output(const Options& options, bool overwrite) {
  const std::filesystem::path folder = std::filesystem::path(options.output).parent_path();
  std::error_code ignored;
  if (options.dry_run && !folder.empty() && !std::filesystem::exists(folder, ignored)) return;
  make_folder(options.output, folder);
  check_output_path(options.output, overwrite);
}

std::shared_ptr<void> lock_output(const Options& options) {
  if (options.output.empty() || options.dry_run) return nullptr;
  return std::make_shared<io::OutputLock>(options.output);
}

bool is_partial_result_of(const Options& options, const Job& job) {
  if (!io::is_result_file(options.output)) return false;
  const ResultProvenance stored = io::read_result_provenance(options.output);
  return stored.partial && stored.study_hash == job.provenance.study_hash &&
         stored.data_hash == job.provenance.data_hash && stored.shard == job.provenance.shard;
}

bool is_result_of_another_verb(const Options& options, std::string_view kind) {
  return io::is_result_file(options.output) && io::read_result_kind(options.output) != kind;
}

void refuse_partial_of_another_run(const Options& options, const Job& job, std::string_view kind) {
  constexpr std::size_t kMostDifferences = 4;
  if (!io::is_result_file(options.output)) return;
  const ResultProvenance stored = io::read_result_provenance(options.output);
  if (!stored.partial) return;
  const auto part = [](const ResultProvenance& of) {
    return ComputationPart{"", of.study_hash, of.study_toml, of.data_hash};
  };
  std::vector<std::string> differences =
      headway::part_differences(part(stored), part(job.provenance));
  if (stored.shard != job.provenance.shard) {
    const auto text = [](const std::string& shard) { return shard.empty() ? "absent" : shard; };
    differences.push_back(
        fmt::format("--shard {}, here {}", text(stored.shard), text(job.provenance.shard)));
  }
  const std::string stored_kind = io::read_result_kind(options.output);
  if (stored_kind != kind) {
    differences = {fmt::format("it is of headway {}, this is headway {}",
                               io::verb_of_kind(stored_kind), io::verb_of_kind(std::string(kind)))};
  }
  if (differences.size() > kMostDifferences) {
    differences.resize(kMostDifferences);
    differences.emplace_back("...");
  }
  throw Error(ErrorKind::kCannotWrite,
              fmt::format("{}: cannot be written: it is the partial result of another run ({}): "
                          "repeat the command that made it, choose another -o, or start afresh "
                          "with --force",
                          options.output, fmt::join(differences, "; ")));
}

bool is_set(const Options& options, const std::string& key) {
  return std::ranges::any_of(options.overlays, [&key](const std::string& overlay) {
    return io::overlay_key(overlay) == key;
  });
}

void warn_of_unused(const Options& options, const std::vector<std::string>& keys,
                    const std::string& why, Observer& observer) {
  for (const std::string& key : keys) {
    if (is_set(options, key)) observer.warning(fmt::format("{} has no effect: {}", key, why));
  }
}

void note_environment(const Study& study, Observer& observer) {
  const int wanted = wanted_threads(study.threads), threads = resolve_threads(study.threads);
  if (threads < wanted) {
    observer.warning(
        fmt::format("only {} of {} threads can be started (ulimit -u, or another "
                    "limit): goes on with {}",
                    threads, wanted, threads));
  }
  if (const std::string slow = numerics::blas_warning(); !slow.empty()) observer.warning(slow);
  const BuildInfo build = headway::build_info();
  const char* policy = std::getenv("OMP_WAIT_POLICY");
  observer.note(fmt::format("version {}, commit {}, {}, {}", build.version, build.git_commit,
                            build.compiler, build.build_type));
  observer.note(fmt::format("BLAS: {}, one thread for each call", numerics::blas_description()));
  observer.note(fmt::format("threads: {} (OMP_WAIT_POLICY={}); instruction sets: {}", threads,
                            policy != nullptr ? policy : "unset", instruction_sets()));
}

std::string closing_line(const Options& options, const Outcome& outcome) {
  return fmt::format("{}, {} s{}{}", outcome.done,
                     cell(outcome.seconds, outcome.seconds < 999.5 ? "{:.3g}" : "{:.0f}"),
                     options.output.empty() ? "" : ", result in " + options.output,
                     outcome.interrupted ? "; interrupted: the result is partial" : "");
}

int refuse_ranks(Ranks& ranks) {
  agree(ranks, [] {
    throw Error(ErrorKind::kUsage,
                "several ranks (mpirun) can share the work of solve, sample, train and gram only");
  });
  return kExitOk;
}

io::LoadedStudy study_of(const Options& options) {
  if (!options.study_text) return io::read_study(options.input, options.study_overlays());
  io::LoadedStudy loaded;
  loaded.study = io::parse_study(*options.study_text, options.input, options.study_overlays());
  if (options.dataset)
    loaded.study.task.as<DatasetOptions>().file = options.dataset->name;  // a name, not a path
  if (options.examples) loaded.study.task.as<ArraysTaskOptions>().file = options.examples->name;
  return loaded;
}

int run_computation(const Options& options, const Compute& compute) {
  TerminalObserver observer(options.quiet, options.verbose);
  return deliver(options, compute(options, observer), observer);
}

int run_on_ranks(const Options& options, const Share& share) {
  const bool first = options.ranks->is_first();
  TerminalObserver observer(options.quiet || !first, options.verbose && first);
  const std::optional<Computation> done = share(options, observer);
  return done && first ? deliver(options, *done, observer) : kExitOk;
}

int deliver(const Options& options, const Computation& done, Observer& observer) {
  if (options.dry_run) {
    write_output(done.plan);
    return kExitOk;
  }
  try {
    done.write_files();
  } catch (const Error& error) {  // hours of work must not end without their numbers
    if (error.kind() == ErrorKind::kCannotWrite) write_output(done.print());
    throw;
  }
  write_output(done.print());
  for (const std::string& fault : done.outcome.faults) observer.warning(fault);
  if (!options.quiet && !done.closing.empty()) write_message("headway: " + done.closing);
  if (!done.unwritten.empty()) throw Error(ErrorKind::kCannotWrite, done.unwritten);
  if (done.outcome.interrupted) return static_cast<int>(ErrorKind::kInterrupted);
  if (done.remove_checkpoints) done.remove_checkpoints();
  return done.outcome.faults.empty() ? kExitOk : kExitNotUsable;
}

}  // namespace headway::cli
