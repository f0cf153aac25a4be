#include "headway/solve.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <mutex>
#include <numbers>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "headway/core/clock.hpp"
#include "headway/core/parallel.hpp"
#include "headway/core/quiet_observer.hpp"
#include "headway/core/rng.hpp"
#include "headway/error.hpp"
#include "headway/numerics/symmetric.hpp"
#include "headway/saddle_point.hpp"
#include "headway/shard.hpp"
#include "headway/theory/distributed.hpp"
#include "headway/theory/finite_width.hpp"
#include "headway/theory/hessian_probes.hpp"
#include "headway/theory/repeated_predictor.hpp"
#include "headway/theory/saddle_evidence.hpp"
#include "verbs/theory/learned_problem.hpp"
#include "verbs/theory/lost_digits.hpp"
#include "verbs/theory/other_starts.hpp"
#include "verbs/theory/point_observers.hpp"
#include "verbs/theory/problem.hpp"
#include "verbs/theory/value_problem.hpp"

namespace headway {
namespace {

constexpr double kHessianFlopLimit = 4e10;  // "auto": about a second
constexpr double kCorrectionFlopLimit = 4e10;
constexpr double kShareOfSolution =
    0.6;  // "auto" without a dense Hessian: share of the time of the point
constexpr double kPredictionsAPoint = 3.0;  // with the 1/N correction
constexpr double kLostDigits = 1e-6;        // relative rounding of the smallest eigenvalue: told
constexpr int kEigenvalueProducts = 30;
constexpr double kEigenvalueTolerance = 0.01;
constexpr int kProbes = 16;
constexpr double kProbeProducts = 15.0;  // each takes about that many

bool wanted(When when, double flops, double limit) {
  return when == When::kOn || (when == When::kAuto && flops <= limit);
}

/// How many points are solved at once. Ranks that share a problem take one after another.
int points_at_once(const Study& study, const TheoryProblem& problem) {
  const bool shared = problem.kernels->form() == theory::KernelForm::kDistributed;
  return shared ? 1 : resolve_threads(study.threads);
}

/// The mean predictor on the training examples, where they are at hand.
MatrixXd mean_on_train(const TheoryProblem& problem, const theory::EnergyState& energy,
                       const MatrixXd& u) {
  if (problem.train_labels.rows() == 0) return {};  // rows of Gram matrices are no examples
  const MatrixXd& features = problem.kernels->features();
  if (features.size() == 0) return theory::mean_on_shared_examples(energy);
  return theory::mean_from_dual(features, energy.projected_dual(), u);
}

/// How many independent entries U_1 has.
Index first_layer_entries(const theory::OrderParameters& u) {
  return numerics::symmetric_size(u.layers.front().rows());
}

class PointSolver {
 public:
  PointSolver(const Study& study, const tasks::Dataset& dataset, const TheoryProblem& problem,
              const theory::RepeatedPredictor& predictor, Observer& observer,
              const SolveHooks& hooks)
      : study_(study),
        dataset_(dataset),
        problem_(problem),
        predictor_(predictor),
        observer_(observer),
        hooks_(hooks),
        options_(study.solve.saddle_point) {}

  /// Solves one sweep point; `start` is the neighbour's solution or null. Returns the saddle for
  /// the next neighbour, or nothing if it was interrupted after the saddle.
  std::optional<theory::OrderParameters> solve(const SweepPoint& sweep, std::size_t index,
                                               const theory::OrderParameters* start,
                                               SolvePoint& point) const {
    const Clock::time_point began = Clock::now();
    const model::Architecture architecture = architecture_of(study_, dataset_, sweep.widths);
    const theory::Action action(architecture, sweep.temperature, problem_.kernels);
    Rng rng(study_.seed, StreamPurpose::kSolverStart, point_stream(index, 0));
    const theory::OrderParameters first =
        start != nullptr ? *start
                         : (study_.solve.start == Start::kRandom
                                ? random_start(architecture, rng)
                                : theory::gaussian_process_order_parameters(architecture));
    theory::SaddlePoint saddle =
        theory::solve_saddle_point(action, first, options_, observer_, hooks_of(index));
    StopWitness witness(observer_);
    try_other_starts(study_, action, index, witness, saddle, point);
    describe(action, saddle, sweep, point);
    second_order(action, saddle, witness, point);
    point.seconds = seconds_since(began);
    if (witness.told()) return std::nullopt;
    return saddle.order_parameters;
  }

