#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "headway/analysis/decoding.hpp"
#include "headway/core/record.hpp"
#include "headway/numerics/statistics.hpp"
#include "headway/study.hpp"
#include "headway/train_results.hpp"

namespace headway {

/// What one decoder reads off the codes of one layer.
struct DecoderReport {
  std::string name;  ///< "term", "bits" (fuzzy logic), "rule" (SRAVEN), a factor, "answer"
  analysis::DecoderKind kind = analysis::DecoderKind::kLogistic;
  analysis::DecoderMetric metric = analysis::DecoderMetric::kF1;
  analysis::Decoding decoding;
  double untrained = kUndefined;
  double untrained_standard_error = kUndefined;
};
template <class Visitor, RecordOf<DecoderReport> Record>
void fields(Visitor& visit, Record& r) {
  visit("name", r.name,
        "what is decoded: \"term\", \"bits\", \"rule\", a factor of one's own, or \"answer\"");
  visit("kind", r.kind, "kind of decoder: \"logistic\" or \"ridge\"");
  visit("metric", r.metric, "metric of the decoder: \"f1\", \"balanced_accuracy\" or \"r2\"");
  visit("train", r.decoding.train, "metric on the training tasks, which the decoder was fitted to");
  visit("held_out", r.decoding.held_out, "metric on tasks that neither network nor decoder saw");
  visit("chance", r.decoding.chance,
        "best metric without looking at the codes; SRAVEN: knowing which feature a code is of");
  visit("standard_error", r.decoding.standard_error,
        "standard error of held_out over its tasks (jackknife)");
  visit("shuffled", r.decoding.shuffled,
        "control: mean held_out of decoders fitted to labels exchanged between tasks");
  visit("shuffled_sd", r.decoding.shuffled_deviation,
        "standard deviation of that over the exchanges");
  visit("untrained", r.untrained,
        "control: held_out for the network with its initial, random weights");
  visit("untrained_standard_error", r.untrained_standard_error,
        "standard error of that over held-out tasks");
  visit("regularisation", r.decoding.penalty,
        "L2 penalty, chosen by cross-validation over training tasks");
  visit("converged", r.decoding.converged,
        "whether every fit with this penalty converged, those of the controls included");
}

/// Mean codes of terms or rules, on held-out tasks.
struct SimilarityReport {
  std::vector<std::string> labels;
  analysis::CodeSimilarity codes;
};
template <class Visitor, RecordOf<SimilarityReport> Record>
void fields(Visitor& visit, Record& r) {
  visit("labels", r.labels,
        "terms (one digit a variable, 0 if negated), rules, or values of factors");
  visit("cosine", r.codes.cosine,
        "cosine between the mean codes of two labels on held-out tasks, not centred");
  visit("centred_cosine", r.codes.centred, "the same after subtracting the mean over labels");
  visit("mean_codes", r.codes.mean, "mean codes on held-out tasks, [labels, heads]",
        {.place = FieldPlace::kFile});
  visit("same_label", r.codes.same,
        "mean cosine between a code of a training task and one of a held-out task with the same "
        "label");
  visit("different_label", r.codes.different, "the same for codes that share no label");
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
  visit("codes", r.codes, "number of codes of each split");
  visit("heads", r.heads, "heads H");
  visit("pairs", r.pairs, "query-key pairs whose weights make one code, one after the other");
  visit("decoders", r.decoders, "one entry a decoder");
  visit("similarity", r.similarity, "mean codes, and how similar they are");
  visit("codes/train", r.train, "codes of training tasks, [codes, pairs heads]",
        {.place = FieldPlace::kFile, .optional = true});
  visit("codes/held_out", r.held_out, "codes of held-out tasks, [codes, pairs heads]",
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
  visit("split", r.split, "split of the task");
  visit("task", r.tasks, "task, rule set or composition of each code, as its number");
  visit("label", r.labels,
        "terms, rule or factors of each code, as numbers in similarity/labels, [codes, labels]");
  visit("feature", r.features, "SRAVEN: feature of each code", {.optional = true});
  visit("answer", r.answers,
        "right answer of each example: the value of the query, the symbol, or the target");
}

/// One network.
struct LatentRun : NetworkRun {
  TaskKind task = TaskKind::kFuzzyLogic;
  Index step = 0;
  std::vector<LatentLayer> layers;
  LatentLayer all_layers;
  LatentLabels train, held_out;
};
template <class Visitor, RecordOf<LatentRun> Record>
void fields(Visitor& visit, Record& r) {
  fields_of_network(visit, r);
  visit("task", r.task, "kind of task: \"fuzzy_logic\", \"sraven\" or \"arrays\"");
  visit("step", r.step, "updates of the weights before they were taken");
  visit("layers", r.layers, "the layers of latents.layers");
  visit("all_layers", r.all_layers, "the codes of these layers together");
  visit("labels/train", r.train, "what the codes of training tasks are of",
        {.place = FieldPlace::kFile});
  visit("labels/held_out", r.held_out, "what the codes of held-out tasks are of",
        {.place = FieldPlace::kFile});
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
  visit("label", r.label, "the runs in short");
  visit("layer", r.layer, "counted from 1; 0: all layers together");
  visit("decoder", r.decoder, "what is decoded");
  visit("metric", r.metric, "metric of the decoder");
  visit("seeds", r.seeds, "seeds of the runs", {.layout = FieldLayout::kAttribute});
  fields(visit, r.train, "train", "train, mean over seeds");
  fields(visit, r.held_out, "held_out", "held_out, mean over seeds");
  fields(visit, r.shuffled, "shuffled", "shuffled, mean over seeds");
  fields(visit, r.untrained, "untrained", "untrained, mean over seeds");
  visit("standard_error", r.standard_error,
        "standard error of held_out over tasks, mean over the runs");
  visit("chance", r.chance, "chance, mean over the runs");
}

/// What `latents` returns: how well each factor of a task is decoded from each network.
struct LatentsResult : NetworkRuns<LatentRun> {
  static constexpr const char* kVerb = "latents";
};

/// What keeps a run from being usable, in words: a fit that did not converge.
std::vector<std::string> latent_faults(const LatentRun& run);

/// Over seeds: in the order of the first runs, layers and decoders.
std::vector<LatentGroup> group_latents(const LatentsResult& result);

}  // namespace headway
