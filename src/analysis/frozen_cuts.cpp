#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <utility>

#include "headway/analysis/head_ranking.hpp"
#include "headway/error.hpp"
#include "headway/numerics/dense.hpp"

namespace headway::analysis {
namespace {

/// Throws where `a` is not positive definite.
numerics::SpdFactor factor_of(MatrixXd a, double temperature) {
  std::optional<numerics::SpdFactor> factor = numerics::SpdFactor::factor(std::move(a));
  if (factor) return *std::move(factor);
  throw Error(
      ErrorKind::kBadData,
      fmt::format("temperature = {}: K + T I is not positive definite; allowed: a U that is "
                  "positive semidefinite, and a larger temperature",
                  temperature));
}

/// K between all outputs: sum_ab U_(a c, b d) xi_a . xi_b / (N_0 p), [C P, C P].
MatrixXd frozen_kernel(const RowMatrixXd& parts, Index count, const MatrixXd& u) {
  const Index examples = parts.rows(), features = parts.cols() / count, outputs = u.rows() / count;
  MatrixXd kernel(outputs * examples, outputs * examples);
  for (Index c = 0; c < outputs; ++c) {
    for (Index d = 0; d < outputs; ++d) {
      RowMatrixXd mixed = RowMatrixXd::Zero(examples, parts.cols());
      for (Index a = 0; a < count; ++a) {
        for (Index b = 0; b < count; ++b) {
          const double weight = u(a * outputs + c, b * outputs + d);
          if (weight == 0.0) continue;
          mixed.middleCols(b * features, features) +=
              weight * parts.middleCols(a * features, features);
        }
      }
      kernel.block(c * examples, d * examples, examples, examples) = mixed * parts.transpose();
    }
  }
  return kernel / static_cast<double>(parts.cols());
}

}  // namespace

RowMatrixXd scaled_parts(const RowMatrixXd& parts) {
  const RowMatrixXd centred = parts.rowwise() - parts.colwise().mean();
  return centred / std::sqrt(centred.array().square().mean());
}

double matched_temperature(const RowMatrixXd& parts, Index count, double penalty) {
  const Index features = parts.cols() / count;
  RowMatrixXd sum = RowMatrixXd::Zero(parts.rows(), features);
  for (Index a = 0; a < count; ++a) sum += parts.middleCols(a * features, features);
  return penalty * sum.array().square().mean() / static_cast<double>(parts.cols());
}

VectorXd left_out_errors(const MatrixXd& kernel, double temperature, const MatrixXd& y) {
  // With a = (K + T)^-1 y the error of example i is a_i / B_ii. B is (K + T)^-1 without the
  // constant vector, an eigenvector of K: predictors fitted without i have an offset of their own.
  // Here the constant vector has the eigenvalue trace(K) + T in place of T, so that its part of the
  // inverse is small, and nothing cancels when it is taken away.
  const Index count = y.rows(), outputs = y.cols();
  MatrixXd shifted = kernel;
  shifted.diagonal().array() += temperature;
  const double trace = kernel.trace();
  for (Index c = 0; c < kernel.rows(); c += count) {
    shifted.block(c, c, count, count).array() += trace / static_cast<double>(count);
  }
  const MatrixXd inverse = factor_of(std::move(shifted), temperature).inverse();
  const double constant = 1.0 / (static_cast<double>(count) * (trace + temperature));
  if (kernel.rows() == count) {
    const VectorXd own = (inverse.diagonal().array() - constant).inverse();
    return (own.asDiagonal() * (inverse * y)).rowwise().squaredNorm() /
           static_cast<double>(outputs);
  }
  const VectorXd told = inverse * Eigen::Map<const VectorXd>(y.data(), y.size());
  VectorXd errors(count);
  for (Index i = 0; i < count; ++i) {
    MatrixXd own(outputs, outputs);
    VectorXd answer(outputs);
    for (Index c = 0; c < outputs; ++c) {
      answer[c] = told[c * count + i];
      for (Index d = 0; d < outputs; ++d) own(c, d) = inverse(c * count + i, d * count + i);
      own(c, c) -= constant;
    }
    errors[i] = factor_of(std::move(own), temperature).solve(answer).squaredNorm() /
                static_cast<double>(outputs);
  }
  return errors;
}

MatrixXd cut_changes(const RowMatrixXd& parts, Index count,
                     const std::vector<std::vector<int>>& groups, const MatrixXd& y,
                     const FrozenPredictor& predictor, const std::function<void()>& between) {
  const MatrixXd whole =
      predictor.u.size() > 0 ? predictor.u : MatrixXd(MatrixXd::Ones(count, count));
  const Index outputs = whole.rows() / count;
  const auto errors = [&](const MatrixXd& at) {
    return left_out_errors(frozen_kernel(parts, count, at), predictor.temperature, y);
  };
  const VectorXd before = errors(whole);
  MatrixXd changes(static_cast<Index>(groups.size()), y.rows());
  for (std::size_t g = 0; g < groups.size(); ++g) {
    between();
    MatrixXd cut = whole;
    for (const int part : groups[g]) {
      cut.middleRows(part * outputs, outputs).setZero();
      cut.middleCols(part * outputs, outputs).setZero();
    }
    changes.row(static_cast<Index>(g)) = (errors(cut) - before).transpose();
  }
  return changes;
}

}  // namespace headway::analysis
