#include <fmt/format.h>

#include <utility>

#include "headway/io/text_files.hpp"
#include "headway/training/attention_variant.hpp"
#include "io/study_file/schema.hpp"

// The keys of studies that train networks: their tasks, and [train].
namespace headway::io::detail {

namespace {

using studies::Study;
using studies::TaskOptions;
using training::Device;
using training::FeedForward;
using training::LearningRateSchedule;
using training::NetworkKind;
using training::Norm;
using training::Positions;
using training::Precision;

constexpr std::int64_t kLargestSequence = 1'000'000;
constexpr std::int64_t kLargestDim = 1'000'000;
constexpr std::int64_t kMostSteps = 1'000'000'000;

/// One of some words, or nothing: the key is then left out.
Codec<std::string> optional_word(const std::vector<std::string>& words) {
  Codec<std::string> codec = word(words);
  codec.write = [write = codec.write](const std::string& held) {
    return held.empty() ? std::string() : write(held);
  };
  return codec;
}

/// The name of a further set of a data set, which a split of another kind of images becomes.
Codec<std::string> set_name() {
  Codec<std::string> codec = text(40, false);
  codec.allowed =
      "a letter, then letters, digits, - and _, at most 40 in all; not train, test or "
      "validation";
  codec.read = [allowed = codec.allowed](const Value& value, const std::string& path) {
    const std::string* name = value.get<std::string>();
    const bool fits =
        name != nullptr && tasks::set_name_fault(*name).empty() && *name != tasks::kValidationSet;
    if (!fits) refuse(value, path, allowed);
    return *name;
  };
  return codec;
}

Section fuzzy_logic_section() {
  using F = tasks::FuzzyLogicOptions;
  using tasks::FuzzyLogicInputs;
  return {"task", "fuzzy_logic", "fuzzy logic in context: a disjunction of unknown conjunctions",
          keys_of(
              [](auto& study) -> auto& { return study.task.fuzzy_logic; },
              std::vector<Key<F>>{
                  key("variables", &F::variables, integer<int>(2, 10), "V; there are 2^V terms"),
                  key("terms_per_task", &F::terms_per_task, integer<int>(1, 256),
                      "K, at most the 2^V / 4 unknown terms"),
                  key("sequence_length", &F::sequence_length, integer<Index>(2, kLargestSequence),
                      "S, all tokens with the query"),
                  key("held_out", &F::held_out, real(0.0, 1.0),
                      "share of the tasks of known terms that training never sees"),
                  key("inputs", &F::inputs,
                      choice<FuzzyLogicInputs>({{"uniform", FuzzyLogicInputs::kUniform},
                                                {"fixed_context", FuzzyLogicInputs::kFixedContext},
                                                {"fixed_query", FuzzyLogicInputs::kFixedQuery}}),
                      "what is drawn anew for every example"),
                  key("reject_uncovered", &F::reject_uncovered, flag(),
                      "draw a split again that leaves a known term in no training task")})};
}

Section sraven_section() {
  using R = tasks::SravenOptions;
  return {"task", "sraven", "symbolic Raven matrices; S = 9 features",
          keys_of(
              [](auto& study) -> auto& { return study.task.sraven; },
              std::vector<Key<R>>{
                  key("features", &R::features, integer<int>(1, 6), "K, each with its rule"),
                  key("values", &R::values, integer<int>(3, 254), "F, symbols of a feature"),
                  key("held_out", &R::held_out, real(0.0, 1.0),
                      "share of the rule sets that training never sees"),
                  key("permuted", &R::permuted, flag(),
                      "each column of the grid shows the features in an order of its own"),
                  key("reject_uncovered", &R::reject_uncovered, flag(),
                      "draw a split again that leaves a rule in no training set")})};
}

Section text_section() {
  using T = training::TextOptions;
  Section section{
      "task", "text", "the next token of a text",
      keys_of(
          [](auto& study) -> auto& { return study.task; },
          std::vector<Key<TaskOptions>>{
              key("file", &TaskOptions::file, text(4096, false),
                  "path of the text, relative to the study file, also by --set"),
              key("level", &TaskOptions::level, word({"bytes", "bpe"}),
                  "what a token is: a byte, or a piece of text (byte-pair encoding learned "
                  "from the training part)"),
              key("vocabulary", &TaskOptions::vocabulary,
                  integer<Index>(kSmallestBpeVocabulary, kLargestBpeVocabulary),
                  "bpe: number of tokens at most; a short text gives fewer")})};
  for (StudyKey& k : keys_of(
           [](auto& study) -> auto& { return study.task.text; },
           std::vector<Key<T>>{
               key("sequence_length", &T::sequence_length, integer<Index>(2, kLargestSequence),
                   "S, tokens of an example"),
               key("held_out", &T::held_out, real(0.0, 1.0, Bound::kOpen),
                   "the last share of the text's bytes, which training never sees")})) {
    section.keys.push_back(std::move(k));
  }
  return section;
}

Codec<studies::OutOfDistributionSet> out_of_distribution_set() {
  using S = studies::OutOfDistributionSet;
  static const std::vector<Key<S>> keys = {
      key("name", &S::name, set_name(), "of the split"),
      key("images", &S::images, text(4096, false), "IDX file, plain or gzip"),
      key("labels", &S::labels, text(4096, false), "IDX file, plain or gzip"),
      key("invert", &S::invert, flag(), "light ink on black becomes dark on white"),
  };
  const std::string allowed =
      "a table [[task.out_of_distribution]] with name, images and labels (IDX files, relative to "
      "the study file) and, if wanted, invert (default true)";
  return {allowed,
          [=](const Value& value, const std::string& path) {
            S out;
            read_table(value, path, keys, allowed, out);
            for (const char* needed : {"name", "images", "labels"}) {
              if (find(*value.get<Value::Table>(), needed) != nullptr) continue;
              refuse(value, path, fmt::format("{}; {} is missing", allowed, needed));
            }
            return out;
          },
          [](const S& set) { return write_inline_table(keys, set); }};
}

Section omniglot_section() {
  using O = studies::OmniglotOptions;
  using I = tasks::OneShotImagesOptions;
  const Codec<std::string> file = text(4096, false);
  Section section{
      "task", "omniglot", "two-way one-shot classification of drawings, in context; S = 48",
      keys_of(
          [](auto& study) -> auto& { return study.task.omniglot; },
          std::vector<Key<O>>{
              key("files", &O::files, one_or_list(file, "a path or a list of up to 100 paths", 100),
                  "archives or folders of Omniglot, relative to the study file, also by --set"),
              key("out_of_distribution", &O::out_of_distribution,
                  list(out_of_distribution_set(),
                       "up to 100 tables, each " + out_of_distribution_set().allowed, 0, 100),
                  "other images to evaluate on, such as MNIST; a split each; paths are relative "
                  "to the study file, also by --set")})};
  for (StudyKey& k : keys_of(
           [](auto& study) -> auto& { return study.task.omniglot.images; },
           std::vector<Key<I>>{
               key("validation", &I::validation, real(0.0, 1.0),
                   "share of the characters that choose the best checkpoint"),
               key("test", &I::test, real(0.0, 1.0), "share of the characters set apart for tests"),
               key("split_by_group", &I::split_by_group, flag(),
                   "whole alphabets are set apart, not characters"),
               key("rotations", &I::rotations, flag(),
                   "characters turned by 90, 180 and 270 degrees are more classes"),
               key("position_scale", &I::position_scale, real(0.0, 1e3),
                   "of the sinusoidal positions"),
               key("label_scale", &I::label_scale, real(0.0, 1e3), "of the label embedding")})) {
    section.keys.push_back(std::move(k));
  }
  return section;
}

/// Of both kinds of network.
std::vector<Key<training::TransformerOptions>> network_keys() {
  using M = training::TransformerOptions;
  const Codec<Index> dim = integer<Index>(1, kLargestDim);
  return {
      key("network", &M::network,
          choice<NetworkKind>({{"transformer", NetworkKind::kTransformer},
                               {"linear_value", NetworkKind::kLinearValue}}),
          "linear_value: attention paths alone, as the theory has them; it has no key below "
          "query_dim up to width_multiplier"),
      key("layers", &M::layers, integer<Index>(1, 10'000), "L"),
      key("model_dim", &M::model_dim, dim, "D; linear_value: N, in every layer"),
      key("heads", &M::heads, integer<Index>(1, 10'000), "H, in every layer"),
      key("query_dim", &M::query_dim, dim, "of queries and keys, all heads together"),
  };
}

/// A linear-value network has none of these: a study of one neither takes nor writes them.
std::vector<Key<training::TransformerOptions>> transformer_keys() {
  using M = training::TransformerOptions;
  const Codec<Index> dim = integer<Index>(1, kLargestDim);
  std::vector<Key<M>> keys = {
      key("attention", &M::attention, word(training::attention_variant_names()),
          "the variant of every layer"),
      key("nonlinearity", &M::nonlinearity, optional_word(training::nonlinearity_names()),
          "in place of the variant's own, where its value network has one"),
      key("encoder_layers", &M::encoder_layers, integer<Index>(0, 10'000),
          "of an encoder of the tokens that are not scored, which the layers read by "
          "cross-attention; 0 = one stream of all tokens"),
      key("value_dim", &M::value_dim, dim, "of values, all heads together"),
      key("mlp_dim", &M::mlp_dim, dim, "hidden dims of the feed-forward network (of each expert)"),
      key("feed_forward", &M::feed_forward,
          choice<FeedForward>({{"gelu", FeedForward::kGelu},
                               {"swiglu", FeedForward::kSwiglu},
                               {"mixture", FeedForward::kMixture}}),
          "the network between the attention layers"),
      key("experts", &M::experts, integer<Index>(1, 10'000), "of a mixture"),
      key("active_experts", &M::active_experts, integer<Index>(0, 10'000),
          "that a token goes through; 0 = all"),
      key("load_balancing", &M::load_balancing, real(0.0, 1e3),
          "of a mixture: weight of the loss that keeps the experts equally busy"),
      key("norm", &M::norm,
          choice<Norm>({{"layer_norm", Norm::kLayerNorm}, {"rms_norm", Norm::kRmsNorm}}),
          "before every block and at the end"),
      key("positions", &M::positions,
          choice<Positions>({{"relative", Positions::kRelative},
                             {"rotary", Positions::kRotary},
                             {"none", Positions::kNone}}),
          "T5's relative buckets, or RoPE"),
      key("position_buckets", &M::position_buckets, integer<Index>(0, kLargestSequence),
          "of relative positions; 0 = one a token"),
      key("causal", &M::causal, flag(), "tokens see no later ones; needed for text"),
      key("attention_dropout", &M::attention_dropout, real(0.0, 0.99),
          "one mask of query-key pairs for all examples and heads"),
      key("width_multiplier", &M::width_multiplier, integer<Index>(1, 1'000),
          "multiplies heads and all dims"),
  };
  for (Key<M>& k : keys) {
    k.write = [write = k.write](const M& model) {
      return model.network == NetworkKind::kTransformer ? write(model) : std::string();
    };
  }
  return keys;
}

/// Of linear-value networks alone, as transformer_keys() are of transformers.
std::vector<Key<training::TransformerOptions>> linear_value_keys() {
  using M = training::TransformerOptions;
  std::vector<Key<M>> keys = {
      key("keys_start_as_queries", &M::keys_start_as_queries, flag(),
          "linear_value: heads begin by comparing tokens"),
      key("initial_query_scale", &M::initial_query_scale, real(0.0, 1e3, Bound::kOpen),
          "linear_value: spread of the first queries and keys, times sqrt(features)"),
      key("query_rate", &M::query_rate, real(0.0, 1e3),
          "linear_value: multiplies the learning rate of queries and keys"),
  };
  for (Key<M>& k : keys) {
    k.write = [write = k.write](const M& model) {
      return model.network == NetworkKind::kLinearValue ? write(model) : std::string();
    };
  }
  return keys;
}

std::vector<Key<training::TrainOptions>> run_keys() {
  using R = training::TrainOptions;
  const Codec<Index> every = integer<Index>(0, kMostSteps);
  return {
      key("steps", &R::steps, integer<Index>(1, kMostSteps), "updates"),
      key("batch", &R::batch, integer<Index>(1, kLargestCount), "examples of a step"),
      key("accumulation", &R::accumulation, integer<Index>(1, kLargestCount),
          "pieces that a batch is cut into, to save memory; divides batch"),
      key("learning_rate", &R::learning_rate, real(0.0, 1e3, Bound::kOpen), "of AdamW"),
      key("weight_decay", &R::weight_decay, real(0.0, 1e3),
          "of AdamW; skips parameters of one dimension"),
      key("beta_1", &R::beta_1, real(0.0, 1.0), "of AdamW"),
      key("beta_2", &R::beta_2, real(0.0, 1.0), "of AdamW"),
      key("epsilon", &R::epsilon, real(0.0, 1.0, Bound::kOpen), "of AdamW"),
      key("schedule", &R::schedule,
          choice<LearningRateSchedule>({{"cosine", LearningRateSchedule::kCosine},
                                        {"constant", LearningRateSchedule::kConstant}}),
          "of the learning rate after warm-up"),
      key("warmup_steps", &R::warmup_steps, every, "linear from 0"),
      key("final_fraction", &R::final_fraction, real(0.0, 1.0),
          "of the learning rate, where the cosine ends"),
      key("gradient_clip", &R::gradient_clip, real(0.0, kLargestReal),
          "largest 2-norm of the gradient; 0 = none"),
      key("log_every", &R::log_every, every,
          "steps between records of the training loss; 0 = none"),
      key("eval_every", &R::eval_every, every, "steps between evaluations; 0 = at the end only"),
      key("eval_examples", &R::eval_examples, integer<Index>(1, kMostSteps),
          "of each split but train, the same every time"),
      key("eval_batch", &R::eval_batch, integer<Index>(0, kLargestCount),
          "examples at a time in evaluations; 0 = as in training"),
      key("checkpoint_every", &R::checkpoint_every, every,
          "steps between checkpoints, where there is a result file; 0 = best and last only"),
      key("best_split", &R::best_split, text(40, true),
          "its loss says which checkpoint is the best; without it the task's own"),
      key("device", &R::device,
          choice<Device>({{"auto", Device::kAuto}, {"cpu", Device::kCpu}, {"cuda", Device::kCuda}}),
          "auto: CUDA where LibTorch has it"),
      key("precision", &R::precision,
          choice<Precision>({{"fp32", Precision::kFloat32}, {"bf16", Precision::kBfloat16}}),
          "bf16 on CUDA only; parameters stay fp32"),
      key("eager", &R::eager, flag(), "LibTorch's own operations in place of the fused kernels"),
  };
}

}  // namespace

std::vector<std::string> keys_of_other_networks(NetworkKind network) {
  std::vector<std::string> names;
  const bool transformer = network == NetworkKind::kTransformer;
  for (const auto& k : transformer ? linear_value_keys() : transformer_keys()) {
    names.push_back(k.name);
  }
  return names;
}

std::vector<Section> training_task_sections() {
  return {fuzzy_logic_section(), sraven_section(), text_section(), omniglot_section()};
}

Section train_section() {
  using T = studies::TrainOptions;
  Section section{"train", "", "a network and how it is trained", {}, Side::kTraining};
  const auto add = [&section](std::vector<StudyKey> keys) {
    for (StudyKey& k : keys) section.keys.push_back(std::move(k));
  };
  for (auto&& keys : {network_keys(), transformer_keys(), linear_value_keys()}) {
    add(keys_of(
        [](auto& study) -> auto& { return study.train.model; }, keys));
  }
  add(keys_of(
      [](auto& study) -> auto& { return study.train.run; }, run_keys()));
  add(keys_of(
      [](auto& study) -> auto& { return study.train; },
      std::vector<Key<T>>{key("keep_weights", &T::keep_weights, flag(),
                              "the result holds the last and the best parameters"),
                          key("sample_tokens", &T::sample_tokens, integer<Index>(0, kLargestCount),
                              "text: tokens that the trained model writes; 0 = none"),
                          key("sample_temperature", &T::sample_temperature, real(0.0, 100.0),
                              "of these; 0 = always the likeliest")}));
  return section;
}

Section extract_section() {
  using E = studies::ExtractOptions;
  Section section{
      "extract", "", "from a trained network to a data set of the theory",
      keys_of(
          [](auto& study) -> auto& { return study.extract; },
          std::vector<Key<E>>{
              key("run", &E::run, integer<Index>(1, kLargestCount),
                  "of the runs of a sweep, in their order"),
              key("weights", &E::weights, word({"best", "last"}),
                  "those of the best checkpoint, or those at the end"),
              key("train_examples", &E::train_examples, integer<Index>(1, kLargestCount), "P"),
              key("test_examples", &E::test_examples, integer<Index>(0, kLargestCount),
                  "0 = no test set"),
              key("validation_examples", &E::validation_examples, integer<Index>(0, kLargestCount),
                  "to choose a temperature by; 0 = none"),
              key("out_of_distribution_examples", &E::out_of_distribution_examples,
                  integer<Index>(0, kLargestCount), "of each set; 0 = none")}),
      Side::kTraining};
  return section;
}

}  // namespace headway::io::detail
