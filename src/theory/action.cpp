#include "headway/action.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "headway/error.hpp"
#include "headway/numerics/dense.hpp"
#include "headway/numerics/symmetric.hpp"

namespace headway::theory {

Action::Action(model::Architecture architecture, double temperature,
               std::shared_ptr<const PathKernels> kernels)
    : architecture_(std::move(architecture)),
      temperature_(temperature),
      kernels_(std::move(kernels)) {
  architecture_.validate();
  if (!(temperature_ >= 0.0) || !std::isfinite(temperature_)) {
    throw Error(ErrorKind::kBadStudy,
                fmt::format("model.temperature = {}: must be a finite number >= 0", temperature_));
  }
  if (architecture_.paths() != kernels_->paths() || architecture_.outputs != kernels_->outputs()) {
    throw Error(
        ErrorKind::kBadStudy,
        fmt::format(
            "the architecture has {} paths and {} outputs, but the path kernels have {} and {}",
            architecture_.paths(), architecture_.outputs, kernels_->paths(), kernels_->outputs()));
  }
}

double Action::Evaluation::gradient_norm(const model::Architecture& architecture) const {
  double largest = 0.0;
  for (const MatrixXd& g : gradient) largest = std::max(largest, numerics::largest_entry(g));
  return largest / architecture.largest_width();
}

double Action::Evaluation::scaled_gradient_norm(const model::Architecture& architecture) const {
  double largest = 0.0, scale = 1.0;
  for (int l = static_cast<int>(gradient.size()); l >= 1; --l) {
    scale *= architecture.variance(l);
    largest = std::max(largest, scale * numerics::largest_entry(gradient[l - 1]));
  }
  return largest / architecture.largest_width();
}

Action::Evaluation Action::evaluate(const OrderParameters& u) const {
  Evaluation result;
  result.value = std::numeric_limits<double>::infinity();
  std::optional<Entropy> entropy = evaluate_entropy(architecture_, u);
  if (!entropy) return result;
  result.energy = kernels_->evaluate(u.layers.front(), temperature_);
  if (!result.energy) return result;
  result.entropy = entropy->value;
  result.value = entropy->value + result.energy->energy();
  result.gradient = std::move(entropy->gradient);
  result.gradient.front() += result.energy->gradient;
  if (!std::isfinite(result.value)) {
    result.value = std::numeric_limits<double>::infinity();
    result.energy.reset();
  }
  return result;
}

MatrixXd Action::hessian(const OrderParameters& u, const EnergyState& energy) const {
  MatrixXd hessian = entropy_hessian(architecture_, u);
  const MatrixXd part = energy.hessian();
  hessian.topLeftCorner(part.rows(), part.cols()) += part;
  return hessian;
}

Index Action::unknowns() const {
  Index n = 0;
  for (int l = 1; l <= architecture_.layers() + 1; ++l) {
    n += numerics::symmetric_size(architecture_.outputs * architecture_.paths_above(l));
  }
  return n;
}

VectorXd to_vector(const std::vector<MatrixXd>& matrices) {
  Index n = 0;
  for (const MatrixXd& m : matrices) n += numerics::symmetric_size(m.rows());
  VectorXd x(n);
  Index offset = 0;
  for (const MatrixXd& m : matrices) {
    const VectorXd part = numerics::symmetric_to_vector(m);
    x.segment(offset, part.size()) = part;
    offset += part.size();
  }
  return x;
}

OrderParameters to_order_parameters(const VectorXd& x, const OrderParameters& shape) {
  OrderParameters u = shape;
  Index offset = 0;
  for (int l = 1; l <= static_cast<int>(shape.layers.size()) + 1; ++l) {
    const Index n = shape.at(l).rows();
    const Index size = numerics::symmetric_size(n);
    u.at(l) = numerics::vector_to_symmetric(x.segment(offset, size), n);
    offset += size;
  }
  return u;
}

}  // namespace headway::theory
