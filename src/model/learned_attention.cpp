#include "headway/model/learned_attention.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <mutex>
#include <utility>

#include "headway/core/parallel.hpp"
#include "headway/error.hpp"
#include "headway/model/attention.hpp"
#include "model/head_products.hpp"
#include "model/token_block.hpp"

namespace headway::model {
namespace {

using numerics::ConstMatrixRef;
using numerics::MatrixRef;
using numerics::Transpose;
using ConstMap = Eigen::Map<const MatrixXd>;
using Map = Eigen::Map<MatrixXd>;

constexpr Index kLearnedBlockTokens =
    512;  // enough columns for an efficient product, few for a cache
// Gradients are summed within this many groups of blocks, then over the groups: a fixed order, and
// at most so many copies of the gradient.
constexpr std::size_t kGradientGroups = 16;
// Products of fewer multiplications are written out: a call of BLAS costs more.
constexpr Index kSmallProduct = 1500;

enum class Add { kNo, kYes };

// out = a b, or out += a b.
template <class A, class B, class Out>
void product(const A& a, const B& b, Add add, Out&& out) {
  if (a.rows() * a.cols() * b.cols() > kSmallProduct) {
    numerics::multiply(1.0, a, Transpose::kNo, b, Transpose::kNo, add == Add::kYes ? 1.0 : 0.0,
                       out);
  } else if (add == Add::kYes) {
    out.noalias() += a.lazyProduct(b);
  } else {
    out.noalias() = a.lazyProduct(b);
  }
}

// out = scale a^T b.
template <class A, class B, class Out>
void transposed_product(double scale, const A& a, const B& b, Out&& out) {
  if (a.rows() * a.cols() * b.cols() > kSmallProduct) {
    numerics::multiply(scale, a, Transpose::kYes, b, Transpose::kNo, 0.0, out);
  } else {
    out.noalias() = (scale * a.transpose()).lazyProduct(b);
  }
}

// out += scale a b^T, or out = scale a b^T.
template <class A, class B, class Out>
void product_transposed(double scale, const A& a, const B& b, Add add, Out&& out) {
  if (a.rows() * a.cols() * b.rows() > kSmallProduct) {
    numerics::multiply(scale, a, Transpose::kNo, b, Transpose::kYes, add == Add::kYes ? 1.0 : 0.0,
                       out);
  } else if (add == Add::kYes) {
    out.noalias() += (scale * a).lazyProduct(b.transpose());
  } else {
    out.noalias() = (scale * a).lazyProduct(b.transpose());
  }
}

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

// The slope over the attention becomes that over the logits, in place: column by column
//   dl_t = a_t (da_t - sum_u a_u da_u).
void softmax_slope(const ConstMap& a, MatrixRef slope) {
  for (Index q = 0; q < a.cols(); ++q) {
    const double mean = a.col(q).dot(slope.col(q));
    for (Index t = 0; t < a.rows(); ++t) slope(t, q) = a(t, q) * (slope(t, q) - mean);
  }
}

}  // namespace

// --- a block of examples -------------------------------------------------------------------------

struct LearnedAttention::Block : TokenBlock {
  std::vector<Index> taken;   // columns of the tokens that the readout takes; empty: all
  MatrixXd taken_tokens;      // these tokens; empty: all
  std::vector<Index> square;  // where the attention of an example begins: sum of n_b^2 before it
  MatrixXd readout;           // r: one column, an entry for each taken token

  [[nodiscard]] bool takes_all() const { return taken.empty(); }
  // First query of an example in a layer, and their number.
  [[nodiscard]] Index first_query(Index b, bool top) const {
    return top && !takes_all() ? b : first(b);
  }
  [[nodiscard]] Index queries(Index b, bool top) const {
    return top && !takes_all() ? 1 : length(b);
  }
  [[nodiscard]] Index attention_offset(Index b, bool top) const {
    return top && !takes_all() ? first(b) : square[static_cast<std::size_t>(b)];
  }
  [[nodiscard]] Index attention_size(bool top) const { return attention_offset(count, top); }
  [[nodiscard]] const MatrixXd& query_tokens(bool top) const {
    return top && !takes_all() ? taken_tokens : tokens;
  }
};

// What one pass over a block leaves.
struct LearnedAttention::Pass {
  // attention[l][h]: of example b a matrix keys x queries.
  std::vector<std::vector<std::vector<double>>> attention;
  // weights[l]: path weights below layer l + 1, of example b a matrix n_b x p_{l+1}; and their
  // slope, in the backward pass.
  std::vector<std::vector<double>> weights, weights_slope;
  // kQueriesKeys: Q x of the queries and K x of the keys, by layer and head.
  std::vector<std::vector<MatrixXd>> left, right;
  MatrixXd key_sums, slope;  // room of the backward pass
  bool has_given = false;    // the attention of frozen heads is there: it does not depend on z

