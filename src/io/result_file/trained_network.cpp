#include "headway/io/trained_network.hpp"

#include <utility>

#include "headway/core/sha256.hpp"
#include "headway/io/hdf5_file.hpp"
#include "headway/io/result_file.hpp"
#include "headway/io/study_file.hpp"
#include "headway/studies/sweep.hpp"
#include "io/dataset_file/write.hpp"
#include "io/fail.hpp"
#include "io/hdf5/record.hpp"
#include "io/result_file/trained_run.hpp"

namespace headway::io {
namespace {

/// What an overlay may change: the weights stay those of the study that trained them.
void check_overlays(const std::vector<std::string>& overlays) {
  for (const std::string& overlay : overlays) {
    const std::string key = overlay_key(overlay);
    if (key.starts_with("extract.") || key == "threads" || key == "name" || key == "task.files" ||
        key == "task.out_of_distribution") {
      continue;
    }
    fail(ErrorKind::kBadStudy,
         "--set {}: must be a key of [extract], threads, task.files or task.out_of_distribution: "
         "the others are those that the network was trained with",
         overlay);
  }
}

/// The run whose sweep sets what `wanted` says; runs that were never begun have no group.
std::string group_of(const Hdf5InputFile& file, const studies::TrainRun& wanted) {
  for (std::size_t i = 0; i < file.members("runs").size(); ++i) {
    const std::string group = fmt::format("runs/{}", i);
    if (file.kind(group) != NodeKind::kGroup) continue;
    if (trained_run_settings(file, group) == wanted.settings) return group;
  }
  bad_data("this run was not begun before the result was written");
}

/// Weights in `group`/weights or /best_weights.
std::vector<training::NamedTensor> read_weights(const Hdf5InputFile& file, const std::string& group,
                                                bool best) {
  const std::string name = best ? "best_weights" : "weights";
  std::vector<training::NamedTensor> out;
  RecordReader(file, group)(name, out, "float32 arrays", {.optional = true});
  if (!out.empty()) return out;
  bad_data("{}/{} is missing: {}", group, name,
           best && file.kind(group + "/weights") == NodeKind::kGroup
               ? "the run was never evaluated; --set extract.weights=last takes the weights at its "
                 "end"
               : "the result holds no weights (train.keep_weights = false)");
}

std::string weights_hash(const std::vector<training::NamedTensor>& parameters) {
  Sha256 hash;
  for (const training::NamedTensor& tensor : parameters) {
    hash.update(tensor.name);
    hash.update(tensor.values.data(), tensor.values.size() * sizeof(float));
  }
  return hash.hex_digest();
}

/// Fills label, step and weights from the file of a result.
void read_run(const std::string& file_path, const studies::TrainRun& run, TrainedNetwork& out) {
  const Hdf5InputFile file(file_path);
  const std::string group = group_of(file, run);
  const bool best = out.study.extract.weights == studies::KeptWeights::kBest;
  out.label = file.text_attribute(group, "label").value_or("");
  const auto step = file.number_attribute(group, best ? "best_step" : "steps");
  if (!step || step->size() != 1) bad_data("{}: its step is missing", group);
  out.step = static_cast<Index>(step->front());
  out.parameters = read_weights(file, group, best);
}

}  // namespace

TrainedNetwork read_trained_network(const std::string& file_path,
                                    const std::vector<std::string>& overlays) {
  check_overlays(overlays);
  if (!is_result_file(file_path)) {
    // The words of read_study for a file that is missing or no HDF5 file at all.
    static_cast<void>(read_study(file_path));
    bad_data("{}: is no result file; allowed: the result of headway train", file_path);
  }
  const studies::ResultProvenance provenance = read_result_provenance(file_path);
  TrainedNetwork out;
  const studies::Study study = read_study(file_path, overlays).study;
  out.study_name = study.name;
  const std::vector<studies::TrainRun> runs = studies::train_runs(study);
  const auto wanted = static_cast<std::size_t>(study.extract.run);
  if (wanted > runs.size()) {
    fail(ErrorKind::kBadStudy, "extract.run = {}: must be from 1 to {}, the runs of {}", wanted,
         runs.size(), file_path);
  }
  const studies::TrainRun& run = runs[wanted - 1];
  out.study = run.study;
  studies::check_extractable(out.study);
  out.data_hash = provenance.data_hash;
  try {
    const Hdf5Lock lock;
    read_run(file_path, run, out);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kBadData) throw;
    bad_data("{}: {}", file_path, error.what());
  }
  out.weights_sha256 = weights_hash(out.parameters);
  return out;
}

void write_extracted(const std::string& file_path, const studies::ExtractResult& result,
                     const std::vector<std::pair<std::string, std::string>>& provenance,
                     bool force) {
  const Hdf5Lock lock;
  Hdf5OutputFile out;
  write_dataset(result.dataset, out);
  for (const auto& [name, text] : provenance) out.set("/", name, text);
  out.write_to(file_path, force);
}

}  // namespace headway::io
