// The tables of a study's own sections. Tasks are in task_kinds.cpp, networks and their training in
// training/transformer_options.cpp and train_options.cpp, the saddle point in theory/.
#include <limits>
#include <string>

#include "headway/core/option_table.hpp"
#include "headway/sampling/limits.hpp"
#include "headway/studies/study.hpp"
#include "headway/studies/task_kinds.hpp"

namespace headway {

Words<AttentionKind> words_of(AttentionKind) {
  static constexpr Word<AttentionKind> kWords[] = {{"softmax", AttentionKind::kSoftmax},
                                                   {"hardmax", AttentionKind::kHardmax}};
  return kWords;
}

Words<Readout> words_of(Readout) {
  static constexpr Word<Readout> kWords[] = {{"last_token", Readout::kLastToken},
                                             {"first_token", Readout::kFirstToken},
                                             {"mean", Readout::kMean}};
  return kWords;
}

}  // namespace headway

namespace headway::studies {
namespace {

constexpr std::int64_t kLargestSeed = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kLargestWidth = 1'000'000'000;
constexpr std::int64_t kLargestCount = 1'000'000;
constexpr std::int64_t kMostHeads = 1'000;
constexpr std::size_t kMostLayers = 64;
constexpr std::size_t kMostPoints = 10'000;
constexpr double kLargestReal = 1e9;

OptionType<std::vector<std::vector<Index>>> widths_type() {
  const std::string one = "an integer from 1 to 1e9, or [N_1, ..., N_L, N_a]";
  const OptionType<std::vector<Index>> point =
      one_or_list(integer<Index>(1, kLargestWidth), one, kMostLayers + 1);
  OptionType<std::vector<std::vector<Index>>> type =
      list(point, "a width, or a list of 1 to 10000 sweep points, each " + one, 1, kMostPoints);
  type.read = [point, many = type.read, allowed = type.allowed](const OptionValue& value,
                                                                const std::string& path) {
    if (value.get<OptionValue::Array>() != nullptr) return many(value, path);
    if (value.get<std::int64_t>() == nullptr) refuse(value, path, allowed);
    return std::vector<std::vector<Index>>{point.read(value, path)};
  };
  return type;
}

/// Left out where it has its default: the key is younger than results that are found by their hash.
OptionType<double> unless(double by_default, OptionType<double> type) {
  type.write = [by_default, write = type.write](const double& held) {
    return held == by_default ? std::string() : write(held);
  };
  return type;
}

/// A table of keys of [task]; which ones there are, the task says (check_study()).
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

Words<TextLevel> words_of(TextLevel) {
  static constexpr Word<TextLevel> kWords[] = {{"bytes", TextLevel::kBytes},
                                               {"bpe", TextLevel::kBpe}};
  return kWords;
}

Words<Start> words_of(Start) {
  static constexpr Word<Start> kWords[] = {{"gaussian_process", Start::kGaussianProcess},
                                           {"random", Start::kRandom}};
  return kWords;
}

Words<When> words_of(When) {
  static constexpr Word<When> kWords[] = {
      {"auto", When::kAuto}, {"on", When::kOn}, {"off", When::kOff}};
  return kWords;
}

Words<Sampler> words_of(Sampler) {
  static constexpr Word<Sampler> kWords[] = {
      {"exact", Sampler::kExact}, {"gibbs", Sampler::kGibbs}, {"nuts", Sampler::kNuts},
      {"hmc", Sampler::kHmc},     {"mala", Sampler::kMala},   {"langevin", Sampler::kLangevin}};
  return kWords;
}

Words<Metric> words_of(Metric) {
  static constexpr Word<Metric> kWords[] = {{"auto", Metric::kAuto},
                                            {"unit", Metric::kUnit},
                                            {"diagonal", Metric::kDiagonal},
                                            {"dense", Metric::kDense},
                                            {"information", Metric::kInformation}};
  return kWords;
}

Words<KeptWeights> words_of(KeptWeights) {
  static constexpr Word<KeptWeights> kWords[] = {{"best", KeptWeights::kBest},
                                                 {"last", KeptWeights::kLast}};
  return kWords;
}

Words<ExtractForm> words_of(ExtractForm) {
  static constexpr Word<ExtractForm> kWords[] = {{"contributions", ExtractForm::kContributions},
                                                 {"attention", ExtractForm::kAttention}};
  return kWords;
}

Words<RemovedAs> words_of(RemovedAs) {
  static constexpr Word<RemovedAs> kWords[] = {{"zero", RemovedAs::kZero},
                                               {"mean", RemovedAs::kMean}};
  return kWords;
}

Words<LatentFeature> words_of(LatentFeature) {
  static constexpr Word<LatentFeature> kWords[] = {{"random", LatentFeature::kRandom},
                                                   {"last", LatentFeature::kLast}};
  return kWords;
}

Study::Study() = default;
Study::Study(const Study&) = default;
Study::Study(Study&&) noexcept = default;
Study& Study::operator=(const Study&) = default;
Study& Study::operator=(Study&&) noexcept = default;
Study::~Study() = default;

const OptionTable<Study>& Study::table() {
  static const OptionTable<Study> table = {{
      option("schema", &Study::schema, integer<int>(1, 1), "version of the study file"),
      option("name", &Study::name, text(200, false), "of the study, for tables and figures"),
      option("seed", &Study::seed, integer<std::uint64_t>(0, kLargestSeed),
             "root of every random stream"),
      option("threads", &Study::threads, integer<int>(0, 4096),
             "0 = all cores; never changes a result"),
  }};
  return table;
}

const OptionTable<TaskOptions>& TaskOptions::table() {
  using T = TaskOptions;
  static const OptionTable<T> table = {{
      option("kind", &T::kind, choice<TaskKind>(),
             "where the examples come from; decides the other keys. " +
                 kinds_in_words(Side::kTraining) + " are trained on (headway train)"),
      option("seed", &T::seed, optional(integer<std::uint64_t>(0, kLargestSeed)),
             "fixes the data apart from the seed of the study"),
  }};
  return table;
}

const OptionTable<ModelOptions>& ModelOptions::table() {
  using M = ModelOptions;
  static const OptionTable<M> table = {{
      option("widths", &M::widths, widths_type(),
             "one entry per sweep point: N, or [N_1, ..., N_L, N_a]"),
      option("heads", &M::heads,
             list(integer<int>(1, kMostHeads), "a list [H_1, ..., H_L] of integers >= 1", 1,
                  kMostLayers),
             "only where the task does not fix them"),
      option("variances", &M::variances,
             one_or_list(real(0.0, kLargestReal, Ends::kOpenBelow),
                         "a number > 0 and <= 1e9, or [s_0^2, s_1^2, ..., s_L^2, s_a^2]",
                         kMostLayers + 2),
             "prior variances of the weights: one, or [s_0^2, ..., s_a^2]"),
      option("temperature", &M::temperatures,
             one_or_list(real(0.0, kLargestReal),
                         "a number from 0 to 1e9, or a list of them (swept)", kMostPoints),
             "variance of the label noise; a list is swept"),
      option("readout", &M::readout, optional(choice<Readout>()),
             "query positions that the readout takes"),
      option("attention", &M::attention, choice<AttentionKind>(),
             "how logits become weights over keys"),
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
                "how K and its gradient are evaluated"),
         option("start", &S::start, choice<Start>(), "of the first point of a sweep"),
         option("extra_starts", &S::extra_starts, integer<int>(0, 10'000),
                "further random starts, to show that the minimum is the same; the lowest is taken"),
         option("warm_start", &S::warm_start, flag(), "start each point from its neighbour"),
         option("hessian", &S::hessian, choice<When>(), "the test for a minimum"),
         option("corrections", &S::corrections, choice<When>(), "the 1/N-corrected means"),
         option("memory_limit_gib", &S::memory_limit_gib, real(0.0, 1e6, Ends::kOpenBelow),
                "what kernels = \"auto\" may hold"),
         option("checkpoint_seconds", &S::checkpoint_seconds,
                unless(SolveOptions{}.checkpoint_seconds, real(0.0, kLargestReal)),
                "between checkpoints of a long point, where there is a result file; 60 unless "
                "given, 0 = none")}}});
  return table;
}

