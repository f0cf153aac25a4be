#include "variance_curvature.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "headway/numerics/dense.hpp"
#include "headway/numerics/symmetric.hpp"
#include "headway/path_kernels.hpp"

namespace headway::theory {

using numerics::multiply;
using numerics::symmetric_index;
using numerics::symmetric_size;
using numerics::symmetric_weight;
using numerics::Transpose;

namespace {

constexpr double kTileNumbers = 2e6;  // of the largest matrix that a tile of columns needs

Index tile_of(Index numbers_a_column) {
  return std::max<Index>(1,
                         static_cast<Index>(kTileNumbers / static_cast<double>(numbers_a_column)));
}

/// (D kron I) e for every column e.
MatrixXd mix_columns(const MatrixXd& columns, const MatrixXd& d) {
  const Index n0 = columns.rows() / d.rows();
  MatrixXd mixed(columns.rows(), columns.cols());
  for (Index j = 0; j < columns.cols(); ++j) {
    multiply(1.0, Eigen::Map<const MatrixXd>(columns.col(j).data(), n0, d.rows()), Transpose::kNo,
             d, Transpose::kNo, 0.0, Eigen::Map<MatrixXd>(mixed.col(j).data(), n0, d.rows()));
  }
  return mixed;
}

/// sum_m |Y (D_m kron I) e|^2, direction by direction.
VectorXd by_directions(const MatrixXd& half, const std::vector<MatrixXd>& directions,
                       const MatrixXd& columns) {
  VectorXd sum = VectorXd::Zero(columns.cols());
  MatrixXd image(half.rows(), columns.cols());
  for (const MatrixXd& d : directions) {
    multiply(1.0, half, Transpose::kNo, mix_columns(columns, d), Transpose::kNo, 0.0, image);
    sum += image.colwise().squaredNorm().transpose();
  }
  return sum;
}

/// The same from the images (Y_a e_b + Y_b e_a) / weight of all pairs a >= b, of which those along
/// the directions are sums.
VectorXd by_pairs(const MatrixXd& half, const MatrixXd& directions, Index order,
                  const MatrixXd& columns) {
  const Index rows = half.rows();
  const Index n0 = half.cols() / order;
  const Index count = columns.cols();
  // In memory e_b of column j is column j p + b.
  const Eigen::Map<const MatrixXd> blocks(columns.data(), n0, order * count);
  MatrixXd pairs = MatrixXd::Zero(rows * count, directions.rows());
  MatrixXd image(rows, order * count);
  for (Index a = 0; a < order; ++a) {
    multiply(1.0, half.middleCols(a * n0, n0), Transpose::kNo, blocks, Transpose::kNo, 0.0, image);
    for (Index b = 0; b < order; ++b) {
      auto pair = pairs.col(symmetric_index(a, b));
      const double scale = 1.0 / symmetric_weight(a, b);
      for (Index j = 0; j < count; ++j)
        pair.segment(j * rows, rows) += scale * image.col(j * order + b);
    }
  }
  MatrixXd along(rows * count, directions.cols());
  multiply(1.0, pairs, Transpose::kNo, directions, Transpose::kNo, 0.0, along);
  VectorXd sum(count);
  for (Index j = 0; j < count; ++j) sum[j] = along.middleRows(j * rows, rows).squaredNorm();
  return sum;
}

}  // namespace

std::vector<MatrixXd> matrices_of(const MatrixXd& directions, Index order) {
  std::vector<MatrixXd> matrices;
  matrices.reserve(static_cast<std::size_t>(directions.cols()));
  for (Index m = 0; m < directions.cols(); ++m)
    matrices.push_back(numerics::vector_to_symmetric(directions.col(m), order));
  return matrices;
}

QuadraticForm in_tiles(QuadraticForm form, Index tile) {
  return [form = std::move(form), tile](const MatrixXd& columns) {
    VectorXd values(columns.cols());
    for (Index first = 0; first < columns.cols(); first += tile) {
      const Index count = std::min(tile, columns.cols() - first);
      values.segment(first, count) = form(columns.middleCols(first, count));
    }
    return values;
  };
}

QuadraticForm half_solved_form(const MatrixXd& half, const MatrixXd& directions, Index order) {
  if (directions.cols() < order) {
    return in_tiles([&half, matrices = matrices_of(directions, order)](
                        const MatrixXd& columns) { return by_directions(half, matrices, columns); },
                    tile_of(half.cols()));
  }
  return in_tiles(
      [&half, directions, order](const MatrixXd& columns) {
        return by_pairs(half, directions, order, columns);
      },
      tile_of(half.rows() * symmetric_size(order)));
}

QuadraticForm EnergyState::second_order_form(const MatrixXd& directions) const {
  return [this, matrices = matrices_of(directions, projected_dual_.cols())](const MatrixXd& e) {
    VectorXd sum = VectorXd::Zero(e.cols());
    for (const MatrixXd& d : matrices) {
      const MatrixXd q = mix_columns(e, d);
      sum += q.cwiseProduct(apply_projected_inverse(q)).colwise().sum().transpose();
    }
    return sum;
  };
}

MatrixXd EnergyState::variance_shift(const MatrixXd& u, const QuadraticForm& form,
                                     const MatrixXd& test_features) const {
  const Index n0 = projected_dual_.rows();
  const Index paths = test_features.cols() / n0;
  const Index outputs = projected_dual_.cols() / paths;
  MatrixXd shift(test_features.rows(), outputs);
  const MatrixXd phi = test_features.transpose();
  for (Index c = 0; c < outputs; ++c) {
    MatrixXd lifted = MatrixXd::Zero(projected_dual_.size(), phi.cols());
    for (Index a = 0; a < paths; ++a)
      lifted.middleRows((a * outputs + c) * n0, n0) = phi.middleRows(a * n0, n0);
    const MatrixXd unexplained = lifted - apply_projected_inverse(mix_columns(lifted, u));
    shift.col(c) = -form(unexplained);
  }
  return shift;
}

}  // namespace headway::theory
