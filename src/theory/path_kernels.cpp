#include "headway/path_kernels.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "headway/error.hpp"
#include "headway/numerics/dense.hpp"
#include "headway/numerics/symmetric.hpp"
#include "headway/numerics/tiles.hpp"
#include "kernel_forms.hpp"
#include "orthogonal_kernels.hpp"
#include "path_kernel_forms.hpp"

namespace headway::theory {

using numerics::multiply;
using numerics::Transpose;

PathKernels::PathKernels(MatrixXd features, MatrixXd labels, Index paths, int threads,
                         KernelForm form, bool compact)
    : features_(std::move(features)),
      labels_(std::move(labels)),
      sizes_{features_.rows(), paths, features_.cols() / paths, labels_.cols()},
      threads_(threads),
      cost_(kernel_cost(sizes_, form, compact)),
      squares_(sizes_.examples, paths) {
  const Index n0 = sizes_.feature_count;
  for (Index a = 0; a < paths; ++a) {
    squares_.col(a).setZero();  // column by column: row sums would stride
    for (Index i = 0; i < n0; ++i) squares_.col(a) += features_.col(a * n0 + i).cwiseAbs2();
  }
}

PathKernels::PathKernels(const KernelSizes& sizes, int threads, KernelForm form)
    : sizes_(sizes), threads_(threads), cost_(kernel_cost(sizes_, form)) {}

VectorXd PathKernels::row_squares(const MatrixXd& u) const {
  const VectorXd diagonal = u.diagonal();
  const Eigen::Map<const MatrixXd> weights(diagonal.data(), outputs(), paths());
  const MatrixXd rows = squares_ * weights.transpose();
  return rows.reshaped();
}

const OrthogonalKernels* PathKernels::orthogonal() const {
  if (!OrthogonalKernels::affordable(sizes_)) return nullptr;
  std::call_once(rotated_, [this] {
    orthogonal_ = std::make_shared<const OrthogonalKernels>(features_, labels_, paths());
  });
  return orthogonal_.get();
}

std::unique_ptr<EnergyState> PathKernels::evaluate_rotated(const MatrixXd& u,
                                                           double temperature) const {
  const OrthogonalKernels* rotated = orthogonal();
  return rotated ? rotated->evaluate(shared_from_this(), u, temperature) : nullptr;
}

MatrixXd PathKernels::scale_features(const RowMatrixXd& path_features, Index paths,
                                     double input_variance) {
  const Index n0 = path_features.cols() / paths;
  return path_features * std::sqrt(input_variance / static_cast<double>(n0 * paths));
}

MatrixXd PathKernels::kernel(const MatrixXd& u) const {
  if (features_.size() == 0) {
    throw Error(ErrorKind::kBadStudy,
                form() == KernelForm::kDistributed
                    ? "the kernel between examples lies on several ranks, and none of them has the "
                      "whole: use another solve.kernels than \"distributed\""
                    : "the data are Gram matrices, which give no kernel between examples: use the "
                      "data set that they were made from");
  }
  MatrixXd k = cross_kernel(features_, features_, u, outputs());
  return 0.5 * (k + k.transpose());
}

MatrixXd cross_kernel(const MatrixXd& features_a, const MatrixXd& features_b, const MatrixXd& u,
                      Index outputs) {
  const Index pa = features_a.rows();
  const Index pb = features_b.rows();
  MatrixXd k(pa * outputs, pb * outputs);
  for (Index c = 0; c < outputs; ++c) {
    for (Index d = 0; d < outputs; ++d) {
      const MatrixXd mixed = mix_paths(features_a, output_block(u, outputs, c, d));
      multiply(1.0, mixed, Transpose::kNo, features_b, Transpose::kYes, 0.0,
               k.block(c * pa, d * pb, pa, pb));
    }
  }
  return k;
}

VectorXd pair_coefficients(const MatrixXd& u, Index paths) {
  VectorXd c(numerics::symmetric_size(paths));
  for (Index a = 0, k = 0; a < paths; ++a) {
    for (Index b = 0; b <= a; ++b) c[k++] = 0.5 * (u(a, b) + u(b, a));
  }
  return c;
}

MatrixXd output_block(const MatrixXd& u, Index outputs, Index c, Index d) {
  const Index paths = u.rows() / outputs;
  MatrixXd block(paths, paths);
  for (Index b = 0; b < paths; ++b) {
    for (Index a = 0; a < paths; ++a) block(a, b) = u(a * outputs + c, b * outputs + d);
  }
  return block;
}

namespace {

template <class Matrix>
Matrix mix_paths_of(const Matrix& features, const Matrix& mixing, int threads) {
  const Index paths = mixing.rows();
  const Index rows = features.rows() * (features.cols() / paths);
  Matrix mixed(features.rows(), features.cols() / paths * mixing.cols());
  if (mixed.size() == 0) return mixed;
  // In memory X [P, p N_0] is also a matrix [P N_0] x p, so one product mixes all paths.
  const Eigen::Map<const Matrix> in(features.data(), rows, paths);
  Eigen::Map<Matrix> out(mixed.data(), rows, mixing.cols());
  numerics::multiply_tiled(in, Transpose::kNo, mixing, Transpose::kNo, out, threads);
  return mixed;
}

}  // namespace

MatrixXd mix_paths(const MatrixXd& features, const MatrixXd& mixing, int threads) {
  return mix_paths_of(features, mixing, threads);
}
numerics::MatrixXf mix_paths(const numerics::MatrixXf& features, const numerics::MatrixXf& mixing,
                             int threads) {
  return mix_paths_of(features, mixing, threads);
}

namespace {

/// Weights N_0 x (path, output), rearranged with a column for each output: p N_0 x C.
MatrixXd by_output(const MatrixXd& weights, Index outputs) {
  const Index n0 = weights.rows();
  const Index paths = weights.cols() / outputs;
  MatrixXd columns(n0 * paths, outputs);
  for (Index c = 0; c < outputs; ++c) {
    for (Index a = 0; a < paths; ++a)
      columns.block(a * n0, c, n0, 1) = weights.col(a * outputs + c);
  }
  return columns;
}

/// X* w for such weights: P_test x C.
MatrixXd mean_from_weights(const MatrixXd& test_features, const MatrixXd& weights, Index outputs) {
  const MatrixXd columns = by_output(weights, outputs);
  MatrixXd f(test_features.rows(), outputs);
  multiply(1.0, test_features, Transpose::kNo, columns, Transpose::kNo, 0.0, f);
  return f;
}

}  // namespace

MatrixXd mean_from_dual(const MatrixXd& test_features, const MatrixXd& dual, const MatrixXd& u) {
  const Index paths = test_features.cols() / dual.rows();
  return mean_from_weights(test_features, dual * u, dual.cols() / paths);
}

const MatrixXd& EnergyState::average_information() const {
  if (average_information_.size() == 0) average_information_ = compute_average_information();
  return average_information_;
}

MeanFluctuation EnergyState::mean_fluctuation(const MatrixXd& u, const MatrixXd& directions,
                                              const MatrixXd& test_features) const {
  // eq. 42: f = X* (v U);  v' = -Z (v D),  v'' = -2 Z (v' D);
  // f' = X* (v D + v' U),  f'' = X* (2 v' D + v'' U).
  const MatrixXd& v = projected_dual_;
  const Index n0 = v.rows();
  const Index order = v.cols();
  const Index paths = test_features.cols() / n0;
  const Index outputs = order / paths;
  MeanFluctuation result;
  result.mean_shift = MatrixXd::Zero(test_features.rows(), outputs);
  result.mean_variance = MatrixXd::Zero(test_features.rows(), outputs);
  MatrixXd shift = MatrixXd::Zero(n0, order);
  const auto apply = [&](const MatrixXd& x) {
    const MatrixXd flat = Eigen::Map<const MatrixXd>(x.data(), x.size(), 1);
    const MatrixXd z = apply_projected_inverse(flat);
    return MatrixXd(Eigen::Map<const MatrixXd>(z.data(), n0, order));
  };
  const auto column = [&](MatrixXd& m, Index j) {
    return Eigen::Map<MatrixXd>(m.col(j).data(), n0, order);
  };
  // All directions at once: the products with Z and X* are then no longer bound by memory.
  const Index count = directions.cols();
  MatrixXd vd(n0 * order, count);
  for (Index m = 0; m < count; ++m)
    column(vd, m) = v * numerics::vector_to_symmetric(directions.col(m), order);
  MatrixXd first = -apply_projected_inverse(vd);
  MatrixXd slopes(test_features.cols(), outputs * count);
  MatrixXd curved = MatrixXd::Zero(n0, order);  // sum of v' D: Z is linear
  for (Index m = 0; m < count; ++m) {
    const MatrixXd d = numerics::vector_to_symmetric(directions.col(m), order);
    curved += column(first, m) * d;
    slopes.middleCols(m * outputs, outputs) =
        by_output(column(vd, m) + column(first, m) * u, outputs);
  }
  shift = curved - apply(curved) * u;
  MatrixXd along(test_features.rows(), slopes.cols());
  multiply(1.0, test_features, Transpose::kNo, slopes, Transpose::kNo, 0.0, along);
  for (Index m = 0; m < count; ++m)
    result.mean_variance += along.middleCols(m * outputs, outputs).cwiseAbs2();
  result.mean_shift = mean_from_weights(test_features, shift, outputs);
  return result;
}

std::shared_ptr<const PathKernels> make_path_kernels(MatrixXd scaled_features, MatrixXd labels,
                                                     Index paths,
                                                     const PathKernelOptions& options) {
  const Index feature_count = scaled_features.cols() / paths;
  const KernelCost cost =
      kernel_cost({scaled_features.rows(), paths, feature_count, labels.cols()}, options);
  return describe_kernels(cost.form).make(std::move(scaled_features), std::move(labels), paths,
                                          options, cost);
}

}  // namespace headway::theory
