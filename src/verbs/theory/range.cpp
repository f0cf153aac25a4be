#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "verbs/theory/problem.hpp"

namespace headway {
namespace {

constexpr double kLargestRatio = 1.0;       // of a term that the theory drops to one that it keeps
constexpr double kLargestDeviations = 1.0;  // of the 1/N-corrected U from the saddle point
constexpr std::size_t kMostLines = 3;

/// The largest (C p_l + 1) / N_l and its layer, L + 1 for the readout.
struct Ratio {
  double value = 0.0;
  int layer = 1;
};

Ratio largest_ratio(const SolvePoint& point) {
  Ratio largest;
  const int top = static_cast<int>(point.order_parameters.layers.size()) + 1;
  for (int l = 1; l <= std::min(top, static_cast<int>(point.widths.size())); ++l) {
    const double size = static_cast<double>(point.order_parameters.at(l).rows());
    const double ratio =
        (size + 1.0) / static_cast<double>(point.widths[static_cast<std::size_t>(l - 1)]);
    if (ratio > largest.value) largest = {ratio, l};
  }
  return largest;
}

/// How far a diagonal entry of the 1/N-corrected means is from the saddle point at most, in its
/// deviations; 0 without them.
double largest_shift(const SolvePoint& point) {
  double largest = 0.0;
  if (!point.corrected.defined) return largest;
  const int top = static_cast<int>(point.order_parameters.layers.size()) + 1;
  for (int l = 1; l <= top; ++l) {
    const VectorXd shift =
        (point.corrected.mean.at(l) - point.order_parameters.at(l)).diagonal().cwiseAbs();
    largest = std::max(largest,
                       shift.cwiseQuotient(point.corrected.deviation.at(l).diagonal()).maxCoeff());
  }
  return largest;
}

std::string fault_of(const SolvePoint& point) {
  const Ratio ratio = largest_ratio(point);
  const double shift = largest_shift(point);
  std::string fault;
  if (ratio.value > kLargestRatio) {
    const bool readout = ratio.layer > static_cast<int>(point.order_parameters.layers.size());
    fault = fmt::format("{} = {:.2g} is not small",
                        readout ? "(C + 1)/N_a" : fmt::format("(C p_{0} + 1)/N_{0}", ratio.layer),
                        ratio.value);
  }
  if (shift > kLargestDeviations) {
    fault += fmt::format("{}the 1/N correction moves U by {:.2g} of its standard deviations",
                         fault.empty() ? "" : ", ", shift);
  }
  return fault;
}

}  // namespace

void warn_of_range(const SolveResult& result, Observer& observer) {
  std::vector<std::string> lines;
  std::vector<std::vector<Index>> seen;  // one line for all temperatures of a network
  for (const SolvePoint& point : result.points) {
    const std::string fault = fault_of(point);
    if (fault.empty() || std::find(seen.begin(), seen.end(), point.widths) != seen.end()) continue;
    seen.push_back(point.widths);
    lines.push_back(
        fmt::format("widths {}, temperature {:g}: the theory is out of its range: {}. headway "
                    "sample is exact there",
                    fmt::join(point.widths, ","), point.temperature, fault));
  }
  const std::size_t shown = lines.size() > kMostLines ? kMostLines - 1 : lines.size();
  for (std::size_t i = 0; i < shown; ++i) observer.warning(lines[i]);
  if (lines.size() > shown) {
    observer.warning(fmt::format("the theory is out of its range at {} further widths, too",
                                 lines.size() - shown));
  }
}

void warn_of_points(const SolveResult& result, std::string SolvePoint::*says, Observer& observer) {
  for (const SolvePoint& point : result.points) {
    if ((point.*says).empty()) continue;
    observer.warning(fmt::format("widths {}, temperature {:g}: {}", fmt::join(point.widths, ","),
                                 point.temperature, point.*says));
  }
}

}  // namespace headway
