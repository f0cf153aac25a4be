#include "jobs/theory_job.hpp"

#include <fmt/format.h>

#include "headway/core/labels.hpp"
#include "headway/core/memory.hpp"
#include "headway/core/ranks.hpp"
#include "headway/dataset_file.hpp"
#include "headway/study/study_hash.hpp"
#include "headway/verbs/theory/learned_attention.hpp"
#include "jobs/plan.hpp"
#include "jobs/request_keys.hpp"
#include "jobs/trained_data.hpp"

namespace headway::jobs {

namespace {

bool may_reuse(const Reusable& earlier, const Study& study) {
  return !earlier.solved->interrupted && same_data(*earlier.study, study) &&
         headway::solves_alike(*earlier.study, study);
}

void warn_of_class_numbers(const Study& study, const tasks::Dataset& dataset, Observer& observer) {
  if (study.task.kind() != TaskKind::kDataset) return;
  const std::string warning =
      headway::class_numbers_warning(study.task.file(), dataset.train.labels);
  if (!warning.empty()) observer.warning(warning);
}

tasks::Dataset given_data(const Request& request, const Study& study) {
  if (request.dataset) return *request.dataset;
  if (request.reusable && same_data(*request.reusable->study, study)) {
    return *request.reusable->dataset;
  }
  if (study.task.kind() != TaskKind::kDataset) return headway::make_dataset(study);
  refuse_arrays_in_memory(request.input, study.task.file());
  if (headway::learns_attention(study)) return io::read_dataset_to_learn(study.task.file());
  return io::read_dataset(study.task.file());
}

}  // namespace

tasks::Dataset theory_data(const Request& request, const Study& study) {
  tasks::Dataset dataset = given_data(request, study);
  headway::learn_attention(study, dataset);
  return dataset;
}

/// The result given as input, if its order parameters are those of this study and data; else a
/// warning says why not.
std::optional<SolveResult> TheoryStart::known_result(Observer& observer) const {
  ResultProvenance stored;
  SolveResult known = io::read_solve_result(request.input, &stored);
  const Study earlier = io::parse_study(stored.study_toml, request.input);
  std::string reason;
  if (stored.partial || known.interrupted) reason = "it is partial";
  if (!stored.shard.empty()) reason = "it is part " + stored.shard + " of its study";
  if (headway::study_hash(earlier) != stored.study_hash)
    reason = "its study and study_hash disagree";
  if (!headway::solves_alike(earlier, study)) reason = "the study was changed";
  if (stored.data_hash != dataset_.content_hash) reason = "the data are not the same";
  if (reason.empty()) {
    observer.note(fmt::format("{}: its order parameters are used, no point of it is solved again",
                              request.input));
    if (!request.point.empty()) {
      warn_of_edge(request, known, {study.model.widths.front(), study.model.temperatures.front()},
                   observer);
    }
    return known;
  }
  observer.warning(fmt::format("{}: its order parameters are not used: {}", request.input, reason));
  return std::nullopt;
}

/// Of options that change nothing with these data or this sampler.
void TheoryStart::warn_of_idle_options(Observer& observer) const {
  const AttentionForm form = dataset_.form;
  const bool given = form == AttentionForm::kPathFeatures || form == AttentionForm::kSupplied;
  if (given && study.model.attention != ModelOptions().attention) {
    observer.warning(fmt::format(
        "model.attention = \"{}\" has no effect: {} holds {}, so that no attention is computed",
        word_of(study.model.attention), dataset_.name,
        form == AttentionForm::kPathFeatures ? "path features" : "the attention of every example"));
  }
  if (headway::learns_attention(study) && study.model.attention_prior->frozen.empty() &&
      study.model.attention != ModelOptions().attention) {
    observer.warning(
        fmt::format("model.attention = \"{}\" has no effect: all attention is learned, and "
                    "model.attention_prior.kind says how",
                    word_of(study.model.attention)));
  }
  if (!headway::learns_attention(study)) {
    warn_of_unused(
        request, {"solve.attention_start", "solve.attention_starts", "sample.attention_start"},
        "no attention is learned, since the study has no model.attention_prior", observer);
  }
  if (traits_.kind != TheoryVerb::kSamples) return;
  const Sampler sampler = study.sample.sampler;
  if (sampler == Sampler::kGibbs || sampler == Sampler::kCollapsed) {
    warn_of_unused(request, {"sample.metric", "sample.target_accept", "sample.max_tree_depth"},
                   fmt::format("sample.sampler = \"{}\" has no trajectories", word_of(sampler)),
                   observer);
  }
  if (!headway::draws_weights(sampler) && study.sample.keep_weights &&
      !headway::learns_attention(study)) {
    observer.warning(
        fmt::format("sample.keep_weights = true has no effect: sample.sampler = \"{}\" keeps no "
                    "weights",
                    word_of(sampler)));
  }
  if (headway::draws_weights(sampler) && study.sample.evidence &&
      is_set(request, "sample.evidence")) {
    observer.warning(
        fmt::format("sample.evidence = true has no effect: only sample.sampler = "
                    "\"exact\", and \"collapsed\" with replicas, give the evidence, and this is "
                    "\"{}\"",
                    word_of(sampler)));
  }
}

void TheoryStart::load() {
  io::LoadedStudy loaded = study_of(at_named_point(request));
  study = std::move(loaded.study);
  origin = loaded.origin;
}

std::string TheoryStart::read_data(Observer& observer) {
  const Ranks* ranks = request.ranks;
  dataset_ = theory_data(request, study);
  const bool together = traits_.kind == TheoryVerb::kSolves && ranks != nullptr;
  sizes_ = headway::plan_theory(study, dataset_, traits_.kind, together ? ranks->size() : 1);
  const bool shared = sizes_.kernels.form == theory::KernelForm::kDistributed;
  headway::require_memory(sizes_, study,
                          physical_memory() / (shared ? ranks->on_this_machine() : 1));
  if (!request.dataset) warn_of_class_numbers(study, dataset_, observer);  // Python warns itself
  if (!traits_.reuses) warn_of_replaced_data(*this, dataset_.content_hash, observer);
  warn_of_idle_options(observer);
  if (traits_.reuses && origin == io::StudyOrigin::kResultFile) {
    known_ = known_result(observer);
  } else if (traits_.reuses && request.reusable && may_reuse(*request.reusable, study)) {
    known_ = request.reusable->known();
  }
  return dataset_.content_hash;
}

std::string TheoryStart::plan() const {
  return request.json ? plan_json(sizes_, study, traits_.verb)
                      : plan_text(sizes_, study, traits_.verb, request.output);
}

}  // namespace headway::jobs
