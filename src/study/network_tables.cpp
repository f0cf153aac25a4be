// The tables of the sections about trained networks; their words are in study_words.cpp.
#include <string>

#include "headway/core/option_table.hpp"
#include "headway/study.hpp"
#include "headway/study/task_kinds.hpp"

namespace headway {
namespace {

constexpr std::int64_t kMostExamples = 1'000'000;
constexpr std::size_t kMostKeptLayers = 64;
constexpr std::size_t kMostPenalties = 10'000;
constexpr double kLargestPenalty = 1e9;

/// A table of keys of [task]. check_study() checks them against the task.
OptionType<OptionValue> task_keys() {
  const std::string allowed = "a table of keys of [task]";
  return {allowed,
          [allowed](const OptionValue& value, const std::string& path) {
            if (value.get<OptionValue::Table>() == nullptr) refuse(value, path, allowed);
            return value;
          },
          [](const OptionValue& held) {
            return held.get<OptionValue::Table>()->empty() ? std::string() : text_of(held);
          },
          [](const OptionValue&, const std::string&) {}};
}

}  // namespace

const OptionTable<ExtractOptions>& ExtractOptions::table() {
  using E = ExtractOptions;
  static const OptionTable<E> table = {{
      option("run", &E::run, integer<Index>(1, kMostExamples),
             "which run of a sweep, counted from 1"),
      option("layers", &E::layers,
             list(integer<Index>(1, 1'000), "a list of layers, from 1, rising", 1, 1'000),
             "transformers: layers whose parts count one by one; absent: the last layer"),
      option(
          "form", &E::form, optional(choice<ExtractForm>()),
          "transformers: contributions takes the network apart exactly; attention keeps only its "
          "attention matrices; value_network has HYLA's last layer for model.value_network. "
          "absent: contributions"),
      option("parts", &E::parts, optional(choice<training::GeneratedParts>()),
             "HYLA: one part for each head, or for each pair of a head that generates and one that "
             "reads; absent: heads"),
      option("position", &E::position, optional(integer<Index>(1, kMostExamples)),
             "transformers: which scored token, counted from 1; absent: the last one"),
      option("weights", &E::weights, choice<KeptWeights>(),
             "weights of the best checkpoint, or of the last step"),
      option("train_examples", &E::train_examples, integer<Index>(1, kMostExamples),
             "training examples P of the data set"),
      option("test_examples", &E::test_examples, integer<Index>(0, kMostExamples),
             "test examples; 0 = no test set"),
      option("validation_examples", &E::validation_examples, integer<Index>(0, kMostExamples),
             "validation examples, for choosing a temperature; 0 = none"),
      option("out_of_distribution_examples", &E::out_of_distribution_examples,
             integer<Index>(0, kMostExamples), "examples of each further set; 0 = none"),
  }};
  return table;
}

const OptionTable<EvaluateOptions>& EvaluateOptions::table() {
  using E = EvaluateOptions;
  static const OptionTable<E> table = {{
      option("weights", &E::weights, choice<KeptWeights>(),
             "weights of the best checkpoint, or of the last step"),
      option("examples", &E::examples, integer<Index>(0, kMostExamples),
             "examples of each split; 0 = as many as train.eval_examples"),
  }};
  return table;
}

const OptionTable<RankOptions>& RankOptions::table() {
  using R = RankOptions;
  static const OptionTable<R> table = {{
      option("readout", &R::readout, choice<ReadoutAfterRemoval>(),
             "what the estimate is of: the cost with the readout as it is, or fitted again"),
      option("removed_as", &R::removed_as, choice<RemovedAs>(),
             "what the estimate sets a removed head's output to. Without effect on a data set, "
             "whose parts are frozen."),
      option("cheapest", &R::cheapest, integer<Index>(0, kMostExamples),
             "k of the probability to have one of the k smallest estimates; 0 = a quarter of the "
             "heads"),
      option(
          "penalty", &R::penalty, optional(real(0.0, kLargestPenalty, Ends::kOpenBelow)),
          "L2 penalty of the readout; absent: the power of ten from 1e-4 to 1e3 with the smallest "
          "error on examples left out"),
      option("examples", &R::examples, integer<Index>(8, kMostExamples),
             "examples that a trained network is asked about. A data set gives all it has."),
  }};
  return table;
}

const OptionTable<LatentsOptions>& LatentsOptions::table() {
  using L = LatentsOptions;
  static const OptionTable<L> table = {{
      option("weights", &L::weights, choice<KeptWeights>(),
             "weights of the best checkpoint, or of the last step"),
      option(
          "task", &L::task, task_keys(),
          "keys of [task] that differ from training. sraven: permuted = false unless given here."),
      option("layers", &L::layers,
             list(integer<Index>(1, kMostExamples), "a list of layers, counted from 1", 1,
                  kMostKeptLayers),
             "layers to decode; absent: all"),
      option(
          "feature", &L::feature, choice<LatentFeature>(),
          "sraven: the feature whose codes are decoded. Rule sets are sorted, so the rules of the "
          "last one are very unbalanced."),
      option("examples", &L::examples, integer<Index>(1, kMostExamples),
             "examples of training tasks, and as many of held-out tasks"),
      option("folds", &L::folds, integer<int>(2, 1000),
             "folds of the cross-validation over training tasks"),
      option("shuffles", &L::shuffles, integer<int>(0, kMostExamples),
             "control fits to labels that are exchanged between tasks"),
      option("regularisation", &L::regularisation,
             one_or_list(real(0.0, kLargestPenalty, Ends::kOpenBelow),
                         "a number > 0 and <= 1e9, or a list of them", kMostPenalties),
             "L2 penalties that cross-validation chooses among"),
  }};
  return table;
}

}  // namespace headway
