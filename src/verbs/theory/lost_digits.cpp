#include "verbs/theory/lost_digits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "theory/example_space.hpp"
#include "theory/orthogonal_kernels.hpp"

namespace headway {

namespace {

constexpr double kClaimed = 1e-6;  // of an energy: six digits
constexpr double kShare = 1e-3;

/// Variances that are differences of numbers whose rounding hides them.
std::string lost_variances(const theory::EnergyState& state, const MatrixXd& variance) {
  const auto* by_example = dynamic_cast<const theory::ExampleSpaceState*>(&state);
  if (by_example == nullptr || theory::OrthogonalKernels::affordable(by_example->kernels().sizes()))
    return "";
  const double trace = by_example->factor().lower().squaredNorm();  // tr(L L^T)
  const double rounding = std::numeric_limits<double>::epsilon() * trace;
  // Exactly 0 is the variance of an example without features, too.
  const auto wrong = (variance.array() > 0.0 && variance.array() < rounding / kShare).count();
  if (wrong == 0) return "";
  return fmt::format(
      "{} of {} predictor variances are known to less than three digits, and log_evidence may be "
      "off as well: model.temperature is too small beside the kernel. Raise it. If it is not 0, "
      "solve.kernels = \"feature_space\" keeps these digits, too",
      wrong, variance.size());
}

}  // namespace

std::string lost_digits(const theory::EnergyState& state, const MatrixXd& variance) {
  if (!(state.relative_rounding > kClaimed)) return lost_variances(state, variance);
  const double digits = std::floor(-std::log10(state.relative_rounding));
  return fmt::format(
      "about {:.0f} digits of the energy are right, and of what follows from it: features are so "
      "large, or of such different size, that rounding of their products shows beside "
      "model.temperature. Subtract offsets, scale features, or raise model.temperature",
      std::max(digits, 0.0));
}

}  // namespace headway