const OptionTable<AlignOptions>& AlignOptions::table() {
  static const OptionTable<AlignOptions> table = {
      {option("components", &AlignOptions::components, integer<Index>(0, kLargestWidth),
              "eigenvectors reported; 0 = all")}};
  return table;
}

const OptionTable<PruneOptions>& PruneOptions::table() {
  using P = PruneOptions;
  static const OptionTable<P> table = {{
      option("random_orders", &P::random_orders, integer<int>(0, 100'000),
             "draws of the random pruning order"),
      option("greedy", &P::greedy, flag(), "also search the true greedy order"),
      option("cumulative", &P::cumulative, flag(), "also remove heads one by one"),
      option("rescale", &P::rescale, flag(),
             "linear-value network: a pruned layer times sqrt(H_l / heads left)"),
      option("normalise_sensitivity", &P::normalise_sensitivity, flag(),
             "trained network: each layer's gradient sensitivities divided by their norm"),
      option("resamples", &P::resamples, integer<int>(2, kLargestCount),
             "trained network: bootstrap of rank correlations over examples"),
      option("permutations", &P::permutations, integer<int>(1, 100'000'000),
             "trained network: random pairings for p-values (10 heads or more)"),
      option("removed_as", &P::removed_as, optional(choice<RemovedAs>()),
             "train result: what stands in for removed heads in the curves; absent: zero"),
      option("weights", &P::weights, optional(choice<KeptWeights>()),
             "train result: those of the best checkpoint, or those at the end; absent: best"),
      option("examples", &P::examples, optional(integer<Index>(2, kLargestCount)),
             "train result: of each split that heads are removed on; absent: 1000"),
      option("sensitivity_examples", &P::sensitivity_examples,
             optional(integer<Index>(1, kLargestCount)),
             "train result: training examples of the gradient sensitivity; absent: 256"),
      option("mean_examples", &P::mean_examples, optional(integer<Index>(1, kLargestCount)),
             "train result: training examples of the mean of a head; absent: 64"),
      option("theory", &P::theory,
             list(text(4096, false), "a list of result files of headway prune", 1, 1000),
             "train result: the theory's pruning of data extracted from its runs"),
  }};
  return table;
}

const OptionTable<SampleOptions>& SampleOptions::table() {
  using S = SampleOptions;
  using namespace sampling;  // its limits
  static const OptionTable<S> table = {{
      option("sampler", &S::sampler, choice<Sampler>(),
             "exact: the chain of Wisharts; the others draw all weights; langevin is biased"),
      option("chains", &S::chains, integer<int>(1, kMostChains),
             "at least 4 let R-hat see chains that disagree"),
      option("draws", &S::draws, integer<int>(1, kMostDraws), "per chain, after warm-up"),
      option("warmup", &S::warmup, integer<int>(0, kMostDraws),
             "per chain, thrown away; 0: nothing is adapted"),
      option("thin", &S::thin, integer<int>(1, kMostThinning), "keep every thin-th draw"),
      option("metric", &S::metric, choice<Metric>(),
             "mass matrix; auto: dense up to 60 unknowns, above information (exact only) or "
             "diagonal"),
      option("target_accept", &S::target_accept, real(0.0, 0.999),
             "mean acceptance that the step size is adapted to; 0 = the sampler's own"),
      option("max_tree_depth", &S::max_tree_depth, integer<int>(1, kDeepestTree),
             "exact and nuts: at most 2^depth - 1 leapfrog steps a draw"),
      option("predictor_draws", &S::predictor_draws, integer<int>(0, kMostDraws),
             "draws per chain that the predictor is averaged over; 0: no predictor"),
      option("evidence", &S::evidence, flag(), "log p(y); exact sampler only"),
      option("keep_weights", &S::keep_weights, flag(),
             "keep the draws of all weights in the result; not for the exact sampler"),
      option("checkpoint_seconds", &S::checkpoint_seconds, real(0.0, kLargestReal),
             "between checkpoints, where there is a result file; 0 = none"),
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
                "the result holds the last and the best parameters"),
         counts_where("task.kind", "text",
                      option("sample_tokens", &T::sample_tokens, integer<Index>(0, kLargestCount),
                             "text: tokens that the trained model writes; 0 = none")),
         counts_where("task.kind", "text",
                      option("sample_temperature", &T::sample_temperature, real(0.0, 100.0),
                             "of these; 0 = always the likeliest"))}}});
  return table;
}

