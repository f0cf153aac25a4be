// Times value networks: kernels and an adapted solution of a large problem, on two threads, and
// effective draws a second of a small one. Times are those of the clock on the wall and of the
// processor. Usage: benchmark_values [kernels] [adapted] [GOLDEN.h5]. Without words: kernels and
// adapted. Draws are made where a file is named: tests/data/golden/value_network.h5.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "headway/core/rng.hpp"
#include "headway/dataset.hpp"
#include "headway/numerics/blas.hpp"
#include "headway/posterior/value_chain.hpp"
#include "headway/sampling/diagnostics.hpp"
#include "headway/sampling/sample.hpp"
#include "headway/theory/value_saddle.hpp"
#include "io/hdf5/input.hpp"
#include "timing.hpp"

namespace {

using namespace headway;  // NOLINT: a program
using model::ValueSites;

constexpr int kThreads = 2;

double processor_seconds() {
  return static_cast<double>(std::clock()) / static_cast<double>(CLOCKS_PER_SEC);
}

struct Times {
  double wall = 0.0, processor = 0.0;
};
/// Medians of both clocks.
Times times_of(int repeats, const std::function<void()>& work) {
  std::vector<double> wall, processor;
  for (int r = 0; r < repeats; ++r) {
    const double start = processor_seconds();
    wall.push_back(seconds_of(work));
    processor.push_back(processor_seconds() - start);
  }
  return {median(wall), median(processor)};
}

Tensor normal_tensor(const std::vector<Index>& shape, double scale, Rng& rng) {
  Tensor t(shape);
  for (double& x : t.values) x = scale * rng.normal();
  return t;
}

struct Problem {
  ValueSites sites;
  theory::ValueProblem value;
};

/// 600 sequences of 36 tokens with 8 heads and 16 features; HYLA of three hidden units makes the
/// labels.
std::unique_ptr<Problem> large_problem() {
  constexpr Index kExamples = 600, kTokens = 36, kFeatures = 16;
  constexpr int kHeads = 8, kTeacher = 3;
  Rng rng(1, StreamPurpose::kTests, 0);
  const Tensor inputs = normal_tensor({kExamples, kTokens, kFeatures}, 1.0, rng);
  const Tensor attention = normal_tensor({kExamples, kHeads, kTokens, kTokens},
                                         1.0 / std::sqrt(static_cast<double>(kTokens)), rng);
  Observer observer;
  auto problem = std::make_unique<Problem>();
  problem->sites = model::value_sites({}, tasks::MemoryExamples(inputs, {}, {attention}), {kHeads},
                                      {}, {}, observer);
  const ValueSites& sites = problem->sites;
  MatrixXd v(sites.directions.cols(), kTeacher), o(kHeads, kTeacher);
  for (double& x : v.reshaped()) x = rng.normal();
  for (double& x : o.reshaped()) x = rng.normal();
  const MatrixXd hidden = (sites.directions * v).cwiseMax(0.0);
  const VectorXd outputs = (sites.weights * o).cwiseProduct(hidden).rowwise().sum();
  problem->value.labels.resize(kExamples, 1);
  for (Index i = 0; i < kExamples; ++i)
    problem->value.labels(i, 0) = outputs.segment(sites.first(i), kTokens).sum();
  problem->value.labels /= std::sqrt(problem->value.labels.squaredNorm() / kExamples);
  for (double& y : problem->value.labels.reshaped()) y += 0.3 * rng.normal();
  problem->value.architecture = model::uniform_architecture({kHeads}, 100);
  // Labels and prior networks have a mean square of about 1.
  const model::WhitenedSites white(sites, MatrixXd::Identity(v.rows(), v.rows()));
  const MatrixXd own = model::value_kernel_diagonal(white);
  double square = 0.0;
  for (Index i = 0; i < kExamples; ++i)
    square += own.middleRows(i * kHeads, kHeads).trace() / kExamples;
  problem->value.architecture.variances = {1.0, 1.0 / square, 1.0};
  problem->value.temperature = 0.1;
  problem->value.sites = &sites;
  problem->value.kernels.threads = kThreads;
  problem->value.kernels.smallest_temperature = 0.1;
  return problem;
}

void kernels(const Problem& problem) {
  const Index d = problem.sites.directions.cols();
  const model::WhitenedSites white(problem.sites, MatrixXd::Identity(d, d));
  MatrixXd c;
  const Times made = times_of(3, [&] { c = model::value_kernel(white, kThreads); });
  const Times slope =
      times_of(3, [&] { static_cast<void>(model::value_kernel_slope(white, c, kThreads)); });
  const Times features = times_of(3, [&] {
    const ValueSites none{MatrixXd(0, d), MatrixXd(0, c.rows() / problem.sites.examples()), {0}};
    static_cast<void>(
        theory::value_features(problem.sites, none, MatrixXd::Identity(d, d), kThreads));
  });
  const double sites = static_cast<double>(problem.sites.directions.rows());
  const double flops = sites * sites * static_cast<double>(d + problem.sites.readouts());
  fmt::print(
      "P=600, S=36, 8 heads, N_0=16, hyla, relu: {} sites of {} numbers, {} threads\n"
      "  kernels            {:6.2f} s wall, {:6.2f} s processor, {:.1f} GF\n"
      "  with features      {:6.2f} s wall, {:6.2f} s processor\n"
      "  slope over S       {:6.2f} s wall, {:6.2f} s processor, {:.1f} GF\n",
      problem.sites.directions.rows(), d, kThreads, made.wall, made.processor, 1e-9 * flops,
      features.wall, features.processor, slope.wall, slope.processor, 2e-9 * flops);
}

void adapted(const Problem& problem) {
  const Index d = problem.sites.directions.cols();
  Observer observer;
  theory::ValueSaddle saddle;
  const Times times = times_of(1, [&] {
    saddle = theory::solve_adapted_saddle(problem.value, MatrixXd::Zero(d, d), {}, observer);
  });
  fmt::print(
      "  adapted solution   {:6.2f} s wall, {:6.2f} s processor, N=100: {} iterations, {} "
      "evaluations, gradient {:.0e}{}\n",
      times.wall, times.processor, saddle.iterations, saddle.evaluations, saddle.gradient_norm,
      saddle.converged ? "" : " NOT CONVERGED");
}

/// U_a, U_1, S and predictions: they do not depend on the order of hidden units.
class Recorder final : public sampling::DrawRecorder {
 public:
  Recorder(int chains, Index draws) : chains_(chains), draws_(draws) {}
  void record(const sampling::Draw& draw, sampling::Target& target) override {
    const posterior::PosteriorDraw one =
        dynamic_cast<posterior::ValueChain&>(target).observe(draw.position, true);
    std::vector<double> numbers;
    for (const MatrixXd& m : {one.order_parameters.readout, one.order_parameters.layers.front(),
                              one.feature_covariance, one.mean})
      numbers.insert(numbers.end(), m.reshaped().begin(), m.reshaped().end());
    seen.resize(numbers.size(), MatrixXd(draws_, chains_));
    for (std::size_t q = 0; q < numbers.size(); ++q) seen[q](draw.index, draw.chain) = numbers[q];
  }
  std::vector<MatrixXd> seen;