  [[nodiscard]] ConstMap attention_of(const Block& block, std::size_t layer, int head, Index b,
                                      bool top) const {
    return {
        attention[layer][static_cast<std::size_t>(head)].data() + block.attention_offset(b, top),
        block.length(b), block.queries(b, top)};
  }
  Map attention_of(const Block& block, std::size_t layer, int head, Index b, bool top) {
    return {
        attention[layer][static_cast<std::size_t>(head)].data() + block.attention_offset(b, top),
        block.length(b), block.queries(b, top)};
  }
  Map weights_of(std::vector<std::vector<double>>& all, const Block& block, std::size_t layer,
                 Index b, Index paths) const {
    return {all[layer].data() + block.first(b) * paths, block.length(b), paths};
  }
};

struct LearnedAttention::Workspace::Parts {
  std::vector<Pass> passes;
  MatrixXd gradients;  // d x groups
};

LearnedAttention::Workspace::Workspace() : parts_(std::make_unique<Parts>()) {}
LearnedAttention::Workspace::~Workspace() = default;
// A copy begins without the passes: they would be made again anyway.
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
      validate_layer(given_[frozen.layer], static_cast<int>(frozen.layer) + 1, heads_[frozen.layer],
                     examples.features());
      continue;
    }
    throw Error(ErrorKind::kBadData,
                "model.attention_prior.frozen: the data set must give the attention of frozen "
                "heads by matrices that act on the inputs");
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
        block.taken.push_back(readout == Readout::kLastToken ? block.first(b + 1) - 1
                                                             : block.first(b));
      }
      block.readout = MatrixXd::Ones(block.count, 1);
      block.taken_tokens = block.tokens(Eigen::all, block.taken);
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
    transposed_product(1.0, ConstMap(z.data() + offset, n, n), queries, left);
  } else {
    right.resize(g, block.tokens.cols());
    product(ConstMap(z.data() + offset, g, n), queries, Add::kNo, left);
    product(ConstMap(z.data() + offset + g * n, g, n), block.tokens, Add::kNo, right);
  }
  const MatrixXd& keys = matrix ? block.tokens : right;
  const double scale = coordinates_.logit_scale();
  const bool softmax = coordinates_.prior().kind == LearnedKind::kSoftmax;
  for (Index b = 0; b < block.count; ++b) {
    Map attention = pass.attention_of(block, layer, head, b, top);
    const Index tokens = block.length(b);
    transposed_product(softmax ? scale : scale / static_cast<double>(tokens),
                       keys.middleCols(block.first(b), tokens),
                       left.middleCols(block.first_query(b, top), attention.cols()), attention);
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
        if (top) {
          product(attention,
                  block.readout.middleRows(block.first_query(b, top), block.queries(b, top)),
                  Add::kNo, below);
        } else {
          product(attention, pass.weights_of(pass.weights, block, l + 1, b, above_paths), Add::kNo,
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
  numerics::use_single_threaded_blas();
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
      product(block.tokens.middleCols(block.first(b), block.length(b)),
              pass.weights_of(pass.weights, block, 0, b, paths_), Add::kNo, averages);
      if (!averages.allFinite()) finite = false;
      Eigen::Map<VectorXd, 0, Eigen::InnerStride<>>(out.data() + block.begin + b, n * paths_,
                                                    Eigen::InnerStride<>(examples_)) =
          scale * averages.reshaped();
    }
  };
  parallel_for(static_cast<Index>(blocks_.size()), threads_, one_block);
  return finite;
}

// --- backward ------------------------------------------------------------------------------------