const OptionTable<ExtractOptions>& ExtractOptions::table() {
  using E = ExtractOptions;
  static const OptionTable<E> table = {{
      option("run", &E::run, integer<Index>(1, kLargestCount),
             "of the runs of a sweep, in their order"),
      option("layers", &E::layers,
             list(integer<Index>(1, 1'000), "a list of layers, from 1, rising", 1, 1'000),
             "transformers: the layers whose parts are told apart; absent: the last one"),
      option("form", &E::form, optional(choice<ExtractForm>()),
             "transformers: what becomes of them; absent: contributions"),
      option("parts", &E::parts, optional(choice<training::GeneratedParts>()),
             "HYLA: a part for each head, or for each pair of heads that generates and reads; "
             "absent: heads"),
      option("position", &E::position, optional(integer<Index>(1, kLargestCount)),
             "transformers: which of the scored tokens, from 1; absent: the last one"),
      option("weights", &E::weights, choice<KeptWeights>(),
             "those of the best checkpoint, or those at the end"),
      option("train_examples", &E::train_examples, integer<Index>(1, kLargestCount), "P"),
      option("test_examples", &E::test_examples, integer<Index>(0, kLargestCount),
             "0 = no test set"),
      option("validation_examples", &E::validation_examples, integer<Index>(0, kLargestCount),
             "to choose a temperature by; 0 = none"),
      option("out_of_distribution_examples", &E::out_of_distribution_examples,
             integer<Index>(0, kLargestCount), "of each further set; 0 = none"),
  }};
  return table;
}

const OptionTable<EvaluateOptions>& EvaluateOptions::table() {
  using E = EvaluateOptions;
  static const OptionTable<E> table = {{
      option("weights", &E::weights, choice<KeptWeights>(),
             "those of the best checkpoint, or those at the end"),
      option("examples", &E::examples, integer<Index>(0, kLargestCount),
             "of each split; 0 = train.eval_examples"),
  }};
  return table;
}

const OptionTable<LatentsOptions>& LatentsOptions::table() {
  using L = LatentsOptions;
  static const OptionTable<L> table = {{
      option("weights", &L::weights, choice<KeptWeights>(),
             "those of the best checkpoint, or those at the end"),
      option("task", &L::task, task_keys(),
             "what differs from the task of training; sraven: permuted = false unless it is here"),
      option("layers", &L::layers,
             list(integer<Index>(1, kLargestCount), "a list of layers, counted from 1", 1,
                  kMostLayers),
             "that are decoded; absent: all"),
      option("feature", &L::feature, choice<LatentFeature>(),
             "sraven: whose codes are taken; the rules of the last one are very unbalanced"),
      option("examples", &L::examples, integer<Index>(1, kLargestCount),
             "of training tasks, and of held-out tasks"),
      option("folds", &L::folds, integer<int>(2, 1000), "of cross-validation over training tasks"),
      option("shuffles", &L::shuffles, integer<int>(0, kLargestCount),
             "fits to labels that were exchanged between tasks"),
      option("regularisation", &L::regularisation,
             one_or_list(real(0.0, kLargestReal, Ends::kOpenBelow),
                         "a number > 0 and <= 1e9, or a list of them", kMostPoints),
             "L2 penalties that cross-validation chooses among"),
  }};
  return table;
}

}  // namespace headway::studies
