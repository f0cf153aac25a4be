#include "headway/training/attention_variant.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "headway/core/nearest_word.hpp"
#include "headway/core/text.hpp"
#include "headway/error.hpp"

namespace headway::training {
namespace {

constexpr Index kLargestSize = Index{1} << 20;
constexpr double kLargestArray = 0x1p40;

struct Variant {
  const char* name;
  AttentionOptions options;
};

constexpr AttentionOptions options_of(Normalisation a, ValueNetwork b, Nonlinearity c) {
  return {a, b, c, false};
}

// src/training/README.md, "Attention"; [S25] tables A1 and A3.
const std::vector<Variant>& variants() {
  using enum Normalisation;
  using enum ValueNetwork;
  using enum Nonlinearity;
  static const std::vector<Variant> table = {
      {"softmax", options_of(kSoftmax, kPlain, kIdentity)},
      {"linear", options_of(kNone, kPlain, kIdentity)},
      {"linear_rms_head", options_of(kRmsHead, kPlain, kIdentity)},
      {"hyla", options_of(kRmsHead, kHyla, kRelu)},
      {"hyla_linear_value", options_of(kRmsHead, kHyla, kIdentity)},
      {"hyla_no_rms_head", options_of(kNone, kHyla, kRelu)},
      {"hyla_linear_value_no_rms_head", options_of(kNone, kHyla, kIdentity)},
      {"softmax_hyla", options_of(kSoftmax, kHyla, kRelu)},
      {"linear_rms_head_nonlinear_value", options_of(kRmsHead, kPlain, kRelu)},
      {"hyla_deep", options_of(kRmsHead, kHylaDeep, kRelu)},
  };
  return table;
}

constexpr std::array<std::pair<const char*, Nonlinearity>, 6> kNonlinearities = {{
    {"identity", Nonlinearity::kIdentity},
    {"relu", Nonlinearity::kRelu},
    {"gelu", Nonlinearity::kGelu},
    {"silu", Nonlinearity::kSilu},
    {"tanh", Nonlinearity::kTanh},
    {"squared_relu", Nonlinearity::kSquaredRelu},
}};

[[noreturn]] void unknown(std::string_view field, std::string_view name,
                          const std::vector<std::string>& known) {
  const std::string guess = nearest_word(name, known);
  throw Error(ErrorKind::kBadStudy,
              fmt::format("{} = \"{}\": must be one of {}{}", field, name, join(known, ", "),
                          guess.empty() ? "" : fmt::format(" (did you mean \"{}\"?)", guess)));
}

void require_size(const char* field, Index value) {
  if (value < 1 || value > kLargestSize) {
    throw Error(ErrorKind::kBadStudy, fmt::format("attention: {} = {}: must be from 1 to {}", field,
                                                  value, kLargestSize));
  }
}

}  // namespace

void AttentionShape::validate() const {
  require_size("batch", batch);
  require_size("heads", heads);
  require_size("queries", queries);
  require_size("keys", keys);
  require_size("query_dim", query_dim);
  require_size("value_dim", value_dim);
  const double rows = static_cast<double>(batch) * static_cast<double>(std::max(queries, keys));
  const double columns =
      static_cast<double>(heads) * static_cast<double>(std::max(query_dim, value_dim));
  if (rows * columns > kLargestArray) {
    throw Error(ErrorKind::kBadStudy,
                fmt::format("attention: batch {} x tokens {} x heads {} x dims {}: at most 2^40 "
                            "numbers",
                            batch, std::max(queries, keys), heads, std::max(query_dim, value_dim)));
  }
}

Index AttentionShape::visible_pairs(bool causal) const {
  if (!causal) return queries * keys;
  Index pairs = 0;
  for (Index q = 0; q < queries; ++q) pairs += std::clamp(q + 1 + keys - queries, Index{0}, keys);
  return pairs;
}

const std::vector<std::string>& attention_variant_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> result;
    result.reserve(variants().size());
    for (const Variant& variant : variants()) result.emplace_back(variant.name);
    return result;
  }();
  return names;
}

AttentionOptions attention_variant(std::string_view name) {
  for (const Variant& variant : variants()) {
    if (name == variant.name) return variant.options;
  }
  unknown("train.attention", name, attention_variant_names());
}

const std::vector<std::string>& nonlinearity_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> result;
    result.reserve(kNonlinearities.size());
    for (const auto& entry : kNonlinearities) result.emplace_back(entry.first);
    return result;
  }();
  return names;
}

Nonlinearity parse_nonlinearity(std::string_view name) {
  for (const auto& [known, value] : kNonlinearities) {
    if (name == known) return value;
  }
  unknown("train.nonlinearity", name, nonlinearity_names());
}

MultiplyAdds count_multiply_adds(const AttentionShape& shape, const AttentionOptions& options) {
  const auto d = static_cast<double>(shape.query_dim);
  const auto dv = static_cast<double>(shape.value_dim);
  const double pair_heads = static_cast<double>(shape.batch) * static_cast<double>(shape.heads) *
                            static_cast<double>(shape.visible_pairs(options.causal));
  MultiplyAdds count;
  switch (options.value_network) {
    case ValueNetwork::kPlain:
      count = {d + dv, 2 * d + 2 * dv, d};
      break;
    case ValueNetwork::kHyla:
      count = {d + 2 * dv, 2 * d + 4 * dv, d + dv};
      break;
    case ValueNetwork::kHylaDeep:
      count = {d + 3 * dv + dv * dv, 2 * d + 6 * dv + 2 * dv * dv, d + 2 * dv + 2 * dv * dv};
      break;
  }
  if (normalises_over_keys(options.normalisation) && is_generated(options.value_network)) {
    // A sweep of its own, up to the gradient of the weights, for the softmax's sum over keys.
    const bool deep = has_mixing(options.value_network);
    count.recomputed += d + 4 * dv + (deep ? 4 * dv + 3 * dv * dv : 0.0);
  }
  count.forward *= pair_heads;
  count.backward *= pair_heads;
  count.recomputed *= pair_heads;
  return count;
}

}  // namespace headway::training
