#pragma once

#include "headway/core/examples.hpp"
#include "headway/numerics/dense.hpp"
#include "headway/types.hpp"

namespace headway::model {

// The two factors of a head's logits over stacked tokens (one token a column):
//   logits[query s, key t] = scale * left.col(s) . right.col(t).
// Weights: left = W^T x, right = x.  Query and key: left = Q x, right = K x, scale = 1 / sqrt(G).
class HeadProducts {
 public:
  HeadProducts(const HeadProducts&) = delete;  // right_ may point into the object
  HeadProducts& operator=(const HeadProducts&) = delete;
  // `queries` and `keys` must outlive this object.
  HeadProducts(const LayerHeads& layer, int head, const numerics::ConstMatrixRef& queries,
               const numerics::ConstMatrixRef& keys);

  // out (keys x queries) = logits transposed, of the given column ranges.
  void logits(Index first_query, Index first_key, const numerics::MatrixRef& out) const;

 private:
  MatrixXd left_;
  MatrixXd projected_keys_;  // K x, or empty where the keys are used as they are
  numerics::ConstMatrixRef right_;
  double scale_ = 1.0;
};

}  // namespace headway::model
