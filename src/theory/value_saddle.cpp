#include "headway/theory/value_saddle.hpp"

#include <ceres/gradient_problem.h>
#include <ceres/gradient_problem_solver.h>
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "headway/error.hpp"
#include "headway/numerics/pivoted_cholesky.hpp"
#include "headway/numerics/symmetric.hpp"
#include "path_kernel_forms.hpp"

namespace headway::theory {
namespace {

using model::ValueSites;
using model::WhitenedSites;
using numerics::PivotedCholesky;
using numerics::SpdFactor;

/// Rows r P + example of X, as blocks of columns: P x (R D).
void spread(const MatrixXd& rows, Index readouts, Index columns, MatrixXd& out) {
  const Index examples = rows.rows() / readouts;
  for (Index r = 0; r < readouts; ++r)
    out.block(0, r * columns, examples, rows.cols()) = rows.middleRows(r * examples, examples);
}

/// What a further example has beside the directions of training examples: R directions, the same
/// for every example, since no two of them meet.
void add_own_directions(const MatrixXd& diagonal, const MatrixXd& rows, Index columns,
                        MatrixXd& out) {
  const Index readouts = diagonal.cols(), examples = rows.rows() / readouts;
  for (Index i = 0; i < examples; ++i) {
    MatrixXd seen(readouts, rows.cols());
    for (Index r = 0; r < readouts; ++r) seen.row(r) = rows.row(r * examples + i);
    const MatrixXd rest = diagonal.middleRows(i * readouts, readouts) - seen * seen.transpose();
    const MatrixXd root = numerics::symmetric_square_root(rest);
    for (Index r = 0; r < readouts; ++r)
      out.block(i, r * columns + rows.cols(), 1, readouts) = root.row(r);
  }
}

/// Entropy of U_1 and U_a (eq. 20) less the part of U_a at its prior value. So a wide readout,
/// whose part is N_a times a number, hides no digits of the rest.
double entropy_above_prior(const model::Architecture& a, const OrderParameters& u) {
  const double variance = a.variance(2), n_a = a.width(2);
  const std::optional<SpdFactor> readout = SpdFactor::factor(u.readout);
  const std::optional<SpdFactor> paths = SpdFactor::factor(u.layers.front());
  if (!readout || !paths) return std::numeric_limits<double>::infinity();
  const double readouts = static_cast<double>(a.paths());
  double value = a.width(1) * (readout->solve(partial_trace(u.layers.front(), a.paths())).trace() /
                                   a.variance(1) -
                               paths->log_determinant() + readouts * readout->log_determinant());
  const numerics::SymmetricEigen eigen = numerics::symmetric_eigen(u.readout / variance, false);
  for (const double x : eigen.values) value += n_a * (x - 1.0 - std::log1p(x - 1.0));
  return value;
}

/// X with C = X X^T. Pivots take three times as long, and are needed where C is nearly singular:
/// where a pivot is below the tolerance of PivotedCholesky.
MatrixXd product_features(const MatrixXd& c) {
  const double least = static_cast<double>(c.rows()) * std::numeric_limits<double>::epsilon() *
                       c.diagonal().maxCoeff<Eigen::PropagateNaN>();
  const std::optional<SpdFactor> factor = SpdFactor::factor(c);
  const bool sound = factor && (factor->lower().diagonal().array().square() > least).all();
  return sound ? MatrixXd(factor->lower().triangularView<Eigen::Lower>())
               : PivotedCholesky(c).features();
}

/// F with S = F F^T; of a singular S by pivoted Cholesky.
MatrixXd factor_of(const MatrixXd& s) {
  const std::optional<SpdFactor> factor = SpdFactor::factor(s);
  return factor ? MatrixXd(factor->lower()) : PivotedCholesky(s).features();
}

}  // namespace

ValueFeatures value_features(const ValueSites& train, const ValueSites& other, const MatrixXd& s,
                             int threads) {
  const MatrixXd factor = factor_of(s);
  const Index readouts = train.readouts();
  const WhitenedSites white(train, factor);
  const PivotedCholesky cholesky(value_kernel(white, threads));
  const Index own = other.examples() > 0 ? readouts : 0;
  const Index columns = cholesky.rank() + own;
  ValueFeatures result{MatrixXd::Zero(train.examples(), readouts * columns),
                       MatrixXd::Zero(other.examples(), readouts * columns)};
  spread(cholesky.features(), readouts, columns, result.train);
  if (own == 0) return result;
  const WhitenedSites further(other, factor);
  const MatrixXd rows = cholesky.features_of(value_kernel(further, white, threads));
  spread(rows, readouts, columns, result.other);
  add_own_directions(value_kernel_diagonal(further), rows, columns, result.other);
  return result;
}

double feature_entropy(const model::Architecture& architecture, const MatrixXd& s) {
  const std::optional<SpdFactor> factor = SpdFactor::factor(s);
  if (!factor) return std::numeric_limits<double>::infinity();
  return architecture.width(1) * (s.trace() / architecture.variance(0) - factor->log_determinant());
}

namespace {

/// What the energy and its slope share at one S.
class AtFeatures {
 public:
  AtFeatures(const ValueProblem& problem, const MatrixXd& s)
      : problem_(problem),
        white_(*problem.sites, factor_of(s)),
        kernel_(value_kernel(white_, problem.kernels.threads)) {}

