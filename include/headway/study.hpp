#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "headway/core/alternative.hpp"
#include "headway/core/examples.hpp"
#include "headway/core/option_table_fwd.hpp"
#include "headway/core/option_value.hpp"
#include "headway/core/words.hpp"
#include "headway/tasks/bilinear_sequence_regression.hpp"
#include "headway/tasks/copy.hpp"
#include "headway/tasks/fuzzy_logic.hpp"
#include "headway/tasks/hidden_markov_chain.hpp"
#include "headway/tasks/in_context_regression.hpp"
#include "headway/tasks/modules.hpp"
#include "headway/tasks/one_shot_images.hpp"
#include "headway/tasks/sraven.hpp"
#include "headway/theory_options.hpp"
#include "headway/training/contributions.hpp"
#include "headway/training/task_adapters.hpp"
#include "headway/training/train_options.hpp"
#include "headway/training/transformer_options.hpp"

// Each struct has a table of its keys, ranges and words (core/option_table.hpp);
// study/sections.hpp joins them to the sections of a study file.
namespace headway {

/// A set of other images, in the IDX format of MNIST, that a trained network is evaluated on.
struct OutOfDistributionSet {
  std::string name;    ///< of its split
  std::string images;  ///< path of the images, already resolved
  std::string labels;  ///< path of the labels, already resolved
  bool invert = true;  ///< light ink on black becomes dark on white, as Omniglot is
};

/// [task] kind = "omniglot"
struct OmniglotOptions {
  std::vector<std::string> files;  ///< archives or folders, already resolved
  tasks::OneShotImagesOptions images;
  std::vector<OutOfDistributionSet> out_of_distribution;

  static const OptionTable<OmniglotOptions>& table();
};

/// What makes the examples. study/task_kinds.hpp describes each.
enum class TaskKind {
  kHiddenMarkovChain,
  kDataset,
  kFuzzyLogic,
  kSraven,
  kText,
  kOmniglot,
  kCopy,
  kArrays,
  kBilinearSequence,
  kInContext,
  kModules
};
Words<TaskKind> words_of(TaskKind);

/// What a token of a text is: a byte, or a piece (byte-pair encoding).
enum class TextLevel { kBytes, kBpe };
Words<TextLevel> words_of(TextLevel);

/// [task] kind = "dataset"
struct DatasetOptions {
  std::string file;  ///< path of the file, already resolved
};

/// [task] kind = "text"
struct TextTaskOptions {
  std::string file;  ///< path of the file, already resolved
  TextLevel level = TextLevel::kBytes;
  Index vocabulary = 4096;  ///< bpe: tokens at most
  training::TextOptions text;
};

/// [task] kind = "arrays"
struct ArraysTaskOptions {
  std::string file;  ///< path of the file, already resolved; kArraysInMemory: given from memory
  training::ArrayOptions arrays;
};

/// [task]: what makes the examples. It holds the options of one kind of task.
struct TaskOptions {
  /// In the order of TaskKind. The seeds inside are those of task_seed().
  std::variant<tasks::HiddenMarkovChainOptions, DatasetOptions, tasks::FuzzyLogicOptions,
               tasks::SravenOptions, TextTaskOptions, OmniglotOptions, tasks::CopyOptions,
               ArraysTaskOptions, tasks::BilinearSequenceOptions, tasks::InContextOptions,
               tasks::ModulesOptions>
      of;
  std::optional<std::uint64_t> seed;  ///< fixes the data apart from Study::seed

  [[nodiscard]] TaskKind kind() const { return static_cast<TaskKind>(of.index()); }
  /// Another kind begins with its defaults.
  void set_kind(TaskKind kind);
  /// The options of a kind, see alternative(): a task of another kind becomes one of this.
  template <class Options>
  [[nodiscard]] const Options& as() const {
    return alternative<Options>(of);
  }
  template <class Options>
  [[nodiscard]] Options& as() {
    return alternative<Options>(of);
  }
  /// dataset, text, arrays: path of the file; "" of other kinds.
  [[nodiscard]] std::string file() const;

