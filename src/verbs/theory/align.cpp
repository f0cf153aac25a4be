#include "headway/align.hpp"

#include <chrono>
#include <mutex>
#include <utility>

#include "headway/analysis/kernel_alignment.hpp"
#include "headway/core/parallel.hpp"
#include "headway/order_parameters.hpp"
#include "headway/solve.hpp"
#include "verbs/theory/problem.hpp"

namespace headway {
namespace {

using Clock = std::chrono::steady_clock;

analysis::KernelAlignment alignment_at(const TheoryProblem& problem, const MatrixXd& u) {
  const Eigen::Map<const VectorXd> y(problem.train_labels.data(), problem.train_labels.size());
  return analysis::kernel_alignment(problem.kernels->kernel(u), y);
}

VectorXd leading(const VectorXd& values, Index components) {
  return components > 0 && components < values.size() ? VectorXd(values.head(components)) : values;
}

}  // namespace

AlignResult align(const Study& study, const tasks::Dataset& dataset, Observer& observer,
                  const SolveResult* known) {
  const Clock::time_point began = Clock::now();
  Study asked = study;
  // Otherwise rows that a Gram matrix is factored into could pass for examples. With kGram the
  // error says that the data have no examples.
  if (dataset.gram) asked.solve.kernels = theory::KernelForm::kGram;
  const TheoryProblem problem = make_problem(asked, dataset, observer);
  AlignResult result;
  result.solve = solve_or_reuse(study, dataset, problem, observer, known);
  const Index shown = study.align.components;
  const model::Architecture architecture =
      architecture_of(study, dataset, study.model.widths.front());
  const analysis::KernelAlignment limit =
      alignment_at(problem, theory::gaussian_process_order_parameters(architecture).layers.front());
  result.points.resize(result.solve.points.size());
  std::mutex guard;
  std::size_t done = 0;
  observer.whole("align", 0.0, static_cast<double>(result.points.size()));
  parallel_for(static_cast<Index>(result.points.size()), resolve_threads(study.threads),
               [&](Index i) {
                 const Clock::time_point start = Clock::now();
                 const SolvePoint& solved = result.solve.points[static_cast<std::size_t>(i)];
                 const analysis::KernelAlignment renormalized =
                     alignment_at(problem, solved.order_parameters.layers.front());
                 AlignPoint& point = result.points[static_cast<std::size_t>(i)];
                 point.widths = solved.widths;
                 point.temperature = solved.temperature;
                 point.overlaps = leading(renormalized.overlaps, shown);
                 point.cumulative = leading(renormalized.cumulative, shown);
                 point.eigenvalues = leading(renormalized.eigenvalues, shown);
                 point.gaussian_process_overlaps = leading(limit.overlaps, shown);
                 point.gaussian_process_cumulative = leading(limit.cumulative, shown);
                 point.gaussian_process_eigenvalues = leading(limit.eigenvalues, shown);
                 point.seconds = std::chrono::duration<double>(Clock::now() - start).count();
                 const std::lock_guard<std::mutex> lock(guard);
                 observer.whole("align", static_cast<double>(++done),
                                static_cast<double>(result.points.size()));
               });
  result.seconds = std::chrono::duration<double>(Clock::now() - began).count();
  return result;
}

}  // namespace headway