  [[nodiscard]] SaddlePoint solve(const OrderParameters& start, const SaddlePointOptions& options,
                                  Observer& observer) const {
    const Index readouts = problem_.sites->readouts();
    const MatrixXd rows = product_features(kernel_);
    MatrixXd features = MatrixXd::Zero(problem_.sites->examples(), readouts * rows.cols());
    spread(rows, readouts, rows.cols(), features);
    const Action action(problem_.architecture, problem_.temperature,
                        make_path_kernels_of(kernel_, std::move(features), problem_.labels,
                                             readouts, problem_.kernels));
    return solve_saddle_point(action, start, options, observer);
  }
  /// d energy / dS at U.
  [[nodiscard]] MatrixXd slope(const MatrixXd& u) const {
    return value_kernel_slope(white_, over_kernel(u), problem_.kernels.threads);
  }

 private:
  [[nodiscard]] MatrixXd over_kernel(const MatrixXd& u) const;

  const ValueProblem& problem_;
  WhitenedSites white_;
  MatrixXd kernel_;
};

/// d energy / dC at U, of the size of C.
MatrixXd AtFeatures::over_kernel(const MatrixXd& u) const {
  const Index examples = problem_.sites->examples(), readouts = problem_.sites->readouts();
  const Index outputs = problem_.labels.cols(), rows = examples * outputs;
  // K over (output, example), eq. 14.
  MatrixXd k = MatrixXd::Zero(rows, rows);
  const auto coefficient = [&](Index r, Index o, Index q, Index p) {
    return u(r * outputs + o, q * outputs + p);
  };
  const auto for_blocks = [&](const auto& use) {
    for (Index o = 0; o < outputs; ++o) {
      for (Index p = 0; p < outputs; ++p) {
        for (Index r = 0; r < readouts; ++r) {
          for (Index q = 0; q < readouts; ++q) use(o, p, r, q);
        }
      }
    }
  };
  for_blocks([&](Index o, Index p, Index r, Index q) {
    k.block(o * examples, p * examples, examples, examples) +=
        coefficient(r, o, q, p) * kernel_.block(r * examples, q * examples, examples, examples);
  });
  k.diagonal().array() += problem_.temperature;
  const std::optional<SpdFactor> factor = SpdFactor::factor(std::move(k));
  if (!factor) {
    throw Error(ErrorKind::kBadStudy,
                fmt::format("model.temperature = {}: K + T I of the value network is not positive "
                            "definite",
                            problem_.temperature));
  }
  const MatrixXd y = Eigen::Map<const MatrixXd>(problem_.labels.data(), rows, 1);
  const MatrixXd dual = factor->solve(y);
  const MatrixXd m = factor->inverse() - dual * dual.transpose();  // d energy / dK
  MatrixXd b = MatrixXd::Zero(readouts * examples, readouts * examples);
  for_blocks([&](Index o, Index p, Index r, Index q) {
    b.block(r * examples, q * examples, examples, examples) +=
        coefficient(r, o, q, p) * m.block(o * examples, p * examples, examples, examples);
  });
  return b;
}

}  // namespace

SaddlePoint solve_value_saddle(const ValueProblem& problem, const MatrixXd& s,
                               const OrderParameters& start, const SaddlePointOptions& options,
                               Observer& observer) {
  return AtFeatures(problem, s).solve(start, options, observer);
}

MatrixXd feature_energy_slope(const ValueProblem& problem, const MatrixXd& s, const MatrixXd& u) {
  return AtFeatures(problem, s).slope(u);
}

namespace {

/// S = s_0^2 exp(E), and the derivative of a function of S with respect to E.
class LogFeatures {
 public:
  LogFeatures(const VectorXd& x, Index d, double prior)
      : eigen_(numerics::symmetric_eigen(numerics::vector_to_symmetric(x, d), true)),
        prior_(prior) {}

