// Times the theory: one sweep point at several scales, whole sweeps, the flop floor of an
// evaluation beside them, and how the cost grows in P, p and N_0. Medians over repeats, one thread
// unless said otherwise. Usage: benchmark_theory [section ...] with sections point, scale, sweep,
// wide, many, growth, solvers (all by default).
#include <fmt/format.h>
#include <sys/resource.h>

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "headway/numerics/blas.hpp"
#include "headway/numerics/dense.hpp"
#include "headway/path_features.hpp"
#include "headway/saddle_point.hpp"
#include "headway/solve.hpp"
#include "headway/study.hpp"
#include "headway/tasks/hidden_markov_chain.hpp"
#include "headway/theory/finite_width.hpp"
#include "headway/theory/hessian_probes.hpp"
#include "one_shot_like_examples.hpp"
#include "timing.hpp"

namespace {

using namespace headway;  // NOLINT: a program
using theory::PathKernels;

double median_seconds(int repeats, const std::function<void()>& work) {
  return median_of(repeats, [&] { return seconds_of(work); });
}

double peak_memory_gib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / (1024.0 * 1024.0);
}

/// Matrix products per second at a size that matters, the unit of every floor below.
double gemm_flops_per_second() {
  const Index n = 600;
  const MatrixXd a = MatrixXd::Constant(n, n, 0.5);
  MatrixXd c(n, n);
  const double seconds = median_seconds(7, [&] {
    numerics::multiply(1.0, a, numerics::Transpose::kNo, a, numerics::Transpose::kYes, 0.0, c);
  });
  return 2.0 * static_cast<double>(n * n * n) / seconds;
}

struct Problem {
  RowMatrixXd features;  // P x (p N_0), unscaled
  MatrixXd labels;
  std::vector<int> heads;
  [[nodiscard]] Index paths() const {
    Index p = 1;
    for (int h : heads) p *= h;
    return p;
  }
  [[nodiscard]] std::shared_ptr<const PathKernels> kernels(
      theory::PathKernelOptions options = {}) const {
    if (options.smallest_temperature == 0.0) options.smallest_temperature = 0.01;
    return theory::make_path_kernels(PathKernels::scale_features(features, paths(), 1.0), labels,
                                     paths(), options);
  }
  [[nodiscard]] theory::SaddlePoint solve(const std::shared_ptr<const PathKernels>& k, Index width,
                                          const theory::SaddlePointOptions& options = {}) const {
    Observer observer;
    const model::Architecture a = model::uniform_architecture(heads, width);
    return theory::solve_saddle_point(theory::Action(a, 0.01, k),
                                      theory::gaussian_process_order_parameters(a), options,
                                      observer);
  }
};

/// The paper's four-path task.
Problem hidden_markov(Index examples) {
  tasks::HiddenMarkovChainOptions options;
  options.train_examples = examples;
  options.test_examples = 0;
  using tasks::HeadKind;
  const auto head = [](HeadKind kind) {
    tasks::HeadOptions result;
    result.kind = kind;
    return result;
  };
  const tasks::HeadOptions same = head(HeadKind::kSameToken);
  const tasks::HeadOptions uniform = head(HeadKind::kUniform);
  const tasks::HeadOptions random = head(HeadKind::kRandom);
  options.layers = {{same, random}, {uniform, random}};
  const tasks::Dataset data = tasks::make_hidden_markov_chain(options, 1);
  Observer observer;
  return {model::path_features(*data.train.examples, data.heads, data.layers, {}, observer),
          data.train.labels, data.heads};
}

Problem synthetic(Index examples, Index n0, std::vector<int> heads) {
  Problem problem;
  problem.heads = std::move(heads);
  one_shot_like_examples(examples, n0, problem.paths(), problem.features, problem.labels);
  return problem;
}

std::string describe(const theory::SaddlePoint& s) {
  return fmt::format("{}, {} iterations, {} evaluations, {} Hessians, gradient {:.0e}{}",
                     s.summary.optimizer, s.summary.iterations, s.summary.evaluations,
                     s.summary.hessians, s.summary.gradient_norm,
                     s.summary.converged ? "" : " NOT CONVERGED");
}

