#include <optional>
#include <utility>

#include "example_space.hpp"
#include "headway/numerics/tiles.hpp"
#include "kernel_forms.hpp"
#include "orthogonal_kernels.hpp"

namespace headway::theory {
namespace {

using numerics::multiply;
using numerics::SpdFactor;
using numerics::Transpose;

/// K from the features at every evaluation: nothing of size P^2 p^2 is held.
class StreamedKernels final : public ExampleSpaceKernels {
 public:
  StreamedKernels(MatrixXd features, MatrixXd labels, Index paths, int threads)
      : ExampleSpaceKernels(std::move(features), std::move(labels), paths, threads,
                            KernelForm::kStreamed) {}

  [[nodiscard]] std::unique_ptr<EnergyState> evaluate(const MatrixXd& u,
                                                      double temperature) const override;
  [[nodiscard]] MatrixXd contract(const MatrixXd& m) const override;
};

std::unique_ptr<EnergyState> StreamedKernels::evaluate(const MatrixXd& u,
                                                       double temperature) const {
  const Index total = examples() * outputs();
  MatrixXd k(total, total);
  if (outputs() == 1) {
    // K = (X F)(X F)^T with U = F F^T takes half the flops of X U X^T. A singular U (narrow layers)
    // has no Cholesky factor and needs the latter.
    if (const std::optional<SpdFactor> frame = SpdFactor::factor(u)) {
      const MatrixXd framed = mix_paths(features_, frame->lower(), threads());
      numerics::symmetric_product_tiled(framed, framed, Transpose::kNo, k, threads());
    } else {
      k = kernel(u);
    }
  } else {
    k = kernel(u);
  }
  k.diagonal().array() += temperature;
  std::optional<SpdFactor> factor = SpdFactor::factor(std::move(k));
  if (!factor) return evaluate_rotated(u, temperature);
  auto state = std::make_unique<ExampleSpaceState>(*this, u, temperature, std::move(*factor));
  if (state->relative_rounding > kToleratedRounding) {
    if (std::unique_ptr<EnergyState> rotated = evaluate_rotated(u, temperature)) return rotated;
  }
  if (outputs() == 1) {
    // <X_pi, K^{-1} X_pi'> = <L^{-1} X_pi, L^{-1} X_pi'> in eq. 22: no inverse is formed.
    MatrixXd w = features_;
    numerics::half_solve_tiled(state->factor(), w, threads());
    const Eigen::Map<const MatrixXd> by_path(w.data(), examples() * feature_count(), paths());
    MatrixXd gradient(paths(), paths());
    numerics::symmetric_product_tiled(by_path, by_path, Transpose::kYes, gradient, threads());
    state->gradient = gradient - state->dual_products();
    state->set_half_solved_features(std::move(w));
  } else {
    const MatrixXd inverse = state->factor().inverse();
    state->differentiate(inverse, contract(inverse));
  }
  return state;
}

MatrixXd StreamedKernels::contract(const MatrixXd& m) const {
  const Index c = outputs();
  const Index n = examples();
  const Index rows = n * feature_count();
  MatrixXd result(order(), order());
  MatrixXd mx(n, features_.cols());
  MatrixXd block(paths(), paths());
  const Eigen::Map<const MatrixXd> x(features_.data(), rows, paths());
  for (Index k = 0; k < c; ++k) {
    for (Index l = 0; l <= k; ++l) {
      multiply(1.0, m.block(k * n, l * n, n, n), Transpose::kNo, features_, Transpose::kNo, 0.0,
               mx);
      const Eigen::Map<const MatrixXd> mixed(mx.data(), rows, paths());
      multiply(1.0, x, Transpose::kYes, mixed, Transpose::kNo, 0.0, block);
      for (Index a = 0; a < paths(); ++a) {
        for (Index b = 0; b < paths(); ++b) {
          result(a * c + k, b * c + l) = block(a, b);
          result(b * c + l, a * c + k) = block(a, b);
        }
      }
    }
  }
  return 0.5 * (result + result.transpose());
}

void count_streamed(const KernelCounts& s, int /*ranks*/, KernelCost& cost) {
  const bool one = s.c == 1.0;
  const double square = kNumber * s.rows() * s.rows();
  cost.evaluation_flops = (one ? 2.0 : 4.0) * s.rows() * s.rows() * s.columns() +
                          4.0 * s.features() * s.p + std::pow(s.rows(), 3);
  cost.hessian_flops = s.block_flops();
  const double d = s.columns();
  cost.whitened_products = one;
  cost.product_flops = one ? s.whitened_flops()
                           : 4.0 * s.rows() * s.rows() * d + 4.0 * std::pow(s.rows(), 3) +
                                 4.0 * s.features() * s.p * s.c * s.c;
  // One output: L^{-1} X gives the gradient and stays for the Hessian.
  cost.state_bytes = square + (one ? kNumber * s.features() : 0.0);
  cost.work_bytes = one ? 0.0 : square + kNumber * s.features();
  // Whitened features, their mixture and their product with M, in single precision.
  cost.product_bytes = one ? 1.5 * kNumber * s.features() : 4.0 * square + kNumber * s.features();
  cost.hessian_bytes = kNumber * (s.block_numbers() + s.information_numbers() +
                                  (one ? 0.0 : s.rows() * s.order() * s.n0));
}

}  // namespace

std::shared_ptr<const PathKernels> make_streamed_kernels(MatrixXd features, MatrixXd labels,
                                                         Index paths, int threads) {
  return std::make_shared<StreamedKernels>(std::move(features), std::move(labels), paths, threads);
}

const KernelFormDescription& streamed_form() {
  static const KernelFormDescription form = {
      KernelForm::kStreamed,
      "streamed",
      [](const KernelCounts&, const PathKernelOptions&) { return std::string(); },
      [](const KernelCounts&, const PathKernelOptions&) { return Claim::kFallback; },
      count_streamed,
      [](MatrixXd&& features, MatrixXd&& labels, Index paths, const PathKernelOptions& options,
         const KernelCost& /*cost*/) {
        return make_streamed_kernels(std::move(features), std::move(labels), paths,
                                     options.threads);
      }};
  return form;
}

}  // namespace headway::theory
