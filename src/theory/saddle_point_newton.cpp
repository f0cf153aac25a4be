#include "saddle_point_newton.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "headway/numerics/dense.hpp"
#include "headway/numerics/symmetric.hpp"

namespace headway::theory {
namespace {

using numerics::multiply;
using numerics::SpdFactor;
using numerics::symmetric_size;
using numerics::Transpose;

constexpr Index kLargestEigenProblem =
    700;  // up to this many unknowns an indefinite Hessian is repaired by its eigenvalues

constexpr double kShortStep = 1e-3;  // in log U: secant updates are good enough

std::vector<MatrixXd> all_layers(const OrderParameters& u) {
  std::vector<MatrixXd> all = u.layers;
  all.push_back(u.readout);
  return all;
}

/// Block-diagonal matrix of the congruences D_l -> F_l D_l F_l^T in svec coordinates, U_l = F_l
/// F_l^T. Where widths are very uneven, blocks are multiplied by sqrt(max N / N_l): else no
/// eigenvalue of a narrow layer would count beside those of a wide one.
MatrixXd frame_matrix(const model::Architecture& architecture, const OrderParameters& u) {
  const bool uneven = has_uneven_widths(architecture);
  const std::vector<MatrixXd> layers = all_layers(u);
  Index total = 0;
  for (const MatrixXd& m : layers) total += symmetric_size(m.rows());
  MatrixXd frame = MatrixXd::Zero(total, total);
  Index offset = 0;
  for (std::size_t l = 0; l < layers.size(); ++l) {
    const std::optional<SpdFactor> factor = SpdFactor::factor(layers[l]);
    MatrixXd block = numerics::symmetric_congruence(factor->lower());
    if (uneven) {
      block *=
          std::sqrt(architecture.largest_width() / architecture.width(static_cast<int>(l) + 1));
    }
    frame.block(offset, offset, block.rows(), block.cols()) = block;
    offset += block.rows();
  }
  return frame;
}

/// The second derivative of U = F exp(D) F^T contributes tr(G D U^{-1} D) (eq. 29) to the Hessian
/// in D.
void add_geodesic_term(const OrderParameters& u, const std::vector<MatrixXd>& gradient,
                       MatrixXd& hessian) {
  Index offset = 0;
  for (int l = 1; l <= static_cast<int>(gradient.size()); ++l) {
    const std::optional<SpdFactor> factor = SpdFactor::factor(u.at(l));
    const MatrixXd block = numerics::symmetric_kronecker(gradient[l - 1], factor->inverse());
    hessian.block(offset, offset, block.rows(), block.cols()) += block;
    offset += block.rows();
  }
}

/// Newton direction with the Hessian made positive definite in the geodesic metric where it is not.
/// Infinite if the Hessian or the gradient is not finite in that metric.
VectorXd newton_direction(const model::Architecture& architecture, const OrderParameters& u,
                          const MatrixXd& hessian, const VectorXd& gradient) {
  if (const std::optional<SpdFactor> factor = SpdFactor::factor(hessian)) {
    if (factor->condition_estimate() < 1e14) return -factor->solve(gradient);
  }
  const MatrixXd frame = frame_matrix(architecture, u);
  MatrixXd product(hessian.rows(), hessian.cols());
  multiply(1.0, hessian, Transpose::kNo, frame, Transpose::kNo, 0.0, product);
  MatrixXd whitened(hessian.rows(), hessian.cols());
  multiply(1.0, frame, Transpose::kYes, product, Transpose::kNo, 0.0, whitened);
  const VectorXd g = frame.transpose() * gradient;
  if (!whitened.allFinite() || !g.allFinite())
    return VectorXd::Constant(g.size(), std::numeric_limits<double>::infinity());
  if (hessian.rows() <= kLargestEigenProblem) {
    const numerics::SymmetricEigen eigen = numerics::symmetric_eigen(whitened, true);
    const double floor = 1e-10 * eigen.values.cwiseAbs().maxCoeff();
    const VectorXd curvature = eigen.values.cwiseAbs().cwiseMax(floor);
    const VectorXd in_frame = eigen.vectors.transpose() * g;
    return -(frame * (eigen.vectors * in_frame.cwiseQuotient(curvature)));
  }
  for (double shift = 1e-3 * whitened.diagonal().cwiseAbs().maxCoeff();; shift *= 4.0) {
    MatrixXd shifted = whitened;
    shifted.diagonal().array() += shift;
    if (const std::optional<SpdFactor> factor = SpdFactor::factor(std::move(shifted))) {
      return -(frame * factor->solve(g));
    }
  }
}

/// The energy's Hessian without the average information J = alpha^T C_k (K + T)^{-1} C_l alpha. It
/// is exact where it was computed: J minus the Fisher information. Then symmetric rank-one updates
/// from differences of the gradient keep it up to date.
class EnergyHessian {
 public:
  /// Exact at this state, the trace in single precision.
  MatrixXd exact(const EnergyState& state) {
    MatrixXd information = state.average_information();
    correction_ = information - state.fisher_information(Precision::kSingle);
    information += correction_;
    return information;
  }
  [[nodiscard]] MatrixXd approximate(const EnergyState& state) const {
    MatrixXd information = state.average_information();
    if (correction_.size() != 0) information += correction_;
    return information;
  }
  void learn(const OrderParameters& before, const OrderParameters& after,
             const EnergyState& state_before, const EnergyState& state_after) {
    const VectorXd s = numerics::symmetric_to_vector(after.layers.front() - before.layers.front());
    const VectorXd y = numerics::symmetric_to_vector(state_after.gradient - state_before.gradient);
    if (correction_.size() == 0) correction_ = MatrixXd::Zero(s.size(), s.size());
    const VectorXd residual = y - state_after.average_information() * s - correction_ * s;
    const double denominator = residual.dot(s);
    if (std::abs(denominator) > 1e-8 * residual.norm() * s.norm()) {
      correction_ += residual * residual.transpose() / denominator;
    }
  }

