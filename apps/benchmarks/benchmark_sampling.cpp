// Speed of the posterior samplers on the hidden-Markov task of four paths (P = 100, p = 4, L = 2,
// H = (2, 2)), one thread.
//   benchmark_sampling PATH_FEATURES.h5 [temperature]
//   benchmark_sampling one-shot               the exact chain at P = 600, p = 16
//   benchmark_sampling many-paths             bilinear sequence regression, 20 paths and N_1 = 4
//   benchmark_sampling metrics [temperature] [limit]     its metrics over unknowns and widths
// for example tests/data/golden/hmm4_paths.h5. Every time is a median over repeats.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <functional>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "headway/architecture.hpp"
#include "headway/core/rng.hpp"
#include "headway/dataset_file.hpp"
#include "headway/error.hpp"
#include "headway/numerics/blas.hpp"
#include "headway/path_kernels.hpp"
#include "headway/posterior/collapsed_chain.hpp"
#include "headway/posterior/exact_chain.hpp"
#include "headway/posterior/weight_posterior.hpp"
#include "headway/sampling/diagnostics.hpp"
#include "headway/sampling/sample.hpp"
#include "metric_ladder.hpp"
#include "one_shot_like_examples.hpp"
#include "timing.hpp"

namespace headway {
namespace {

struct Problem {
  std::vector<int> heads;
  Index outputs = 1;
  double temperature = 0.01;
  std::shared_ptr<const theory::PathKernels> kernels;
  std::shared_ptr<const MatrixXd> no_test_features;
};

Problem read_problem(const std::string& file_path, double temperature) {
  const tasks::Dataset data = io::read_dataset(file_path);
  Problem problem;
  problem.heads = data.heads;
  problem.outputs = data.outputs();
  problem.temperature = temperature;
  const Index paths = model::uniform_architecture(data.heads, 1).paths();
  problem.kernels = theory::make_path_kernels(
      theory::PathKernels::scale_features(data.train.path_features, paths, 1.0), data.train.labels,
      paths);
  problem.no_test_features = std::make_shared<const MatrixXd>();
  return problem;
}

posterior::WeightPosterior weight_posterior(const Problem& problem, Index width) {
  return {model::uniform_architecture(problem.heads, width, 1.0, problem.outputs),
          problem.temperature, problem.kernels, problem.no_test_features};
}

// Processor time of this process (everything here runs on one thread): other programs on the
// machine hardly disturb it.
double seconds(const std::function<void()>& work) {
  const std::clock_t begin = std::clock();
  work();
  return std::max(1e-9, static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
}

// The median over `repeats` timings of `work`, each of enough calls to last a few milliseconds.
double median_seconds(int repeats, const std::function<void()>& work) {
  const double once = seconds(work);
  const int calls = std::clamp(static_cast<int>(0.005 / once), 1, 1000);
  const auto all_calls = [&] {
    for (int call = 0; call < calls; ++call) work();
  };
  return median_of(repeats, [&] { return seconds(all_calls) / calls; });
}

// A sweep, the gradient and the normals alone, by width.
void measure_weight_space(const Problem& problem) {
  fmt::print("Weight space: one block Gibbs sweep, one gradient\n");
  fmt::print("{:>6} {:>10} {:>12} {:>12} {:>16} {:>12}\n", "N", "weights", "sweep/ms", "normals/ms",
             "normals' share", "gradient/ms");
  for (const Index width : {10, 100, 1000}) {
    posterior::WeightPosterior target = weight_posterior(problem, width);
    Rng rng(1, StreamPurpose::kChain);
    VectorXd position(target.dimension());
    VectorXd gradient(target.dimension());
    target.draw_start(rng, position);
    const int repeats = 21;
    const double sweep = median_seconds(repeats, [&] { target.sweep(rng, position); });
    const double normals = median_seconds(repeats, [&] { target.draw_start(rng, gradient); });
    const double slope = median_seconds(repeats, [&] { target.log_density(position, gradient); });
    fmt::print("{:>6} {:>10} {:>12.3f} {:>12.3f} {:>15.0f}% {:>12.3f}\n", width, target.dimension(),
               1e3 * sweep, 1e3 * normals, 100.0 * normals / sweep, 1e3 * slope);
  }
}

// E[diag U_1] and effective draws a second of block Gibbs.
void measure_gibbs_efficiency(const Problem& problem, Index width, int warmup, int draws) {
  posterior::WeightPosterior target = weight_posterior(problem, width);
  Rng rng(1, StreamPurpose::kChain);
  VectorXd position(target.dimension());
  target.draw_start(rng, position);
  for (int i = 0; i < warmup; ++i) target.sweep(rng, position);
  MatrixXd diagonal;
  const double time = seconds([&] {
    for (int i = 0; i < draws; ++i) {
      target.sweep(rng, position);
      const MatrixXd u = target.observe(position, false).order_parameters.layers.front();
      if (i == 0) diagonal.resize(draws, u.rows());
      diagonal.row(i) = u.diagonal();
    }
  });
  fmt::print("\nBlock Gibbs at N = {}: {} draws in {:.1f} s\n", width, draws, time);
  fmt::print("{:>10} {:>10} {:>10} {:>10} {:>12}\n", "U_1[i,i]", "mean", "error", "ESS", "ESS/s");
  for (Index i = 0; i < diagonal.cols(); ++i) {
    const double ess = sampling::ess_mean(diagonal.col(i));
    fmt::print("{:>10} {:>10.4f} {:>10.4f} {:>10.0f} {:>12.2f}\n", i + 1, diagonal.col(i).mean(),
               sampling::mcse_mean(diagonal.col(i)), ess, ess / time);
  }
}

// Draws of U_1 and the processor time each chain took after warm-up.
class FirstLayerRecorder final : public sampling::DrawRecorder {
 public:
  FirstLayerRecorder(int chains, int draws, Index order)
      : draws_(static_cast<std::size_t>(order * (order + 1) / 2), MatrixXd(draws, chains)),
        begin_(static_cast<std::size_t>(chains), 0) {}

  void record(const sampling::Draw& draw, sampling::Target& target) override {
    auto& network = dynamic_cast<posterior::PosteriorTarget&>(target);
    const MatrixXd u = network.observe(draw.position, false).order_parameters.layers.front();
    const std::clock_t now = std::clock();
    std::clock_t& begin = begin_[static_cast<std::size_t>(draw.chain)];
    if (draw.index == 0) begin = now;
    if (draw.index == draws_.front().rows() - 1) ticks_ += now - begin;
    std::size_t k = 0;
    for (Index i = 0; i < u.rows(); ++i) {
      for (Index j = 0; j <= i; ++j) draws_[k++](draw.index, draw.chain) = u(i, j);
    }
  }
  [[nodiscard]] double seconds() const { return static_cast<double>(ticks_) / CLOCKS_PER_SEC; }
  /// Smallest bulk effective sample size and largest R-hat over the entries of U_1.
  [[nodiscard]] std::pair<double, double> worst() const {
    double ess = 1e300;
    double rhat = 0.0;
    for (const MatrixXd& entry : draws_) {
      const sampling::QuantityDiagnostics q = sampling::diagnose_quantity(entry);
      ess = std::min(ess, q.ess_bulk);
      rhat = std::max(rhat, q.rhat);
    }
    return {ess, rhat};
  }
  [[nodiscard]] double first_mean() const { return draws_.front().mean(); }

 private:
  std::vector<MatrixXd> draws_;
  std::vector<std::clock_t> begin_;
  std::clock_t ticks_ = 0;
};

struct SamplerRow {
  const char* name;
  sampling::SamplerKind kind;
  enum { kExact, kCollapsed, kWeights } over;
  Index width;
  int chains, warmup, draws;
  Index readout_width = 0;  // 0: as the others
};

void print_sampler_header() {
  fmt::print("{:<28} {:>6} {:>8} {:>9} {:>9} {:>9} {:>10} {:>8} {:>10} {:>10}\n", "sampler", "N",
             "unknowns", "draws", "E[U_11]", "ESS min", "seconds", "R-hat", "ESS/s", "divergent");
}

// One sampler run: effective draws a second of the slowest entry of U_1.
void measure_sampler(const Problem& problem, const SamplerRow& row) {
  model::Architecture architecture =
      model::uniform_architecture(problem.heads, row.width, 1.0, problem.outputs);
  if (row.readout_width > 0) architecture.widths.back() = row.readout_width;
  std::unique_ptr<sampling::Target> target;
  const bool exact = row.over == SamplerRow::kExact;
  if (row.over == SamplerRow::kCollapsed) {
    target = std::make_unique<posterior::CollapsedChain>(architecture, problem.temperature,
                                                         problem.kernels, problem.no_test_features);
  } else if (exact) {
    target = std::make_unique<posterior::ExactChain>(architecture, problem.temperature,
                                                     problem.kernels, problem.no_test_features);
  } else {
    target = std::make_unique<posterior::WeightPosterior>(
        architecture, problem.temperature, problem.kernels, problem.no_test_features);
  }
  sampling::SamplerOptions options;
  options.sampler = row.kind;
  options.chains = row.chains;
  options.warmup = row.warmup;
  options.draws = row.draws;
  options.threads = 1;
  options.keep_draws = false;
  if (exact) {  // as `headway sample` chooses
    const bool dense = target->dimension() <= 60;
    options.metric = dense ? sampling::MetricKind::kDense : sampling::MetricKind::kInformation;
    options.target_accept = dense ? 0.65 : 0.5;
  }
  FirstLayerRecorder recorder(options.chains, row.draws, problem.kernels->order());
  sampling::SamplingHooks hooks;
  hooks.recorder = &recorder;
  const sampling::SamplingSummary summary = sampling::sample(*target, options, hooks).summary;
  const Index divergent =
      std::accumulate(summary.divergences.begin(), summary.divergences.end(), Index{0});
  const auto [ess, rhat] = recorder.worst();
  fmt::print("{:<28} {:>6} {:>8} {:>9} {:>9.3f} {:>9.0f} {:>10.2f} {:>8.3f} {:>10.2f} {:>10}\n",
             row.name, row.width, target->dimension(), options.chains * row.draws,
             recorder.first_mean(), ess, recorder.seconds(), rhat, ess / recorder.seconds(),
             divergent);
  std::fflush(stdout);
}

// All samplers of one posterior side by side.
void compare_samplers(const Problem& problem) {
  using sampling::SamplerKind;
  fmt::print("\nSamplers side by side, seconds after warm-up on one thread\n");
  print_sampler_header();
  for (const SamplerRow& row : {
           SamplerRow{"exact chain, NUTS", SamplerKind::kNuts, SamplerRow::kExact, 10, 4, 500,
                      1000},
           SamplerRow{"exact chain, NUTS", SamplerKind::kNuts, SamplerRow::kExact, 100, 4, 500,
                      1000},
           SamplerRow{"exact chain, NUTS", SamplerKind::kNuts, SamplerRow::kExact, 1000, 4, 500,
                      1000},
           SamplerRow{"collapsed chain", SamplerKind::kSweep, SamplerRow::kCollapsed, 10, 4, 500,
                      1000},
           SamplerRow{"collapsed chain", SamplerKind::kSweep, SamplerRow::kCollapsed, 100, 4, 50,
                      200},
           SamplerRow{"weights, Gibbs", SamplerKind::kSweep, SamplerRow::kWeights, 10, 4, 500,
                      4000},
           SamplerRow{"weights, NUTS", SamplerKind::kNuts, SamplerRow::kWeights, 10, 4, 200, 200},
           SamplerRow{"weights, HMC", SamplerKind::kStaticHmc, SamplerRow::kWeights, 10, 4, 200,
                      200},
           SamplerRow{"weights, MALA", SamplerKind::kMala, SamplerRow::kWeights, 10, 4, 2000, 4000},
           SamplerRow{"weights, Langevin (biased)", SamplerKind::kLangevin, SamplerRow::kWeights,
                      10, 4, 2000, 4000},
       }) {
    measure_sampler(problem, row);
  }
}

// P = 600, N_0 = 192, p = 16, heads (4, 4): the exact chain where a gradient takes tens of
// milliseconds.
void measure_one_shot_scale() {
  Problem problem;
  problem.heads = {4, 4};
  RowMatrixXd features;
  MatrixXd labels;
  one_shot_like_examples(600, 192, 16, features, labels);
  theory::PathKernelOptions options;
  options.energy_tolerance = 1e-3;  // as `headway sample` chooses
  problem.kernels = theory::make_path_kernels(
      theory::PathKernels::scale_features(features, 16, 1.0), labels, 16, options);
  {
    const MatrixXd u = MatrixXd::Identity(16, 16);
    fmt::print("\nOne evaluation at one-shot scale: {:.1f} ms\n",
               1e3 * median_seconds(21, [&] {
                 static_cast<void>(problem.kernels->evaluate(u, problem.temperature));
               }));
  }
  problem.no_test_features = std::make_shared<const MatrixXd>();
  fmt::print("\nOne-shot scale (P = 600, N_0 = 192, p = 16, T = 0.01), seconds after warm-up\n");
  print_sampler_header();
  for (const Index width : {20, 200}) {
    measure_sampler(problem, {"exact chain, NUTS", sampling::SamplerKind::kNuts, SamplerRow::kExact,
                              width, 2, 150, 400});
  }
}

// y = <X, S> / sqrt(L D) + noise of variance 1/2, S = V U / sqrt(4), L = D = 20, P = 399: a path
// for each of L positions (arXiv 2410.18858).
void measure_many_paths() {
  constexpr Index kSide = 20, kRank = 4, kExamples = 399;
  Problem problem;
  problem.heads = {static_cast<int>(kSide)};
  problem.temperature = 0.5;
  Rng rng(1, StreamPurpose::kTrainExamples);
  const auto normal = [&rng](Index rows, Index columns) {
    MatrixXd m(rows, columns);
    rng.fill_normal({m.data(), static_cast<std::size_t>(m.size())});
    return m;
  };
  const MatrixXd v = normal(kSide, kRank), u = normal(kRank, kSide);
  const MatrixXd signal = (v * u).transpose() / std::sqrt(static_cast<double>(kRank));
  const MatrixXd x = normal(kExamples, kSide * kSide) / static_cast<double>(kSide);
  const MatrixXd labels =
      x * signal.reshaped() + std::sqrt(problem.temperature) * normal(kExamples, 1);
  problem.kernels = theory::make_path_kernels(x, labels, kSide);
  problem.no_test_features = std::make_shared<const MatrixXd>();
  fmt::print("\nBilinear sequence regression (20 paths, P = 399, N_1 = 4, N_a = 400)\n");
  print_sampler_header();
  using sampling::SamplerKind;
  measure_sampler(problem, {"collapsed chain", SamplerKind::kSweep, SamplerRow::kCollapsed, kRank,
                            1, 200, 2000, 400});
  measure_sampler(problem, {"exact chain, NUTS", SamplerKind::kNuts, SamplerRow::kExact, kRank, 1,
                            20, 20, 400});
  measure_sampler(problem, {"weights, Gibbs", SamplerKind::kSweep, SamplerRow::kWeights, kRank, 1,
                            100, 400, 400});
}

int run(std::span<char* const> arguments) {
  if (arguments.size() < 2) {
    fmt::print(stderr,
               "usage: {} PATH_FEATURES.h5 [temperature] | one-shot | many-paths | metrics\n",
               arguments[0]);
    return static_cast<int>(ErrorKind::kUsage);
  }
  numerics::prepare_blas();
  const auto number = [&](std::size_t i, double otherwise) {
    return arguments.size() > i ? std::atof(arguments[i]) : otherwise;
  };
  if (std::string(arguments[1]) == "one-shot") {
    measure_one_shot_scale();
    return 0;
  }
  if (std::string(arguments[1]) == "many-paths") {
    measure_many_paths();
    return 0;
  }
  if (std::string(arguments[1]) == "metrics") {
    measure_metrics(number(2, 0.1), number(3, 60.0));
    return 0;
  }
  const Problem problem = read_problem(arguments[1], number(2, 0.01));
  fmt::print("{}; P = {}, p = {}, T = {}\n\n", numerics::blas_description(),
             problem.kernels->examples(), problem.kernels->paths(), problem.temperature);
  measure_weight_space(problem);
  measure_gibbs_efficiency(problem, 10, 1000, 20000);
  measure_gibbs_efficiency(problem, 100, 100, 1000);
  compare_samplers(problem);
  return 0;
}

}  // namespace
}  // namespace headway

int main(int argc, char** argv) {
  try {
    return headway::run({argv, static_cast<std::size_t>(argc)});
  } catch (const std::exception& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return EXIT_FAILURE;
  }
}
