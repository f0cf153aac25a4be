#include "headway/theory/gram.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "headway/error.hpp"
#include "headway/numerics/dense.hpp"
#include "kernel_forms.hpp"
#include "path_kernel_forms.hpp"

namespace headway::theory {
namespace {

constexpr double kAsymmetry = 1e-6;  // of the largest entry: allows sums in single precision
constexpr double kRounding =
    1e-6;  // of the largest diagonal entry: rounding of an eigenvalue that is 0

/// Positive semidefinite to within rounding.
bool is_positive_semidefinite(const MatrixXd& gram) {
  MatrixXd lifted = gram;
  lifted.diagonal().array() += kRounding * gram.diagonal().maxCoeff();
  return numerics::SpdFactor::factor(std::move(lifted)).has_value();
}

/// [G b; b^T Y^T Y], the Gram matrix of features and labels together.
MatrixXd with_labels(const GramMatrices& data) {
  const Index d = data.gram.rows();
  const Index c = data.outputs();
  // Features and labels on one scale, so that one rounding bound serves both.
  const double features = 1.0 / std::sqrt(data.gram.diagonal().maxCoeff());
  const double labels = 1.0 / std::sqrt(std::max(data.label_square.diagonal().maxCoeff(),
                                                 std::numeric_limits<double>::min()));
  MatrixXd joint(d + c, d + c);
  joint.topLeftCorner(d, d) = features * features * data.gram;
  joint.topRightCorner(d, c) = features * labels * data.projection;
  joint.bottomLeftCorner(c, d) = joint.topRightCorner(d, c).transpose();
  joint.bottomRightCorner(c, c) = labels * labels * data.label_square;
  return joint;
}

}  // namespace

GramMatrices gram_matrices(const MatrixXd& features, const MatrixXd& labels) {
  GramMatrices data;
  data.examples = features.rows();
  data.gram.resize(features.cols(), features.cols());
  numerics::rank_update_lower(1.0, features, numerics::Transpose::kYes, 0.0, data.gram);
  numerics::mirror_lower(data.gram);
  data.projection.resize(features.cols(), labels.cols());
  numerics::multiply(1.0, features, numerics::Transpose::kYes, labels, numerics::Transpose::kNo,
                     0.0, data.projection);
  data.label_square = labels.transpose() * labels;
  return data;
}

GramMatrices scale_gram(GramMatrices data, double input_variance) {
  const double square = input_variance / static_cast<double>(data.gram.rows());
  data.gram *= square;
  data.projection *= std::sqrt(square);
  return data;
}

std::string gram_fault(const GramMatrices& data, Index paths) {
  const Index d = data.gram.rows();
  if (d == 0 || data.gram.cols() != d || paths < 1 || d % paths != 0) {
    return fmt::format("the Gram matrix is {} x {}; allowed: D x D, D a multiple of {} paths", d,
                       data.gram.cols(), paths);
  }
  if (data.projection.rows() != d || data.label_square.rows() != data.outputs() ||
      data.label_square.cols() != data.outputs()) {
    return fmt::format(
        "projections of {} x {} and label products of {} x {} do not fit; allowed: D x C and C x C "
        "with D = {}",
        data.projection.rows(), data.outputs(), data.label_square.rows(), data.label_square.cols(),
        d);
  }
  if (data.examples < 1) return fmt::format("{} examples; allowed: at least 1", data.examples);
  if (!data.gram.allFinite() || !data.projection.allFinite() || !data.label_square.allFinite())
    return "it holds numbers that are not finite (or its sums overflow); allowed: finite numbers";
  const double largest = data.gram.cwiseAbs().maxCoeff();
  for (Index a = 0; a < paths; ++a) {
    const Index n0 = d / paths;
    if (data.gram.diagonal().segment(a * n0, n0).maxCoeff() > 0.0) continue;
    return fmt::format("path {} of {} has only features that are zero; leave it out", a + 1, paths);
  }
  const double asymmetry = (data.gram - data.gram.transpose()).cwiseAbs().maxCoeff();
  if (asymmetry > kAsymmetry * largest) {
    return fmt::format(
        "the Gram matrix is not symmetric: entries differ by {:.1e}, the largest is "
        "{:.1e}",
        asymmetry, largest);
  }
  if (!is_positive_semidefinite(data.gram))
    return "the Gram matrix is not positive semidefinite, so it belongs to no features";
  if (!is_positive_semidefinite(with_labels(data)))
    return "the projections are larger than labels of this size allow, so they belong to other "
           "data";
  return "";
}

GramRows rows_of_gram(const GramMatrices& data) {
  const Index d = data.gram.rows();
  const Index p = std::min(data.examples, d + data.outputs());
  // Every feature in units of its own size, so that a large one hides none.
  const VectorXd sizes = data.gram.diagonal().unaryExpr(
      [](double square) { return square > 0.0 ? std::sqrt(square) : 1.0; });
  const VectorXd over = sizes.cwiseInverse();
  const numerics::SymmetricEigen eigen =
      numerics::symmetric_eigen(over.asDiagonal() * data.gram * over.asDiagonal(), true);
  // The largest eigenvalues come last. Those below `least` are zero, but for rounding of the sums.
  const double least =
      static_cast<double>(d) * std::numeric_limits<double>::epsilon() * eigen.values[d - 1];
  GramRows rows{MatrixXd::Zero(p, d), MatrixXd::Zero(p, data.outputs())};
  Index rank = 0;
  for (; rank < std::min(p, d) && eigen.values[d - 1 - rank] > least; ++rank) {
    const double root = std::sqrt(eigen.values[d - 1 - rank]);
    const auto direction = eigen.vectors.col(d - 1 - rank);
    rows.features.row(rank) = root * direction.cwiseProduct(sizes).transpose();
    rows.labels.row(rank) = direction.cwiseProduct(over).transpose() * data.projection / root;
  }
  rows.rounding = rank < std::min(data.examples, d) ? 1.0 : least / eigen.values[d - rank];
  // Rows without features get the rest of the labels, which has rank P - r at most.
  const MatrixXd left = data.label_square - rows.labels.transpose() * rows.labels;
  const numerics::SymmetricEigen rest = numerics::symmetric_eigen(left, true);
  const Index outputs = data.outputs();
  for (Index i = 0; i < std::min(outputs, p - rank); ++i) {
    const double square = std::max(rest.values[outputs - 1 - i], 0.0);
    rows.labels.row(rank + i) = std::sqrt(square) * rest.vectors.col(outputs - 1 - i).transpose();
  }
  return rows;
}

std::shared_ptr<const PathKernels> make_path_kernels(GramMatrices data, Index paths, int threads) {
  return make_gram_kernels(std::move(data), paths, threads);
}

void count_feature_space(const KernelCounts& s, bool features, KernelCost& cost) {
  const double d = s.columns();
  const double lifted = d * s.c;
  const double square = kNumber * lifted * lifted;
  cost.construction_flops = s.n * d * d;
  // The congruence is made output by output.
  cost.evaluation_flops = lifted * lifted * lifted + 4.0 * lifted * lifted * s.p * s.c +
                          (features ? 4.0 * s.features() : 0.0);
  cost.hessian_flops = std::pow(s.order() * lifted, 2) + 4.0 * lifted * lifted * s.order();
  cost.product_flops = 4.0 * lifted * lifted * s.order();
  cost.kernel_bytes = kNumber * d * d;
  cost.state_bytes = 2.0 * square;
  cost.work_bytes = 2.0 * square;
  cost.product_bytes = 3.0 * square;
  cost.hessian_bytes = 2.0 * square + kNumber * s.information_numbers();
}

const KernelFormDescription& gram_form() {
  static const KernelFormDescription form = {
      KernelForm::kGram,
      "gram",
      needs_temperature,
      [](const KernelCounts&, const PathKernelOptions&) { return Claim::kNone; },
      [](const KernelCounts& sizes, int /*ranks*/, KernelCost& cost) {
        count_feature_space(sizes, false, cost);
      },
      [](MatrixXd&& features, MatrixXd&& labels, Index paths, const PathKernelOptions& options,
         const KernelCost& /*cost*/) {
        return make_gram_kernels(gram_matrices(features, labels), paths, options.threads);
      }};
  return form;
}

}  // namespace headway::theory
