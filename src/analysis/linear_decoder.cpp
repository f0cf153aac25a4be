#include "analysis/linear_decoder.hpp"

#include <ceres/gradient_problem.h>
#include <ceres/gradient_problem_solver.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "headway/error.hpp"
#include "headway/numerics/dense.hpp"

namespace headway::analysis {
namespace {

constexpr double kGradientTolerance = 1e-6;  // the mean loss is of order 1: six digits of a score
constexpr int kMostRounds = 5;
constexpr int kRoundIterations = 100;  // with more, the coordinates no longer fit the curvature

/// W^T z + b of every row.
MatrixXd scores_of(const MatrixXd& codes, const MatrixXd& weights) {
  MatrixXd out = codes * weights.topRows(codes.cols());
  out.rowwise() += weights.row(codes.cols());
  return out;
}

void require_rows(const MatrixXd& codes, Index labels) {
  if (codes.rows() > 0 && codes.rows() == labels) return;
  throw Error(ErrorKind::kInternal,
              fmt::format("a decoder of {} codes and {} labels", codes.rows(), labels));
}

/// The problem of a fit. Every reference outlives the fit.
struct LogisticProblem {
  const MatrixXd& codes;  ///< standardised
  const std::vector<int>& classes;
  const VectorXd& class_weights;
  double penalty;

  [[nodiscard]] Index rows() const { return codes.cols() + 1; }
  [[nodiscard]] Index columns() const { return class_weights.size(); }
};

/// V_c = L_c^T W_c, with L_c L_c^T the block of class c of the objective's Hessian:
///   1/n sum_i w_i p_ic (1 - p_ic) (z_i, 1) (z_i, 1)^T + penalty.
/// In V, nearly dependent columns of the codes converge as fast as independent ones.
class Coordinates {
 public:
  /// One block for all classes, as if each had the probability 1 / C everywhere and w_i were 1.
  explicit Coordinates(const LogisticProblem& problem) {
    const auto likely = 1.0 / static_cast<double>(problem.columns());
    factors_.push_back(block(problem, VectorXd::Constant(problem.codes.rows(), likely)));
  }
  /// Each class's block at these weights.
  Coordinates(const LogisticProblem& problem, const MatrixXd& weights) {
    const MatrixXd p = probabilities(problem.codes, weights);
    VectorXd weight(p.rows());
    for (Index i = 0; i < p.rows(); ++i) {
      weight(i) = problem.class_weights(problem.classes[static_cast<std::size_t>(i)]);
    }
    for (Index c = 0; c < problem.columns(); ++c) {
      factors_.push_back(
          block(problem, weight.array() * p.col(c).array() * (1.0 - p.col(c).array())));
    }
  }
  void to_weights(MatrixXd& v) const {
    each([](const auto& factor, numerics::MatrixRef part) { factor.half_solve_transposed(part); },
         v);
  }
  void from_weights(MatrixXd& w) const {
    each([](const auto& factor,
            numerics::MatrixRef part) { part = factor.lower().transpose() * part; },
         w);
  }
  void from_slopes(MatrixXd& gradient) const {
    each([](const auto& factor, numerics::MatrixRef part) { factor.half_solve(part); }, gradient);
  }

 private:
  static MatrixXd probabilities(const MatrixXd& codes, const MatrixXd& weights) {
    MatrixXd p = scores_of(codes, weights);
    p = (p.colwise() - VectorXd(p.rowwise().maxCoeff())).array().exp();
    return p.array().colwise() / p.rowwise().sum().array();
  }
  /// 1/n sum_i curvature_i (z_i, 1) (z_i, 1)^T + penalty, factorised.
  static numerics::SpdFactor block(const LogisticProblem& problem, const VectorXd& curvature) {
    const Index h = problem.codes.cols();
    const VectorXd roots = (curvature / static_cast<double>(curvature.size())).cwiseSqrt();
    MatrixXd z(roots.size(), h + 1);
    z << problem.codes.array().colwise() * roots.array(), roots;
    MatrixXd a = MatrixXd::Zero(h + 1, h + 1);
    numerics::rank_update_lower(1.0, z, numerics::Transpose::kYes, 0.0, a);
    a.diagonal().head(h).array() += problem.penalty;
    a(h, h) += 1e-12;  // for a class that is certain for all codes, whose curvature is 0
    auto factor = numerics::SpdFactor::factor(std::move(a));
    if (!factor) factor = numerics::SpdFactor::factor(MatrixXd::Identity(h + 1, h + 1));
    return *std::move(factor);
  }
  /// Applies each factor to its columns: one factor to all, or one to each.
  template <class Apply>
  void each(Apply apply, MatrixXd& columns) const {
    const Index width = columns.cols() / static_cast<Index>(factors_.size());
    for (std::size_t k = 0; k < factors_.size(); ++k) {
      apply(factors_[k], columns.middleCols(static_cast<Index>(k) * width, width));
    }
  }