  static const OptionTable<TaskOptions>& table();  ///< of every kind
};

/// Is it a task of `headway train`? The other kinds are those of the theory.
bool is_training_task(TaskKind kind);

/// Which of the parameters that a training run kept are used.
enum class KeptWeights { kBest, kLast };
Words<KeptWeights> words_of(KeptWeights);

/// What stands in for a head that is removed from a transformer.
enum class RemovedAs {
  kZero,  ///< nothing: its attention weights are 0
  kMean,  ///< the mean of what it adds to the residual stream
};
Words<RemovedAs> words_of(RemovedAs);

/// Heads in the theory, and in the network that a data set carries.
struct PruneInTheory {};

/// The networks of a train result. Keys that are absent by default are written only where they are
/// given.
struct PruneTrained {
  std::optional<RemovedAs> removed_as;  ///< of the curves; each head alone is removed both ways
  std::optional<KeptWeights> weights;   ///< absent: best
  std::optional<Index> examples;        ///< of each split that heads are removed on; absent: 1000
  std::optional<Index> sensitivity_examples;  ///< training examples of it; absent: 256
  std::optional<Index> mean_examples;         ///< training examples of a head's mean; absent: 64
  std::vector<std::string> theory;  ///< results of headway prune on data extracted from the runs

  static const OptionTable<PruneTrained>& table();
};

/// [prune]
struct PruneOptions {
  int random_orders = 20;  ///< draws of the random pruning order
  bool greedy = true;      ///< also search the true greedy order
  bool cumulative = true;
  // Of a network itself, carried by a data set or trained:
  bool rescale = true;  ///< a pruned layer times sqrt(H_l / heads left), as [T24] does
  bool normalise_sensitivity = true;  ///< each layer's gradient sensitivities divided by their norm
  int resamples = 1000;               ///< bootstrap of the rank correlations over examples
  int permutations = 20'000;          ///< random pairings for their p-values (10 heads or more)
  /// What is pruned. A study says it by the keys that it gives: those of PruneTrained.
  std::variant<PruneInTheory, PruneTrained> of;

  /// Of trained networks, see alternative().
  [[nodiscard]] const PruneTrained& trained() const { return alternative<PruneTrained>(of); }
  [[nodiscard]] PruneTrained& trained() { return alternative<PruneTrained>(of); }

  static const OptionTable<PruneOptions>& table();
};

/// [train]
struct TrainOptions {
  training::TransformerOptions model;
  training::TrainOptions run;  ///< seed and threads are those of the study: see resolved_run()
  bool keep_weights = true;    ///< the result holds the last and the best parameters
  Index sample_tokens = 256;   ///< text: tokens that the trained model writes; 0 = none
  double sample_temperature = 0.8;

  static const OptionTable<TrainOptions>& table();
};

/// What a transformer is as a data set of the theory.
enum class ExtractForm {
  kContributions,  ///< what its parts add to its embedding, as path features
  kAttention,      ///< the inputs of its first kept layer, and its attention matrices
  kValueNetwork,   ///< the same of its last layer, HYLA, with labels for that layer alone
};
Words<ExtractForm> words_of(ExtractForm);

/// [extract]: from a trained network to a data set of the theory. Keys that are absent by default
/// are written only where they are given: the hashes of training runs do not know them.
struct ExtractOptions {
  Index run = 1;  ///< of the runs of a sweep, counted from 1
  // Transformers alone:
  std::vector<Index> layers;                      ///< kept ones, from 1; empty: the last one
  std::optional<ExtractForm> form;                ///< absent: contributions
  std::optional<training::GeneratedParts> parts;  ///< absent: heads
  std::optional<Index> position;                  ///< of the scored tokens, from 1; absent: last
  KeptWeights weights = KeptWeights::kBest;
  Index train_examples = 600;  ///< P of [T24]
  Index test_examples = 1000;
  Index validation_examples = 1000;
  Index out_of_distribution_examples = 1000;  ///< of each set

