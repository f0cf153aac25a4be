#include "headway/architecture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <utility>

#include "headway/core/text.hpp"
#include "headway/error.hpp"
#include "headway/model/path_index.hpp"

namespace headway::model {
namespace {

constexpr double kLargestWidth = 0x1p40;  // beyond an Index of 32 bits
constexpr double kSmallestProduct =
    1e-100;  // of variances: U^{-1} and its square must not overflow
constexpr Index kLargestPaths = Index{1} << 20;  // with more, U_1 alone would take over 8 TiB

[[noreturn]] void bad(const std::string& message) { throw Error(ErrorKind::kBadStudy, message); }

void validate_heads(const std::vector<int>& heads) {
  if (heads.empty()) bad("model.heads is empty: must have one entry H_l >= 1 for each layer");
  Index paths = 1;
  for (std::size_t l = 0; l < heads.size(); ++l) {
    if (heads[l] < 1) {
      bad(fmt::format("model.heads[{}] = {}: must be a whole number of at least 1", l, heads[l]));
    }
    if (heads[l] > kLargestPaths / paths) {
      bad(fmt::format("model.heads = [{}]: gives more than {} attention paths", join(heads, ", "),
                      kLargestPaths));
    }
    paths *= heads[l];
  }
}

}  // namespace

Index Architecture::paths_above(int layer) const {
  return path_count(std::span(heads).subspan(static_cast<std::size_t>(layer - 1)));
}

double Architecture::largest_width() const {
  return static_cast<double>(*std::max_element(widths.begin(), widths.end()));
}

void Architecture::validate() const {
  validate_heads(heads);
  const std::size_t l = heads.size();
  if (widths.size() != l + 1) {
    bad(
        fmt::format("model.widths has {} numbers for a point: must have 1 (all widths equal) or "
                    "{} = L + 1 (N_1, ..., N_L, N_a)",
                    widths.size(), l + 1));
  }
  for (std::size_t i = 0; i < widths.size(); ++i) {
    if (widths[i] < 1 || static_cast<double>(widths[i]) > kLargestWidth) {
      bad(fmt::format("model.widths: N_{} = {}: must be a whole number from 1 to {:.0f}",
                      i < l ? std::to_string(i + 1) : "a", widths[i], kLargestWidth));
    }
  }
  if (variances.size() != l + 2) {
    bad(
        fmt::format("model.variances has {} numbers: must have 1 (all equal) or {} = L + 2 "
                    "(s_0^2, s_1^2, ..., s_L^2, s_a^2)",
                    variances.size(), l + 2));
  }
  for (std::size_t i = 0; i < variances.size(); ++i) {
    if (!(variances[i] > 0.0) || !std::isfinite(variances[i])) {
      bad(fmt::format("model.variances: s_{}^2 = {}: must be a finite number above 0",
                      i <= l ? std::to_string(i) : "a", variances[i]));
    }
  }
  double product = 1.0;  // of U_l at infinite width (eq. 24), from U_a down
  for (std::size_t i = variances.size() - 1; i > 0; --i) {
    product *= variances[i];
    if (product >= kSmallestProduct && product <= 1.0 / kSmallestProduct) continue;
    const std::string layer = i <= l ? std::to_string(i) : "a";
    bad(fmt::format(
        "model.variances = [{}]: {}, which U_{} is at infinite width, is {:.3g}; must be "
        "from {:g} to {:g}",
        join(variances, ", "), i <= l ? "the product of s_a^2 down to s_" + layer + "^2" : "s_a^2",
        layer, product, kSmallestProduct, 1.0 / kSmallestProduct));
  }
  if (outputs < 1) bad(fmt::format("outputs = {}: must be at least 1", outputs));
}

Architecture uniform_architecture(std::vector<int> heads, Index width, double s2, Index outputs) {
  Architecture result;
  result.heads = std::move(heads);
  result.widths.assign(result.heads.size() + 1, width);
  result.variances.assign(result.heads.size() + 2, s2);
  result.outputs = outputs;
  return result;
}

}  // namespace headway::model
