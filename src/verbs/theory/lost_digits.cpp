#include "verbs/theory/lost_digits.hpp"

#include <fmt/format.h>

#include <limits>

#include "theory/example_space.hpp"

namespace headway {

std::string lost_digits(const theory::EnergyState& state, const MatrixXd& variance) {
  const auto* by_example = dynamic_cast<const theory::ExampleSpaceState*>(&state);
  if (by_example == nullptr) return "";
  constexpr double kShare = 1e-3;
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

}  // namespace headway
