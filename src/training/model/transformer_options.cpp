#include "headway/training/transformer_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "headway/core/option_error.hpp"
#include "headway/core/option_table.hpp"
#include "headway/core/text.hpp"
#include "headway/error.hpp"
#include "training/model/linear_value_shapes.hpp"

namespace headway::training {
namespace {

using M = TransformerOptions;

constexpr std::int64_t kMostLayers = 1'000;
constexpr std::int64_t kMostHeads = 10'000;
constexpr std::int64_t kMostExperts = 4'096;
constexpr std::int64_t kLargestDim = 1'000'000;
constexpr std::int64_t kLargestMultiplier = 1'000;
constexpr Index kLargestWideDim = Index{1} << 20;  // of the arrays of an attention layer

OptionType<Index> dim() { return integer<Index>(1, kLargestDim); }

OptionTable<M> network_table() {
  return {{
      option(
          "network", &M::network, choice<NetworkKind>(),
          "transformer, or linear_value: attention paths alone, as in the theory. linear_value has "
          "none of the keys from attention to width_multiplier."),
      option("layers", &M::layers, integer<Index>(1, kMostLayers), "attention layers L"),
      option("model_dim", &M::model_dim, dim(),
             "width D of the residual stream; linear_value: width N of every layer"),
      option("heads", &M::heads, integer<Index>(1, kMostHeads), "heads H of every layer"),
      option("query_dim", &M::query_dim, dim(), "dims of queries and keys, all heads together"),
  }};
}

/// Left out where it is the default, so that studies without it keep their hashes.
template <class Word>
OptionType<Word> choice_unless(Word usual) {
  OptionType<Word> type = choice<Word>();
  type.write = [usual, write = type.write](const Word& value) {
    return value == usual ? std::string() : write(value);
  };
  return type;
}

OptionTable<M> linear_value_table() {
  return {{
      option("weights_start", &M::weights_start, choice_unless(WeightsStart::kPrior),
             "linear_value: first weights and their rate: the theory's prior (prior), or those of "
             "PyTorch's linear layers, as in the code of Tiberi et al. (linear_layers); prior "
             "unless given"),
      option("keys_start_as_queries", &M::keys_start_as_queries, flag(),
             "linear_value: start keys as copies of the queries, so that heads begin by comparing "
             "tokens. Without it tasks of comparison begin with thousands of steps at chance."),
      option(
          "initial_query_scale", &M::initial_query_scale, real(0.0, 1e3, Ends::kOpenBelow),
          "linear_value: standard deviation of the first queries and keys, times sqrt(features)"),
      option("query_rate", &M::query_rate, real(0.0, 1e3),
             "linear_value: factor of the learning rate of queries and keys"),
  }};
}

OptionTable<M> block_table() {
  return {{
      option("attention", &M::attention, word(attention_variant_names()),
             "attention variant of every layer"),
      option("nonlinearity", &M::nonlinearity, optional_word(nonlinearity_names()),
             "nonlinearity of the value network, in variants that have one; absent: the variant's "
             "own"),
      option("encoder_layers", &M::encoder_layers, integer<Index>(0, kMostLayers),
             "layers of an encoder for the tokens that are not scored, read by cross-attention; 0 "
             "= one stream of all tokens"),
      option("value_dim", &M::value_dim, dim(), "dims of values, all heads together"),
      option("mlp_dim", &M::mlp_dim, dim(),
             "hidden dims of the feed-forward network (of each expert)"),
      option("feed_forward", &M::feed_forward, choice<FeedForward>(),
             "network between the attention layers"),
  }};
}

OptionTable<M> mixture_table() {
  OptionTable<M> table = {{
      option("experts", &M::experts, integer<Index>(1, kMostExperts),
             "mixture: experts of a layer"),
      option("active_experts", &M::active_experts, integer<Index>(0, kMostExperts),
             "mixture: experts that a token goes through; 0 = all"),
      option("load_balancing", &M::load_balancing, real(0.0, 1e3),
             "mixture: weight of the loss that keeps experts equally busy. Raise it if some get no "
             "tokens."),
  }};
  for (Option<M>& o : table.options) {
    o = counts_where("train.feed_forward", "mixture", std::move(o));
  }
  return table;
}

OptionTable<M> token_table() {
  return {{
      option("embedding_start", &M::embedding_start, choice_unless(EmbeddingStart::kDims),
             "first embedding of inputs that are numbers: normal of variance 1 / model_dim (dims), "
             "or LeCun normal by their features, as in the code of Schug et al. (features); dims "
             "unless given"),
      option("norm", &M::norm, choice<Norm>(), "normalisation before every block and at the end"),
      option("positions", &M::positions, choice<Positions>(),
             "how positions enter: T5's relative buckets, RoPE (rotary), or not at all"),
      counts_where("train.positions", "relative",
                   option("position_buckets", &M::position_buckets, integer<Index>(0, kLargestDim),
                          "buckets of relative positions, spaced as in T5; 0 = as many as tokens")),
      option("causal", &M::causal, flag(), "tokens see no later ones; must be true for texts"),
      option(
          "attention_dropout", &M::attention_dropout, real(0.0, 0.99),
          "share of query-key pairs that a step leaves out, the same for all examples and heads"),
      option("width_multiplier", &M::width_multiplier, integer<Index>(1, kLargestMultiplier),
             "factor of heads and all dims: one key to widen the whole network"),
  }};
}

void require_divisible(const std::string& field, Index dim, Index heads) {
  if (dim % heads == 0) return;
  throw OptionError(fmt::format("{} = {}: must be a multiple of train.heads = {}, which share it",
                                field, dim, heads),
                    {field, "train.heads"});
}

void validate_widened(const M& m) {
  const Index largest = std::max({m.model_dim, m.heads, m.query_dim, m.value_dim, m.mlp_dim});
  if (m.width_multiplier <= kLargestWideDim / largest) return;
  throw OptionError(
      fmt::format("train.width_multiplier = {}: must be from 1 to {}, so that no dim exceeds {}",
                  m.width_multiplier, kLargestWideDim / largest, kLargestWideDim),
      {"train.width_multiplier", "train.model_dim", "train.heads", "train.query_dim",
       "train.value_dim", "train.mlp_dim"});
}

void validate_transformer(const M& m) {
  require_divisible("train.value_dim", m.value_dim, m.heads);
  validate_widened(m);
  if (m.positions == Positions::kRotary && (m.query_dim / m.heads) % 2 != 0) {
    throw OptionError(fmt::format("train.query_dim = {}: gives each of the {} heads {} dims: must "
                                  "be even, because rotary positions turn pairs of dims",
                                  m.query_dim, m.heads, m.query_dim / m.heads),
                      {"train.query_dim", "train.heads", "train.positions"});
  }
  if (m.feed_forward == FeedForward::kMixture && m.active_experts > m.experts) {
    throw OptionError(fmt::format("train.active_experts = {}: must be at most train.experts = {}",
                                  m.active_experts, m.experts),
                      {"train.active_experts", "train.experts"});
  }
  static_cast<void>(m.attention_options());
}

}  // namespace

Words<NetworkKind> words_of(NetworkKind) {
  static constexpr Word<NetworkKind> kWords[] = {{"transformer", NetworkKind::kTransformer},
                                                 {"linear_value", NetworkKind::kLinearValue}};
  return kWords;
}

Words<FeedForward> words_of(FeedForward) {
  static constexpr Word<FeedForward> kWords[] = {{"gelu", FeedForward::kGelu},
                                                 {"swiglu", FeedForward::kSwiglu},
                                                 {"mixture", FeedForward::kMixture}};
  return kWords;
}

Words<Norm> words_of(Norm) {
  static constexpr Word<Norm> kWords[] = {{"layer_norm", Norm::kLayerNorm},
                                          {"rms_norm", Norm::kRmsNorm}};
  return kWords;
}

Words<EmbeddingStart> words_of(EmbeddingStart) {
  static constexpr Word<EmbeddingStart> kWords[] = {{"dims", EmbeddingStart::kDims},
                                                    {"features", EmbeddingStart::kFeatures}};
  return kWords;
}

Words<WeightsStart> words_of(WeightsStart) {
  static constexpr Word<WeightsStart> kWords[] = {{"prior", WeightsStart::kPrior},
                                                  {"linear_layers", WeightsStart::kLinearLayers}};
  return kWords;
}

Words<Positions> words_of(Positions) {
  static constexpr Word<Positions> kWords[] = {{"relative", Positions::kRelative},
                                               {"rotary", Positions::kRotary},
                                               {"none", Positions::kNone}};
  return kWords;
}

const OptionTable<TransformerOptions>& TransformerOptions::table() {
  static const OptionTable<M> table = [] {
    const auto is = [](NetworkKind kind) {
      return [kind](const M& m) { return m.network == kind; };
    };
    const OptionTable<M> both = network_table(), linear = linear_value_table();
    std::vector<std::string> names = names_of(joined<M>({both, linear}));
    names.erase(names.begin());  // train.network itself
    const std::string transformer = fmt::format(
        "train.network = \"transformer\", and a linear-value network has {}", join(names));
    return joined<M>(
        {both,
         only_where<M>(is(NetworkKind::kTransformer), transformer,
                       joined<M>({block_table(), mixture_table(), token_table()})),
         only_where<M>(is(NetworkKind::kLinearValue), "train.network = \"linear_value\"", linear)});
  }();
  return table;
}

void TransformerOptions::validate() const {
  check_options(table(), *this, "train");
  require_divisible("train.query_dim", query_dim, heads);
  if (network == NetworkKind::kTransformer) validate_transformer(*this);
  if (network == NetworkKind::kLinearValue) detail::validate_linear_value(*this);
}

void TransformerOptions::require_context(const TaskFormat& format) const {
  if (encoder_layers == 0 || format.scored < format.tokens) return;
  throw OptionError(fmt::format("train.encoder_layers = {}: must be 0 for a task that scores all "
                                "of its {} tokens: none is left to encode",
                                encoder_layers, format.tokens),
                    {"train.encoder_layers"});
}

TransformerOptions TransformerOptions::widened() const {
  TransformerOptions wide = *this;
  for (Index* dim :
       {&wide.model_dim, &wide.heads, &wide.query_dim, &wide.value_dim, &wide.mlp_dim}) {
    *dim *= width_multiplier;
  }
  wide.width_multiplier = 1;
  return wide;
}

AttentionOptions TransformerOptions::attention_options() const {
  AttentionOptions result = attention_variant(attention);
  result.causal = causal;
  if (nonlinearity.empty()) return result;
  const Nonlinearity wanted = parse_nonlinearity(nonlinearity);
  if (result.nonlinearity == Nonlinearity::kIdentity && wanted != Nonlinearity::kIdentity) {
    throw OptionError(
        fmt::format("train.nonlinearity = \"{}\": must be absent: attention \"{}\" has no "
                    "nonlinearity of its values. Or take a variant that has one",
                    nonlinearity, attention),
        {"train.nonlinearity", "train.attention"});
  }
  result.nonlinearity = wanted;
  return result;
}

Index relative_position_bucket(Index distance, Index buckets) {
  const Index exact = buckets / 2;
  if (distance <= 0 || buckets == 1) return 0;
  if (distance < exact || exact == 0) return std::min(distance, buckets - 1);
  const double octaves = std::log(static_cast<double>(distance) / static_cast<double>(exact)) /
                         std::log(static_cast<double>(buckets) / static_cast<double>(exact));
  const auto above = static_cast<Index>(octaves * static_cast<double>(buckets - exact));
  return std::min(exact + above, buckets - 1);
}

}  // namespace headway::training
