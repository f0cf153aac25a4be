#include "io/study_file/schema.hpp"

#include <algorithm>
#include <utility>

namespace headway::io::detail {

namespace {

using studies::AlignOptions;
using studies::ModelOptions;
using studies::PruneOptions;
using studies::SampleOptions;
using studies::SolveOptions;
using studies::Study;
using studies::TaskOptions;
using tasks::HeadKind;
using tasks::HeadOptions;
using tasks::HiddenMarkovChainOptions;

constexpr std::int64_t kLargestWidth = 1'000'000'000;
constexpr std::int64_t kLargestSize = 10'000;  // tokens and features of a task: heads are square
constexpr std::int64_t kMostHeads = 1'000;
constexpr std::size_t kMostLayers = 64;
constexpr std::size_t kMostPoints = 10'000;
constexpr double kLargestStrength = 1e6;  // of heads and noise

// --- [task] layers
// --------------------------------------------------------------------------------

const std::vector<Key<HeadOptions>>& head_keys() {
  static const std::vector<Key<HeadOptions>> keys = {
      key("kind", &HeadOptions::kind,
          choice<HeadKind>({{"same_token", HeadKind::kSameToken},
                            {"different_token", HeadKind::kDifferentToken},
                            {"uniform", HeadKind::kUniform},
                            {"random", HeadKind::kRandom}}),
          "what the head attends to"),
      key("shift", &HeadOptions::shift, integer<int>(-kLargestSize, kLargestSize),
          "key position minus query position that the positional part rewards"),
      key("beta", &HeadOptions::beta, real(0.0, kLargestStrength),
          "inverse temperature of the softmax"),
      key("perturbation", &HeadOptions::perturbation, real(0.0, kLargestStrength),
          "strength of a random matrix added to the head"),
      key("name", &HeadOptions::name, text(100, true), "used in tables and figures"),
  };
  return keys;
}

Codec<HeadOptions> head() {
  const std::string allowed = "a table such as {kind = \"same_token\", shift = -1, beta = 10.0}";
  return {allowed,
          [=](const Value& value, const std::string& path) {
            HeadOptions out;
            read_table(value, path, head_keys(), allowed, out);
            if (find(*value.get<Value::Table>(), "kind") == nullptr) {
              refuse(value, path, allowed + "; kind is missing: " + head_keys().front().allowed);
            }
            return out;
          },
          [](const HeadOptions& options) { return write_inline_table(head_keys(), options); }};
}

/// A layer is a table with the one key `heads`.
struct Layer {
  std::vector<HeadOptions> heads;
};

const std::vector<Key<Layer>>& layer_keys() {
  static const std::vector<Key<Layer>> keys = {
      key("heads", &Layer::heads,
          list(head(), "a list of 1 to 1000 heads, each " + head().allowed, 1, kMostHeads),
          "the heads of this layer")};
  return keys;
}

/// Names appear in tables, figures and files, so a layer may use each once.
void refuse_repeated_names(const Layer& layer, const Value& value, const std::string& path) {
  for (std::size_t i = 0; i < layer.heads.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (layer.heads[i].name.empty() || layer.heads[i].name != layer.heads[j].name) continue;
      const Value::Array& heads = *find(*value.get<Value::Table>(), "heads")->get<Value::Array>();
      const std::string head_path = element(path + ".heads", i);
      refuse(*find(*heads[i].get<Value::Table>(), "name"), head_path + ".name",
             "different from the name of " + element(path + ".heads", j));
    }
  }
}

Codec<std::vector<std::vector<HeadOptions>>> layers() {
  const std::string one = "a table [[task.layers]] with the key heads";
  const Codec<std::vector<HeadOptions>> layer = {
      one,
      [=](const Value& value, const std::string& path) {
        Layer out;
        read_table(value, path, layer_keys(), one, out);
        if (out.heads.empty()) refuse(value, path, one + ", " + layer_keys().front().allowed);
        refuse_repeated_names(out, value, path);
        return out.heads;
      },
      [](const std::vector<HeadOptions>& heads) {
        return write_inline_table(layer_keys(), Layer{heads});
      }};
  return list(layer, "1 to 64 tables [[task.layers]], each with the key heads", 1, kMostLayers);
}

// --- [model] widths
// -------------------------------------------------------------------------------

Codec<std::vector<std::vector<Index>>> widths() {
  const std::string one = "an integer from 1 to 1e9, or [N_1, ..., N_L, N_a]";
  const Codec<std::vector<Index>> point =
      one_or_list(integer<Index>(1, kLargestWidth), one, kMostLayers + 1);
  const std::string allowed = "a width, or a list of 1 to 10000 sweep points, each " + one;
  const Codec<std::vector<std::vector<Index>>> many = list(point, allowed, 1, kMostPoints);
  return {allowed,
          [=](const Value& value, const std::string& path) {
            if (value.get<Value::Array>() != nullptr) return many.read(value, path);
            if (value.get<std::int64_t>() == nullptr) refuse(value, path, allowed);
            return std::vector<std::vector<Index>>{point.read(value, path)};
          },
          many.write};
}

// --- sections
// -------------------------------------------------------------------------------------

Section general_section() {
  return {"",
          "",
          "",
          {key("schema", &Study::schema, integer<int>(1, 1), "version of the study file"),
           key("name", &Study::name, text(200, false), "of the study, for tables and figures"),
           key("seed", &Study::seed, integer<std::uint64_t>(0, kLargestSeed),
               "root of every random stream"),
           key("threads", &Study::threads, integer<int>(0, 4096),
               "0 = all cores; never changes a result")}};
}

Section task_section() {
  return {"task", "", "what makes the examples",
          keys_of(
              [](auto& study) -> auto& { return study.task; },
              std::vector<Key<TaskOptions>>{
                  key("kind", &TaskOptions::kind,
                      word({"hidden_markov_chain", "dataset", "fuzzy_logic", "sraven", "text",
                            "omniglot"}),
                      "where the examples come from; decides the other keys. The last four are "
                      "trained on (headway train)"),
                  key("seed", &TaskOptions::seed, optional(integer<std::uint64_t>(0, kLargestSeed)),
                      "fixes the data apart from the seed of the study")})};
}

Section dataset_section() {
  return {"task", "dataset", "a data-set file",
          keys_of(
              [](auto& study) -> auto& { return study.task; },
              std::vector<Key<TaskOptions>>{
                  key("file", &TaskOptions::file, text(4096, false),
                      "path of the HDF5 file, relative to the study file, also by --set")})};
}

Section hidden_markov_chain_section() {
  using H = HiddenMarkovChainOptions;
  return {"task", "hidden_markov_chain", "two classes of hidden Markov chains",
          keys_of(
              [](auto& study) -> auto& { return study.task.hidden_markov_chain; },
              std::vector<Key<H>>{
                  key("train_examples", &H::train_examples, integer<Index>(1, kLargestCount),
                      "P, half of each class"),
                  key("test_examples", &H::test_examples, integer<Index>(0, kLargestCount),
                      "half of each class"),
                  key("tokens", &H::tokens, integer<Index>(1, kLargestSize),
                      "without the beginning-of-sequence token"),
                  key("features", &H::features, integer<Index>(2, kLargestSize),
                      "of a token, without the one-hot positions; even"),
                  key("stay_probability", &H::stay_probability,
                      exactly<double, 2>(real(0.0, 1.0), "two numbers from 0 to 1"),
                      "that the chain keeps its state: class +1, class -1"),
                  key("noise", &H::noise,
                      exactly<double, 3>(real(0.0, kLargestStrength),
                                         "three numbers >= 0: difference, sum, out of plane"),
                      "along v_+ - v_-, along v_+ + v_-, out of that plane"),
                  key("layers", &H::layers, layers(), "the heads, layer by layer")})};
}

Section model_section() {
  using M = ModelOptions;
  const Codec<double> variance = real(0.0, kLargestReal, Bound::kOpen);
  return {"model", "", "the network; one sweep point per width and temperature",
          keys_of(
              [](auto& study) -> auto& { return study.model; },
              std::vector<Key<M>>{
                  key("widths", &M::widths, widths(),
                      "one entry per sweep point: N, or [N_1, ..., N_L, N_a]"),
                  key("heads", &M::heads,
                      list(integer<int>(1, kMostHeads), "a list [H_1, ..., H_L] of integers >= 1",
                           1, kMostLayers),
                      "only where the task does not fix them"),
                  key("variances", &M::variances,
                      one_or_list(variance,
                                  "a number > 0 and <= 1e9, or [s_0^2, s_1^2, ..., s_L^2, s_a^2]",
                                  kMostLayers + 2),
                      "prior variances of the weights: one, or [s_0^2, ..., s_a^2]"),
                  key("temperature", &M::temperatures,
                      one_or_list(real(0.0, kLargestReal),
                                  "a number from 0 to 1e9, or a list of them (swept)", kMostPoints),
                      "variance of the label noise; a list is swept"),
                  key("readout", &M::readout,
                      optional(choice<Readout>({{"last_token", Readout::kLastToken},
                                                {"first_token", Readout::kFirstToken},
                                                {"mean", Readout::kMean}})),
                      "query positions that the readout takes"),
                  key("attention", &M::attention,
                      choice<AttentionKind>({{"softmax", AttentionKind::kSoftmax},
                                             {"hardmax", AttentionKind::kHardmax}}),
                      "how logits become weights over keys")})};
}

Section solve_section() {
  using S = SolveOptions;
  return {
      "solve", "", "the saddle point",
      keys_of(
          [](auto& study) -> auto& { return study.solve; },
          std::vector<Key<S>>{
              key("gradient_tolerance", &S::gradient_tolerance, real(0.0, 1.0, Bound::kOpen),
                  "on the largest entry of dS/dU / max N"),
              key("max_iterations", &S::max_iterations, integer<int>(1, kLargestCount),
                  "per point"),
              key("optimizer", &S::optimizer, word({"auto", "newton", "quasi_newton", "ceres"}),
                  "own structured Newton method, or BFGS through Ceres Solver"),
              key("elimination", &S::elimination, word({"joint", "closed_form"}),
                  "how U_2, ..., U_L and U_a are treated"),
              key("kernels", &S::kernels, word({"auto", "stored", "streamed", "feature_space"}),
                  "how K and its gradient are evaluated"),
              key("start", &S::start, word({"gaussian_process", "random"}),
                  "of the first point of a sweep"),
              key("extra_starts", &S::extra_starts, integer<int>(0, 10'000),
                  "further random starts, to show that the minimum is the same"),
              key("warm_start", &S::warm_start, flag(), "start each point from its neighbour"),
              key("hessian", &S::hessian, word({"auto", "on", "off"}), "the test for a minimum"),
              key("corrections", &S::corrections, word({"auto", "on", "off"}),
                  "the 1/N-corrected means"),
              key("memory_limit_gib", &S::memory_limit_gib, real(0.0, 1e6, Bound::kOpen),
                  "what kernels = \"auto\" may hold")})};
}

Section align_section() {
  return {"align", "", "overlaps of kernel eigenvectors with the labels",
          keys_of(
              [](auto& study) -> auto& { return study.align; },
              std::vector<Key<AlignOptions>>{key("components", &AlignOptions::components,
                                                 integer<Index>(0, kLargestWidth),
                                                 "eigenvectors reported; 0 = all")})};
}

Section prune_section() {
  using P = PruneOptions;
  return {"prune", "", "head scores and pruning",
          keys_of(
              [](auto& study) -> auto& { return study.prune; },
              std::vector<Key<P>>{
                  key("random_orders", &P::random_orders, integer<int>(0, 100'000),
                      "draws of the random pruning order"),
                  key("greedy", &P::greedy, flag(), "also search the true greedy order"),
                  key("cumulative", &P::cumulative, flag(), "also remove heads one by one"),
                  key("rescale", &P::rescale, flag(),
                      "trained network: a pruned layer times sqrt(H_l / heads left)"),
                  key("normalise_sensitivity", &P::normalise_sensitivity, flag(),
                      "trained network: each layer's gradient sensitivities divided by their norm"),
                  key("resamples", &P::resamples, integer<int>(2, 1'000'000),
                      "trained network: bootstrap of rank correlations over examples"),
                  key("permutations", &P::permutations, integer<int>(1, 100'000'000),
                      "trained network: random pairings for p-values (10 heads or more)")})};
}

Section sample_section() {
  using S = SampleOptions;
  return {
      "sample", "", "draws from the posterior",
      keys_of(
          [](auto& study) -> auto& { return study.sample; },
          std::vector<Key<S>>{
              key("sampler", &S::sampler,
                  word({"exact", "gibbs", "nuts", "hmc", "mala", "langevin"}),
                  "exact: the chain of Wisharts; the others draw all weights; langevin is biased"),
              key("chains", &S::chains, integer<int>(1, 1'000),
                  "at least 4 let R-hat see chains that disagree"),
              key("draws", &S::draws, integer<int>(1, kLargestCount), "per chain, after warm-up"),
              key("warmup", &S::warmup, integer<int>(0, kLargestCount),
                  "per chain, thrown away; 0: nothing is adapted"),
              key("thin", &S::thin, integer<int>(1, 10'000), "keep every thin-th draw"),
              key("metric", &S::metric, word({"auto", "unit", "diagonal", "dense", "information"}),
                  "mass matrix; auto: dense up to 60 unknowns, above information (exact only) or "
                  "diagonal"),
              key("target_accept", &S::target_accept, real(0.0, 0.999),
                  "mean acceptance that the step size is adapted to; 0 = the sampler's own"),
              key("max_tree_depth", &S::max_tree_depth, integer<int>(1, 20),
                  "exact and nuts: at most 2^depth - 1 leapfrog steps a draw"),
              key("predictor_draws", &S::predictor_draws, integer<int>(0, kLargestCount),
                  "draws per chain that the predictor is averaged over; 0: no predictor"),
              key("evidence", &S::evidence, flag(), "log p(y); exact sampler only"),
              key("keep_weights", &S::keep_weights, flag(),
                  "keep the draws of all weights in the result; not for the exact sampler"),
              key("checkpoint_seconds", &S::checkpoint_seconds, real(0.0, kLargestReal),
                  "between checkpoints, where there is a result file; 0 = none")})};
}

}  // namespace

const std::vector<Section>& study_sections() {
  static const std::vector<Section> sections = [] {
    std::vector<Section> all = {general_section(), task_section(), dataset_section(),
                                hidden_markov_chain_section()};
    for (Section& section : training_task_sections()) all.push_back(std::move(section));
    for (Section section :
         {model_section(), solve_section(), align_section(), prune_section(), sample_section()}) {
      section.side = Side::kTheory;
      all.push_back(std::move(section));
    }
    all.push_back(train_section());
    all.push_back(extract_section());
    return all;
  }();
  return sections;
}

std::vector<std::string> section_names() {
  std::vector<std::string> names;
  for (const Section& section : study_sections()) {
    const bool known = std::find(names.begin(), names.end(), section.name) != names.end();
    if (!section.name.empty() && !known) names.push_back(section.name);
  }
  return names;
}

}  // namespace headway::io::detail
