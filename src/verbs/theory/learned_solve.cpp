#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include "headway/core/clock.hpp"
#include "headway/core/parallel.hpp"
#include "headway/core/quiet_observer.hpp"
#include "headway/core/rng.hpp"
#include "headway/error.hpp"
#include "headway/posterior/learned_saddle_point.hpp"
#include "verbs/theory/learned_problem.hpp"

namespace headway {
namespace {

/// Streams of the starts: beyond those of the further starts of U (SolveOptions::extra_starts).
constexpr std::uint64_t kFirstStream = 100'000;

// Starts unless the study says how many: as many as take about this many flops, within limits.
constexpr double kFlopsOfStarts = 5e10;
constexpr double kStepsOfStart = 100.0;
constexpr int kFewestStarts = 8;
constexpr int kMostStarts = 64;

using posterior::LearnedMinimum;

int starts_of(const Study& study, const tasks::Dataset& dataset, const LearnedProblem& learned) {
  if (learned.train->dimension() == 0) return 1;
  if (study.solve.attention_starts > 0) return study.solve.attention_starts;
  const auto tokens = static_cast<double>(dataset.train.examples->tokens());
  const auto width = static_cast<double>(dataset.features);
  const bool mean = readout_of(study, dataset) == Readout::kMean;
  double features = 0.0;  // flops of an example's
  for (std::size_t l = 0; l < dataset.heads.size(); ++l) {
    const double queries = l + 1 == dataset.heads.size() && !mean ? 1.0 : tokens;
    features += 2.0 * dataset.heads[l] * queries * width * (width + tokens);
  }
  features *= static_cast<double>(dataset.train.size());
  const double labels = static_cast<double>(learned.labels->size());
  const double columns = static_cast<double>(dataset.features * learned.train->paths());
  const double step = 8.0 * features + labels * labels * (labels + 4.0 * columns);
  const double starts = kFlopsOfStarts / (kStepsOfStart * step);
  return static_cast<int>(std::clamp<double>(starts, kFewestStarts, kMostStarts));
}

/// Starts of the attention weights: where the study says, then draws from the prior.
VectorXd start_of(const Study& study, const LearnedProblem& learned, std::size_t point, int start) {
  Rng rng(study.seed, StreamPurpose::kSolverStart,
          point_stream(point, kFirstStream + static_cast<std::uint64_t>(start)));
  VectorXd z(learned.train->dimension());
  rng.fill_normal({z.data(), static_cast<std::size_t>(z.size())});
  if (start == 0) start_attention(study.solve.attention_start, learned, z);
  return z;
}

AttentionMinimum report(const LearnedMinimum& minimum, const model::AttentionCoordinates& weights,
                        double largest_width) {
  AttentionMinimum report;
  report.action = minimum.action / largest_width;
  report.attention_entropy = minimum.attention.entropy;
  report.attention_largest = minimum.attention.largest;
  report.order_parameters = minimum.of.order_parameters;
  report.starts = minimum.starts;
  report.converged = minimum.converged;
  report.gradient_norm = minimum.gradient_norm;
  const std::vector<int>& heads = weights.prior().heads;
  for (std::size_t l = 0; l < heads.size(); ++l) {
    for (int h = 0; h < heads[l]; ++h) {
      if (weights.offset(l, h) < 0) continue;
      report.attention_weights.push_back(weights.weights(minimum.z, l, h));
    }
  }
  return report;
}

class LearnedSolver {
 public:
  LearnedSolver(const Study& study, const tasks::Dataset& dataset, const LearnedProblem& learned,
                Observer& observer)
      : study_(study), dataset_(dataset), learned_(learned), observer_(observer) {
    options_.saddle_point = study.solve.saddle_point;
    options_.kernels = kernel_options(study);
    options_.kernels.threads = 1;  // the starts share the threads
  }