 private:
  MatrixXd correction_;
};

class NewtonSolver final : public GeodesicDescent {
 public:
  NewtonSolver(const Action& action, const SaddlePointOptions& options, bool exact,
               Observer& observer)
      : GeodesicDescent(action, options, observer), exact_(exact) {}

 private:
  MatrixXd hessian() {
    const EnergyState& state = *evaluation().energy;
    MatrixXd h = entropy_hessian(action().architecture(), here());
    const bool renew = exact_ && renewal_is_due();
    const MatrixXd part = renew ? energy_hessian_.exact(state) : energy_hessian_.approximate(state);
    if (renew) ++summary().hessians;
    h.topLeftCorner(part.rows(), part.cols()) += part;
    add_geodesic_term(here(), evaluation().gradient, h);
    return h;
  }

  /// An exact Hessian costs as much as a few evaluations, or dozens. So none is computed for the
  /// first step, which is long, or where the last one still serves.
  bool renewal_is_due() {
    if (summary().iterations == 0) return false;
    const double step = summary().history.back().log_step;
    const bool due = step > kShortStep && step < options().hessian_renewal_share * renewed_after_;
    if (due) renewed_after_ = step;
    return due;
  }

  std::optional<GeodesicStep> next_step() override {
    OrderParameters direction =
        to_order_parameters(newton_direction(action().architecture(), here(), hessian(),
                                             to_vector(evaluation().gradient)),
                            here());
    std::vector<MatrixXd> frames;
    std::vector<MatrixXd> logs;  // F^{-1} D F^{-T}
    for (int l = 1; l <= static_cast<int>(here().layers.size()) + 1; ++l) {
      const std::optional<SpdFactor> factor = SpdFactor::factor(here().at(l));
      MatrixXd log = direction.at(l);
      factor->half_solve(log);
      MatrixXd transposed = log.transpose();
      factor->half_solve(transposed);
      logs.emplace_back(0.5 * (transposed + transposed.transpose()));
      frames.push_back(factor->lower());
    }
    return GeodesicStep(frames, logs, std::move(direction), 1);
  }

  void before_accepting(const OrderParameters& next,
                        const Action::Evaluation& evaluation_there) override {
    energy_hessian_.learn(here(), next, *evaluation().energy, *evaluation_there.energy);
  }

  bool exact_;
  double renewed_after_ = std::numeric_limits<double>::infinity();  ///< a step of this length
  EnergyHessian energy_hessian_;
};

}  // namespace

SaddlePoint solve_by_newton(const Action& action, const OrderParameters& start,
                            const SaddlePointOptions& options, bool exact_hessian,
                            Observer& observer) {
  return NewtonSolver(action, options, exact_hessian, observer)
      .run(start, exact_hessian ? "newton" : "quasi_newton");
}

}  // namespace headway::theory
