#include "jobs/trained_data.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>
#include <string_view>

#include "headway/core/text.hpp"
#include "headway/error.hpp"
#include "headway/io/training_tasks.hpp"
#include "headway/result_file.hpp"
#include "headway/study/sections.hpp"
#include "headway/study/sweep.hpp"
#include "headway/train.hpp"

namespace headway::jobs {

namespace {

bool reads_images(const Study& study) { return study.task.kind() == TaskKind::kOmniglot; }

/// "" where the task makes its examples itself.
std::string files_of(const Study& study) {
  return reads_images(study) ? join(study.task.as<OmniglotOptions>().files, ", ")
                             : study.task.file();
}

/// What says which examples a study makes or reads: [task] and its seed.
std::string examples_of(const Study& study) {
  return fmt::format("{}\n{}", headway::section_text(study, "task"), headway::task_seed(study));
}

/// Those of all runs.
std::set<std::string> examples_of_runs(const Study& study) {
  std::set<std::string> all;
  for (const TrainRun& run : headway::train_runs(study)) all.insert(examples_of(run.study));
  return all;
}

constexpr const char* kWereInMemory = ": was made from arrays in memory, which it does not hold";

/// Whether a study's file stands for arrays that Python held.
bool are_in_memory(const std::string& file_path) {
  std::error_code ignored;
  const std::filesystem::path file = file_path;
  return file.filename() == tasks::kArraysInMemory && !std::filesystem::exists(file, ignored);
}

}  // namespace

bool same_data(const Study& a, const Study& b) { return examples_of(a) == examples_of(b); }

TaskFiles task_files(const Request& request) {
  TaskFiles files = io::task_files();
  files.arrays = [input = request.input, given = request.examples,
                  read = files.arrays](const std::string& path) {
    if (given != nullptr) return given;
    if (are_in_memory(path)) {
      throw Error(ErrorKind::kMissingFile,
                  fmt::format("{}{}; headway.write_examples in Python puts them into a file: train "
                              "on that one. `headway evaluate` takes another one, with --set "
                              "task.file=FILE",
                              input, kWereInMemory));
    }
    return read(path);
  };
  return files;
}

void refuse_arrays_in_memory(const std::string& input, const std::string& file_path) {
  if (!are_in_memory(file_path)) return;
  throw Error(ErrorKind::kMissingFile,
              fmt::format("{}{}; in Python, give them again", input, kWereInMemory));
}

void require_training_data(const Request& request, std::vector<std::string> overlays,
                           const std::string& data_hash, Observer& observer) {
  const auto other_sets = std::erase_if(overlays, [](const std::string& overlay) {
    return io::overlay_key(overlay) == "task.out_of_distribution";
  });
  const Study study = io::read_study(request.input, overlays).study;
  const std::string files = files_of(study);
  if (files.empty()) return;
  const TaskMaker make_task = headway::make_task_maker(task_files(request));
  std::vector<std::string> hashes;
  try {
    for (const TrainRun& run : headway::train_runs(study)) {
      hashes.push_back(make_task(run.study).content_hash);
    }
  } catch (const Error& error) {
    if (other_sets == 0 || error.kind() != ErrorKind::kMissingFile) throw;
    observer.note(fmt::format("that these are the images of the training run is not checked: {}",
                              error.what()));
    return;
  }
  if (headway::combined_data_hash(hashes) == data_hash) return;
  if (reads_images(study)) {
    throw Error(ErrorKind::kBadData,
                fmt::format("{}: task.files are not the images that this network was trained on: "
                            "must be the same images, else the test set would have characters that "
                            "it has seen",
                            request.input));
  }
  const char* what = study.task.kind() == TaskKind::kText ? "text" : "file of arrays";
  throw Error(ErrorKind::kBadData,
              fmt::format("{}: task.file = {} is not the {} that this network was trained on: must "
                          "be the same {}, else its further sets might have examples that it has "
                          "seen",
                          request.input, files, what, what));
}

void warn_of_replaced_data(const Job& job, const std::string& data_hash, Observer& observer) {
  const Request& request = job.request;
  if (job.origin != io::StudyOrigin::kResultFile) return;
  const std::string files = files_of(job.study);
  if (files.empty()) return;
  // Both lists: of verbs whose data have one kind of hash.
  constexpr std::array<std::string_view, 4> kTheory = {"solve", "align", "prune", "sample"};
  constexpr std::array<std::string_view, 2> kTraining = {"train", "latents"};
  const bool trains = headway::is_training_task(job.study.task.kind());
  const std::string kind = io::read_result_kind(request.input);
  const auto is_one = [&kind](const auto& kinds) {
    return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
  };
  if (trains ? !is_one(kTraining) : !is_one(kTheory)) return;
  const ResultProvenance stored = io::read_result_provenance(request.input);
  if (stored.data_hash == data_hash) return;
  const Study earlier = io::parse_study(stored.study_toml, request.input);
  const bool same = trains ? examples_of_runs(earlier) == examples_of_runs(job.study)
                           : same_data(earlier, job.study);
  if (!same) return;
  observer.warning(
      fmt::format("{}: was computed from other data than {} holds now; what follows "
                  "is a new computation, not the same again",
                  request.input, files));
}

}  // namespace headway::jobs
