#pragma once

#include <optional>
#include <vector>

#include "headway/core/examples.hpp"
#include "headway/core/option_table_fwd.hpp"
#include "headway/core/words.hpp"
#include "headway/model/learned_attention.hpp"
#include "headway/model/value_network.hpp"
#include "headway/path_kernels.hpp"
#include "headway/saddle_point.hpp"
#include "headway/types.hpp"

// Each struct has a table of its keys, ranges and words (core/option_table.hpp).
namespace headway {

Words<AttentionKind> words_of(AttentionKind);
Words<Readout> words_of(Readout);

/// [model.attention_prior]: the attention is learned too.
struct AttentionPriorOptions {
  std::vector<int> heads;  ///< empty: those of the data
  model::AttentionPriorForm form = model::AttentionPriorForm::kMatrix;
  double variance = 1.0;      ///< s_w^2
  std::optional<Index> dims;  ///< N_QK, of queries and keys
  model::LearnedKind kind = model::LearnedKind::kSoftmax;
  std::vector<std::vector<int>> frozen;  ///< [layer, head], counted from 1

  static const OptionTable<AttentionPriorOptions>& table();
};

/// [model]: the network, and the points that are swept: widths (outer) x temperatures (inner).
struct ModelOptions {
  /// N, the neurons of a layer. Each entry is one point of the sweep: one number for all layers, or
  /// N_1, ..., N_L, N_a. What sets the theory apart from a Gaussian process falls as 1/N, so sweep
  /// two decades first. Its own error falls so, too: it needs N well above p, the number of paths.
  /// Below N = p take sample().
  std::vector<std::vector<Index>> widths = {{10}, {30}, {50}, {100}, {300}, {500}, {1000}};
  std::vector<int> heads;  ///< only where the task does not fix them
  /// Of the priors: one number for all, or s_0^2, s_1^2, ..., s_L^2, s_a^2. Leave them at 1 unless
  /// the network that you compare with starts with others.
  std::vector<double> variances = {1.0};
  /// T, the variance of the label noise. It stands on the diagonal of the kernel. Raise it where
  /// labels are noisy, or where K + T I is said to be not positive definite. Choose among several
  /// by the evidence or by a set named "validation", not by the test set.
  std::vector<double> temperatures = {0.01};
  /// Which tokens answer. Take that of the network in question: the last token of a causal one, the
  /// mean where all tokens count. Absent: the data set's own, else last_token. Path features were
  /// made with one readout and cannot change it.
  std::optional<Readout> readout;
  AttentionKind attention = AttentionKind::kSoftmax;
  std::optional<AttentionPriorOptions> attention_prior;  ///< absent: attention is given
  std::optional<model::ValueNetwork> value_network;      ///< absent: values are linear

  static const OptionTable<ModelOptions>& table();
};

/// Where the first point of a sweep starts.
enum class Start { kGaussianProcess, kRandom };
Words<Start> words_of(Start);

/// Where learned attention starts from.
enum class AttentionStart {
  kNone,   ///< near no attention: a draw from the prior, made small
  kPrior,  ///< a draw from the prior
  kGiven,  ///< the attention that the data give
};
Words<AttentionStart> words_of(AttentionStart);

/// Whether something that may be costly is computed; kAuto: where it is cheap.
enum class When { kAuto, kOn, kOff };
Words<When> words_of(When);

/// [solve]
struct SolveOptions {
  theory::SaddlePointOptions saddle_point;
  /// How the path kernels are held. All forms give the same numbers. kAuto takes the cheapest one
  /// that fits memory_limit_gib. Name one to compare forms, or kDistributed for one problem over
  /// several machines.
  theory::KernelForm kernels = theory::KernelForm::kAuto;
  Start start = Start::kGaussianProcess;  ///< of the first point of a sweep chain
  /// Of learned attention; 0 = from 8 to 64, by cost. Its action has many minima, and the lowest
  /// one that was found counts. Raise it if few starts end in the best minimum.
  int attention_starts = 0;
  AttentionStart attention_start = AttentionStart::kNone;  ///< the first; others are kPrior
  /// Further random starts of each point. Set it to a few, once, to see that the minimum does not
  /// depend on the start. Each costs as much as the point itself.
  int extra_starts = 0;
  /// Start each point from its wider neighbour. Turn it off to deal single points to many machines:
  /// points of one chain stay together.
  bool warm_start = true;
  /// The test for a minimum. kOn computes it at any cost, which grows with the third power of the
  /// number of order parameters.
  When hessian = When::kAuto;
  /// The 1/N-corrected means (eq. 40). Turn them on for narrow networks that kAuto finds too
  /// costly: they take away most of the theory's error down to about N = p.
  When corrections = When::kAuto;
  /// What KernelForm::kAuto may hold. Raise it to what you can spare: more memory may allow a
  /// faster form.
  double memory_limit_gib = 2.0;
  double checkpoint_seconds = 60.0;  ///< between checkpoints of a long point; 0 = none