  static const OptionTable<ExtractOptions>& table();
};

/// [evaluate]: a trained network on other data of its kind
struct EvaluateOptions {
  KeptWeights weights = KeptWeights::kBest;
  Index examples = 0;  ///< of each split; 0: train.eval_examples

  static const OptionTable<EvaluateOptions>& table();
};

/// Which readout a ranking is of.
enum class ReadoutAfterRemoval {
  kFixed,     ///< fitted to the whole network, and kept without the head
  kRefitted,  ///< fitted again to what is left
};
Words<ReadoutAfterRemoval> words_of(ReadoutAfterRemoval);

/// [rank]: heads by what their removal costs
struct RankOptions {
  ReadoutAfterRemoval readout = ReadoutAfterRemoval::kFixed;
  RemovedAs removed_as = RemovedAs::kMean;
  Index cheapest = 0;             ///< k of the probability to be among the k cheapest; 0: a quarter
  std::optional<double> penalty;  ///< of the readout; absent: the best for examples left out
  Index examples = 300;           ///< that a trained network is asked about

  static const OptionTable<RankOptions>& table();
};

/// SRAVEN: the feature whose answer gives the latent code of an instance. kRandom draws one for
/// each instance. kLast takes the last, whose rules are very unbalanced because rule sets are
/// sorted.
enum class LatentFeature { kRandom, kLast };
Words<LatentFeature> words_of(LatentFeature);

/// [latents]: codes of trained networks and what is decoded from them
struct LatentsOptions {
  KeptWeights weights = KeptWeights::kBest;
  /// Keys of [task] that differ from those of training; SRAVEN: permuted = false where it is
  /// absent.
  OptionValue task{OptionValue::Table{}, {}};
  std::vector<Index> layers;  ///< counted from 1; empty: all
  LatentFeature feature = LatentFeature::kRandom;
  Index examples = 4096;  ///< of training tasks, and of held-out tasks
  int folds = 5;          ///< of cross-validation over training tasks
  int shuffles = 10;      ///< fits to labels that were exchanged between tasks
  /// L2 penalties that cross-validation chooses among.
  std::vector<double> regularisation = {1.0, 0.1, 0.01, 1e-3, 1e-4, 1e-5};

  static const OptionTable<LatentsOptions>& table();
};

/// One line of [sweep]: a key of the study ("train.attention", "seed") and the values that it
/// takes; or a section ("train"), whose values are tables of keys. The runs are all combinations,
/// the last axis fastest.
struct SweepAxis {
  std::string key;
  OptionValue::Array values;
  Place place = {};
};

/// A study file, fully resolved (src/io/README.md, "Study file").
struct Study {
  int schema = 1;
  std::string name = "unnamed";
  std::uint64_t seed = 1;
  TaskOptions task;
  ModelOptions model;
  SolveOptions solve;
  AlignOptions align;
  PruneOptions prune;
  SampleOptions sample;
  TrainOptions train;
  ExtractOptions extract;
  EvaluateOptions evaluate;
  LatentsOptions latents;
  RankOptions rank;
  std::vector<SweepAxis> sweep;  ///< of training runs; train_runs() gives the runs
  int threads = 0;               ///< 0 = all cores

  // Defined in one source file, to save compile time: a study has a hundred members, and some
  // twenty source files copy and destroy it.
  Study();
  Study(const Study&);
  Study(Study&&) noexcept;
  Study& operator=(const Study&);
  Study& operator=(Study&&) noexcept;
  ~Study();

  /// A study whose data are handed over as arrays; its results say so.
  static Study of_arrays();

  static const OptionTable<Study>& table();  ///< the keys outside any section
};

}  // namespace headway
