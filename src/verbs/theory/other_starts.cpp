#include "verbs/theory/other_starts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace headway {
namespace {

constexpr double kStartSpread = 0.5;  // of random starts, in log U
constexpr double kStartScale = 2.0;   // of the overall size of further starts, in log U
constexpr double kSameAction = 1e-9;  // relative difference below which two S are equal

/// Largest relative difference of two sets of order parameters, each matrix against its own largest
/// entry.
double relative_difference(const theory::OrderParameters& a, const theory::OrderParameters& b) {
  double largest = 0.0;
  for (int l = 1; l <= static_cast<int>(a.layers.size()) + 1; ++l) {
    largest = std::max(largest,
                       (a.at(l) - b.at(l)).cwiseAbs().maxCoeff() / a.at(l).cwiseAbs().maxCoeff());
  }
  return largest;
}

/// Rounding of an action.
double margin(double action) { return kSameAction * std::max(1.0, std::abs(action)); }

}  // namespace

theory::OrderParameters random_start(const model::Architecture& architecture, Rng& rng) {
  return theory::perturb_order_parameters(theory::gaussian_process_order_parameters(architecture),
                                          kStartSpread, rng);
}

void try_other_starts(const Study& study, const theory::Action& action, std::size_t index,
                      Observer& observer, theory::SaddlePoint& saddle, SolvePoint& point) {
  const int starts = study.solve.extra_starts;
  if (starts == 0) return;
  constexpr double kNone = std::numeric_limits<double>::infinity();
  const theory::OrderParameters first = saddle.order_parameters;
  const double first_action = saddle.summary.converged ? saddle.evaluation.value : kNone;
  double lowest = first_action;
  double highest = saddle.summary.converged ? first_action : -kNone;
  for (int k = 1; k <= starts; ++k) {
    if (observer.interrupted()) return;  // each would cost an evaluation before it sees that
    Rng rng(study.seed, StreamPurpose::kSolverStart,
            point_stream(index, static_cast<std::uint64_t>(k)));
    theory::OrderParameters start = random_start(action.architecture(), rng);
    const double scale = std::exp(kStartScale * rng.normal());
    for (MatrixXd& u : start.layers) u *= scale;
    start.readout *= scale;
    theory::SaddlePoint other =
        theory::solve_saddle_point(action, start, study.solve.saddle_point, observer);
    const double difference = relative_difference(first, other.order_parameters);
    point.start_spread = k == 1 ? difference : std::max(point.start_spread, difference);
    if (!other.summary.converged) continue;
    const double value = other.evaluation.value;
    highest = std::max(highest, value);
    if (value >= lowest - margin(value)) continue;
    lowest = value;
    saddle = std::move(other);
  }
  if (!(highest - lowest > margin(lowest))) return;  // nor where none converged
  const double n = action.architecture().largest_width();
  const std::string usual = lowest < first_action && first_action < kNone
                                ? fmt::format("the usual start leads to {:.6g}, ", first_action / n)
                                : "";
  point.other_minima = fmt::format(
      "the action has several minima. The lowest is taken: S / max N = {:.6g}; {}the highest has "
      "{:.6g}",
      lowest / n, usual, highest / n);
}

}  // namespace headway
