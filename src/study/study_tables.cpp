// The tables of a study's own sections; their words are in study_words.cpp. Those of trained
// networks are in network_tables.cpp, tasks in task_kinds.cpp, networks and their training in
// training/model/transformer_options.cpp and train_options.cpp, the saddle point in theory/.
#include <limits>
#include <string>

#include "core/whole_number.hpp"
#include "headway/core/option_table.hpp"
#include "headway/sampling/limits.hpp"
#include "headway/study.hpp"
#include "headway/study/task_kinds.hpp"

namespace headway {
namespace {

constexpr std::int64_t kLargestSeed = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kLargestSize = 1'000'000'000;
constexpr std::int64_t kLargestCount = 1'000'000;
constexpr std::int64_t kMostHeads = 1'000;
constexpr std::size_t kMostLayers = 64;
constexpr std::size_t kMostFrozen = 10'000;
constexpr std::size_t kMostPoints = 10'000;
constexpr double kLargestReal = 1e9;

OptionType<std::vector<std::vector<Index>>> widths_type() {
  const std::string one = "an integer from 1 to 1e9, or [N_1, ..., N_L, N_a]";
  const OptionType<std::vector<Index>> point =
      one_or_list(integer<Index>(1, kLargestSize), one, kMostLayers + 1);
  OptionType<std::vector<std::vector<Index>>> type =
      list(point, "a width, or a list of 1 to 10000 sweep points, each " + one, 1, kMostPoints);
  type.read = [point, many = type.read, allowed = type.allowed](const OptionValue& value,
                                                                const std::string& path) {
    if (value.get<OptionValue::Array>() != nullptr) return many(value, path);
    if (!whole_number(value)) refuse(value, path, allowed);
    return std::vector<std::vector<Index>>{point.read(value, path)};
  };
  return type;
}

OptionType<std::vector<int>> heads_type() {
  return list(integer<int>(1, kMostHeads), "a list [H_1, ..., H_L] of integers >= 1", 1,
              kMostLayers);
}

/// A key that is left out at its default, so that older results keep their hashes.
template <class T>
OptionType<T> unless(T by_default, OptionType<T> type) {
  type.write = [by_default, write = type.write](const T& held) {
    return held == by_default ? std::string() : write(held);
  };
  return type;
}

}  // namespace

Study::Study() = default;

Study Study::of_arrays() {
  Study study;
  study.task.as<DatasetOptions>().file = tasks::kArraysInMemory;
  return study;
}
Study::Study(const Study&) = default;
Study::Study(Study&&) noexcept = default;
Study& Study::operator=(const Study&) = default;
Study& Study::operator=(Study&&) noexcept = default;
Study::~Study() = default;

const OptionTable<Study>& Study::table() {
  static const OptionTable<Study> table = {{
      option("schema", &Study::schema, integer<int>(1, 1), "format of the study file"),
      option("name", &Study::name, text(200, false), "name of the study, for tables and figures"),
      option("seed", &Study::seed, integer<std::uint64_t>(0, kLargestSeed),
             "root of every random stream. Another seed is an independent repetition."),
      option("threads", &Study::threads, integer<int>(0, 4096),
             "threads to use; 0 = all cores. The result is the same on any number; in train not "
             "with train.eager."),
  }};
  return table;
}

const OptionTable<TaskOptions>& TaskOptions::table() {
  using T = TaskOptions;
  static const OptionTable<T> table = {{
      Option<T>("kind", &T::kind, &T::set_kind, choice<TaskKind>(),
                "where the examples come from. It decides the other keys of [task]. headway train "
                "takes " +
                    kinds_in_words(Side::kTraining) + "; the verbs of the theory take the others."),
      option("seed", &T::seed, optional(integer<std::uint64_t>(0, kLargestSeed)),
             "seed of the data; absent: the study's. Give it to keep the data while seed changes."),
  }};
  return table;
}

const OptionTable<ModelOptions>& ModelOptions::table() {
  using M = ModelOptions;
  static const OptionTable<M> table = {{
      option("widths", &M::widths, widths_type(),
             "widths of the layers. Each entry is one sweep point: N for all layers, or [N_1, ..., "
             "N_L, N_a]."),
      option("heads", &M::heads, heads_type(),
             "heads of each layer; give them only where the task does not fix them"),
      option("variances", &M::variances,
             one_or_list(real(0.0, kLargestReal, Ends::kOpenBelow),
                         "a number > 0 and <= 1e9, or [s_0^2, s_1^2, ..., s_L^2, s_a^2]",
                         kMostLayers + 2),
             "prior variances of the weights: one for all layers, or one each"),
      option(
          "temperature", &M::temperatures,
          one_or_list(real(0.0, kLargestReal), "a number from 0 to 1e9, or a list of them (swept)",
                      kMostPoints),
          "variance T of the label noise; a list is swept. headway sample needs T > 0. Raise it if "
          "the labels are noisy or K + T I is not positive definite."),
      option("readout", &M::readout, optional(choice<Readout>()),
             "query positions that the readout takes; absent: the data set's own, else last_token"),
      option("attention", &M::attention, choice<AttentionKind>(),
             "how logits become attention weights over the keys"),
      option("attention_prior", &M::attention_prior,
             optional(record(AttentionPriorOptions::table(),
                             "a table [model.attention_prior] with heads, form, variance, dims, "
                             "kind and frozen, all optional")),
             "prior of the attention, which is then learned; for solve and sample. Absent: the "
             "attention is that of the data."),
      option("value_network", &M::value_network,
             optional(record(model::ValueNetwork::table(),
                             "a table [model.value_network] with form, nonlinearity and features, "
                             "all optional")),
             "a hidden nonlinear layer in the values; widths are then [N_1, N_a]. Absent: values "
             "are linear."),
  }};
  return table;
}

const OptionTable<AttentionPriorOptions>& AttentionPriorOptions::table() {
  using A = AttentionPriorOptions;
  static const OptionTable<A> table = {{
      option("heads", &A::heads, heads_type(), "heads of each layer; absent: those of the data"),
      option("form", &A::form, choice<model::AttentionPriorForm>(),
             "matrix: logits x^T W y / N_0; queries_keys: (Q x) . (K y) / (N_0 sqrt(G))"),
      option("variance", &A::variance, real(0.0, kLargestReal, Ends::kOpenBelow),
             "prior variance s_w^2 of the entries of W, or of Q^T K / sqrt(G)"),
      option("dims", &A::dims, optional(integer<Index>(1, kLargestSize)),
             "G, rows of Q and K, at most N_0; of queries_keys alone"),
      option("kind", &A::kind, choice<model::LearnedKind>(),
             "softmax over keys, or linear: logit / S"),
      option("frozen", &A::frozen,
             list(list(integer<int>(1, kMostHeads), "[layer, head], counted from 1", 2, 2),
                  "a list of [layer, head], counted from 1", 0, kMostFrozen),
             "heads that keep the attention which the data set gives them"),
  }};
  return table;
}

const OptionTable<SolveOptions>& SolveOptions::table() {
  using S = SolveOptions;
  static const OptionTable<S> table = joined<S>(
      {options_of_part<S>(
           [](auto& solve) -> auto& { return solve.saddle_point; },
           theory::SaddlePointOptions::table()),
       {{option("kernels", &S::kernels, choice<theory::KernelForm>(),
                "how K and its gradient are evaluated; all give the same numbers. auto takes the "
                "cheapest that fits memory_limit_gib. distributed spreads one problem too large "
                "for a machine over the ranks of mpirun."),
         option("start", &S::start, choice<Start>(), "where the first point of a sweep starts"),
         option(
             "attention_starts", &S::attention_starts,
             unless(SolveOptions{}.attention_starts, integer<int>(0, 10'000)),
             "model.attention_prior: starts of the joint minimum, the first near no attention "
             "unless attention_start says otherwise, the others drawn from the prior; 0 = from 8 "
             "to 64, by their cost. Raise it to find more minima."),
         option("attention_start", &S::attention_start,
                unless(SolveOptions{}.attention_start, choice<AttentionStart>()),
                "model.attention_prior: the first start. none: near no attention; given: the "
                "attention of the data, by matrices. With attention_starts = 1 the minimum is the "
                "one of that branch."),
         option("extra_starts", &S::extra_starts, integer<int>(0, 10'000),
                "further random starts; the lowest minimum is taken. Raise it to test that the "
                "minimum is the only one."),
         option("warm_start", &S::warm_start, flag(),
                "start each point from the solution of its neighbour, which saves iterations"),
         option(
             "hessian", &S::hessian, choice<When>(),
             "whether to compute the Hessian, which tests for a minimum; auto: where it is cheap"),
         option("corrections", &S::corrections, choice<When>(),
                "whether to compute the 1/N-corrected means; auto: where they are cheap. Turn them "
                "on to see whether the width is large enough."),
         option("memory_limit_gib", &S::memory_limit_gib, real(0.0, 1e6, Ends::kOpenBelow),
                "memory that kernels = \"auto\" may use. Raise it if there is more."),
         option("checkpoint_seconds", &S::checkpoint_seconds,
                unless(SolveOptions{}.checkpoint_seconds, real(0.0, kLargestReal)),
                "time between checkpoints of a long point, if -o is given; 60 unless given, 0 = "
                "none")}}});
  return table;
}

const OptionTable<AlignOptions>& AlignOptions::table() {
  static const OptionTable<AlignOptions> table = {
      {option("components", &AlignOptions::components, integer<Index>(0, kLargestSize),
              "eigenvectors to report; 0 = all")}};
  return table;
}

const OptionTable<PruneOptions>& PruneOptions::table() {
  using P = PruneOptions;
  const OptionTable<P> of_all = {{
      option("random_orders", &P::random_orders, integer<int>(0, 100'000),
             "random orders of removal that the other orders are compared with"),
      option("greedy", &P::greedy, flag(),
             "also remove, step by step, the head that costs least. Turn it off for many heads."),
      option(
          "cumulative", &P::cumulative, flag(),
          "also compute accuracy against the number of removed heads. Without it only single heads "
          "are removed."),
      option("rescale", &P::rescale, flag(),
             "linear-value network: multiply a pruned layer by sqrt(H_l / heads left)"),
      option("normalise_sensitivity", &P::normalise_sensitivity, flag(),
             "trained network: divide each layer's gradient sensitivities by their norm"),
      option(
          "resamples", &P::resamples, integer<int>(2, kLargestCount),
          "trained network: bootstrap resamples of the examples, for errors of rank correlations"),
      option("permutations", &P::permutations, integer<int>(1, 100'000'000),
             "trained network: random pairings for p-values; used from 10 heads on"),
  }};
  static const OptionTable<P> table = joined<P>(
      {of_all, options_of_part<P>(
                   [](auto& prune) -> auto& { return prune.trained(); }, PruneTrained::table())});
  return table;
}

const OptionTable<PruneTrained>& PruneTrained::table() {
  using P = PruneTrained;
  static const OptionTable<P> table = {{
      option(
          "removed_as", &P::removed_as, optional(choice<RemovedAs>()),
          "train result: what replaces a removed head in the curves, nothing or its mean output; "
          "absent: zero"),
      option("weights", &P::weights, optional(choice<KeptWeights>()),
             "train result: weights of the best checkpoint, or of the last step; absent: best"),
      option("examples", &P::examples, optional(integer<Index>(2, kLargestCount)),
             "train result: examples of each split that heads are removed on; absent: 1000"),
      option("sensitivity_examples", &P::sensitivity_examples,
             optional(integer<Index>(1, kLargestCount)),
             "train result: training examples for the gradient sensitivity; absent: 256"),
      option("mean_examples", &P::mean_examples, optional(integer<Index>(1, kLargestCount)),
             "train result: training examples for the mean of a head; absent: 64"),
      option("theory", &P::theory,
             list(text(4096, false), "a list of result files of headway prune", 1, 1000),
             "train result: results of headway prune on data extracted from its runs, to compare "
             "with"),
  }};
  return table;
}

const OptionTable<SampleOptions>& SampleOptions::table() {
  using S = SampleOptions;
  using namespace sampling;  // its limits
  static const OptionTable<S> table = {{
      option("sampler", &S::sampler, choice<Sampler>(),
             "auto takes collapsed where it costs much less, else exact, and says which. Both are "
             "right at every width. exact draws U alone, through a chain of Wishart matrices; "
             "collapsed draws the first layer, and suits many paths with narrow layers. The others "
             "draw all weights. langevin is biased."),
      option("chains", &S::chains, integer<int>(1, kMostChains),
             "independent chains. Take at least 4, so that R-hat sees whether they agree."),
      option("draws", &S::draws, integer<int>(1, kMostDraws),
             "draws kept of each chain after warm-up. Raise it for smaller error bars."),
      option("warmup", &S::warmup, integer<int>(0, kMostDraws),
             "transitions of each chain that adapt the sampler and are thrown away. Raise it if "
             "R-hat stays "
             "high. 0: nothing is adapted."),
      option("thin", &S::thin, integer<int>(1, kMostThinning),
             "keep every thin-th draw. Raise it if the draws take too much memory."),
      option(
          "metric", &S::metric, choice<SampleMetric>(),
          "mass matrix. auto: dense up to 10 unknowns; above, information for the exact sampler, "
          "unless that would take longer than the rest of the warm-up; else dense up to 60 "
          "unknowns, then diagonal"),
      option("target_accept", &S::target_accept, real(0.0, 0.999),
             "mean acceptance that the step size is adapted to; 0 = the sampler's own. Raise it "
             "towards 0.99 if trajectories diverge."),
      option(
          "max_tree_depth", &S::max_tree_depth, integer<int>(1, kDeepestTree),
          "exact and nuts: at most 2^depth - 1 leapfrog steps for a draw. Raise it if draws stop "
          "at it."),
      option("replicas", &S::replicas,
             unless(SampleOptions{}.replicas, integer<int>(0, kMostReplicas)),
             "model.attention_prior, model.value_network, collapsed: replicas of each chain, at "
             "inverse temperatures of the likelihood from 1 to 0; 1 = no replica exchange, 0 = by "
             "the number of labels, and 1 for the last two, whose evidence needs more. Raise it if "
             "chains disagree."),
      option("attention_start", &S::attention_start,
             unless(SampleOptions{}.attention_start, choice<AttentionStart>()),
             "model.attention_prior: where the attention of each chain starts, as in [solve]. With "
             "replicas = 1 chains show the branch that they begin on."),
      option(
          "predictor_draws", &S::predictor_draws, integer<int>(0, kMostDraws),
          "draws of each chain that the predictor is averaged over; 0: no predictor. Lower it to "
          "save time."),
      option("evidence", &S::evidence, flag(),
             "also estimate the evidence log p(y): sampler exact, and collapsed with replicas"),
      option("calibrate", &S::calibrate,
             unless(SampleOptions{}.calibrate, integer<int>(0, kMostDraws)),
             "also test the sampler at each point: networks drawn from the prior, for ranks among "
             "draws. 400 see a noise that is wrong by an eighth."),
      option("keep_weights", &S::keep_weights, flag(),
             "keep the draws of all weights in the result; for samplers that draw weights"),
      option("checkpoint_seconds", &S::checkpoint_seconds, real(0.0, kLargestReal),
             "time between checkpoints, if -o is given; 0 = none"),
  }};
  return table;
}

const OptionTable<TrainOptions>& TrainOptions::table() {
  using T = TrainOptions;
  static const OptionTable<T> table = joined<T>(
      {options_of_part<T>(
           [](auto& train) -> auto& { return train.model; }, training::TransformerOptions::table()),
       options_of_part<T>(
           [](auto& train) -> auto& { return train.run; }, training::TrainOptions::table()),
       {{option("keep_weights", &T::keep_weights, flag(),
                "keep the last and the best weights in the result. extract, evaluate, latents and "
                "prune need them."),
         counts_where("task.kind", "text",
                      option("sample_tokens", &T::sample_tokens, integer<Index>(0, kLargestCount),
                             "text: tokens that the trained model writes at the end; 0 = none")),
         counts_where("task.kind", "text",
                      option("sample_temperature", &T::sample_temperature, real(0.0, 100.0),
                             "text: temperature of these tokens; 0 = always the likeliest"))}}});
  return table;
}

}  // namespace headway
