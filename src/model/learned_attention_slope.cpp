// The derivative of path features over attention weights.
#include <algorithm>
#include <utility>

#include "headway/core/parallel.hpp"
#include "model/learned_pass.hpp"

namespace headway::model {
namespace {

using numerics::MatrixRef;
using numerics::multiply;
using numerics::Transpose;

// Gradients are summed within this many groups of blocks, then over the groups. So the order is
// fixed, and there are at most this many copies of the gradient.
constexpr std::size_t kGradientGroups = 16;

// The slope over the attention becomes that over the logits, in place: column by column
//   dl_t = a_t (da_t - sum_u a_u da_u).
void softmax_slope(const ConstMap& a, MatrixRef slope) {
  for (Index q = 0; q < a.cols(); ++q) {
    const double mean = a.col(q).dot(slope.col(q));
    for (Index t = 0; t < a.rows(); ++t) slope(t, q) = a(t, q) * (slope(t, q) - mean);
  }
}

}  // namespace

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
    if (top && !block.takes_all()) {
      slope = below;
    } else if (top) {
      multiply(1.0, below, Transpose::kNo,
               block.readout.middleRows(block.first(b), block.length(b)), Transpose::kYes, 0.0,
               slope);
    } else {
      multiply(1.0, below, Transpose::kNo,
               pass.weights_of(pass.weights, block, layer + 1, b, above_paths), Transpose::kYes,
               0.0, slope);
    }
    if (softmax) {
      softmax_slope(attention, slope);
    } else {
      slope *= 1.0 / static_cast<double>(block.length(b));
    }
    const Index first = block.first_query(b, top);
    multiply(1.0, keys.middleCols(block.first(b), block.length(b)), Transpose::kNo, slope,
             Transpose::kNo, 0.0, key_sums.middleCols(first, slope.cols()));
    if (!matrix) {
      multiply(1.0, pass.left[layer][h].middleCols(first, slope.cols()), Transpose::kNo, slope,
               Transpose::kYes, 0.0, right_slope.middleCols(block.first(b), block.length(b)));
    }
  }
  double* at = gradient + coordinates_.offset(layer, head);
  if (matrix) {
    multiply(scale, queries, Transpose::kNo, key_sums, Transpose::kYes, 1.0, Map(at, n, n));
  } else {
    multiply(scale, key_sums, Transpose::kNo, queries, Transpose::kYes, 1.0, Map(at, g, n));
    multiply(scale, right_slope, Transpose::kNo, block.tokens, Transpose::kYes, 1.0,
             Map(at + g * n, g, n));
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
    multiply(1.0, block.tokens.middleCols(block.first(b), block.length(b)), Transpose::kYes,
             of_features, Transpose::kNo, 0.0,
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
      for (int h = 0; h < heads_[l]; ++h) {
        multiply(1.0, std::as_const(pass).attention_of(block, l, h, b, false), Transpose::kYes,
                 below.middleCols(h * above_paths, above_paths), Transpose::kNo, h > 0 ? 1.0 : 0.0,
                 above);
      }
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

}  // namespace headway::model
