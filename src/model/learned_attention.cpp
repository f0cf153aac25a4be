#include "headway/model/learned_attention.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <mutex>
#include <numeric>
#include <utility>

#include "headway/core/parallel.hpp"
#include "headway/error.hpp"
#include "headway/numerics/blas.hpp"
#include "model/attention.hpp"
#include "model/head_products.hpp"
#include "model/learned_pass.hpp"

namespace headway::model {
namespace {

using numerics::ConstMatrixRef;
using numerics::MatrixRef;
using numerics::multiply;
using numerics::Transpose;

constexpr Index kLearnedBlockTokens =
    512;  // enough columns for an efficient product, few enough for the cache

// Softmax of every column, in place.
void softmax_columns(Map a) {
  for (Index q = 0; q < a.cols(); ++q) {
    auto column = a.col(q);
    const double largest = column.maxCoeff();
    double sum = 0.0;
    for (Index t = 0; t < a.rows(); ++t) {
      column[t] = std::exp(column[t] - largest);
      sum += column[t];
    }
    column *= 1.0 / sum;
  }
}

bool is_supplied(const LayerHeads& layer) { return layer.weights.empty() && layer.query.empty(); }

// Keys x queries of an example, from its whole matrix [query, key]. `taken`: the columns of the
// queries among the tokens of the block.
void gather_supplied(const TokenBlock& block, Index b, const std::vector<Index>& taken,
                     ConstMap full, Map out) {
  for (Index q = 0; q < out.cols(); ++q) {
    const Index query = taken[static_cast<std::size_t>(q)];
    gather_query(block, b, query, full, out.col(q));
    if (out.col(q).allFinite()) continue;
    throw Error(ErrorKind::kBadData,
                fmt::format("attention of example {} (from 0), query {} (from 0): must be finite "
                            "numbers",
                            block.begin + b, block.position[static_cast<std::size_t>(query)]));
  }
}

}  // namespace

void LearnedAttention::Block::read_supplied(SourceReader& reader, const AttentionPrior& prior,
                                            std::size_t layer) {
  const bool top = layer + 1 == prior.heads.size();
  const int heads = prior.heads[layer];
  const Index whole = sequence * sequence;
  supplied.resize(prior.heads.size());
  supplied[layer].resize(static_cast<std::size_t>(heads));
  VectorXd all;
  for (int h = 0; h < heads; ++h) {
    if (!prior.is_frozen(layer, h)) continue;
    if (all.size() == 0) {
      all.resize(count * heads * whole);
      reader.read([&](const ExampleSource& examples) {
        examples.read_attention(static_cast<int>(layer) + 1, begin, count, all.data());
      });
    }
    std::vector<double>& out = supplied[layer][static_cast<std::size_t>(h)];
    out.resize(static_cast<std::size_t>(attention_size(top)));
    for (Index b = 0; b < count; ++b) {
      std::vector<Index> queried(static_cast<std::size_t>(queries(b, top)));
      std::iota(queried.begin(), queried.end(), first(b));
      if (top && !takes_all()) queried = {taken[static_cast<std::size_t>(b)]};
      gather_supplied(*this, b, queried,
                      ConstMap(all.data() + (b * heads + h) * whole, sequence, sequence),
                      Map(out.data() + attention_offset(b, top), length(b), queries(b, top)));
    }
  }
}

LearnedAttention::Workspace::Workspace() : parts_(std::make_unique<Parts>()) {}
LearnedAttention::Workspace::~Workspace() = default;
// A copy begins without the passes, because they are computed again anyway.
LearnedAttention::Workspace::Workspace(const Workspace& /*other*/) : Workspace() {}

LearnedAttention::~LearnedAttention() = default;

LearnedAttention::LearnedAttention(const ExampleSource& examples, AttentionPrior prior,
                                   std::vector<LayerHeads> given, Readout readout,
                                   AttentionKind given_kind, int threads)
    : coordinates_(std::move(prior), examples.features()),
      given_(std::move(given)),
      heads_(coordinates_.prior().heads),
      given_kind_(given_kind),
      threads_(threads),
      examples_(examples.size()),
      paths_(path_count(heads_)) {
  for (const HeadAddress& frozen : coordinates_.prior().frozen) {
    if (frozen.layer < given_.size()) {
      if (is_supplied(given_[frozen.layer])) continue;
      validate_layer(given_[frozen.layer], static_cast<int>(frozen.layer) + 1, heads_[frozen.layer],
                     examples.features());
      continue;
    }
    throw Error(ErrorKind::kBadData,
                "model.attention_prior.frozen: the data set must give the attention of frozen "
                "heads");
  }
  SourceReader reader(examples);
  const Index size =
      std::max<Index>(1, kLearnedBlockTokens / std::max<Index>(1, examples.tokens()));
  double bytes = 0.0;
  for (Index begin = 0; begin < examples_; begin += size) {
    Block block;
    static_cast<TokenBlock&>(block) =
        read_token_block(reader, begin, std::min(size, examples_ - begin));
    if (!block.tokens.allFinite()) {
      throw Error(ErrorKind::kBadData, "inputs: must be finite numbers");
    }
    block.square.push_back(0);
    for (Index b = 0; b < block.count; ++b) {
      block.square.push_back(block.square.back() + block.length(b) * block.length(b));
    }
    if (readout == Readout::kMean) {
      block.readout.resize(block.tokens.cols(), 1);
      for (Index b = 0; b < block.count; ++b) {
        block.readout.middleRows(block.first(b), block.length(b))
            .setConstant(1.0 / static_cast<double>(block.length(b)));
      }
    } else {
      for (Index b = 0; b < block.count; ++b) {
        block.taken.push_back(block.readout_column(b, readout));
      }
      block.taken_tokens = block.tokens(Eigen::all, block.taken);
    }
    for (std::size_t l = 0; l < given_.size(); ++l) {
      if (is_supplied(given_[l])) block.read_supplied(reader, coordinates_.prior(), l);
    }
    for (std::size_t l = 0; l < heads_.size(); ++l) {
      bytes += 8.0 * heads_[l] * static_cast<double>(block.attention_size(is_top(l)));
    }
    blocks_.push_back(std::move(block));
  }
  kept_ = bytes <= kLargestKeptAttention;
}

// --- forward -------------------------------------------------------------------------------------

void LearnedAttention::attend(const Position& z, const Block& block, std::size_t layer, int head,
                              Pass& pass) const {
  const bool top = is_top(layer);
  const MatrixXd& queries = block.query_tokens(top);
  const auto h = static_cast<std::size_t>(head);
  std::vector<double>& buffer = pass.attention[layer][h];
  buffer.resize(static_cast<std::size_t>(block.attention_size(top)));
  const Index offset = coordinates_.offset(layer, head);
  if (offset < 0) {
    if (pass.has_given) return;
    if (is_supplied(given_[layer])) {
      buffer = block.supplied[layer][h];
      return;
    }
    const HeadProducts products(given_[layer], head, queries, block.tokens);
    for (Index b = 0; b < block.count; ++b) {
      Map attention = pass.attention_of(block, layer, head, b, top);
      products.logits(block.first_query(b, top), block.first(b), attention);
      if (!attention_from_logits(given_kind_, attention)) {
        throw Error(ErrorKind::kBadData, "attention of a frozen head: a logit is not finite");
      }
    }
    return;
  }
  const Index n = coordinates_.features();
  const Index g = coordinates_.prior().dims;
  const bool matrix = coordinates_.prior().form == AttentionPriorForm::kMatrix;
  MatrixXd& left = pass.left[layer][h];
  MatrixXd& right = pass.right[layer][h];
  left.resize(matrix ? n : g, queries.cols());
  if (matrix) {
    multiply(1.0, ConstMap(z.data() + offset, n, n), Transpose::kYes, queries, Transpose::kNo, 0.0,
             left);
  } else {
    right.resize(g, block.tokens.cols());
    multiply(1.0, ConstMap(z.data() + offset, g, n), Transpose::kNo, queries, Transpose::kNo, 0.0,
             left);
    multiply(1.0, ConstMap(z.data() + offset + g * n, g, n), Transpose::kNo, block.tokens,
             Transpose::kNo, 0.0, right);
  }
  const MatrixXd& keys = matrix ? block.tokens : right;
  const double scale = coordinates_.logit_scale();
  const bool softmax = coordinates_.prior().kind == LearnedKind::kSoftmax;
  for (Index b = 0; b < block.count; ++b) {
    Map attention = pass.attention_of(block, layer, head, b, top);
    const Index tokens = block.length(b);
    multiply(softmax ? scale : scale / static_cast<double>(tokens),
             keys.middleCols(block.first(b), tokens), Transpose::kYes,
             left.middleCols(block.first_query(b, top), attention.cols()), Transpose::kNo, 0.0,
             attention);
    if (softmax) softmax_columns(attention);
  }
}

void LearnedAttention::forward(const Position& z, const Block& block, Pass& pass) const {
  const std::size_t layers = heads_.size();
  if (pass.attention.size() != layers) {
    pass.attention.resize(layers);
    pass.left.resize(layers);
    pass.right.resize(layers);
    pass.weights.resize(layers);
    pass.weights_slope.resize(layers);
    for (std::size_t l = 0; l < layers; ++l) {
      const auto heads = static_cast<std::size_t>(heads_[l]);
      pass.attention[l].resize(heads);
      pass.left[l].resize(heads);
      pass.right[l].resize(heads);
    }
  }
  Index above_paths = 1;
  for (std::size_t l = layers; l-- > 0;) {
    const Index paths = above_paths * heads_[l];
    pass.weights[l].resize(static_cast<std::size_t>(block.tokens.cols() * paths));
    for (int h = 0; h < heads_[l]; ++h) {
      attend(z, block, l, h, pass);
      for (Index b = 0; b < block.count; ++b) {
        const bool top = is_top(l);
        const ConstMap attention = std::as_const(pass).attention_of(block, l, h, b, top);
        auto below = pass.weights_of(pass.weights, block, l, b, paths)
                         .middleCols(h * above_paths, above_paths);
        if (top && !block.takes_all()) {
          below = attention;
        } else if (top) {
          multiply(1.0, attention, Transpose::kNo,
                   block.readout.middleRows(block.first(b), block.length(b)), Transpose::kNo, 0.0,
                   below);
        } else {
          multiply(1.0, attention, Transpose::kNo,
                   pass.weights_of(pass.weights, block, l + 1, b, above_paths), Transpose::kNo, 0.0,
                   below);
        }
      }
    }
    above_paths = paths;
  }
  pass.has_given = true;
}

LearnedAttention::Pass& LearnedAttention::pass_of(const Position& z, std::size_t block,
                                                  Workspace& workspace, Pass& local) const {
  if (kept_) return workspace.parts_->passes[block];
  forward(z, blocks_[block], local);
  return local;
}

bool LearnedAttention::path_features(const Position& z, double scale, Workspace& workspace,
                                     MatrixXd& out) const {
  numerics::prepare_blas();
  const Index n = features();
  out.resize(examples_, paths_ * n);
  if (kept_) workspace.parts_->passes.resize(blocks_.size());
  std::atomic<bool> finite = true;
  const auto one_block = [&](Index i) {
    const Block& block = blocks_[static_cast<std::size_t>(i)];
    Pass local;
    Pass& pass = kept_ ? workspace.parts_->passes[static_cast<std::size_t>(i)] : local;
    forward(z, block, pass);
    MatrixXd averages(n, paths_);
    for (Index b = 0; b < block.count; ++b) {
      multiply(1.0, block.tokens.middleCols(block.first(b), block.length(b)), Transpose::kNo,
               pass.weights_of(pass.weights, block, 0, b, paths_), Transpose::kNo, 0.0, averages);
      if (!averages.allFinite()) finite = false;
      Eigen::Map<VectorXd, 0, Eigen::InnerStride<>>(out.data() + block.begin + b, n * paths_,
                                                    Eigen::InnerStride<>(examples_)) =
          scale * averages.reshaped();
    }
  };
  parallel_for(static_cast<Index>(blocks_.size()), threads_, one_block);
  return finite;
}

AttentionStatistics LearnedAttention::statistics(const Position& z, Workspace& workspace) const {
  double entropy = 0.0;
  double largest = 0.0;
  Index rows = 0;
  const std::size_t last = heads_.size() - 1;
  const auto heads = static_cast<double>(heads_[last]);
  Pass local;
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    const Block& block = blocks_[i];
    const Pass& pass = pass_of(z, i, workspace, local);
    for (Index b = 0; b < block.count; ++b) {
      MatrixXd mean = MatrixXd::Zero(block.length(b), block.queries(b, true));
      for (int h = 0; h < heads_[last]; ++h) {
        const ConstMap attention = pass.attention_of(block, last, h, b, true);
        mean += attention / heads;
        for (const double a : attention.reshaped()) {
          entropy -= a > 0.0 ? a * std::log(a) / heads : 0.0;
        }
      }
      largest += mean.colwise().maxCoeff().sum();
      rows += mean.cols();
    }
    local.has_given = false;
  }
  const double count = static_cast<double>(rows);
  const bool defined = coordinates_.prior().kind == LearnedKind::kSoftmax;
  return {defined ? entropy / count : std::numeric_limits<double>::quiet_NaN(), largest / count};
}

}  // namespace headway::model