 private:
  /// How the solution of a point is kept; other starts are not.
  [[nodiscard]] theory::SaddlePointHooks hooks_of(std::size_t index) const {
    theory::SaddlePointHooks hooks;
    hooks.seconds = study_.solve.checkpoint_seconds;
    if (hooks_.load) hooks.from = hooks_.load(index);
    if (hooks_.save) {
      hooks.save = [this, index](const theory::SaddlePointState& s) { hooks_.save(index, s); };
    }
    return hooks;
  }

  void describe(const theory::Action& action, const theory::SaddlePoint& saddle,
                const SweepPoint& sweep, SolvePoint& point) const {
    point.widths = sweep.widths;
    point.temperature = sweep.temperature;
    point.summary = saddle.summary;
    point.action = saddle.evaluation.value / action.architecture().largest_width();
    point.energy = saddle.evaluation.energy->energy();
    point.entropy = saddle.evaluation.entropy;
    point.order_parameters = saddle.order_parameters;
    point.kernels = word_of(problem_.kernels->form());
    const theory::EnergyState& energy = *saddle.evaluation.energy;
    const MatrixXd& u = saddle.order_parameters.layers.front();
    const theory::Prediction prediction = predictor_.predict(energy, u);
    point.lost_digits = lost_digits(energy, prediction.variance);
    point.predictor =
        report_predictor(problem_, {mean_on_train(problem_, energy, u), {}}, prediction);
  }

  /// The Hessian test, the evidence and the 1/N correction.
  void second_order(const theory::Action& action, const theory::SaddlePoint& saddle,
                    Observer& observer, SolvePoint& point) const {
    note_evidence(theory::saddle_evidence(action, saddle, {}), point);
    if (theory::is_kernel_below_rounding(action, saddle)) {  // its Hessian would be noise
      point.corrected.reason = "the saddle point did not converge";
      return;
    }
    const double n = static_cast<double>(action.unknowns());
    const double dense = problem_.kernels->cost().hessian_flops + n * n * n;
    const bool fits = action.unknowns() <= theory::kLargestDenseProblem;
    const bool asked = study_.solve.corrections == When::kOn;  // corrections need the Hessian
    if (fits && (asked || wanted(study_.solve.hessian, dense, kHessianFlopLimit))) {
      by_hessian(action, saddle, observer, point);
    } else {
      by_products(action, saddle, observer, point);
    }
  }

  void by_hessian(const theory::Action& action, const theory::SaddlePoint& saddle,
                  Observer& observer, SolvePoint& point) const {
    if (observer.interrupted()) return;
    const MatrixXd hessian = action.hessian(saddle.order_parameters, *saddle.evaluation.energy);
    point.smallest_hessian_eigenvalue = theory::smallest_hessian_eigenvalue(action, hessian);
    // Rounding of the largest entry; told only where the smallest eigenvalue loses digits by it.
    const double rounding = std::numeric_limits<double>::epsilon() *
                            static_cast<double>(hessian.rows()) * hessian.cwiseAbs().maxCoeff() /
                            action.architecture().largest_width();
    const bool lost = rounding > kLostDigits * std::abs(point.smallest_hessian_eigenvalue);
    point.smallest_hessian_eigenvalue_error = lost ? rounding : 0.0;
    note_evidence(theory::saddle_evidence(action, saddle, hessian), point);
    const double flops = theory::finite_width_flops(action) +
                         predictor_.fluctuation_flops(first_layer_entries(saddle.order_parameters));
    if (correction_wanted(flops, point)) {
      note_correction(
          theory::finite_width_correction(action, saddle, hessian, &predictor_, observer), point);
    }
  }

  /// The same from products of the Hessian with directions. "auto": if that is cheap beside the
  /// solution.
  void by_products(const theory::Action& action, const theory::SaddlePoint& saddle,
                   Observer& observer, SolvePoint& point) const {
    const double product = theory::steering_flops(action);
    const double solution = saddle.summary.products * product +
                            saddle.summary.evaluations * problem_.kernels->cost().evaluation_flops;
    if (study_.solve.corrections != When::kOn &&
        !wanted(study_.solve.hessian, kEigenvalueProducts * product,
                std::max(kHessianFlopLimit, kShareOfSolution * solution))) {
      point.corrected.reason = "skipped: the Hessian was not computed (solve.hessian)";
      return;
    }
    const theory::ActionCurvature curvature(action, saddle.order_parameters, saddle.evaluation,
                                            theory::Precision::kSingle);
    const theory::SmallestEigenvalue smallest = theory::smallest_hessian_eigenvalue(
        action, curvature, kEigenvalueTolerance, kEigenvalueProducts, observer);
    point.smallest_hessian_eigenvalue = smallest.value;
    point.smallest_hessian_eigenvalue_error = smallest.error;
    const double probing = kProbes * kProbeProducts * product;
    const bool correct =
        correction_wanted(2.0 * probing + predictor_.fluctuation_flops(kProbes), point);
    if (!correct && !wanted(study_.solve.hessian, probing, kHessianFlopLimit)) return;
    const theory::HessianProbes probes =
        theory::probe_hessian(curvature, kProbes, study_.seed, observer);
    note_evidence(theory::saddle_evidence(action, saddle, curvature, probes), point);
    if (correct) {
      note_correction(
          theory::finite_width_correction(action, saddle, curvature, probes, &predictor_, observer),
          point);
    }
  }

