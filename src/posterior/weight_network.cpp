#include "posterior/weight_network.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace headway::posterior {

using numerics::multiply;
using numerics::Transpose;

namespace {

// A few rows times a large matrix, bound by reading the matrix. A matrix product would spend its
// time on packing the matrix. So up to kFew rows are vector products, row by row, on groups of
// columns that stay in the cache.
void multiply_few_rows(double alpha, const MatrixXd& few, const Eigen::Map<const MatrixXd>& large,
                       numerics::MatrixRef out) {
  constexpr Index kFew = 4;
  constexpr Index kColumns = 128;
  if (few.rows() > kFew) {
    multiply(alpha, few, Transpose::kNo, large, Transpose::kNo, 0.0, out);
    return;
  }
  for (Index j = 0; j < large.cols(); j += kColumns) {
    const Index count = std::min(kColumns, large.cols() - j);
    for (Index i = 0; i < few.rows(); ++i) {
      const VectorXd row = alpha * few.row(i);
      out.block(i, j, 1, count) =
          numerics::multiply_vector(large.middleCols(j, count), Transpose::kYes, row).transpose();
    }
  }
}

}  // namespace

WeightNetwork::WeightNetwork(model::Architecture architecture, Index features)
    : architecture_(std::move(architecture)) {
  architecture_.validate();
  const int top = architecture_.layers() + 1;
  blocks_.resize(static_cast<std::size_t>(top) + 1);
  for (int l = 0; l <= top; ++l) {
    Block& block = blocks_[l];
    block.heads = l == 0 || l == top ? 1 : architecture_.heads[l - 1];
    block.rows = l == top ? architecture_.outputs : architecture_.widths[l];
    block.width = l == 0 ? features : architecture_.widths[l - 1];
    block.paths = architecture_.paths_above(l == 0 ? 1 : l);
    block.scale = l == 0 ? 1.0 : std::sqrt(architecture_.variance(l) / architecture_.width(l));
    block.offset = dimension_;
    dimension_ += block.heads * block.rows * block.width;
  }
}

double WeightNetwork::deviation(int l) const { return std::sqrt(architecture_.variance(l)); }

Eigen::Map<const MatrixXd> WeightNetwork::weights(const Eigen::Ref<const VectorXd>& position, int l,
                                                  Index h) const {
  const Block& b = blocks_[l];
  return {position.data() + b.offset + h * b.rows * b.width, b.rows, b.width};
}

Eigen::Map<MatrixXd> WeightNetwork::mutable_weights(Eigen::Ref<VectorXd>& position, int l,
                                                    Index h) const {
  const Block& b = blocks_[l];
  return {position.data() + b.offset + h * b.rows * b.width, b.rows, b.width};
}

void WeightNetwork::effective_weights(const Eigen::Ref<const VectorXd>& position, int lowest,
                                      std::vector<MatrixXd>& effective) const {
  effective.resize(blocks_.size());
  effective[top()] = scale(top()) * weights(position, top());
  for (int l = top() - 1; l >= lowest; --l) {
    const MatrixXd& above = effective[l + 1];
    effective[l].resize(heads(l) * above.rows(), width(l));
    for (Index h = 0; h < heads(l); ++h) {
      multiply_few_rows(scale(l), above, weights(position, l, h),
                        effective[l].middleRows(h * above.rows(), above.rows()));
    }
  }
}

MatrixXd WeightNetwork::output(const MatrixXd& features, const MatrixXd& effective_input) const {
  const Index n = width(0);
  MatrixXd columns(paths(0) * n, outputs());
  for (Index path = 0; path < paths(0); ++path) {
    columns.middleRows(path * n, n) =
        effective_input.middleRows(path * outputs(), outputs()).transpose();
  }
  MatrixXd f(features.rows(), outputs());
  multiply(1.0, features, Transpose::kNo, columns, Transpose::kNo, 0.0, f);
  return f;
}

void WeightNetwork::pull_back(const Eigen::Ref<const VectorXd>& position, const MatrixXd& features,
                              const MatrixXd& slope, const std::vector<MatrixXd>& effective,
                              Eigen::Ref<VectorXd> gradient) const {
  const Index n = width(0);
  MatrixXd columns(paths(0) * n, outputs());
  multiply(1.0, features, Transpose::kYes, slope, Transpose::kNo, 0.0, columns);
  MatrixXd d(paths(0) * outputs(), n);  // over E_0
  for (Index path = 0; path < paths(0); ++path) {
    d.middleRows(path * outputs(), outputs()) = columns.middleRows(path * n, n).transpose();
  }
  for (int l = 0; l < top(); ++l) {
    const MatrixXd& above = effective[l + 1];
    MatrixXd next = MatrixXd::Zero(above.rows(), above.cols());
    for (Index h = 0; h < heads(l); ++h) {
      const auto rows = d.middleRows(h * above.rows(), above.rows());
      multiply(scale(l), above, Transpose::kYes, rows, Transpose::kNo, 0.0,
               mutable_weights(gradient, l, h));
      multiply(scale(l), rows, Transpose::kNo, weights(position, l, h), Transpose::kYes, 1.0, next);
    }
    d = std::move(next);
  }
  mutable_weights(gradient, top()) = scale(top()) * d;
}

}  // namespace headway::posterior