void point() {
  fmt::print(
      "\nFour-path hidden-Markov point (P=100, p=4, N_0=231), from path features and the "
      "Gaussian-process start\n");
  const Problem problem = hidden_markov(100);
  const double kernels = median_seconds(31, [&] { static_cast<void>(problem.kernels()); });
  std::vector<double> totals;
  for (Index n : {10, 30, 50, 100, 300, 500, 1000}) {
    theory::SaddlePoint s;
    const double seconds = median_seconds(31, [&] { s = problem.solve(problem.kernels(), n); });
    totals.push_back(seconds);
    fmt::print("  N={:<5} {:6.2f} ms  ({})\n", n, 1e3 * seconds, describe(s));
  }
  fmt::print("  median over the widths {:.2f} ms, of which path kernels {:.2f} ms (37 MF)\n",
             1e3 * median(totals), 1e3 * kernels);
  const auto k = problem.kernels();
  const model::Architecture a = model::uniform_architecture(problem.heads, 100);
  const theory::Action action(a, 0.01, k);
  const theory::SaddlePoint s = problem.solve(k, 100);
  const double second = median_seconds(31, [&] {
    const MatrixXd h = action.hessian(s.order_parameters, *s.evaluation.energy);
    theory::smallest_hessian_eigenvalue(action, h);
    Observer observer;
    theory::finite_width_correction(action, s, h, nullptr, observer);
  });
  fmt::print("  Hessian test and 1/N correction, apart: {:.2f} ms\n", 1e3 * second);
}

void cold(const char* title, const Problem& problem, double peak, double formation_flops) {
  fmt::print("\n{}\n", title);
  std::shared_ptr<const PathKernels> k;
  const double forming = median_seconds(3, [&] {
    k.reset();
    k = problem.kernels();
  });
  const MatrixXd u = MatrixXd::Identity(problem.paths(), problem.paths());
  const double evaluation = median_seconds(3, [&] { k->evaluate(u, 0.01); });
  fmt::print(
      "  kernels \"{}\" in {:.2f} s (floor {:.2f} s at {:.0f} GF/s); evaluation {:.1f} ms (flop "
      "floor {:.1f} ms)\n",
      word_of(k->form()), forming, formation_flops / peak, peak / 1e9, 1e3 * evaluation,
      1e3 * k->cost().evaluation_flops / peak);
  for (Index n : {20, 200}) {
    theory::SaddlePoint s;
    const double seconds =
        median_seconds(problem.paths() > 16 ? 1 : 3, [&] { s = problem.solve(k, n); });
    fmt::print("  N={:<5} {:.2f} s cold with the kernels  ({})\n", n, seconds + forming,
               describe(s));
  }
  fmt::print("  peak memory of this program so far {:.2f} GiB\n", peak_memory_gib());
}

void sweep() {
  fmt::print("\n100 points (10 widths x 10 temperatures) at one-shot scale, two threads\n");
  const Problem problem = synthetic(600, 192, {4, 4});
  tasks::Dataset data;
  data.name = "synthetic";
  data.form = AttentionForm::kPathFeatures;
  data.heads = problem.heads;
  data.layers.resize(problem.heads.size());
  data.features = 192;
  data.train.path_features = problem.features;
  data.train.labels = problem.labels;
  headway::Study study;
  study.model.widths = {{10}, {20}, {50}, {100}, {200}, {500}, {1000}, {2000}, {5000}, {10000}};
  study.model.temperatures = {.01, .025, .05, .075, .1, .25, .5, .75, 1, 1.5};
  study.threads = 2;
  Observer observer;
  headway::SolveResult result;
  const double seconds = median_seconds(1, [&] { result = headway::solve(study, data, observer); });
  const auto converged = std::count_if(result.points.begin(), result.points.end(),
                                       [](const auto& p) { return p.summary.converged; });
  fmt::print("  {:.1f} s, {} of {} points converged, with the Hessian test ({} corrected means)\n",
             seconds, converged, result.points.size(),
             std::count_if(result.points.begin(), result.points.end(),
                           [](const auto& p) { return p.corrected.defined; }));
}