 private:
  int chains_;
  Index draws_;
};

Tensor part(const Tensor& all, Index begin, Index count) {
  std::vector<Index> shape = all.shape;
  const Index size = static_cast<Index>(all.values.size()) / shape[0];
  shape[0] = count;
  Tensor out(shape);
  std::copy_n(all.values.begin() + begin * size, count * size, out.values.begin());
  return out;
}

void draws(const std::string& file_name) {
  const io::Hdf5Lock lock;
  const io::Hdf5InputFile file(file_name);
  const std::string name = "hyla_relu";
  const Tensor inputs = file.read_array(name + "/inputs");
  const Tensor attention = file.read_array(name + "/attention");
  const Tensor labels = file.read_array(name + "/labels");
  const auto examples = static_cast<Index>(labels.values.size());
  const int heads = static_cast<int>(attention.shape[1]);
  const auto sites = [&](Index begin, Index count) {
    Observer observer;
    const tasks::MemoryExamples of(part(inputs, begin, count), {}, {part(attention, begin, count)});
    return std::make_shared<const ValueSites>(
        model::value_sites({}, of, {heads}, {}, {}, observer));
  };
  model::Architecture architecture = model::uniform_architecture({heads}, 1);
  architecture.widths.clear();
  const std::vector<double> widths = *file.number_attribute(name, "widths");
  for (const double n : widths) architecture.widths.push_back(static_cast<Index>(n));
  architecture.variances = *file.number_attribute(name, "variances");
  const posterior::ValueChain target(
      architecture, (*file.number_attribute(name, "T"))[0], sites(0, examples),
      std::make_shared<MatrixXd>(Eigen::Map<const VectorXd>(labels.values.data(), examples)),
      sites(examples, inputs.shape[0] - examples));
  sampling::SamplerOptions options;
  options.chains = 2;
  options.warmup = 500;
  options.draws = 4000;
  options.threads = 1;
  options.keep_draws = false;
  options.metric = sampling::MetricKind::kDense;  // what `headway sample` takes here
  Recorder recorder(options.chains, options.draws);
  sampling::SamplingHooks hooks;
  hooks.recorder = &recorder;
  const double start = processor_seconds();
  static_cast<void>(sampling::sample(target, options, hooks));
  const double seconds = processor_seconds() - start;
  double effective = 1e300, rhat = 0.0;
  for (const MatrixXd& one : recorder.seen) {
    const sampling::QuantityDiagnostics found = sampling::diagnose_quantity(one);
    effective = std::min(effective, found.ess_bulk);
    rhat = std::max(rhat, found.rhat);
  }
  fmt::print(
      "{}: {} draws in {:.2f} s of the processor, warm-up included: {:.0f} effective draws a "
      "second "
      "of the slowest of {} numbers; R-hat {:.3f}\n",
      name, options.chains * options.draws, seconds, effective / seconds, recorder.seen.size(),
      rhat);
}

}  // namespace

int main(int argc, char** argv) {
  numerics::prepare_blas();
  std::set<std::string> wanted(argv + 1, argv + argc);
  std::set<std::string> files;
  for (const std::string& word : wanted) {
    if (word != "kernels" && word != "adapted") files.insert(word);
  }
  const bool all = wanted.empty();
  if (all || wanted.count("kernels") + wanted.count("adapted") > 0) {
    const std::unique_ptr<Problem> problem = large_problem();
    if (all || wanted.count("kernels") > 0) kernels(*problem);
    if (all || wanted.count("adapted") > 0) adapted(*problem);
  }
  for (const std::string& file : files) draws(file);
  return 0;
}
