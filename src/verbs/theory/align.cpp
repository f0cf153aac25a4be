#include "headway/align.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "headway/analysis/kernel_alignment.hpp"
#include "headway/core/clock.hpp"
#include "headway/core/memory.hpp"
#include "headway/core/parallel.hpp"
#include "headway/order_parameters.hpp"
#include "headway/solve.hpp"
#include "headway/theory/label_share.hpp"
#include "headway/verbs/theory/plan.hpp"
#include "verbs/theory/value_problem.hpp"

namespace headway {
namespace {

analysis::KernelAlignment alignment_at(const TheoryProblem& problem, const MatrixXd& u) {
  const Eigen::Map<const VectorXd> y(problem.train_labels.data(), problem.train_labels.size());
  return analysis::kernel_alignment(problem.kernels->kernel(u), y);
}

/// Warns where eigenvalues that matter to the labels drown in the rounding of the largest.
void warn_of_rounding(const TheoryProblem& problem, const MatrixXd& u,
                      const analysis::KernelAlignment& alignment, Observer& observer) {
  constexpr double kMissing = 1e-3;
  const double shown = alignment.cumulative[alignment.cumulative.size() - 1];
  if (shown > 1.0 - kMissing) return;
  const double all =
      theory::expressible_share(problem.kernels->features(), u, problem.train_labels);
  if (all - shown < kMissing) return;
  observer.warning(fmt::format(
      "the kernel can express {:.4f} of the labels, and its eigenvectors {:.4f}: digits of the "
      "other "
      "eigenvalues drown in the rounding of the largest. Subtract offsets or scale features",
      all, shown));
}

// An eigenproblem takes much more memory than a solution. No more run at once than fit into half
// of the machine's.
int alignments_at_once(const Study& study, const TheoryProblem& problem) {
  const double bytes = alignment_bytes(problem.train_labels.size());
  const double fit = std::max(1.0, 0.5 * physical_memory() / bytes);
  return static_cast<int>(std::min<double>(resolve_threads(study.threads), fit));
}

VectorXd leading(const VectorXd& values, Index components) {
  return components > 0 && components < values.size() ? VectorXd(values.head(components)) : values;
}

}  // namespace

AlignResult align(const Study& study, const tasks::Dataset& dataset, Observer& observer,
                  const SolveResult* known) {
  const Clock::time_point began = Clock::now();
  require_examples(dataset);
  const auto made = std::make_shared<const TheoryProblem>(make_problem(study, dataset, observer));
  const TheoryProblem& problem = *made;
  AlignResult result;
  result.solve = solve_or_reuse(study, dataset, problem, observer, known);
  const Index shown = study.align.components;
  const model::Architecture architecture =
      architecture_of(study, dataset, study.model.widths.front());
  const analysis::KernelAlignment limit =
      alignment_at(problem, theory::gaussian_process_order_parameters(architecture).layers.front());
  warn_of_rounding(problem, theory::gaussian_process_order_parameters(architecture).layers.front(),
                   limit, observer);
  std::vector<std::optional<AlignPoint>> points(result.solve.points.size());
  const auto count = static_cast<double>(points.size());
  std::mutex guard;
  std::size_t done = 0;
  observer.whole("align", 0.0, count);
  parallel_for(static_cast<Index>(points.size()), alignments_at_once(study, problem), [&](Index i) {
    if (observer.interrupted()) return;
    const Clock::time_point start = Clock::now();
    const SolvePoint& solved = result.solve.points[static_cast<std::size_t>(i)];
    const analysis::KernelAlignment renormalized = alignment_at(
        *problem_of_point(made, study, solved), solved.order_parameters.layers.front());
    AlignPoint point;
    point.widths = solved.widths;
    point.temperature = solved.temperature;
    point.overlaps = leading(renormalized.overlaps, shown);
    point.cumulative = leading(renormalized.cumulative, shown);
    point.eigenvalues = leading(renormalized.eigenvalues, shown);
    point.gaussian_process_overlaps = leading(limit.overlaps, shown);
    point.gaussian_process_cumulative = leading(limit.cumulative, shown);
    point.gaussian_process_eigenvalues = leading(limit.eigenvalues, shown);
    point.seconds = seconds_since(start);
    const std::lock_guard<std::mutex> lock(guard);
    points[static_cast<std::size_t>(i)] = std::move(point);
    observer.whole("align", static_cast<double>(++done), count);
  });
  for (std::optional<AlignPoint>& point : points) {
    if (point) {
      result.points.push_back(std::move(*point));
    } else {
      result.solve.interrupted = true;
    }
  }
  result.seconds = seconds_since(began);
  return result;
}

}  // namespace headway
