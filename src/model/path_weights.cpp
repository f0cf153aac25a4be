#include "model/path_weights.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "headway/core/text.hpp"
#include "headway/error.hpp"
#include "model/attention.hpp"
#include "model/head_products.hpp"

namespace headway::model {
namespace {

using numerics::ConstMatrixRef;
using numerics::Transpose;

constexpr Index kBlockTokens = 2048;             // enough columns for an efficient product
constexpr double kBlockAttentionBytes = 0x1p25;  // 32 MiB
constexpr double kLargestResultBytes = 0x1p42;   // 4 TiB: more must be a mistake

// The weights of the layer below before its heads are known: all tokens, no path yet filled.
PathWeights empty_weights_below(const TokenBlock& block, const PathWeights& above, int heads) {
  PathWeights below;
  below.offset = block.offset;
  for (Index b = 0; b < block.count; ++b) {
    below.weights.emplace_back(block.length(b), heads * above.paths());
  }
  return below;
}

// One more layer of eq. 7: w_(h, rest)[t] = sum_s w_rest[s] Omega^h[s, t]. `attention` is [key,
// query].
void extend_paths(const ConstMatrixRef& attention, int head, Index b, const PathWeights& above,
                  PathWeights* below) {
  const auto i = static_cast<std::size_t>(b);
  numerics::multiply(1.0, attention, Transpose::kNo, above.weights[i], Transpose::kNo, 0.0,
                     below->weights[i].middleCols(head * above.paths(), above.paths()));
}

// Attention computed from head matrices.
void use_computed(const TokenBlock& block, const LayerHeads& layer, int number, AttentionKind kind,
                  const PathWeights& above, const UseAttention& use) {
  const int heads = head_count(layer);
  MatrixXd chosen;
  if (!above.query.empty()) chosen = block.tokens(Eigen::all, above.query);
  const ConstMatrixRef queries = above.query.empty() ? block.tokens : chosen;
  MatrixXd attention;
  for (int h = 0; h < heads; ++h) {
    const HeadProducts products(layer, h, queries, block.tokens);
    for (Index b = 0; b < block.count; ++b) {
      attention.resize(block.length(b), above.count(b));
      products.logits(above.first(b), block.first(b), attention);
      if (!attention_from_logits(kind, attention)) {
        throw Error(ErrorKind::kBadData,
                    fmt::format("attention of layer {}, head {}: a logit of example {} (from 0) is "
                                "not finite",
                                number, h + 1, block.begin + b));
      }
      use(h, b, attention);
    }
  }
}

// The needed rows of one supplied matrix (`full` is [key, query] over all S positions).
void gather_supplied(const TokenBlock& block, Index b, const PathWeights& above,
                     const Eigen::Map<const MatrixXd>& full, MatrixXd* attention) {
  attention->resize(block.length(b), above.count(b));
  for (Index q = 0; q < above.count(b); ++q) {
    const Index query = above.query.empty()
                            ? block.first(b) + q
                            : above.query[static_cast<std::size_t>(above.first(b) + q)];
    gather_query(block, b, query, full, attention->col(q));
  }
}

// Attention that the examples supply.
void use_supplied(SourceReader& reader, const TokenBlock& block, int number, int heads,
                  const PathWeights& above, const UseAttention& use) {
  const Index square = block.sequence * block.sequence;
  VectorXd layer(block.count * heads * square);
  reader.read([&](const ExampleSource& examples) {
    examples.read_attention(number, block.begin, block.count, layer.data());
  });
  MatrixXd attention;
  for (int h = 0; h < heads; ++h) {
    for (Index b = 0; b < block.count; ++b) {
      const Eigen::Map<const MatrixXd> full(layer.data() + (b * heads + h) * square, block.sequence,
                                            block.sequence);
      gather_supplied(block, b, above, full, &attention);
      use(h, b, attention);
    }
  }
}

}  // namespace

// r: the queries of the last layer that the readout takes, and their weights.
PathWeights readout_weights(const TokenBlock& block, Readout readout) {
  PathWeights top;
  if (readout == Readout::kMean) {
    top.offset = block.offset;
    for (Index b = 0; b < block.count; ++b) {
      const Index n = block.length(b);
      top.weights.emplace_back(MatrixXd::Constant(n, 1, 1.0 / static_cast<double>(n)));
    }
    return top;
  }
  top.offset.push_back(0);
  for (Index b = 0; b < block.count; ++b) {
    top.query.push_back(block.readout_column(b, readout));
    top.offset.push_back(b + 1);
    top.weights.emplace_back(MatrixXd::Ones(1, 1));
  }
  return top;
}

void for_each_attention(const LayerSource& source, const TokenBlock& block, int number,
                        const PathWeights& above, const UseAttention& use) {
  const auto at = static_cast<std::size_t>(number - 1);
  if (source.layers.empty()) {
    use_supplied(source.reader, block, number, source.heads[at], above, use);
  } else {
    use_computed(block, source.layers[at], number, source.kind, above, use);
  }
}

PathWeights descend(const LayerSource& source, const TokenBlock& block, int number,
                    const PathWeights& above) {
  const int heads = source.heads[static_cast<std::size_t>(number - 1)];
  PathWeights below = empty_weights_below(block, above, heads);
  for_each_attention(source, block, number, above,
                     [&](int head, Index b, const ConstMatrixRef& attention) {
                       extend_paths(attention, head, b, above, &below);
                     });
  return below;
}

void validate_layers(const ExampleSource& examples, const std::vector<int>& heads,
                     const std::vector<LayerHeads>& layers) {
  if (heads.empty()) throw Error(ErrorKind::kBadData, "attention: must have at least one layer");
  if (examples.tokens() < 1) {
    throw Error(ErrorKind::kBadData, "inputs: have no tokens, must have at least one");
  }
  if (!layers.empty() && layers.size() != heads.size()) {
    throw Error(ErrorKind::kBadData,
                fmt::format("attention: has {} layers of head matrices for {} layers",
                            layers.size(), heads.size()));
  }
  double bytes = static_cast<double>(sizeof(double)) * static_cast<double>(examples.size()) *
                 static_cast<double>(examples.features());
  for (std::size_t l = 0; l < heads.size(); ++l) {
    const int number = static_cast<int>(l) + 1;
    if (!layers.empty()) validate_layer(layers[l], number, heads[l], examples.features());
    if (heads[l] < 1) {
      throw Error(ErrorKind::kBadData, fmt::format("attention of layer {}: has {} heads: must have "
                                                   "at least 1",
                                                   number, heads[l]));
    }
    bytes *= heads[l];
  }
  if (bytes > kLargestResultBytes) {
    throw Error(ErrorKind::kBadData,
                fmt::format("heads [{}]: their path features would take {:.0f} GiB",
                            join(heads, ", "), bytes / 0x1p30));
  }
}

Index block_examples(const ExampleSource& examples, const std::vector<int>& heads, bool supplied,
                     Index requested) {
  if (requested > 0) return requested;
  const auto tokens = static_cast<double>(examples.tokens());
  const int held = supplied ? *std::max_element(heads.begin(), heads.end()) : 1;
  const double by_attention = kBlockAttentionBytes / (held * tokens * tokens * sizeof(double));
  const auto by_tokens = static_cast<double>(kBlockTokens) / tokens;
  return std::max<Index>(1, static_cast<Index>(std::min(by_attention, by_tokens)));
}

}  // namespace headway::model
