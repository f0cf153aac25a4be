#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headway/core/examples.hpp"
#include "headway/tasks/fuzzy_logic.hpp"
#include "headway/tasks/hidden_markov_chain.hpp"
#include "headway/tasks/one_shot_images.hpp"
#include "headway/tasks/sraven.hpp"
#include "headway/training/task_adapters.hpp"
#include "headway/training/train_options.hpp"
#include "headway/training/transformer_options.hpp"

namespace headway::studies {

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
};

/// [task]: what makes the examples. `kind` decides which of the other fields are used.
struct TaskOptions {
  /// For the theory: "hidden_markov_chain" | "dataset". For training: "fuzzy_logic" | "sraven" |
  /// "text" | "omniglot". The seeds inside the options of a task are those of task_seed().
  std::string kind = "hidden_markov_chain";
  std::string file;  ///< dataset, text: path of the file, already resolved
  tasks::HiddenMarkovChainOptions hidden_markov_chain;
  tasks::FuzzyLogicOptions fuzzy_logic;
  tasks::SravenOptions sraven;
  training::TextOptions text;
  OmniglotOptions omniglot;
  std::string level = "bytes";        ///< text: what a token is, "bytes" | "bpe"
  Index vocabulary = 4096;            ///< text, bpe: tokens at most
  std::optional<std::uint64_t> seed;  ///< fixes the data apart from Study::seed
};

/// Is it a task of `headway train`? The other kinds are those of the theory.
bool is_training_task(std::string_view kind);

/// [model]: sweep points are widths (outer) x temperatures (inner).
struct ModelOptions {
  /// Each entry is one sweep point: one number (all widths equal) or N_1, ..., N_L, N_a.
  std::vector<std::vector<Index>> widths = {{10}, {30}, {50}, {100}, {300}, {500}, {1000}};
  std::vector<int> heads;  ///< only where the task does not fix them
  std::vector<double> variances = {
      1.0};  ///< one number for all, or s_0^2, s_1^2, ..., s_L^2, s_a^2
  std::vector<double> temperatures = {0.01};
  std::optional<Readout> readout;  ///< absent: the data set's own, else last_token
  AttentionKind attention = AttentionKind::kSoftmax;
};

/// [solve]
struct SolveOptions {
  double gradient_tolerance = 1e-10;  ///< on the largest entry of dS/dU / max N
  int max_iterations = 200;
  std::string optimizer =
      "auto";  ///< "auto" | "newton" | "quasi_newton" | "ceres" (theory/saddle_point.hpp)
  std::string elimination = "joint";  ///< "joint" | "closed_form": how U_2..U_L and U_a are treated
  std::string kernels = "auto";       ///< "auto" | "stored" | "streamed" | "feature_space"
  std::string start =
      "gaussian_process";  ///< "gaussian_process" | "random": the first point of a sweep chain
  int extra_starts = 0;    ///< further random starts, to show that the minimum is the same
  bool warm_start = true;  ///< start each point from its neighbour in the sweep
  std::string hessian = "auto";      ///< "auto" | "on" | "off": the test for a minimum
  std::string corrections = "auto";  ///< "auto" | "on" | "off": the 1/N-corrected means (eq. 40)
  double memory_limit_gib = 2.0;     ///< what "auto" kernels may hold
};

/// [align]
struct AlignOptions {
  Index components = 0;  ///< eigenvectors reported; 0 = all
};

/// [prune]
struct PruneOptions {
  int random_orders = 20;  ///< draws of the random pruning order
  bool greedy = true;      ///< also search the true greedy order
  bool cumulative = true;
  // Of the trained network, where the data set carries one:
  bool rescale = true;  ///< a pruned layer times sqrt(H_l / heads left), as [T24] does
  bool normalise_sensitivity = true;  ///< each layer's gradient sensitivities divided by their norm
  int resamples = 1000;               ///< bootstrap of the rank correlations over examples
  int permutations = 20'000;          ///< random pairings for their p-values (10 heads or more)
};

/// [sample]
struct SampleOptions {
  /// "exact" (chain of Wisharts by NUTS) | "gibbs" | "nuts" | "hmc" | "mala" | "langevin" (all
  /// weights)
  std::string sampler = "exact";
  int chains = 4;
  int draws = 1000;   ///< per chain, after warm-up
  int warmup = 1000;  ///< per chain, thrown away
  int thin = 1;       ///< keep every thin-th draw
  /// Mass matrix: "auto" | "unit" (not adapted) | "diagonal" | "dense" | "information" (exact
  /// sampler only). auto = dense up to 60 unknowns, above that information for the exact sampler
  /// where it costs little beside the warm-up, else diagonal.
  std::string metric = "auto";
  double target_accept =
      0.0;  ///< mean acceptance the step size is adapted to; 0 = the sampler's default
  int max_tree_depth = 10;  ///< NUTS
  int predictor_draws =
      500;               ///< draws per chain that the predictor is averaged over, evenly spaced
  bool evidence = true;  ///< log p(y), exact chain only
  bool keep_weights =
      false;  ///< weight-space samplers: keep the draws of all weights in the result
  double checkpoint_seconds =
      60.0;  ///< between checkpoints where a result file is written; 0 = none
};

/// [train]
struct TrainOptions {
  training::TransformerOptions model;
  training::TrainOptions run;  ///< seed and threads are those of the study: see resolved_run()
  bool keep_weights = true;    ///< the result holds the last and the best parameters
  Index sample_tokens = 256;   ///< text: tokens that the trained model writes; 0 = none
  double sample_temperature = 0.8;
};

/// [extract]: from a trained network to a data set of the theory
struct ExtractOptions {
  Index run = 1;                 ///< of the runs of a sweep, counted from 1
  std::string weights = "best";  ///< "best" | "last"
  Index train_examples = 600;    ///< P of [T24]
  Index test_examples = 1000;
  Index validation_examples = 1000;
  Index out_of_distribution_examples = 1000;  ///< of each set
};

/// One line of [sweep]: a key of the study ("train.attention", "seed") and the values that it
/// takes, as TOML text; or a section ("train"), whose values are tables of keys. The runs are all
/// combinations, the last axis fastest.
struct SweepAxis {
  std::string key;
  std::vector<std::string> values;
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
  std::vector<SweepAxis> sweep;  ///< of training runs; io::train_runs() gives the runs
  int threads = 0;               ///< 0 = all cores
};

}  // namespace headway::studies
