#include "model/attention.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "headway/error.hpp"
#include "model/head_products.hpp"

namespace headway::model {
namespace {

void softmax(Eigen::Ref<VectorXd> column) {
  const double largest = column.maxCoeff();
  column = (column.array() - largest).exp().matrix();
  column /= column.sum();
}

void hardmax(Eigen::Ref<VectorXd> column) {
  const double largest = column.maxCoeff();
  const double threshold = largest - kHardmaxTie * std::abs(largest);
  column = (column.array() >= threshold).cast<double>().matrix();
  column /= column.sum();
}

[[noreturn]] void bad_shape(int number, std::size_t head, const char* name, const MatrixXd& matrix,
                            const std::string& allowed) {
  throw Error(ErrorKind::kBadData,
              fmt::format("attention of layer {}, head {}: {} is {} x {}: must be {}", number,
                          head + 1, name, matrix.rows(), matrix.cols(), allowed));
}

std::vector<Index> real_positions(Index tokens, const std::vector<std::uint8_t>& mask) {
  if (!mask.empty() && static_cast<Index>(mask.size()) != tokens) {
    throw Error(ErrorKind::kBadData, fmt::format("mask has {} entries: must have one for each of "
                                                 "the {} tokens",
                                                 mask.size(), tokens));
  }
  std::vector<Index> positions;
  for (Index t = 0; t < tokens; ++t) {
    if (mask.empty() || mask[static_cast<std::size_t>(t)] != 0) positions.push_back(t);
  }
  if (positions.empty()) {
    throw Error(ErrorKind::kBadData, "mask: the example must have at least one real token");
  }
  return positions;
}

}  // namespace

bool attention_from_logits(AttentionKind kind, numerics::MatrixRef logits) {
  if (!logits.allFinite()) return false;
  for (Index query = 0; query < logits.cols(); ++query) {
    if (kind == AttentionKind::kSoftmax) {
      softmax(logits.col(query));
    } else {
      hardmax(logits.col(query));
    }
  }
  return true;
}

int head_count(const LayerHeads& layer) {
  return static_cast<int>(layer.weights.empty() ? layer.query.size() : layer.weights.size());
}

void validate_layer(const LayerHeads& layer, int number, int heads, Index features) {
  if (layer.weights.empty() == layer.query.empty() || layer.query.size() != layer.key.size()) {
    throw Error(ErrorKind::kBadData,
                fmt::format("attention of layer {}: has {} weights, {} query and {} key matrices: "
                            "must have either weights, or as many query as key matrices",
                            number, layer.weights.size(), layer.query.size(), layer.key.size()));
  }
  if (heads < 1 || head_count(layer) != heads) {
    throw Error(ErrorKind::kBadData, fmt::format("attention of layer {}: has {} heads: must have "
                                                 "{} (and at least 1)",
                                                 number, head_count(layer), heads));
  }
  const std::string square = fmt::format("N_0 x N_0 = {0} x {0}", features);
  for (std::size_t h = 0; h < layer.weights.size(); ++h) {
    const MatrixXd& w = layer.weights[h];
    if (w.rows() != features || w.cols() != features) bad_shape(number, h, "weights", w, square);
  }
  const std::string wide = fmt::format("G x N_0 with N_0 = {}, the same G >= 1 for both", features);
  for (std::size_t h = 0; h < layer.query.size(); ++h) {
    const MatrixXd& q = layer.query[h];
    const MatrixXd& k = layer.key[h];
    if (q.rows() < 1 || q.cols() != features) bad_shape(number, h, "query", q, wide);
    if (k.rows() != q.rows() || k.cols() != features) bad_shape(number, h, "key", k, wide);
  }
}

std::vector<MatrixXd> layer_attention(const Eigen::Ref<const RowMatrixXd>& inputs,
                                      const LayerHeads& layer, AttentionKind kind,
                                      const std::vector<std::uint8_t>& mask) {
  const int heads = head_count(layer);
  validate_layer(layer, 1, heads, inputs.cols());
  const std::vector<Index> real = real_positions(inputs.rows(), mask);
  const auto count = static_cast<Index>(real.size());
  MatrixXd tokens(inputs.cols(), count);
  for (Index t = 0; t < count; ++t) {
    tokens.col(t) = inputs.row(real[static_cast<std::size_t>(t)]).transpose();
  }
  std::vector<MatrixXd> attention;
  MatrixXd logits(count, count);
  for (int h = 0; h < heads; ++h) {
    HeadProducts(layer, h, tokens, tokens).logits(0, 0, logits);
    if (!attention_from_logits(kind, logits)) {
      throw Error(ErrorKind::kBadData,
                  fmt::format("attention, head {}: a logit is not finite", h + 1));
    }
    MatrixXd full = MatrixXd::Zero(inputs.rows(), inputs.rows());
    full(real, real) = logits.transpose();
    attention.push_back(std::move(full));
  }
  return attention;
}

}  // namespace headway::model