// Adds dE/dz of a head from the slope of the path weights below its layer.
void LearnedAttention::pull_back_head(const Block& block, std::size_t layer, int head, Pass& pass,
                                      double* gradient) const {
  const bool top = is_top(layer);
  Index above_paths = 1;
  for (std::size_t l = layer + 1; l < heads_.size(); ++l) above_paths *= heads_[l];
  const Index paths = above_paths * heads_[layer];
  const Index n = features();
  const Index g = coordinates_.prior().dims;
  const bool matrix = coordinates_.prior().form == AttentionPriorForm::kMatrix;
  const bool softmax = coordinates_.prior().kind == LearnedKind::kSoftmax;
  const double scale = coordinates_.logit_scale();
  const auto h = static_cast<std::size_t>(head);
  const MatrixXd& queries = block.query_tokens(top);
  const MatrixXd& keys = matrix ? block.tokens : pass.right[layer][h];
  MatrixXd& key_sums = pass.key_sums;  // sum over keys of slope times key, for each query
  key_sums.resize(keys.rows(), queries.cols());
  MatrixXd right_slope;
  if (!matrix) right_slope.resize(g, block.tokens.cols());
  for (Index b = 0; b < block.count; ++b) {
    const ConstMap attention = std::as_const(pass).attention_of(block, layer, head, b, top);
    MatrixXd& slope = pass.slope;
    slope.resize(attention.rows(), attention.cols());
    const auto below = pass.weights_of(pass.weights_slope, block, layer, b, paths)
                           .middleCols(head * above_paths, above_paths);
    if (top) {
      product_transposed(1.0, below,
                         block.readout.middleRows(block.first_query(b, top), block.queries(b, top)),
                         Add::kNo, slope);
    } else {
      product_transposed(1.0, below,
                         pass.weights_of(pass.weights, block, layer + 1, b, above_paths), Add::kNo,
                         slope);
    }
    if (softmax) {
      softmax_slope(attention, slope);
    } else {
      slope *= 1.0 / static_cast<double>(block.length(b));
    }
    const Index first = block.first_query(b, top);
    product(keys.middleCols(block.first(b), block.length(b)), slope, Add::kNo,
            key_sums.middleCols(first, slope.cols()));
    if (!matrix) {
      product_transposed(1.0, pass.left[layer][h].middleCols(first, slope.cols()), slope, Add::kNo,
                         right_slope.middleCols(block.first(b), block.length(b)));
    }
  }
  double* at = gradient + coordinates_.offset(layer, head);
  if (matrix) {
    product_transposed(scale, queries, key_sums, Add::kYes, Map(at, n, n));
  } else {
    product_transposed(scale, key_sums, queries, Add::kYes, Map(at, g, n));
    product_transposed(scale, right_slope, block.tokens, Add::kYes, Map(at + g * n, g, n));
  }
}

void LearnedAttention::backward(const Block& block, double scale, const MatrixXd& slope, Pass& pass,
                                double* gradient) const {
  const Index n = features();
  const Index tokens = block.tokens.cols();
  pass.weights_slope[0].resize(static_cast<std::size_t>(tokens * paths_));
  MatrixXd of_features(n, paths_);
  for (Index b = 0; b < block.count; ++b) {
    of_features.reshaped() =
        scale * Eigen::Map<const VectorXd, 0, Eigen::InnerStride<>>(
                    slope.data() + block.begin + b, n * paths_, Eigen::InnerStride<>(examples_));
    transposed_product(1.0, block.tokens.middleCols(block.first(b), block.length(b)), of_features,
                       pass.weights_of(pass.weights_slope, block, 0, b, paths_));
  }
  Index paths = paths_;
  for (std::size_t l = 0; l < heads_.size(); ++l) {
    const Index above_paths = paths / heads_[l];
    for (int h = 0; h < heads_[l]; ++h) {
      if (coordinates_.offset(l, h) >= 0) pull_back_head(block, l, h, pass, gradient);
    }
    if (is_top(l)) break;
    pass.weights_slope[l + 1].resize(static_cast<std::size_t>(tokens * above_paths));
    for (Index b = 0; b < block.count; ++b) {
      Map above = pass.weights_of(pass.weights_slope, block, l + 1, b, above_paths);
      const Map below = pass.weights_of(pass.weights_slope, block, l, b, paths);
      MatrixXd sum = MatrixXd::Zero(above.rows(), above.cols());
      MatrixXd part(above.rows(), above.cols());
      for (int h = 0; h < heads_[l]; ++h) {
        transposed_product(1.0, std::as_const(pass).attention_of(block, l, h, b, false),
                           below.middleCols(h * above_paths, above_paths), part);
        sum += part;
      }
      above = sum;
    }
    paths = above_paths;
  }
}

void LearnedAttention::pull_back(const Position& z, double scale, const MatrixXd& slope,
                                 Workspace& workspace, Eigen::Ref<VectorXd> gradient) const {
  if (dimension() == 0) return;
  const std::size_t groups = std::min(kGradientGroups, blocks_.size());
  MatrixXd& sums = workspace.parts_->gradients;
  sums.setZero(dimension(), static_cast<Index>(groups));
  const auto one_group = [&](Index group) {
    const auto g = static_cast<std::size_t>(group);
    Pass local;
    for (std::size_t i = g * blocks_.size() / groups; i < (g + 1) * blocks_.size() / groups; ++i) {
      Pass& pass = pass_of(z, i, workspace, local);
      backward(blocks_[i], scale, slope, pass, sums.col(group).data());
      if (!kept_) local.has_given = false;
    }
  };
  const auto count = static_cast<Index>(groups);
  parallel_for(count, threads_, one_group);
  for (Index i = 0; i < count; ++i) gradient += sums.col(i);
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
