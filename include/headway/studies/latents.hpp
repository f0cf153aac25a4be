#pragma once

#include <string>
#include <vector>

#include "headway/analysis/decoding.hpp"
#include "headway/core/observer.hpp"
#include "headway/core/record.hpp"
#include "headway/studies/trained.hpp"
#include "headway/studies/training.hpp"

namespace headway::studies {

/// What one decoder reads off the codes of one layer.
struct DecoderReport {
  std::string name;  ///< "term", "bits" (fuzzy logic), "rule" (SRAVEN), "answer"
  analysis::DecoderKind kind = analysis::DecoderKind::kLogistic;
  analysis::DecoderMetric metric = analysis::DecoderMetric::kF1;
  analysis::Decoding decoding;
  double untrained = kUndefined;
  double untrained_standard_error = kUndefined;
};
template <class Visitor, RecordOf<DecoderReport> Record>
void fields(Visitor& visit, Record& r) {
  visit("name", r.name, "what is decoded: \"term\", \"bits\", \"rule\" or \"answer\"");
  visit("kind", r.kind, "\"logistic\" or \"ridge\"");
  visit("metric", r.metric, "\"f1\", \"balanced_accuracy\" or \"r2\"");
  visit("train", r.decoding.train, "on the training tasks that the decoder was fitted to");
  visit("held_out", r.decoding.held_out, "on tasks that network and decoder never saw");
  visit("chance", r.decoding.chance,
        "the best without looking at the codes; SRAVEN: knowing which feature they are of");
  visit("standard_error", r.decoding.standard_error, "of held_out, over its tasks (jackknife)");
  visit("shuffled", r.decoding.shuffled,
        "held_out of decoders fitted to labels exchanged between tasks, mean");
  visit("shuffled_sd", r.decoding.shuffled_deviation, "its deviation over the exchanges");
  visit("untrained", r.untrained, "held_out for the network with its first, random weights");
  visit("untrained_standard_error", r.untrained_standard_error, "over held-out tasks");
  visit("regularisation", r.decoding.penalty,
        "L2 penalty that cross-validation over training tasks chose");
  visit("converged", r.decoding.converged,
        "whether every fit with this penalty met its stopping test, shuffled and untrained, too");
}

/// Mean codes of terms or rules, on held-out tasks.
struct SimilarityReport {
  std::vector<std::string> labels;
  analysis::CodeSimilarity codes;
};
template <class Visitor, RecordOf<SimilarityReport> Record>
void fields(Visitor& visit, Record& r) {
  visit("labels", r.labels, "terms (a digit for each variable, 0: negated) or rules");
  visit("cosine", r.codes.cosine,
        "between the mean codes of labels on held-out tasks, as they are (not centred)");
  visit("centred_cosine", r.codes.centred, "the same after the mean over labels is taken off");
  visit("mean_codes", r.codes.mean, "[labels, heads], on held-out tasks",
        {.place = FieldPlace::kFile});
  visit("same_label", r.codes.same,
        "mean cosine of a code of a training task and one of a held-out task with the same label");
  visit("different_label", r.codes.different,
        "the same with two labels that differ, of codes that share none");
}

/// The codes of one layer, or of all together.
struct LatentLayer {
  Index layer = 0;  ///< counted from 1; 0: all layers, one after the other
  Index codes = 0;  ///< examples of either split
  Index heads = 0;
  Index pairs = 1;  ///< of query and key, whose weights stand one after the other in a code
  std::vector<DecoderReport> decoders;
  SimilarityReport similarity;
  MatrixXd train, held_out;  ///< [codes, pairs heads]; not kept of all layers together
};
template <class Visitor, RecordOf<LatentLayer> Record>
void fields(Visitor& visit, Record& r) {
  visit("layer", r.layer, "counted from 1; 0: all layers together");
  visit("codes", r.codes, "examples of either split");
  visit("heads", r.heads, "H");
  visit("pairs", r.pairs, "of query and key, whose weights stand one after the other in a code");
  visit("decoders", r.decoders, "in a fixed order");
  visit("similarity", r.similarity, "mean codes and how alike they are");
  visit("codes/train", r.train, "[codes, pairs heads]: codes of training tasks",
        {.place = FieldPlace::kFile, .optional = true});
  visit("codes/held_out", r.held_out, "codes of held-out tasks",
        {.place = FieldPlace::kFile, .optional = true});
}

/// What is known of the examples of one split, in the order of their codes.
struct LatentLabels {
  std::string split;  ///< as the task calls it
  std::vector<Index> tasks;
  std::vector<std::vector<int>> labels;  ///< [n][K]: the terms; [n][1]: the rule
  std::vector<int> features;             ///< SRAVEN: that the code is of; else empty
  std::vector<double> answers;
};
template <class Visitor, RecordOf<LatentLabels> Record>
void fields(Visitor& visit, Record& r) {
  visit("split", r.split, "of the task");
  visit("task", r.tasks, "number of the task or rule set of each code in the lists of its split");
  visit("label", r.labels, "terms or rule, as numbers in similarity/labels, [codes, terms]");
  visit("feature", r.features, "SRAVEN: feature that the code is of", {.optional = true});
  visit("answer", r.answers, "right answer: the value of the query, or the symbol");
}

/// One network.
struct LatentRun {
  Index run = 1;
  std::string label, variant;
  std::uint64_t seed = 0;
  TaskKind task = TaskKind::kFuzzyLogic;
  Index step = 0;
  std::vector<LatentLayer> layers;
  LatentLayer all_layers;
  LatentLabels train, held_out;
};
template <class Visitor, RecordOf<LatentRun> Record>
void fields(Visitor& visit, Record& r) {
  visit("run", r.run, "its number among those of the training study");
  visit("label", r.label, "the settings but for seeds, in short");
  visit("variant", r.variant, "train.attention, with what else it has");
  visit("seed", r.seed, "of the run");
  visit("task", r.task, "\"fuzzy_logic\" or \"sraven\"");
  visit("step", r.step, "updates that the weights have seen");
  visit("layers", r.layers, "those of latents.layers");
  visit("all_layers", r.all_layers, "the codes of these layers together");
  visit("labels/train", r.train, "of the codes of training tasks", {.place = FieldPlace::kFile});
  visit("labels/held_out", r.held_out, "of those of held-out tasks", {.place = FieldPlace::kFile});
}

/// One decoder of one layer over the runs that differ in their seeds alone.
struct LatentGroup {
  std::string label;
  Index layer = 0;
  std::string decoder;
  analysis::DecoderMetric metric = analysis::DecoderMetric::kF1;
  std::vector<std::uint64_t> seeds;
  Spread train, held_out, shuffled, untrained;
  double standard_error = kUndefined;  ///< over tasks, mean over the runs
  double chance = kUndefined;
};
template <class Visitor, RecordOf<LatentGroup> Record>
void fields(Visitor& visit, Record& r) {
  visit("label", r.label, "of the runs");
  visit("layer", r.layer, "counted from 1; 0: all layers together");
  visit("decoder", r.decoder, "what is decoded");
  visit("metric", r.metric, "of the decoder");
  visit("seeds", r.seeds, "of the runs", {.layout = FieldLayout::kAttribute});
  fields(visit, r.train, "train", "mean over seeds");
  fields(visit, r.held_out, "held_out", "mean over seeds");
  fields(visit, r.shuffled, "shuffled", "mean over seeds");
  fields(visit, r.untrained, "untrained", "mean over seeds");
  visit("standard_error", r.standard_error, "of held_out over tasks, mean over the runs");
  visit("chance", r.chance, "mean over the runs");
}

struct LatentsResult {
  static constexpr const char* kVerb = "latents";
  std::vector<LatentRun> runs;
  std::size_t planned = 0;
  bool interrupted = false;
  double seconds = 0.0;
  int threads = 1;
};

/// The study of a run with the task that its codes are taken on: that of training with the keys of
/// latents.task in place of its own, and SRAVEN without permutations unless these say otherwise.
/// task.seed is given. Errors as changed_study().
Study latents_study(const Study& run);

/// Error{kBadStudy} unless networks of this study have latent codes to decode: a task of fuzzy
/// logic or SRAVEN whose features stay in their places, layers that the network has.
void check_latents(const Study& study);

/// `headway latents`: the latent codes (the weights a[1..H] of a query-key pair) of trained
/// networks and what can be decoded from them [S25, figures 2 and 5]. Fuzzy logic: the last token
/// attending to itself; SRAVEN: the answer of a feature drawn at random attending to the same
/// feature of panels 7 and 8, on unpermuted instances. Decoders are fitted to fresh examples of
/// training tasks and asked about held-out tasks (analysis::decode()). latents.task of the study of
/// each network changes the task; interruption between two networks is a value. Errors: as
/// check_latents(); kBadData for too few tasks or examples. Cost of a run: three passes of the
/// network over the examples, and 30 to 50 fits for each layer and decoder.
LatentsResult latents(const std::vector<TrainedNetwork>& networks, const TaskMaker& make_task,
                      Observer& observer);

/// What keeps a run from being usable, in words: a fit that did not converge.
std::vector<std::string> latent_faults(const LatentRun& run);

/// Over seeds: in the order of the first runs, layers and decoders.
std::vector<LatentGroup> group_latents(const LatentsResult& result);

}  // namespace headway::studies
