#include "headway/path_features.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <utility>

#include "headway/core/parallel.hpp"
#include "headway/error.hpp"
#include "headway/model/path_index.hpp"
#include "headway/numerics/blas.hpp"
#include "headway/numerics/dense.hpp"
#include "model/attention.hpp"
#include "model/head_products.hpp"
#include "model/token_block.hpp"

namespace headway::model {
namespace {

using numerics::ConstMatrixRef;
using numerics::MatrixRef;
using numerics::Transpose;

constexpr Index kBlockTokens = 2048;             // enough columns for an efficient product
constexpr double kBlockAttentionBytes = 0x1p25;  // 32 MiB
constexpr double kLargestResultBytes = 0x1p42;   // 4 TiB: more must be a mistake

// The query rows of a layer that the paths above it use, and the weights of those rows.
struct PathWeights {
  std::vector<Index> query;   // columns of the block's tokens; empty stands for all of them
  std::vector<Index> offset;  // example b has queries offset[b] .. offset[b + 1]
  std::vector<MatrixXd>
      weights;  // per example: queries x p_{l+1}, one path (h_{l+1}..h_L) a column

  [[nodiscard]] Index first(Index b) const { return offset[static_cast<std::size_t>(b)]; }
  [[nodiscard]] Index count(Index b) const { return first(b + 1) - first(b); }
  [[nodiscard]] Index paths() const { return weights.front().cols(); }
};

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

// One layer downwards, with attention computed from its head matrices.
PathWeights descend_computed(const TokenBlock& block, const LayerHeads& layer, int number,
                             AttentionKind kind, const PathWeights& above) {
  const int heads = head_count(layer);
  PathWeights below = empty_weights_below(block, above, heads);
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
      extend_paths(attention, h, b, above, &below);
    }
  }
  return below;
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

// One layer downwards, with the attention that the examples supply.
PathWeights descend_supplied(SourceReader& reader, const TokenBlock& block, int number, int heads,
                             const PathWeights& above) {
  PathWeights below = empty_weights_below(block, above, heads);
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
      extend_paths(attention, h, b, above, &below);
    }
  }
  return below;
}

// xi_pi = sum_t w_pi[t] x_t (eq. 8) of every example, into its row of `out`.
void average_inputs(const TokenBlock& block, const PathWeights& weights, RowMatrixXd* out) {
  const Index features = block.tokens.rows();
  for (Index b = 0; b < block.count; ++b) {
    Eigen::Map<MatrixXd> row(out->row(block.begin + b).data(), features, weights.paths());
    numerics::multiply(1.0, block.tokens.middleCols(block.first(b), block.length(b)),
                       Transpose::kNo, weights.weights[static_cast<std::size_t>(b)], Transpose::kNo,
                       0.0, row);
    if (!row.allFinite()) {
      throw Error(ErrorKind::kBadData,
                  fmt::format("example {} (from 0): its inputs or attention are not finite",
                              block.begin + b));
    }
  }
}

void validate_arguments(const ExampleSource& examples, const std::vector<int>& heads,
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
                            fmt::join(heads, ", "), bytes / 0x1p30));
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

}  // namespace

RowMatrixXd path_features(const ExampleSource& examples, const std::vector<int>& heads,
                          const std::vector<LayerHeads>& layers, const PathFeatureOptions& options,
                          Observer& observer) {
  validate_arguments(examples, heads, layers);
  numerics::prepare_blas();
  const Index paths = path_count(heads);
  const Index total = examples.size();
  const Index size = block_examples(examples, heads, layers.empty(), options.block);
  RowMatrixXd features(total, paths * examples.features());
  SourceReader reader(examples);
  std::mutex observing;
  Index done = 0;
  parallel_for((total + size - 1) / size, options.threads, [&](Index i) {
    const TokenBlock block = read_token_block(reader, i * size, std::min(size, total - i * size));
    PathWeights weights = readout_weights(block, options.readout);
    for (int l = static_cast<int>(heads.size()); l >= 1; --l) {
      const auto at = static_cast<std::size_t>(l - 1);
      weights = layers.empty() ? descend_supplied(reader, block, l, heads[at], weights)
                               : descend_computed(block, layers[at], l, options.attention, weights);
    }
    average_inputs(block, weights, &features);
    const std::lock_guard<std::mutex> lock(observing);
    done += block.count;
    observer.progress("path features", static_cast<double>(done), static_cast<double>(total));
    if (observer.interrupted()) {
      throw Error(ErrorKind::kInterrupted, "path features: stopped by the user");
    }
  });
  return features;
}

double path_feature_flops(const ExampleSource& examples, const std::vector<int>& heads,
                          const std::vector<LayerHeads>& layers, Readout readout) {
  const auto tokens = static_cast<double>(examples.tokens());
  const auto features = static_cast<double>(examples.features());
  double queries = readout == Readout::kMean ? tokens : 1.0;
  double paths = 1.0;
  double flops = 0.0;  // of one example
  for (std::size_t l = heads.size(); l-- > 0;) {
    double attention = 0.0;
    if (!layers.empty() && !layers[l].weights.empty()) {
      attention = 2.0 * queries * features * (features + tokens);
    } else if (!layers.empty() && !layers[l].query.empty()) {
      const auto width = static_cast<double>(layers[l].query.front().rows());
      attention = 2.0 * width * (features * (queries + tokens) + queries * tokens);
    }
    flops += heads[l] * (attention + 2.0 * queries * tokens * paths);
    paths *= heads[l];
    queries = tokens;
  }
  flops += 2.0 * paths * tokens * features;
  return flops * static_cast<double>(examples.size());
}

}  // namespace headway::model