  std::vector<numerics::SpdFactor> factors_;
};

/// The objective as a function of V.
class LogisticFunction final : public ceres::FirstOrderFunction {
 public:
  LogisticFunction(const LogisticProblem& problem, const Coordinates& coordinates)
      : problem_(problem), coordinates_(coordinates) {}
  [[nodiscard]] int NumParameters() const override {
    return static_cast<int>(problem_.rows() * problem_.columns());
  }
  bool Evaluate(const double* x, double* cost, double* gradient) const override {
    const Index rows = problem_.rows(), columns = problem_.columns();
    MatrixXd weights = Eigen::Map<const MatrixXd>(x, rows, columns);
    coordinates_.to_weights(weights);
    MatrixXd slope;
    *cost = logistic_objective(problem_.codes, problem_.classes, problem_.class_weights,
                               problem_.penalty, weights, gradient != nullptr ? &slope : nullptr);
    if (gradient != nullptr) {
      coordinates_.from_slopes(slope);
      Eigen::Map<MatrixXd>(gradient, rows, columns) = slope;
    }
    return std::isfinite(*cost);
  }

 private:
  const LogisticProblem& problem_;
  const Coordinates& coordinates_;
};

/// Continues from the decoder's weights, in these coordinates.
void minimise_for_a_round(const LogisticProblem& logistic, const Coordinates& coordinates,
                          LinearDecoder* out) {
  coordinates.from_weights(out->weights);
  auto function = std::make_unique<LogisticFunction>(logistic, coordinates);
  const ceres::GradientProblem problem(function.release());  // takes ownership (Ceres 2.x)
  ceres::GradientProblemSolver::Options options;
  options.line_search_direction_type = ceres::LBFGS;
  options.max_num_iterations = kRoundIterations;
  options.gradient_tolerance = kGradientTolerance;
  options.function_tolerance = 1e-12;
  options.parameter_tolerance = 0.0;
  options.logging_type = ceres::SILENT;
  ceres::GradientProblemSolver::Summary summary;
  ceres::Solve(options, problem, out->weights.data(), &summary);
  coordinates.to_weights(out->weights);
  out->converged = summary.termination_type == ceres::CONVERGENCE;
  out->iterations += static_cast<int>(summary.iterations.size());
}

}  // namespace

MatrixXd LinearDecoder::scores(const MatrixXd& codes) const {
  return scores_of(standardisation.apply(codes), weights);
}

MatrixXd LinearDecoder::values(const MatrixXd& codes) const {
  MatrixXd out = scores(codes);
  for (Index o = 0; o < out.cols(); ++o) {
    out.col(o) = out.col(o).cwiseMax(range(0, o)).cwiseMin(range(1, o));
  }
  return out;
}

std::vector<int> LinearDecoder::classes(const MatrixXd& codes) const {
  const MatrixXd all = scores(codes);
  std::vector<int> out(static_cast<std::size_t>(codes.rows()));
  for (Index i = 0; i < codes.rows(); ++i) {
    Index best = 0;
    const double highest = all.row(i).maxCoeff(&best);
    const bool tie = highest - all.row(i).minCoeff() <= kGradientTolerance;
    out[static_cast<std::size_t>(i)] = tie ? kNoAnswer : static_cast<int>(best);
  }
  return out;
}

LinearDecoder fit_ridge(const MatrixXd& codes, const MatrixXd& targets, double penalty) {
  require_rows(codes, targets.rows());
  LinearDecoder out{Standardisation(codes, kCodeRounding), {}, true, 0, {}};
  const MatrixXd z = out.standardisation.apply(codes);  // columns of mean 0
  const auto n = static_cast<double>(codes.rows());
  MatrixXd normal = z.transpose() * z / n;
  normal.diagonal().array() += penalty;
  const auto factor = numerics::SpdFactor::factor(normal);
  if (!factor) {
    throw Error(ErrorKind::kInternal,
                fmt::format("ridge regression on {} columns with the penalty {:g}: not positive "
                            "definite",
                            codes.cols(), penalty));
  }
  const VectorXd mean = targets.colwise().mean().transpose();
  out.weights.resize(codes.cols() + 1, targets.cols());
  out.weights.topRows(codes.cols()) =
      factor->solve(z.transpose() * (targets.rowwise() - mean.transpose()) / n);
  out.weights.row(codes.cols()) = mean.transpose();
  out.range.resize(2, targets.cols());
  out.range << targets.colwise().minCoeff(), targets.colwise().maxCoeff();
  return out;
}

VectorXd balanced_class_weights(const std::vector<int>& classes, int count) {
  VectorXd weights = VectorXd::Zero(count);
  for (const int c : classes) weights(c) += 1.0;
  const auto present = static_cast<double>((weights.array() > 0.0).count());
  for (double& w : weights) w = w > 0.0 ? static_cast<double>(classes.size()) / (present * w) : 0.0;
  return weights;
}

double logistic_objective(const MatrixXd& codes, const std::vector<int>& classes,
                          const VectorXd& class_weights, double penalty, const MatrixXd& weights,
                          MatrixXd* gradient) {
  const Index h = codes.cols();
  const auto n = static_cast<double>(codes.rows());
  MatrixXd p = scores_of(codes, weights);
  const VectorXd highest = p.rowwise().maxCoeff();
  double loss = 0.0;
  for (Index i = 0; i < p.rows(); ++i) {
    loss += class_weights(classes[static_cast<std::size_t>(i)]) *
            (highest(i) - p(i, classes[static_cast<std::size_t>(i)]));
  }
  p = (p.colwise() - highest).array().exp();
  const VectorXd sum = p.rowwise().sum();
  for (Index i = 0; i < p.rows(); ++i) {
    loss += class_weights(classes[static_cast<std::size_t>(i)]) * std::log(sum(i));
  }
  if (gradient != nullptr) {  // of s: w (softmax - one-hot) / n
    for (Index i = 0; i < p.rows(); ++i) {
      const int c = classes[static_cast<std::size_t>(i)];
      p.row(i) *= class_weights(c) / (sum(i) * n);
      p(i, c) -= class_weights(c) / n;
    }
    gradient->resize(h + 1, weights.cols());
    gradient->topRows(h) = codes.transpose() * p + penalty * weights.topRows(h);
    gradient->row(h) = p.colwise().sum();
  }
  return loss / n + 0.5 * penalty * weights.topRows(h).squaredNorm();
}

LinearDecoder fit_logistic(const MatrixXd& codes, const std::vector<int>& classes, int count,
                           double penalty, const MatrixXd& start) {
  require_rows(codes, static_cast<Index>(classes.size()));
  const VectorXd class_weights = balanced_class_weights(classes, count);
  if ((class_weights.array() > 0.0).count() < 2) {
    throw Error(ErrorKind::kInternal, "logistic regression on labels of one class");
  }
  LinearDecoder out{Standardisation(codes, kCodeRounding), {}, true, 0, {}};
  const MatrixXd z = out.standardisation.apply(codes);
  out.weights = start.size() > 0 ? start : MatrixXd::Zero(codes.cols() + 1, count);
  const LogisticProblem problem{z, classes, class_weights, penalty};
  minimise_for_a_round(problem, Coordinates(problem), &out);
  for (int round = 1; round < kMostRounds && !out.converged; ++round) {
    minimise_for_a_round(problem, Coordinates(problem, out.weights), &out);
  }
  return out;
}

}  // namespace headway::analysis
