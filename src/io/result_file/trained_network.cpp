#include "headway/io/trained_network.hpp"

#include <algorithm>

#include "core/fail.hpp"
#include "core/whole_file.hpp"
#include "headway/io/hdf5_file.hpp"
#include "headway/result_file.hpp"
#include "headway/study/sweep.hpp"
#include "headway/study_file.hpp"
#include "headway/training/backend.hpp"
#include "io/first_reading.hpp"
#include "io/hdf5/record.hpp"
#include "io/result_file/trained_run.hpp"

namespace headway::io {
namespace {

/// The run whose sweep sets what `wanted` says; "" for one that was never begun.
std::string group_of(const Hdf5InputFile& file, const TrainRun& wanted) {
  for (std::size_t i = 0; i < file.members("runs").size(); ++i) {
    std::string group = fmt::format("runs/{}", i);
    if (file.kind(group) != NodeKind::kGroup) continue;
    const std::vector<std::string> settings = file.read_strings(group + "/settings");
    if (headway::settings_of(settings) == wanted.settings) return group;
  }
  return "";
}

/// Weights in `group`/weights or /best_weights.
std::vector<training::NamedTensor> read_weights(const Hdf5InputFile& file, const std::string& group,
                                                bool best) {
  const std::string name = best ? "best_weights" : "weights";
  std::vector<training::NamedTensor> out;
  RecordReader(file, group)(name, out, "weights, float32", {.optional = true});
  if (!out.empty()) return out;
  bad_data("{}/{} is missing: {}", group, name,
           best && file.kind(group + "/weights") == NodeKind::kGroup
               ? "the run was never evaluated; weights = \"last\" takes those of its last step"
               : "the result holds no weights (train.keep_weights = false)");
}

/// Whether the study in the file trained on a GPU by its own words.
bool trained_on_gpu(const std::string& file_path) {
  const std::string text = read_result_provenance(file_path).study_toml;
  const std::vector<TrainRun> runs = headway::train_runs(parse_study(text, file_path));
  return std::ranges::any_of(runs, [](const TrainRun& run) {
    return run.study.train.run.device == training::Device::kCuda;
  });
}

/// A network trained on a GPU that is not here runs on the device that is here. That is kAuto, not
/// kCpu, since the network may be of bf16.
void take_what_is_there(TrainedNetwork& network) {
  training::Device& device = network.study.train.run.device;
  network.without_gpu = device == training::Device::kCuda && !training::cuda_available();
  if (network.without_gpu) device = training::Device::kAuto;
}

TrainedNetwork read_run(const Hdf5InputFile& file, const std::string& group, const TrainRun& run,
                        KeptWeights weights) {
  TrainedNetwork out;
  out.study = run.study;
  out.study_name = run.study.name;
  out.label = headway::run_label(run.settings, run.study);
  out.variant = headway::run_variant(run.study);
  const bool best = weights == KeptWeights::kBest;
  const auto step = file.number_attribute(group, best ? "best_step" : "steps");
  if (!step || step->size() != 1) bad_data("{}: its step is missing", group);
  out.step = static_cast<Index>(step->front());
  out.outcome = file.text_attribute(group, "outcome").value_or("");
  out.parameters = read_weights(file, group, best);
  out.weights_sha256 = headway::weights_hash(out.parameters);
  out.tokenizer = read_tokenizer(file, group);
  out.format = read_format(file, group);
  return out;
}

}  // namespace

Study read_trained_study(const std::string& file_path, const std::vector<std::string>& overlays,
                         const std::vector<std::string>& allowed) {
  for (const std::string& overlay : overlays) {
    headway::check_change_of_trained(overlay, overlay_key(overlay), allowed);
  }
  require_readable_file(file_path);
  if (!is_hdf5(file_path)) {
    bad_data("{}: is not an HDF5 file; allowed: a result of headway train", file_path);
  }
  const std::string schema = first_reading(file_path).schema;
  if (schema != kResultSchema) {
    bad_data("{}: is {}; allowed: a result of headway train", file_path,
             schema.empty() ? "not a file of Headway" : "a " + shown(schema) + " file");
  }
  const std::string kind = read_result_kind(file_path);
  if (kind != TrainResult::kVerb) {
    bad_data("{}: is a result of headway {}; allowed: a result of headway train", file_path,
             shown(verb_of_kind(kind)));
  }
  return read_study(file_path, overlays).study;
}

std::vector<TrainedNetwork> read_trained_networks(const std::string& file_path, const Study& study,
                                                  KeptWeights weights, Observer& observer) {
  const std::string data_hash = read_result_provenance(file_path).data_hash;
  const bool of_gpu = trained_on_gpu(file_path);
  const std::vector<TrainRun> runs = headway::train_runs(study);
  return read_hdf5(file_path, kResultSchema, [&](const Hdf5InputFile& file) {
    std::vector<TrainedNetwork> out;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      const std::string group = group_of(file, runs[i]);
      const std::string outcome =
          group.empty() ? "not begun" : file.text_attribute(group, "outcome").value_or("");
      if (outcome != word_of(training::TrainOutcome::kFinished)) {
        observer.warning(fmt::format("run {} ({}, seed {}) is left out: {}", i + 1,
                                     headway::run_label(runs[i].settings, runs[i].study),
                                     runs[i].study.seed, outcome));
        continue;
      }
      out.push_back(read_run(file, group, runs[i], weights));
      out.back().run = static_cast<Index>(i) + 1;
      out.back().data_hash = data_hash;
      if (of_gpu) take_what_is_there(out.back());
    }
    if (out.empty()) bad_data("holds no run that was trained to its end");
    if (out.front().without_gpu) observer.warning(file_path + ": " + headway::kWithoutGpu);
    return out;
  });
}

TrainedNetwork read_trained_network(const std::string& file_path,
                                    const std::vector<std::string>& overlays) {
  const Study study =
      read_trained_study(file_path, overlays,
                         {"extract.", "threads", "name", "task.files", "task.out_of_distribution"});
  const std::vector<TrainRun> runs = headway::train_runs(study);
  const auto wanted = static_cast<std::size_t>(study.extract.run);
  if (wanted > runs.size()) {
    fail(ErrorKind::kBadStudy, "extract.run = {}: must be from 1 to {}, the number of runs in {}",
         wanted, runs.size(), file_path);
  }
  const TrainRun& run = runs[wanted - 1];
  headway::check_extractable(run.study);
  TrainedNetwork out = read_hdf5(file_path, kResultSchema, [&](const Hdf5InputFile& file) {
    const std::string group = group_of(file, run);
    if (group.empty()) bad_data("this run had not begun when the result was written");
    return read_run(file, group, run, study.extract.weights);
  });
  if (trained_on_gpu(file_path)) take_what_is_there(out);
  out.run = static_cast<Index>(wanted);
  out.data_hash = read_result_provenance(file_path).data_hash;
  return out;
}

}  // namespace headway::io