  [[nodiscard]] MatrixXd s() const {
    return prior_ * eigen_.vectors * eigen_.values.array().exp().matrix().asDiagonal() *
           eigen_.vectors.transpose();
  }
  /// svec of dA/dE, given dA/dS: the divided differences of exp (Daleckii and Krein, 1965).
  [[nodiscard]] VectorXd pull_back(const MatrixXd& slope) const {
    MatrixXd inner = eigen_.vectors.transpose() * slope * eigen_.vectors;
    for (Index j = 0; j < inner.cols(); ++j) {
      for (Index i = 0; i < inner.rows(); ++i) {
        const double half = 0.5 * (eigen_.values[i] - eigen_.values[j]);
        const double ratio =
            std::abs(half) < 1e-4 ? 1.0 + half * half / 6.0 : std::sinh(half) / half;
        inner(i, j) *= prior_ * std::exp(0.5 * (eigen_.values[i] + eigen_.values[j])) * ratio;
      }
    }
    return numerics::symmetric_to_vector(eigen_.vectors * inner * eigen_.vectors.transpose());
  }

 private:
  numerics::SymmetricEigen eigen_;
  double prior_;
};

/// The action as a function of E, with U and U_a at their minimum.
class AdaptedAction final : public ceres::FirstOrderFunction {
 public:
  AdaptedAction(const ValueProblem& problem, const ValueSaddleOptions& options, Observer& observer)
      : problem_(problem),
        options_(options),
        observer_(observer),
        d_(problem.sites->directions.cols()),
        start_(gaussian_process_order_parameters(problem.architecture)) {}

  [[nodiscard]] int NumParameters() const override {
    return static_cast<int>(numerics::symmetric_size(d_));
  }
  bool Evaluate(const double* x, double* cost, double* gradient) const override {
    const double n1 = problem_.architecture.width(1);
    const LogFeatures point = at(x);
    const MatrixXd s = point.s();
    if (!s.allFinite() || observer_.interrupted()) return false;
    ++evaluations;
    const AtFeatures here(problem_, s);
    SaddlePoint inner = here.solve(start_, options_.inner, observer_);
    if (!inner.evaluation.energy) return false;
    *cost = (inner.evaluation.energy->energy() +
             entropy_above_prior(problem_.architecture, inner.order_parameters) +
             feature_entropy(problem_.architecture, s)) /
            n1;
    if (gradient != nullptr) {
      MatrixXd slope = here.slope(inner.order_parameters.layers.front());
      slope += n1 * (MatrixXd::Identity(d_, d_) / problem_.architecture.variance(0) -
                     SpdFactor::factor(s)->inverse());
      Eigen::Map<VectorXd>(gradient, NumParameters()) = point.pull_back(slope) / n1;
      start_ = inner.order_parameters;
    }
    return true;
  }
  [[nodiscard]] LogFeatures at(const double* x) const {
    return {Eigen::Map<const VectorXd>(x, NumParameters()), d_, problem_.architecture.variance(0)};
  }
  [[nodiscard]] const OrderParameters& start() const { return start_; }
  mutable int evaluations = 0;

 private:
  const ValueProblem& problem_;
  const ValueSaddleOptions& options_;
  Observer& observer_;
  Index d_;
  mutable OrderParameters start_;  // where U was last
};

}  // namespace

ValueSaddle solve_adapted_saddle(const ValueProblem& problem, const MatrixXd& start,
                                 const ValueSaddleOptions& options, Observer& observer) {
  auto function = std::make_unique<AdaptedAction>(problem, options, observer);
  const AdaptedAction* action = function.get();
  const ceres::GradientProblem outer(function.release());  // takes ownership
  ceres::GradientProblemSolver::Options ceres_options;
  ceres_options.line_search_direction_type = ceres::LBFGS;
  ceres_options.max_lbfgs_rank = 50;
  ceres_options.max_num_iterations = options.max_iterations;
  ceres_options.gradient_tolerance = options.gradient_tolerance;
  ceres_options.function_tolerance = 0.0;
  ceres_options.parameter_tolerance = 0.0;
  ceres_options.logging_type = ceres::SILENT;
  VectorXd x = numerics::symmetric_to_vector(start);
  ceres::GradientProblemSolver::Summary summary;
  ceres::Solve(ceres_options, outer, x.data(), &summary);

  ValueSaddle result;
  result.s = action->at(x.data()).s();
  result.inner = solve_value_saddle(problem, result.s, action->start(), options.inner, observer);
  result.feature_entropy = feature_entropy(problem.architecture, result.s);
  result.iterations = static_cast<int>(summary.iterations.size());
  result.evaluations = action->evaluations;
  if (!summary.iterations.empty())
    result.gradient_norm = summary.iterations.back().gradient_max_norm;
  result.converged =
      summary.termination_type == ceres::CONVERGENCE && result.inner.summary.converged;
  result.message = summary.message;
  return result;
}

}  // namespace headway::theory
