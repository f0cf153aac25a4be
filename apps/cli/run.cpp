#include "run.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "headway/core/error.hpp"
#include "headway/core/parallel.hpp"
#include "headway/io/dataset_file.hpp"
#include "headway/io/hdf5_file.hpp"
#include "headway/io/provenance.hpp"
#include "headway/io/study_file.hpp"
#include "headway/numerics/dense.hpp"
#include "headway/studies/verbs.hpp"
#include "plan.hpp"
#include "table.hpp"

namespace headway::cli {

namespace {

/// The order parameters in the result file given as input, when they are those of this study and
/// these data.
std::optional<studies::SolveResult> known_result(const Options& options, const Job& job,
                                                 TerminalObserver& observer) {
  io::ResultProvenance stored;
  studies::SolveResult known = io::read_solve_result(options.input, &stored);
  const studies::Study study = io::parse_study(stored.study_toml, options.input);
  std::string reason;
  if (stored.partial || known.interrupted) reason = "it is partial";
  if (io::study_hash(study) != stored.study_hash) reason = "its study and study_hash disagree";
  if (io::solve_hash(study) != io::solve_hash(job.study)) reason = "the study was changed";
  if (stored.data_hash != job.dataset.content_hash) reason = "the data are not the same";
  if (reason.empty()) {
    observer.note(
        fmt::format("{}: its order parameters are used, nothing is solved again", options.input));
    return known;
  }
  observer.warning(fmt::format("{}: its order parameters are not used: {}", options.input, reason));
  return std::nullopt;
}

bool is_finite(const studies::SolvePoint& point) {
  bool finite = std::isfinite(point.action) && std::isfinite(point.summary.gradient_norm) &&
                point.order_parameters.readout.allFinite() && point.predictor.mean.allFinite() &&
                point.predictor.variance.allFinite();
  for (const MatrixXd& layer : point.order_parameters.layers) finite = finite && layer.allFinite();
  return finite;
}

}  // namespace

std::vector<std::string> overlays_of(const Options& options) {
  std::vector<std::string> overlays = options.overlays;
  if (options.seed) overlays.push_back(fmt::format("seed={}", *options.seed));
  if (options.threads) overlays.push_back(fmt::format("threads={}", *options.threads));
  return overlays;
}

io::LoadedStudy load_study(const Options& options) {
  return io::read_study(options.input, overlays_of(options));
}

studies::Study resolve_study(const Options& options) { return load_study(options).study; }

void refuse_input_as_output(const Options& options, const io::LoadedStudy& loaded) {
  std::vector<std::string> inputs;
  if (loaded.origin != io::StudyOrigin::kResultFile) inputs.push_back(options.input);
  if (!loaded.study.task.file.empty()) inputs.push_back(loaded.study.task.file);
  const studies::OmniglotOptions& images = loaded.study.task.omniglot;
  inputs.insert(inputs.end(), images.files.begin(), images.files.end());
  for (const studies::OutOfDistributionSet& set : images.out_of_distribution) {
    inputs.insert(inputs.end(), {set.images, set.labels});
  }
  for (const std::string& input : inputs) {
    std::error_code ignored;
    if (std::filesystem::equivalent(input, options.output, ignored)) {
      throw Error(ErrorKind::kCannotWrite,
                  fmt::format("{}: is the input {}; give another output", options.output, input));
    }
  }
}

void note_environment(const studies::Study& study, Observer& observer) {
  const io::BuildInfo build = io::build_info();
  const char* policy = std::getenv("OMP_WAIT_POLICY");
  observer.note(fmt::format("version {}, commit {}, {}, {}", build.version, build.git_commit,
                            build.compiler, build.build_type));
  observer.note(fmt::format("BLAS: {}, one thread a call", numerics::blas_description()));
  observer.note(fmt::format("threads: {} (OMP_WAIT_POLICY={}); instruction sets: {}",
                            resolve_threads(study.threads), policy != nullptr ? policy : "unset",
                            io::instruction_sets()));
}

bool is_partial_result_of(const std::string& file_path, const io::ResultProvenance& provenance) {
  if (!io::is_result_file(file_path)) return false;
  const io::ResultProvenance stored = io::read_result_provenance(file_path);
  return stored.partial && stored.study_hash == provenance.study_hash &&
         stored.data_hash == provenance.data_hash;
}

Job prepare(const Options& options, Preparation how, TerminalObserver& observer) {
  const io::LoadedStudy loaded = load_study(options);
  Job job;
  job.study = loaded.study;
  note_environment(job.study, observer);
  if (!options.output.empty()) {
    refuse_input_as_output(options, loaded);
    const bool may_continue = how.samples && io::is_result_file(options.output);
    io::check_output_path(options.output, options.force || may_continue);
  }
  job.dataset = job.study.task.kind == "dataset" ? io::read_dataset(job.study.task.file)
                                                 : studies::make_dataset(job.study);
  studies::check_study_against_dataset(job.study, job.dataset);
  const Plan plan = make_plan(job.study, job.dataset);
  refuse_more_than_memory(plan);
  if (how.samples) refuse_draws_beyond_memory(plan, job.study);
  job.provenance = io::make_provenance(job.study, job.dataset.content_hash, options.command);
  job.overwrite = options.force;
  if (!options.output.empty()) {
    job.overwrite =
        job.overwrite || (how.samples && is_partial_result_of(options.output, job.provenance));
    io::check_output_path(options.output, job.overwrite);
  }
  if (how.reuse && loaded.origin == io::StudyOrigin::kResultFile) {
    job.known = known_result(options, job, observer);
  }
  return job;
}

Outcome solve_outcome(const studies::SolveResult& result, double seconds) {
  Outcome outcome{result.points.size(), result.interrupted, seconds, result.threads, {}};
  std::vector<std::string>& faults = outcome.faults;
  for (const studies::SolvePoint& point : result.points) {
    const std::string where =
        fmt::format("widths {}, temperature {:g}", widths_text(point.widths), point.temperature);
    if (!is_finite(point)) {
      faults.push_back(fmt::format("{}: not finite: {}", where, point.summary.message));
    } else if (!point.summary.converged) {
      faults.push_back(fmt::format(
          "{}: not converged (gradient norm {:.2g} after {} iterations): {}", where,
          point.summary.gradient_norm, point.summary.iterations, point.summary.message));
    }
  }
  return outcome;
}

int print_plan(const Options& options, const Job& job, const std::string& verb) {
  const Plan plan = make_plan(job.study, job.dataset);
  write_output(options.json ? plan_json(plan, job.study, verb) + "\n"
                            : plan_text(plan, job.study, verb, options.output));
  return kExitOk;
}

int conclude(const Options& options, const Outcome& outcome, TerminalObserver& observer) {
  for (const std::string& fault : outcome.faults) observer.warning(fault);
  if (!options.quiet) {
    write_message(fmt::format("headway: {} points, {:.3g} s{}{}", outcome.points, outcome.seconds,
                              options.output.empty() ? "" : ", result in " + options.output,
                              outcome.interrupted ? "; interrupted: the result is partial" : ""));
  }
  if (outcome.interrupted) return static_cast<int>(ErrorKind::kInterrupted);
  return outcome.faults.empty() ? kExitOk : kExitNotUsable;
}

}  // namespace headway::cli