  /// False when interrupted.
  bool solve(const SweepPoint& sweep, std::size_t index, SolvePoint& point) const {
    const Clock::time_point began = Clock::now();
    const model::Architecture architecture = architecture_of(study_, dataset_, sweep.widths);
    std::vector<LearnedMinimum> minima = search(architecture, sweep, index);
    if (observer_.interrupted()) return false;
    minima = posterior::distinct_minima(std::move(minima), learned_.train->coordinates());
    LearnedMinimum& best = minima.front();
    const double unit = architecture.largest_width();
    for (const LearnedMinimum& minimum : minima) {
      point.minima.push_back(report(minimum, learned_.train->coordinates(), unit));
    }
    TheoryProblem problem = outline_problem(dataset_);
    if (learned_.evaluation != nullptr) {
      model::LearnedAttention::Workspace workspace;
      const double scale = std::sqrt(architecture.variance(0) /
                                     static_cast<double>(dataset_.features * architecture.paths()));
      if (!learned_.evaluation->path_features(best.z, scale, workspace,
                                              problem.evaluation_features)) {
        throw Error(ErrorKind::kBadData,
                    fmt::format("{}: the attention of a minimum is not finite on the test examples",
                                dataset_.name));
      }
    } else {
      problem.evaluation_features.resize(0, best.features.cols());
    }
    problem.kernels = theory::make_path_kernels(std::move(best.features), problem.train_labels,
                                                architecture.paths(), kernel_options(study_));
    solve_point_from(study_, dataset_, problem, {sweep, index, best.of.order_parameters}, observer_,
                     point);
    // S(U, w) has the prior of w beside what is minimised over U. Where another start of U led
    // lower, `best` is not the minimum.
    point.action = point.other_minima.empty() ? best.action / unit
                                              : point.action + best.z.squaredNorm() / unit;
    if (!best.converged) {
      point.summary.converged = false;
      point.summary.message = "attention: " + best.message;
    }
    point.seconds = seconds_since(began);
    return !observer_.interrupted();
  }

 private:
  [[nodiscard]] std::vector<LearnedMinimum> search(const model::Architecture& architecture,
                                                   const SweepPoint& sweep,
                                                   std::size_t index) const {
    const int starts = starts_of(study_, dataset_, learned_);
    std::vector<LearnedMinimum> minima(static_cast<std::size_t>(starts));
    std::mutex guard;
    int done = 0;
    parallel_for(starts, resolve_threads(study_.threads), [&](Index k) {
      QuietObserver quiet(observer_);
      const int start = static_cast<int>(k);
      minima[static_cast<std::size_t>(k)] = posterior::learned_saddle_point(
          {architecture, sweep.temperature, *learned_.train, *learned_.labels},
          start_of(study_, learned_, index, start), options_, quiet);
      const std::lock_guard<std::mutex> lock(guard);
      observer_.progress(fmt::format("starts of attention, point {}", index + 1),
                         static_cast<double>(++done), static_cast<double>(starts));
    });
    return minima;
  }

  const Study& study_;
  const tasks::Dataset& dataset_;
  const LearnedProblem& learned_;
  Observer& observer_;
  posterior::LearnedSaddleOptions options_;
};

}  // namespace

SolveResult solve_learned(const Study& study, const tasks::Dataset& dataset,
                          const LearnedProblem& learned, Observer& observer,
                          const std::vector<std::size_t>& numbers) {
  const Clock::time_point began = Clock::now();
  const std::vector<SweepPoint> sweep = sweep_points(study, dataset);
  SolveResult result = describe_problem(study, dataset, outline_problem(dataset));
  result.threads = resolve_threads(study.threads);
  const LearnedSolver solver(study, dataset, learned, observer);
  for (const std::size_t i : numbers) {
    if (observer.interrupted()) break;
    SolvePoint point;
    if (!solver.solve(sweep[i], i, point)) break;
    result.points.push_back(std::move(point));
    observer.whole("solve", static_cast<double>(result.points.size()),
                   static_cast<double>(numbers.size()));
  }
  result.interrupted = result.points.size() < numbers.size();
  warn_of_points(result, &SolvePoint::lost_digits, observer);
  result.seconds = seconds_since(began);
  return result;
}

}  // namespace headway
