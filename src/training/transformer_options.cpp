#include "headway/training/transformer_options.hpp"

#include <algorithm>
#include <cmath>

#include "training/linear_value_shapes.hpp"
#include "training/named_values.hpp"

namespace headway::training {
namespace {

using detail::NamedValues;
using detail::require_whole;

constexpr Index kLargestDim = Index{1} << 20;

constexpr NamedValues<NetworkKind, 2> kNetworks = {{
    {"transformer", NetworkKind::kTransformer},
    {"linear_value", NetworkKind::kLinearValue},
}};
constexpr NamedValues<FeedForward, 3> kFeedForwards = {{
    {"gelu", FeedForward::kGelu},
    {"swiglu", FeedForward::kSwiglu},
    {"mixture", FeedForward::kMixture},
}};
constexpr NamedValues<Norm, 2> kNorms = {{
    {"layer_norm", Norm::kLayerNorm},
    {"rms_norm", Norm::kRmsNorm},
}};
constexpr NamedValues<Positions, 3> kPositions = {{
    {"relative", Positions::kRelative},
    {"rotary", Positions::kRotary},
    {"none", Positions::kNone},
}};

void require_divisible(std::string_view field, Index dim, Index heads) {
  if (dim % heads == 0) return;
  throw Error(ErrorKind::kBadStudy,
              fmt::format("train.{} = {}: must be a multiple of train.heads = {}, which share it",
                          field, dim, heads));
}

}  // namespace

void TransformerOptions::validate() const {
  if (network == NetworkKind::kLinearValue) return detail::validate_linear_value(*this);
  static_cast<void>(attention_options());
  require_whole("layers", layers, 1, 1000);
  require_whole("encoder_layers", encoder_layers, 0, 1000);
  require_whole("model_dim", model_dim, 1, kLargestDim);
  require_whole("heads", heads, 1, kLargestDim);
  require_whole("query_dim", query_dim, 1, kLargestDim);
  require_whole("value_dim", value_dim, 1, kLargestDim);
  require_whole("mlp_dim", mlp_dim, 1, kLargestDim);
  require_divisible("query_dim", query_dim, heads);
  require_divisible("value_dim", value_dim, heads);
  require_whole("width_multiplier", width_multiplier, 1, 1024);
  const Index largest = std::max({model_dim, heads, query_dim, value_dim, mlp_dim});
  require_whole("width_multiplier", width_multiplier, 1, kLargestDim / largest);
  require_whole("position_buckets", position_buckets, 0, kLargestDim);
  if (positions == Positions::kRotary && (query_dim / heads) % 2 != 0) {
    throw Error(ErrorKind::kBadStudy,
                fmt::format("train.query_dim = {}: rotary positions turn pairs of dims, and the {} "
                            "heads have {} each: must be even",
                            query_dim, heads, query_dim / heads));
  }
  if (feed_forward == FeedForward::kMixture) {
    require_whole("experts", experts, 1, 4096);
    require_whole("active_experts", active_experts, 0, experts);
  }
  detail::require_real(load_balancing >= 0.0 && std::isfinite(load_balancing), "load_balancing",
                       load_balancing, "a number from 0");
  detail::require_real(attention_dropout >= 0.0 && attention_dropout < 1.0, "attention_dropout",
                       attention_dropout, "a number from 0 to below 1");
}

void TransformerOptions::require_context(const TaskFormat& format) const {
  if (encoder_layers == 0 || format.scored < format.tokens) return;
  throw Error(
      ErrorKind::kBadStudy,
      fmt::format("train.encoder_layers = {}: must be 0 for a task that scores every one of "
                  "its {} tokens: none is left as a context to encode",
                  encoder_layers, format.tokens));
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
    throw Error(ErrorKind::kBadStudy,
                fmt::format("train.nonlinearity = \"{}\": the values of attention \"{}\" pass "
                            "through none; leave it out, or take a variant that has one",
                            nonlinearity, attention));
  }
  result.nonlinearity = wanted;
  return result;
}

NetworkKind parse_network_kind(std::string_view name) {
  return detail::parse_named(kNetworks, "train.network", name);
}
std::string_view to_string(NetworkKind value) { return detail::name_of(kNetworks, value); }
FeedForward parse_feed_forward(std::string_view name) {
  return detail::parse_named(kFeedForwards, "train.feed_forward", name);
}
Norm parse_norm(std::string_view name) { return detail::parse_named(kNorms, "train.norm", name); }
Positions parse_positions(std::string_view name) {
  return detail::parse_named(kPositions, "train.positions", name);
}
std::string_view to_string(FeedForward value) { return detail::name_of(kFeedForwards, value); }
std::string_view to_string(Norm value) { return detail::name_of(kNorms, value); }
std::string_view to_string(Positions value) { return detail::name_of(kPositions, value); }

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