  /// Whether to compute the 1/N correction. If not, `point` says why.
  [[nodiscard]] bool correction_wanted(double flops, SolvePoint& point) const {
    if (!wanted(study_.solve.corrections, flops, kCorrectionFlopLimit)) {
      point.corrected.reason = study_.solve.corrections == When::kOff
                                   ? "skipped: solve.corrections = \"off\""
                                   : "skipped: too costly for \"auto\" at this size "
                                     "(solve.corrections = \"on\" computes it)";
      return false;
    }
    if (!point.summary.converged) point.corrected.reason = "the saddle point did not converge";
    return point.summary.converged;
  }

  void note_correction(theory::FiniteWidthCorrection correction, SolvePoint& point) const {
    const theory::Prediction prediction = std::exchange(correction.prediction, {});
    point.corrected = {std::move(correction), {}};
    if (point.corrected.defined) {
      point.corrected.predictor = report_predictor(problem_, {}, prediction);
    }
  }

  static void note_evidence(const theory::SaddleEvidence& evidence, SolvePoint& point) {
    if (point.summary.converged) point.evidence = evidence;
  }

  const Study& study_;
  const tasks::Dataset& dataset_;
  const TheoryProblem& problem_;
  const theory::RepeatedPredictor& predictor_;
  Observer& observer_;
  const SolveHooks& hooks_;
  theory::SaddlePointOptions options_;
};

/// The chains that lead to the wanted points, each up to the last of them.
std::vector<std::vector<std::size_t>> chains_to(const Study& study,
                                                const std::vector<std::size_t>& wanted) {
  std::vector<std::vector<std::size_t>> chains = solve_chains(study);
  for (std::vector<std::size_t>& chain : chains) {
    while (!chain.empty() && !std::binary_search(wanted.begin(), wanted.end(), chain.back())) {
      chain.pop_back();
    }
  }
  std::erase_if(chains, [](const auto& chain) { return chain.empty(); });
  return chains;
}

std::vector<GaussianProcessPoint> solve_gaussian_process(const Study& study,
                                                         const tasks::Dataset& dataset,
                                                         const TheoryProblem& problem,
                                                         const theory::RepeatedPredictor& predictor,
                                                         const std::vector<std::size_t>& numbers) {
  const model::Architecture architecture =
      architecture_of(study, dataset, study.model.widths.front());
  const theory::OrderParameters u = theory::gaussian_process_order_parameters(architecture);
  std::vector<GaussianProcessPoint> points(numbers.size());
  parallel_for(static_cast<Index>(points.size()), points_at_once(study, problem), [&](Index i) {
    GaussianProcessPoint& point = points[static_cast<std::size_t>(i)];
    point.temperature = study.model.temperatures[numbers[static_cast<std::size_t>(i)]];
    const std::unique_ptr<theory::EnergyState> state =
        problem.kernels->evaluate(u.layers.front(), point.temperature);
    if (!state) {
      throw Error(
          ErrorKind::kBadStudy,
          fmt::format("model.temperature = {}: K + T I of the Gaussian process is not positive "
                      "definite ({} examples, {} features over all paths): must be larger",
                      point.temperature, problem.kernels->examples(),
                      problem.kernels->feature_count() * problem.kernels->paths()));
    }
    const double count =
        static_cast<double>(problem.kernels->examples() * problem.kernels->outputs());
    point.log_evidence = -0.5 * (state->energy() + count * std::log(2.0 * std::numbers::pi));
    point.predictor =
        report_predictor(problem, {mean_on_train(problem, *state, u.layers.front()), {}},
                         predictor.predict(*state, u.layers.front()));
  });
  return points;
}

}  // namespace

SolveResult solve_problem(const Study& study, const tasks::Dataset& dataset,
                          const TheoryProblem& problem, Observer& observer, const SolveHooks& hooks,
                          const std::optional<std::vector<std::size_t>>& wanted) {
  const Clock::time_point began = Clock::now();
  const std::vector<SweepPoint> sweep = sweep_points(study, dataset);
  const std::vector<std::size_t> numbers = wanted ? *wanted : dealt_units(sweep.size(), {});
  SolveResult result = describe_problem(study, dataset, problem);
  result.threads = resolve_threads(study.threads);
  // As many predictions as in the whole study, so that a part of it has the same bits.
  const theory::RepeatedPredictor predictor(
      problem.kernels, {problem.kernels, &problem.evaluation_features},  // outlived by both
      kPredictionsAPoint * static_cast<double>(sweep.size() + study.model.temperatures.size()));
  result.gaussian_process =
      solve_gaussian_process(study, dataset, problem, predictor, temperatures_of(study, numbers));

  const std::vector<std::vector<std::size_t>> chains = chains_to(study, numbers);
  std::size_t total = 0;
  for (const std::vector<std::size_t>& chain : chains) total += chain.size();
  std::vector<std::optional<SolvePoint>> points(sweep.size());
  QuietObserver one_of_many(observer);
  const PointSolver solver(study, dataset, problem, predictor,
                           chains.size() > 1 ? static_cast<Observer&>(one_of_many) : observer,
                           hooks);
  std::mutex guard;
  std::size_t done = 0;
  observer.whole("solve", 0.0, static_cast<double>(total));
  parallel_for(static_cast<Index>(chains.size()), points_at_once(study, problem), [&](Index c) {
    std::optional<theory::OrderParameters> neighbour;
    const SolvePoint* before = nullptr;
    for (std::size_t i : chains[static_cast<std::size_t>(c)]) {
      if (observer.interrupted()) return;
      SolvePoint point;
      std::optional<theory::OrderParameters> u =
          adapts_features(study)
              ? solve_adapted_point(study, dataset, problem, {sweep[i], i, before}, observer, point)
              : solver.solve(sweep[i], i, neighbour ? &*neighbour : nullptr, point);
      if (!u || (observer.interrupted() && !point.summary.converged)) return;
      if (problem.values && !point.features) {
        describe_fixed_features(study, dataset, problem, point);
      }
      neighbour.reset();
      if (point.summary.converged) neighbour = std::move(u);
      const std::lock_guard<std::mutex> lock(guard);
      points[i] = std::move(point);
      before = neighbour ? &*points[i] : nullptr;
      observer.whole("solve", static_cast<double>(++done), static_cast<double>(total));
    }
  });
  for (const std::size_t i : numbers) {
    if (points[i]) result.points.push_back(std::move(*points[i]));
  }
  result.interrupted = result.points.size() < numbers.size();
  note_missing_corrections(result, observer);
  warn_of_points(result, &SolvePoint::other_minima, observer);
  warn_of_range(result, observer);
  warn_of_points(result, &SolvePoint::lost_digits, observer);
  result.seconds = seconds_since(began);
  return result;
}

void solve_point_from(const Study& study, const tasks::Dataset& dataset,
                      const TheoryProblem& problem, const NearbyStart& start, Observer& observer,
                      SolvePoint& point) {
  const theory::RepeatedPredictor predictor(
      problem.kernels, {problem.kernels, &problem.evaluation_features},  // outlived by both
      kPredictionsAPoint);
  const SolveHooks none;
  PointSolver(study, dataset, problem, predictor, observer, none)
      .solve(start.sweep, start.index, &start.order_parameters, point);
}

PartSolver prepare_solve(const Study& study, const tasks::Dataset& dataset, Observer& observer,
                         const SolveHooks& hooks) {
  if (learns_attention(study)) {
    const auto learned =
        std::make_shared<const LearnedProblem>(make_learned_problem(study, dataset, observer));
    return [&study, &dataset, &observer, learned](const Shard& shard) {
      return solve_learned(study, dataset, *learned, observer, solve_points(study, shard));
    };
  }
  const auto problem =
      std::make_shared<const TheoryProblem>(make_problem(study, dataset, observer));
  return [&study, &dataset, &observer, hooks, problem](const Shard& shard) {
    return solve_problem(study, dataset, *problem, observer, hooks, solve_points(study, shard));
  };
}

SolveResult solve(const Study& study, const tasks::Dataset& dataset, Observer& observer,
                  const SolveHooks& hooks, const Shard& shard) {
  const Clock::time_point began = Clock::now();
  SolveResult result = prepare_solve(study, dataset, observer, hooks)(shard);
  result.seconds = seconds_since(began);
  return result;
}

}  // namespace headway
