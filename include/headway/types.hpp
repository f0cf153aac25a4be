#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <utility>
#include <vector>

namespace headway {

using Index = Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;
/// Row-major matrix: one example per row, as data sets store them.
using RowMatrixXd = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// A dense row-major array of any rank (last index fastest), the in-memory form of an HDF5 data
/// set.
struct Tensor {
  std::vector<Index> shape;
  std::vector<double> values;

  Tensor() = default;
  /// Zeros.
  explicit Tensor(std::vector<Index> dims) : shape(std::move(dims)) { values.assign(count(), 0.0); }
  /// The number of entries that the shape says; 0 without a shape.
  [[nodiscard]] std::size_t count() const {
    std::size_t n = 1;
    for (Index d : shape) n *= static_cast<std::size_t>(d);
    return shape.empty() ? 0 : n;
  }
  [[nodiscard]] bool empty() const { return values.empty(); }
};

}  // namespace headway
