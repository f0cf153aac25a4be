#include "headway/analysis/linear_decoder.hpp"

#include <ceres/gradient_problem.h>
#include <ceres/gradient_problem_solver.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "headway/core/error.hpp"
#include "headway/numerics/dense.hpp"

namespace headway::analysis {
namespace {

constexpr double kGradientTolerance = 1e-6;  // of a mean loss of order 1: six digits of any score
constexpr int kMostIterations = 500;

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

/// L of L L^T = Z^T Z / (n C) + penalty I, and 1 / C for the intercept: the Hessian of the
/// objective where all C classes are as likely, but for what they share. In V = L^T W codes that
/// nearly depend on each other are as good as independent ones.
numerics::SpdFactor curvature(const MatrixXd& codes, int count, double penalty) {
  const Index h = codes.cols();
  const double likely = 1.0 / count;
  MatrixXd a = MatrixXd::Zero(h + 1, h + 1);
  a.topLeftCorner(h, h) = codes.transpose() * codes * (likely / static_cast<double>(codes.rows()));
  a.diagonal().array() += penalty;
  a(h, h) = likely;
  auto factor = numerics::SpdFactor::factor(std::move(a));
  if (!factor) factor = numerics::SpdFactor::factor(MatrixXd::Identity(h + 1, h + 1));
  return *std::move(factor);
}

/// The objective as a function of V = L^T W.
class LogisticFunction final : public ceres::FirstOrderFunction {
 public:
  LogisticFunction(const MatrixXd& codes, const std::vector<int>& classes, VectorXd class_weights,
                   double penalty, const numerics::SpdFactor& basis)
      : codes_(codes),
        classes_(classes),
        class_weights_(std::move(class_weights)),
        penalty_(penalty),
        basis_(basis) {}
  [[nodiscard]] int NumParameters() const override {
    return static_cast<int>((codes_.cols() + 1) * class_weights_.size());
  }
  bool Evaluate(const double* x, double* cost, double* gradient) const override {
    const Index rows = codes_.cols() + 1, columns = class_weights_.size();
    MatrixXd weights = Eigen::Map<const MatrixXd>(x, rows, columns);
    basis_.half_solve_transposed(weights);
    MatrixXd slope;
    *cost = logistic_objective(codes_, classes_, class_weights_, penalty_, weights,
                               gradient != nullptr ? &slope : nullptr);
    if (gradient != nullptr) {
      basis_.half_solve(slope);
      Eigen::Map<MatrixXd>(gradient, rows, columns) = slope;
    }
    return std::isfinite(*cost);
  }

 private:
  const MatrixXd& codes_;
  const std::vector<int>& classes_;
  VectorXd class_weights_;
  double penalty_;
  const numerics::SpdFactor& basis_;
};

}  // namespace

Standardisation::Standardisation(const MatrixXd& codes)
    : mean(codes.colwise().mean().transpose()),
      deviation(((codes.rowwise() - mean.transpose()).colwise().squaredNorm() /
                 static_cast<double>(codes.rows()))
                    .cwiseSqrt()
                    .transpose()) {
  // What is constant but for rounding must not become noise of unit size.
  for (Index j = 0; j < deviation.size(); ++j) {
    if (deviation(j) <= 1e-9 * std::abs(mean(j))) deviation(j) = 0.0;
    if (deviation(j) == 0.0) deviation(j) = 1.0;
  }
}

MatrixXd Standardisation::apply(const MatrixXd& codes) const {
  return (codes.rowwise() - mean.transpose()) * deviation.cwiseInverse().asDiagonal();
}

MatrixXd LinearDecoder::scores(const MatrixXd& codes) const {
  return scores_of(standardisation.apply(codes), weights);
}

std::vector<int> LinearDecoder::classes(const MatrixXd& codes) const {
  const MatrixXd all = scores(codes);
  std::vector<int> out(static_cast<std::size_t>(codes.rows()));
  for (Index i = 0; i < codes.rows(); ++i) {
    Index best = 0;
    all.row(i).maxCoeff(&best);
    out[static_cast<std::size_t>(i)] = static_cast<int>(best);
  }
  return out;
}

LinearDecoder fit_ridge(const MatrixXd& codes, const MatrixXd& targets, double penalty) {
  require_rows(codes, targets.rows());
  LinearDecoder out{Standardisation(codes), {}, true, 0};
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
  LinearDecoder out{Standardisation(codes), {}, true, 0};
  const MatrixXd z = out.standardisation.apply(codes);
  const numerics::SpdFactor basis = curvature(z, count, penalty);
  out.weights = MatrixXd::Zero(codes.cols() + 1, count);
  if (start.size() > 0) out.weights = basis.lower().transpose() * start;
  auto function = std::make_unique<LogisticFunction>(z, classes, class_weights, penalty, basis);
  const ceres::GradientProblem problem(function.release());  // takes ownership (Ceres 2.x)
  ceres::GradientProblemSolver::Options options;
  options.line_search_direction_type = ceres::LBFGS;
  options.max_num_iterations = kMostIterations;
  options.gradient_tolerance = kGradientTolerance;
  options.function_tolerance = 1e-12;
  options.parameter_tolerance = 0.0;
  options.logging_type = ceres::SILENT;
  ceres::GradientProblemSolver::Summary summary;
  ceres::Solve(options, problem, out.weights.data(), &summary);
  basis.half_solve_transposed(out.weights);
  out.converged = summary.termination_type == ceres::CONVERGENCE;
  out.iterations = static_cast<int>(summary.iterations.size());
  return out;
}

}  // namespace headway::analysis
