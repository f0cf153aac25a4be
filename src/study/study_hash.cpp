#include "headway/study/study_hash.hpp"

#include <algorithm>
#include <vector>

#include "headway/core/sha256.hpp"
#include "headway/study/sections.hpp"
#include "study/overlays.hpp"

namespace headway {
namespace {

/// Where files lie is no part of what a study computes; their contents have a hash of their own.
void forget_files(Study& study) {
  if (auto* dataset = std::get_if<DatasetOptions>(&study.task.of)) dataset->file.clear();
  if (auto* text = std::get_if<TextTaskOptions>(&study.task.of)) text->file.clear();
  if (auto* arrays = std::get_if<ArraysTaskOptions>(&study.task.of)) arrays->file.clear();
  if (auto* images = std::get_if<OmniglotOptions>(&study.task.of)) {
    images->files.clear();
    for (OutOfDistributionSet& set : images->out_of_distribution) {
      set.images.clear();
      set.labels.clear();
    }
  }
  // Files of a sweep become numbers, counted axis by axis in the order of the keys.
  std::vector<SweepAxis*> axes;
  for (SweepAxis& axis : study.sweep) axes.push_back(&axis);
  std::sort(axes.begin(), axes.end(), [](auto* a, auto* b) { return a->key < b->key; });
  std::size_t files = 0;
  for (SweepAxis* axis : axes) {
    change_paths(*axis, [&files](const std::string&) { return std::to_string(++files); });
  }
}

std::string hash_without(const Study& study, const std::vector<std::string>& left_out) {
  Study hashed = study;
  hashed.threads = 0;
  // "exact" was the default once. The states of chains say which sampler made them.
  if (hashed.sample.sampler == Sampler::kAuto) hashed.sample.sampler = Sampler::kExact;
  forget_files(hashed);
  return sha256_hex(study_text(hashed, left_out));
}

/// With defaults where the study does not change what `solve` and `sample` compute.
Study as_solved(Study study) {
  study.name = Study{}.name;
  study.align = {};
  study.prune = {};
  study.rank = {};
  study.solve.checkpoint_seconds = SolveOptions{}.checkpoint_seconds;
  return study;
}

}  // namespace

std::string study_hash(const Study& study) {
  // Sections that are younger than stored results count only if they differ from their defaults.
  Study defaults;
  defaults.task.set_kind(study.task.kind());
  std::vector<std::string> left_out;
  std::vector<const char*> younger = {"evaluate", "latents", "rank"};
  if (description_of(study.task.kind()).side == Side::kTraining) younger.push_back("prune");
  for (const char* name : younger) {
    if (section_text(study, name) == section_text(defaults, name)) left_out.emplace_back(name);
  }
  return hash_without(study, left_out);
}

std::string solve_hash(const Study& study) {
  Study hashed = as_solved(study);
  hashed.sample = {};
  return study_hash(hashed);
}

bool solves_alike(const Study& a, const Study& b) {
  Study swept = a;
  swept.model.widths = b.model.widths;
  swept.model.temperatures = b.model.temperatures;
  // One process may continue from what ranks solved together.
  if (a.solve.kernels == theory::KernelForm::kDistributed) swept.solve.kernels = b.solve.kernels;
  return solve_hash(swept) == solve_hash(b);
}

std::string sample_hash(const Study& study) {
  Study hashed = as_solved(study);
  hashed.sample.checkpoint_seconds = SampleOptions{}.checkpoint_seconds;
  return study_hash(hashed);
}

std::string train_hash(const Study& study) {
  Study hashed = study;
  hashed.name = Study{}.name;
  hashed.sweep.clear();
  hashed.train.run.checkpoint_every = training::TrainOptions{}.checkpoint_every;
  hashed.train.keep_weights = TrainOptions{}.keep_weights;
  hashed.extract = {};
  // These sections look at trained networks and change nothing in them. Without them in the hash,
  // checkpoints stay valid when such a section gets a new key.
  return hash_without(hashed, {"evaluate", "latents", "prune", "rank"});
}

}  // namespace headway
