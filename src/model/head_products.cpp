#include "model/head_products.hpp"

#include <cmath>

namespace headway::model {
namespace {

using numerics::Transpose;

MatrixXd project(const MatrixXd& matrix, Transpose transpose, const numerics::ConstMatrixRef& x) {
  MatrixXd out(transpose == Transpose::kNo ? matrix.rows() : matrix.cols(), x.cols());
  numerics::multiply(1.0, matrix, transpose, x, Transpose::kNo, 0.0, out);
  return out;
}

MatrixXd project_queries(const LayerHeads& layer, std::size_t head,
                         const numerics::ConstMatrixRef& queries) {
  return layer.weights.empty() ? project(layer.query[head], Transpose::kNo, queries)
                               : project(layer.weights[head], Transpose::kYes, queries);
}

MatrixXd project_keys(const LayerHeads& layer, std::size_t head,
                      const numerics::ConstMatrixRef& keys) {
  return layer.weights.empty() ? project(layer.key[head], Transpose::kNo, keys) : MatrixXd();
}

}  // namespace

HeadProducts::HeadProducts(const LayerHeads& layer, int head,
                           const numerics::ConstMatrixRef& queries,
                           const numerics::ConstMatrixRef& keys)
    : left_(project_queries(layer, static_cast<std::size_t>(head), queries)),
      projected_keys_(project_keys(layer, static_cast<std::size_t>(head), keys)),
      right_(layer.weights.empty() ? numerics::ConstMatrixRef(projected_keys_) : keys) {
  if (layer.weights.empty()) scale_ = 1.0 / std::sqrt(static_cast<double>(left_.rows()));
}

void HeadProducts::logits(Index first_query, Index first_key,
                          const numerics::MatrixRef& out) const {
  numerics::multiply(scale_, right_.middleCols(first_key, out.rows()), Transpose::kYes,
                     left_.middleCols(first_query, out.cols()), Transpose::kNo, 0.0, out);
}

}  // namespace headway::model
