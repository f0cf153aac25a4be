#include "theory_course.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "headway/core/labels.hpp"
#include "headway/core/memory.hpp"
#include "headway/core/ranks.hpp"
#include "headway/dataset_file.hpp"
#include "headway/error.hpp"
#include "headway/solve.hpp"
#include "headway/study/sections.hpp"
#include "headway/study/study_hash.hpp"
#include "headway/verbs/theory/learned_attention.hpp"
#include "plan.hpp"
#include "table.hpp"
#include "trained_data.hpp"

namespace headway::cli {

namespace {

/// The result given as input, if its order parameters are those of this study and data; else a
/// warning says why not.
std::optional<SolveResult> known_result(const Options& options, const TheoryJob& job,
                                        Observer& observer) {
  ResultProvenance stored;
  SolveResult known = io::read_solve_result(options.input, &stored);
  const Study study = io::parse_study(stored.study_toml, options.input);
  std::string reason;
  if (stored.partial || known.interrupted) reason = "it is partial";
  if (!stored.shard.empty()) reason = "it is part " + stored.shard + " of its study";
  if (headway::study_hash(study) != stored.study_hash) reason = "its study and study_hash disagree";
  if (!headway::solves_alike(study, job.study)) reason = "the study was changed";
  if (stored.data_hash != job.dataset.content_hash) reason = "the data are not the same";
  if (reason.empty()) {
    observer.note(fmt::format("{}: its order parameters are used, no point of it is solved again",
                              options.input));
    if (!options.point.empty()) {
      warn_of_edge(options, known,
                   {job.study.model.widths.front(), job.study.model.temperatures.front()},
                   observer);
    }
    return known;
  }
  observer.warning(fmt::format("{}: its order parameters are not used: {}", options.input, reason));
  return std::nullopt;
}

/// Whether both studies make or read the same examples.
bool same_data(const Study& a, const Study& b) {
  return headway::section_text(a, "task") == headway::section_text(b, "task") &&
         headway::task_seed(a) == headway::task_seed(b);
}

bool may_reuse(const Reusable& earlier, const Study& study) {
  return !earlier.solved->interrupted && same_data(earlier.study, study) &&
         headway::solves_alike(earlier.study, study);
}

void warn_of_class_numbers(const TheoryJob& job, Observer& observer) {
  if (job.study.task.kind() != TaskKind::kDataset) return;
  const std::string warning =
      headway::class_numbers_warning(job.study.task.file(), job.dataset.train.labels);
  if (!warning.empty()) observer.warning(warning);
}

/// Of options that change nothing with these data or this sampler.
void warn_of_idle_options(const Options& options, const TheoryJob& job, bool samples,
                          Observer& observer) {
  const Study& study = job.study;
  const AttentionForm form = job.dataset.form;
  const bool given = form == AttentionForm::kPathFeatures || form == AttentionForm::kSupplied;
  if (given && study.model.attention != ModelOptions().attention) {
    observer.warning(fmt::format(
        "model.attention = \"{}\" has no effect: {} holds {}, so that no attention is computed",
        word_of(study.model.attention), job.dataset.name,
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
        options, {"solve.attention_start", "solve.attention_starts", "sample.attention_start"},
        "no attention is learned, since the study has no model.attention_prior", observer);
  }
  if (!samples) return;
  const Sampler sampler = study.sample.sampler;
  if (sampler == Sampler::kGibbs || sampler == Sampler::kCollapsed) {
    warn_of_unused(options, {"sample.metric", "sample.target_accept", "sample.max_tree_depth"},
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
      is_set(options, "sample.evidence")) {
    observer.warning(
        fmt::format("sample.evidence = true has no effect: only sample.sampler = "
                    "\"exact\", and \"collapsed\" with replicas, give the evidence, and this is "
                    "\"{}\"",
                    word_of(sampler)));
  }
}

}  // namespace

namespace {

tasks::Dataset given_data(const Options& options, const Study& study) {
  if (options.dataset) return *options.dataset;
  if (options.reusable && same_data(options.reusable->study, study)) {
    return *options.reusable->dataset;
  }
  if (study.task.kind() != TaskKind::kDataset) return headway::make_dataset(study);
  refuse_arrays_in_memory(options.input, study.task.file());
  if (headway::learns_attention(study)) return io::read_dataset_to_learn(study.task.file());
  return io::read_dataset(study.task.file());
}

}  // namespace

tasks::Dataset theory_data(const Options& options, const Study& study) {
  tasks::Dataset dataset = given_data(options, study);
  headway::learn_attention(study, dataset);
  return dataset;
}

std::string read_theory_data(const Options& options, TheoryJob& job, TheoryVerb kind, bool reuses,
                             Observer& observer) {
  job.dataset = theory_data(options, job.study);
  const bool together = kind == TheoryVerb::kSolves && options.ranks != nullptr;
  job.plan =
      headway::plan_theory(job.study, job.dataset, kind, together ? options.ranks->size() : 1);
  const bool shared = job.plan.kernels.form == theory::KernelForm::kDistributed;
  headway::require_memory(job.plan, job.study,
                          physical_memory() / (shared ? options.ranks->on_this_machine() : 1));
  if (!options.dataset) warn_of_class_numbers(job, observer);  // Python warns of its arrays
  if (!reuses) warn_of_replaced_data(options, job, job.dataset.content_hash, observer);
  warn_of_idle_options(options, job, kind == TheoryVerb::kSamples, observer);
  if (reuses && job.origin == io::StudyOrigin::kResultFile) {
    job.known = known_result(options, job, observer);
  } else if (reuses && options.reusable && may_reuse(*options.reusable, job.study)) {
    job.known = options.reusable->known();
  }
  return job.dataset.content_hash;
}

std::string theory_plan(const Options& options, const TheoryJob& job, const std::string& verb) {
  return options.json ? plan_json(job.plan, job.study, verb)
                      : plan_text(job.plan, job.study, verb, options.output);
}

}  // namespace headway::cli