void growth(double peak) {
  fmt::print(
      "\nGrowth: a cold solution at N=100 and one evaluation, beside their floors at {:.0f} GF/s\n",
      peak / 1e9);
  fmt::print("  {:>6} {:>4} {:>5} {:>14} {:>10} {:>10} {:>9} {:>6} {:>13} {:>12}\n", "P", "p",
             "N_0", "kernels", "solve", "floor", "evaluated", "exact", "evaluation", "floor");
  const auto row = [&](const Problem& problem) {
    std::shared_ptr<const PathKernels> k;
    theory::SaddlePoint s;
    const double seconds = median_seconds(5, [&] {
      k = problem.kernels();
      s = problem.solve(k, 100);
    });
    const MatrixXd u = MatrixXd::Identity(problem.paths(), problem.paths());
    const double evaluation = median_seconds(5, [&] { k->evaluate(u, 0.01); });
    const theory::KernelCost cost = k->cost();
    const double flops = cost.construction_flops + s.summary.evaluations * cost.evaluation_flops +
                         s.summary.hessians * cost.hessian_flops +
                         s.summary.products * cost.product_flops;
    fmt::print(
        "  {:>6} {:>4} {:>5} {:>14} {:>8.1f}ms {:>8.1f}ms {:>9} {:>6} {:>11.2f}ms {:>10.2f}ms\n",
        problem.features.rows(), problem.paths(), problem.features.cols() / problem.paths(),
        word_of(k->form()), 1e3 * seconds, 1e3 * flops / peak, s.summary.evaluations,
        s.summary.hessians, 1e3 * evaluation, 1e3 * cost.evaluation_flops / peak);
  };
  fmt::print("  the four-path study:\n");
  for (Index examples : {100, 200, 300, 500, 700, 1000}) row(hidden_markov(examples));
  fmt::print("  like one-shot images:\n");
  for (Index examples : {100, 200, 400, 800}) row(synthetic(examples, 192, {2, 2}));
  for (const std::vector<int>& heads : {std::vector<int>{1, 1}, {2, 2}, {2, 4}, {4, 4}, {4, 8}})
    row(synthetic(300, 192, heads));
  for (Index n0 : {48, 96, 192, 384}) row(synthetic(300, n0, {2, 2}));
}

void solvers() {
  fmt::print(
      "\nSolvers on the four-path task, kernels given: milliseconds (evaluations; x = not "
      "converged to 1e-10)\n");
  const Problem problem = hidden_markov(100);
  const auto k = problem.kernels();
  struct Row {
    const char* name;
    theory::Optimizer optimizer;
    theory::Elimination elimination;
  };
  using theory::Elimination;
  using theory::Optimizer;
  for (const Row& row :
       {Row{"Newton, joint", Optimizer::kNewton, Elimination::kJoint},
        Row{"Newton, U_2..U_a eliminated", Optimizer::kNewton, Elimination::kClosedForm},
        Row{"quasi-Newton, joint", Optimizer::kQuasiNewton, Elimination::kJoint},
        Row{"quasi-Newton, eliminated", Optimizer::kQuasiNewton, Elimination::kClosedForm},
        Row{"Ceres BFGS, joint", Optimizer::kCeres, Elimination::kJoint}}) {
    fmt::print("  {:<30}", row.name);
    theory::SaddlePointOptions options;
    options.optimizer = row.optimizer;
    options.elimination = row.elimination;
    for (Index n : {10, 100, 1000}) {
      theory::SaddlePoint s;
      const double seconds = median_seconds(15, [&] { s = problem.solve(k, n, options); });
      fmt::print("  N={}: {:.2f} ({}{})", n, 1e3 * seconds, s.summary.evaluations,
                 s.summary.converged ? "" : " x");
    }
    fmt::print("\n");
  }
}

}  // namespace

int main(int argc, char** argv) {
  numerics::prepare_blas();
  const std::set<std::string> sections(argv + 1, argv + argc);
  const auto wanted = [&](const char* name) {
    return sections.empty() || sections.count(name) != 0;
  };
  const double peak = gemm_flops_per_second();
  fmt::print("{}\nmatrix products {:.1f} GF/s on one thread\n", numerics::blas_description(),
             peak / 1e9);
  if (wanted("point")) point();
  if (wanted("solvers")) solvers();
  if (wanted("scale"))
    cold("One-shot scale: P=600, N_0=192, p=16", synthetic(600, 192, {4, 4}), peak, 17.7e9);
  if (wanted("sweep")) sweep();
  if (wanted("growth")) growth(peak);
  if (wanted("wide"))
    cold("Feature space: P=5,000, N_0=231, p=4", hidden_markov(5000), peak, 5000.0 * 924 * 924);
  if (wanted("many"))
    cold("Many paths: P=600, N_0=192, p=64", synthetic(600, 192, {8, 8}), peak, 0.0);
  return 0;
}