  static const OptionTable<SolveOptions>& table();
};

/// [align]
struct AlignOptions {
  Index components = 0;  ///< eigenvectors reported; 0 = all

  static const OptionTable<AlignOptions>& table();
};

/// How the posterior is sampled: kExact draws the chain of Wisharts (by NUTS), kCollapsed first
/// layer and upper order parameters (by Gibbs), the others all weights. kAuto: at each sweep point
/// the first or the second, by cost.
enum class Sampler { kAuto, kExact, kCollapsed, kGibbs, kNuts, kHmc, kMala, kLangevin };
Words<Sampler> words_of(Sampler);
bool draws_weights(Sampler sampler);

/// Mass matrix. kUnit: not adapted. kInformation: exact sampler only. kAuto: dense up to 60
/// unknowns, above that information for the exact sampler where it costs little beside the warm-up,
/// else diagonal.
enum class SampleMetric { kAuto, kUnit, kDiagonal, kDense, kInformation };
Words<SampleMetric> words_of(SampleMetric);

/// [sample]
struct SampleOptions {
  /// The result says what kAuto took. Samplers of all weights are there to check the others, and
  /// for keep_weights.
  Sampler sampler = Sampler::kAuto;
  /// Chains that start apart. Their agreement, R-hat, is what says whether they have converged, so
  /// keep several.
  int chains = 4;
  /// Of each chain, after warm-up. An error falls as one over the root of the effective draws,
  /// which the result has: raise it until the errors are as small as you need.
  int draws = 1000;
  /// Of each chain, thrown away. The step size and the mass matrix are adapted in it. Raise it if
  /// R-hat stays above 1.01.
  int warmup = 1000;
  int thin = 1;  ///< keep every thin-th draw
  SampleMetric metric = SampleMetric::kAuto;
  /// Mean acceptance that the step size is adapted to; 0 = the sampler's default. Raise it to 0.95
  /// if the result counts divergences of NUTS or HMC.
  double target_accept = 0.0;
  int max_tree_depth = 10;  ///< NUTS
  /// Of each chain, for learned attention, value networks and kCollapsed; 1 = no replica exchange,
  /// 0 = auto.
  int replicas = 0;
  AttentionStart attention_start = AttentionStart::kPrior;  ///< of each chain
  int predictor_draws =
      500;               ///< draws per chain that the predictor is averaged over, evenly spaced
  int calibrate = 0;     ///< networks drawn from the prior to test the sampler with; 0 = none
  bool evidence = true;  ///< log p(y): exact chain, and replicas
  bool keep_weights =
      false;  ///< weight-space samplers: keep the draws of all weights in the result
  double checkpoint_seconds =
      60.0;  ///< between checkpoints where a result file is written; 0 = none

  static const OptionTable<SampleOptions>& table();
};

}  // namespace headway
