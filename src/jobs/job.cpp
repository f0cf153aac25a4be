#include "headway/jobs/job.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <utility>

#include "headway/checkpoints.hpp"
#include "headway/core/cpu.hpp"
#include "headway/core/output_path.hpp"
#include "headway/core/parallel.hpp"
#include "headway/core/text.hpp"
#include "headway/error.hpp"
#include "headway/jobs/parts.hpp"
#include "headway/numerics/blas.hpp"
#include "headway/result_file.hpp"
#include "jobs/checkpoint/checkpoint_folder.hpp"
#include "jobs/checkpoint_fault.hpp"

namespace headway::jobs {

namespace {

/// The files that the computation reads, which the output must not replace. A result is none of
/// them: its rerun may replace it.
std::vector<std::string> inputs_of(const Job& job) {
  const Request& request = job.request;
  std::vector<std::string> inputs;
  if (job.origin != io::StudyOrigin::kResultFile) inputs.push_back(request.input);
  inputs.insert(inputs.end(), request.more_inputs.begin(), request.more_inputs.end());
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

/// Version, BLAS, threads and instruction sets, for -v.
void note_environment(const Study& study, Observer& observer) {
  const std::string instructions = instruction_sets();  // first: a wrong word is refused here
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
                            policy != nullptr ? policy : "unset", instructions));
}

}  // namespace

void Job::check_output_early() const {
  const auto is_output = [this](const std::string& input) {
    std::error_code ignored;
    return std::filesystem::equivalent(input, request.output, ignored);
  };
  std::vector<std::string> inputs = inputs_of(*this);
  if (origin == io::StudyOrigin::kResultFile && is_output(request.input) &&
      io::read_result_kind(request.input) != kind()) {
    inputs.push_back(request.input);
  }
  for (const std::string& input : inputs) {
    if (!is_output(input)) continue;
    throw Error(ErrorKind::kCannotWrite,
                fmt::format("{}: is the input {}; give another output", request.output, input));
  }
  check_output(request.force || (resumes() && io::is_result_file(request.output)));
}

void Job::check_output(bool overwrite) const {
  const std::filesystem::path folder = std::filesystem::path(request.output).parent_path();
  std::error_code ignored;
  if (request.dry_run && !folder.empty() && !std::filesystem::exists(folder, ignored)) return;
  make_folder(request.output, folder);
  check_output_path(request.output, overwrite);
}

bool Job::is_own_partial_result() const {
  if (!io::is_result_file(request.output)) return false;
  const ResultProvenance stored = io::read_result_provenance(request.output);
  return stored.partial && stored.study_hash == provenance.study_hash &&
         stored.data_hash == provenance.data_hash && stored.shard == provenance.shard;
}

bool Job::continues() const {
  if (!resumes()) return false;
  const bool of_another_verb =
      io::is_result_file(request.output) && io::read_result_kind(request.output) != kind();
  return !of_another_verb && goes_on();
}

void Job::refuse_partial_of_another_run() const {
  constexpr std::size_t kMostNamed = 4;
  if (!io::is_result_file(request.output)) return;
  const ResultProvenance stored = io::read_result_provenance(request.output);
  if (!stored.partial) return;
  const auto part = [](const ResultProvenance& of) {
    return ComputationPart{"", of.study_hash, of.study_toml, of.data_hash};
  };
  std::vector<std::string> differences = headway::part_differences(part(stored), part(provenance));
  if (stored.shard != provenance.shard) {
    const auto text = [](const std::string& of) { return of.empty() ? "absent" : of; };
    differences.push_back(
        fmt::format("--shard {}, here {}", text(stored.shard), text(provenance.shard)));
  }
  const std::string stored_kind = io::read_result_kind(request.output);
  if (stored_kind != kind()) {
    differences = {fmt::format("it is of headway {}, this is headway {}",
                               io::verb_of_kind(stored_kind),
                               io::verb_of_kind(std::string(kind())))};
  }
  if (differences.size() > kMostNamed) {
    differences.resize(kMostNamed);
    differences.emplace_back("...");
  }
  throw Error(ErrorKind::kCannotWrite,
              fmt::format("{}: cannot be written: it is the partial result of another run ({}): "
                          "repeat the command that made it, choose another -o, or start afresh "
                          "with --force",
                          request.output, join(differences, "; ")));
}

void Job::load() {
  io::LoadedStudy loaded = study_of(request);
  study = std::move(loaded.study);
  origin = loaded.origin;
}

void Job::prepare(Observer& observer) {
  fault_ = std::make_shared<CheckpointFault>();
  load();
  if (!request.shard.empty()) shard = headway::read_shard(request.shard);
  note_environment(study, observer);
  const std::string& output = request.output;
  const bool writes = !output.empty();
  if (writes) check_output_early();
  if (resumes() && writes && !request.dry_run) lock_ = std::make_shared<OutputLock>(output);
  if (writes && !output.ends_with(".h5") && !output.ends_with(".hdf5")) {
    observer.warning(output + ": is written as HDF5, although its name ends otherwise");
  }
  const std::string data_hash = read_data(observer);
  provenance = headway::make_provenance(study, data_hash, request.command);
  if (!request.shard.empty()) provenance.shard = headway::shard_text(shard);
  const bool continuing = writes && !request.force && continues();
  overwrite_ = request.force || continuing;
  if (continuing) earlier_seconds_ = io::read_result_provenance(output).seconds;
  check_exports();
  if (writes && resumes() && !overwrite_) refuse_partial_of_another_run();
  if (writes) check_output(overwrite_);
}

void Job::finish(Outcome outcome) {
  outcome_ = std::move(outcome);
  provenance.threads = outcome_.threads;
  provenance.seconds = outcome_.seconds;
  provenance.partial = outcome_.interrupted;
  if (outcome_.interrupted) unwritten = fault_->text();
  std::error_code ignored;
  outcome_.goes_on = outcome_.interrupted && !request.output.empty() &&
                     std::filesystem::exists(checkpoint_folder_of(request.output), ignored);
  done_ = true;
}

void Job::write_files() {
  const std::shared_ptr<void> lock = std::move(lock_);  // until the files are there
  if (!request.output.empty()) write_result();
  write_exports();
}

void Job::remove_checkpoints() const {
  if (remove_) remove_();
}

}  // namespace headway::jobs
