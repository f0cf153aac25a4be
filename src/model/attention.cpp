#include "model/attention.hpp"

#include <fmt/format.h>

#include <cmath>

#include "headway/error.hpp"

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

}  // namespace headway::model
