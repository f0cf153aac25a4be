#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "headway/core/text.hpp"
#include "verbs/theory/problem.hpp"

namespace headway {
namespace {

constexpr double kLargestRatio = 1.0;       // of a term that the theory drops to one that it keeps
constexpr double kLargestDeviations = 1.0;  // of the 1/N-corrected U from the saddle point
constexpr std::size_t kMostLines = 3;

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

/// What is wrong at a point with this shift; "" if nothing is.
std::string fault_of(const SolvePoint& point, double shift) {
  const DroppedTerms dropped = dropped_terms(point);
  std::string fault;
  if (dropped.ratio > kLargestRatio) {
    fault = fmt::format("{} = {:.2g} is not small", dropped.name, dropped.ratio);
  }
  if (shift > kLargestDeviations) {
    fault += fmt::format("{}the 1/N correction moves U by {:.2g} of its standard deviations",
                         fault.empty() ? "" : ", ", shift);
  }
  return fault;
}

/// The temperatures of one network, and where it is out of the theory's range.
struct NetworkRange {
  std::vector<Index> widths;
  int points = 0;
  std::vector<double> outside{};  ///< temperatures
  double largest = -1.0;          ///< shift among these
  std::string fault{};            ///< there
};

std::vector<NetworkRange> ranges_of(const SolveResult& result) {
  std::vector<NetworkRange> networks;
  for (const SolvePoint& point : result.points) {
    auto network = std::ranges::find(networks, point.widths, &NetworkRange::widths);
    if (network == networks.end()) {
      networks.emplace_back().widths = point.widths;
      network = std::prev(networks.end());
    }
    ++network->points;
    const double shift = largest_shift(point);
    const std::string fault = fault_of(point, shift);
    if (fault.empty()) continue;
    network->outside.push_back(point.temperature);
    if (shift > network->largest) {
      network->largest = shift;
      network->fault = fault;
    }
  }
  return networks;
}

std::string temperatures_text(const NetworkRange& network) {
  const auto [low, high] = std::ranges::minmax(network.outside);
  if (network.outside.size() == 1) return fmt::format("temperature {:g}", low);
  return fmt::format("{} of {} temperatures, {:g} to {:g}", network.outside.size(), network.points,
                     low, high);
}

}  // namespace

DroppedTerms dropped_terms(const SolvePoint& point) {
  DroppedTerms largest;
  const int layers = static_cast<int>(point.order_parameters.layers.size());
  for (int l = 1; l <= std::min(layers + 1, static_cast<int>(point.widths.size())); ++l) {
    const double size = static_cast<double>(point.order_parameters.at(l).rows());
    const double ratio =
        (size + 1.0) / static_cast<double>(point.widths[static_cast<std::size_t>(l - 1)]);
    if (ratio <= largest.ratio) continue;
    largest = {ratio, l > layers ? "(C + 1)/N_a" : fmt::format("(C p_{0} + 1)/N_{0}", l)};
  }
  return largest;
}

void warn_of_range(const SolveResult& result, Observer& observer) {
  std::vector<std::string> lines;
  for (const NetworkRange& network : ranges_of(result)) {
    if (network.outside.empty()) continue;
    lines.push_back(
        fmt::format("widths {}, {}: the theory is out of its range: {}{}. headway sample is exact "
                    "there",
                    join(network.widths, ","), temperatures_text(network),
                    network.outside.size() > 1 ? "at worst " : "", network.fault));
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
    observer.warning(fmt::format("widths {}, temperature {:g}: {}", join(point.widths, ","),
                                 point.temperature, point.*says));
  }
}

void note_missing_corrections(const SolveResult& result, Observer& observer) {
  std::map<std::string, std::size_t> points;
  for (const SolvePoint& point : result.points) {
    if (!point.corrected.defined) ++points[point.corrected.reason];
  }
  for (const auto& [reason, count] : points) {
    if (reason.empty()) continue;
    observer.note(fmt::format("no 1/N correction at {} of {} points: {}", count,
                              result.points.size(), reason));
  }
}

}  // namespace headway
