#include "headway/theory/saddle_evidence.hpp"

#include <cmath>
#include <numbers>
#include <optional>

#include "headway/numerics/dense.hpp"
#include "headway/numerics/symmetric.hpp"
#include "headway/theory/hessian_probes.hpp"

namespace headway::theory {
namespace {

using numerics::SpdFactor;

/// S_0 (eq. 46): the entropy at the Gaussian-process point, its minimum.
double smallest_entropy(const model::Architecture& architecture) {
  double value = 0.0;
  for (int l = 1; l <= architecture.layers() + 1; ++l) {
    const double size = static_cast<double>(architecture.outputs * architecture.paths_above(l));
    value += architecture.width(l) * size * (1.0 - std::log(architecture.variance(l)));
  }
  return value;
}

/// D* - sum_l n_l log N_l
std::optional<double> volume(const model::Architecture& architecture, const OrderParameters& u) {
  double value = 0.0;
  for (int l = 1; l <= architecture.layers() + 1; ++l) {
    const std::optional<SpdFactor> factor = SpdFactor::factor(u.at(l));
    if (!factor) return std::nullopt;
    const Index size = u.at(l).rows();
    value += static_cast<double>(size + 1) * factor->log_determinant() -
             static_cast<double>(numerics::symmetric_size(size)) * std::log(architecture.width(l));
  }
  return value;
}

void set_laplace(double value, double error, SaddleEvidence& evidence) {
  if (std::isnan(value)) return;
  evidence.log_evidence = value;
  evidence.error = error;
  evidence.method = "laplace";
}

}  // namespace

SaddleEvidence saddle_evidence(const Action& action, const SaddlePoint& saddle,
                               const MatrixXd& svec_hessian) {
  SaddleEvidence evidence;
  if (!std::isfinite(saddle.evaluation.value)) return evidence;
  const model::Architecture& architecture = action.architecture();
  const double count =
      static_cast<double>(action.kernels().examples() * action.kernels().outputs());
  evidence.leading_order = -0.5 * (count * std::log(2.0 * std::numbers::pi) +
                                   saddle.evaluation.value - smallest_entropy(architecture));
  evidence.log_evidence = evidence.leading_order;
  evidence.method = "leading_order";
  if (svec_hessian.size() == 0) return evidence;
  const std::optional<SpdFactor> hessian = SpdFactor::factor(svec_hessian);
  const std::optional<double> rest = volume(architecture, saddle.order_parameters);
  if (!hessian || !rest) return evidence;
  set_laplace(evidence.leading_order - 0.5 * (*rest + hessian->log_determinant()), 0.0, evidence);
  return evidence;
}

SaddleEvidence saddle_evidence(const Action& action, const SaddlePoint& saddle,
                               const ActionCurvature& at, const HessianProbes& probes) {
  SaddleEvidence evidence = saddle_evidence(action, saddle, {});
  if (!probes.positive || probes.interrupted || probes.log_determinants.size() < 2) return evidence;
  double volume_term = probes.log_determinant();
  for (int l = 1; l <= action.architecture().layers() + 1; ++l) {
    const double unknowns =
        static_cast<double>(numerics::symmetric_size(saddle.order_parameters.at(l).rows()));
    volume_term += unknowns * std::log(at.scale(l) / action.architecture().width(l));
  }
  set_laplace(evidence.leading_order - 0.5 * volume_term, 0.5 * probes.log_determinant_error(),
              evidence);
  return evidence;
}

}  // namespace headway::theory
