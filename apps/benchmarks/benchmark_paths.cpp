// Times the saddle point at hundreds to thousands of paths, from path features and the
// Gaussian-process start, against one plain numpy evaluation of value and gradient in the same run.
// Usage, from the repository root: benchmark_paths [case ...] [threads=2] [optimizer=auto]
// [tolerance=1e-8] with cases two (P = 400, N_0 = 96, 144 paths), embedding (P = 500, N_0 = 384,
// 144 paths) and three (P = 300, N_0 = 64, 1,728 paths), and around the change of method four, six
// and cube (16, 36 and 64 paths); two by default.
#include <fmt/format.h>
#include <sys/resource.h>

#include <cmath>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "headway/error.hpp"
#include "headway/numerics/blas.hpp"
#include "headway/saddle_point.hpp"
#include "one_shot_like_examples.hpp"
#include "timing.hpp"

namespace {

using namespace headway;  // NOLINT: a program

struct Case {
  std::string name;
  Index examples;
  Index features;
  std::vector<int> heads;
  Index width;
};

std::vector<Case> cases() {
  return {{"four", 300, 192, {4, 4}, 100},        {"six", 300, 96, {6, 6}, 100},
          {"cube", 100, 64, {4, 4, 4}, 100},      {"two", 400, 96, {12, 12}, 100},
          {"embedding", 500, 384, {12, 12}, 100}, {"three", 300, 64, {12, 12, 12}, 100}};
}

/// Seconds of one numpy evaluation, by plain_evaluation.py on the same number of threads.
double plain_evaluation(const Case& c, Index paths, int threads) {
  const std::string command = fmt::format(
      "OPENBLAS_NUM_THREADS={} /usr/bin/python3 apps/benchmarks/plain_evaluation.py {} {} {} {}",
      threads, c.examples, paths, c.features, paths > 1000 ? 1 : 7);
  std::FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return std::nan("");
  double seconds = std::nan("");
  if (std::fscanf(pipe, "%lf", &seconds) != 1) seconds = std::nan("");
  pclose(pipe);
  return seconds;
}

double peak_memory_gib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / (1024.0 * 1024.0);
}

struct Settings {
  std::vector<std::string> names;
  int threads = 2;
  theory::SaddlePointOptions solver;
};

Settings settings_of(int argc, char** argv) {
  Settings settings;
  settings.solver.gradient_tolerance = 1e-8;
  for (const std::string_view word : std::vector<std::string_view>(argv + 1, argv + argc)) {
    const auto value = [&](std::string_view key) {
      return word.starts_with(key) ? std::string(word.substr(key.size())) : std::string();
    };
    if (const std::string v = value("threads="); !v.empty()) {
      settings.threads = std::stoi(v);
    } else if (const std::string t = value("tolerance="); !t.empty()) {
      settings.solver.gradient_tolerance = std::stod(t);
    } else if (const std::string o = value("optimizer="); !o.empty()) {
      for (const auto& candidate : theory::words_of(theory::Optimizer{})) {
        if (candidate.text == o) settings.solver.optimizer = candidate.value;
      }
    } else {
      settings.names.emplace_back(word);
    }
  }
  if (settings.names.empty()) settings.names.emplace_back("two");
  return settings;
}

void run(const Case& c, const Settings& settings) {
  const model::Architecture architecture = model::uniform_architecture(c.heads, c.width);
  const Index paths = architecture.paths();
  const double unit = plain_evaluation(c, paths, settings.threads);
  fmt::print("\n{}: P = {}, N_0 = {}, {} paths, N = {}, T = 0.1, {} threads\n", c.name, c.examples,
             c.features, paths, c.width, settings.threads);
  fmt::print("  one plain numpy evaluation {:.3f} s\n", unit);
  RowMatrixXd features;
  MatrixXd labels;
  one_shot_like_examples(c.examples, c.features, paths, features, labels);
  Observer observer;
  theory::SaddlePoint s;
  const double seconds = seconds_of([&] {
    theory::PathKernelOptions options;
    options.smallest_temperature = 0.1;
    options.threads = settings.threads;
    const auto kernels = theory::make_path_kernels(
        theory::PathKernels::scale_features(features, paths, 1.0), labels, paths, options);
    s = theory::solve_saddle_point(theory::Action(architecture, 0.1, kernels),
                                   theory::gaussian_process_order_parameters(architecture),
                                   settings.solver, observer);
  });
  for (const auto& h : s.summary.history) {
    fmt::print("    {:>3}  S / N {:.10f}  gradient {:.1e}  step {:.2g}\n", h.iteration, h.action,
               h.gradient_norm, h.log_step);
  }
  fmt::print(
      "  {}: {:.2f} s = {:.1f} numpy evaluations; {} evaluations, {} products, {} Hessians; "
      "gradient {:.1e}{}; peak memory {:.2f} GiB\n",
      s.summary.optimizer, seconds, seconds / unit, s.summary.evaluations, s.summary.products,
      s.summary.hessians, s.summary.gradient_norm, s.summary.converged ? "" : " NOT CONVERGED",
      peak_memory_gib());
}

}  // namespace

int main(int argc, char** argv) {
  numerics::prepare_blas();
  const Settings settings = settings_of(argc, argv);
  for (const Case& c : cases()) {
    for (const std::string& name : settings.names) {
      if (name == c.name) run(c, settings);
    }
  }
  return 0;
}
