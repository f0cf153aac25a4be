#include <utility>

#include "headway/io/text_files.hpp"
#include "headway/training/attention_variant.hpp"
#include "io/study_file_schema.hpp"

// The keys of studies that train networks: their tasks, and [train].
namespace headway::io::detail {

namespace {

using studies::Study;
using studies::TaskOptions;
using training::Device;
using training::FeedForward;
using training::LearningRateSchedule;
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
                  "path of the text, relative to the study file"),
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

std::vector<Key<training::TransformerOptions>> model_keys() {
  using M = training::TransformerOptions;
  const Codec<Index> dim = integer<Index>(1, kLargestDim);
  return {
      key("attention", &M::attention, word(training::attention_variant_names()),
          "the variant of every layer"),
      key("nonlinearity", &M::nonlinearity, optional_word(training::nonlinearity_names()),
          "in place of the variant's own, where its value network has one"),
      key("layers", &M::layers, integer<Index>(1, 10'000), "L"),
      key("encoder_layers", &M::encoder_layers, integer<Index>(0, 10'000),
          "of an encoder of the tokens that are not scored, which the layers read by "
          "cross-attention; 0 = one stream of all tokens"),
      key("model_dim", &M::model_dim, dim, "D"),
      key("heads", &M::heads, integer<Index>(1, 10'000), "H, in every layer"),
      key("query_dim", &M::query_dim, dim, "of queries and keys, all heads together"),
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

std::vector<Section> training_task_sections() {
  return {fuzzy_logic_section(), sraven_section(), text_section()};
}

Section train_section() {
  using T = studies::TrainOptions;
  Section section{"train", "", "a transformer and how it is trained", {}, Side::kTraining};
  const auto add = [&section](std::vector<StudyKey> keys) {
    for (StudyKey& k : keys) section.keys.push_back(std::move(k));
  };
  add(keys_of(
      [](auto& study) -> auto& { return study.train.model; }, model_keys()));
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

}  // namespace headway::io::detail
