// Times learned attention: one evaluation with gradient for the hidden-Markov study, in units of
// its path features and of the gradient at fixed attention, and effective draws a second of a small
// problem. Medians over repeats, one thread.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <functional>
#include <memory>
#include <vector>

#include "headway/core/rng.hpp"
#include "headway/numerics/blas.hpp"
#include "headway/path_features.hpp"
#include "headway/path_kernels.hpp"
#include "headway/posterior/exact_chain.hpp"
#include "headway/posterior/learned_chain.hpp"
#include "headway/sampling/diagnostics.hpp"
#include "headway/sampling/sample.hpp"
#include "headway/tasks/hidden_markov_chain.hpp"
#include "timing.hpp"

namespace {

using namespace headway;  // NOLINT: a program

// The clock of the processor: other programs may run beside this one.
double processor_seconds() {
  return static_cast<double>(std::clock()) / static_cast<double>(CLOCKS_PER_SEC);
}

double median_seconds(int repeats, const std::function<void()>& work) {
  return median_of(repeats, [&] {
    const double start = processor_seconds();
    work();
    return processor_seconds() - start;
  });
}

tasks::Dataset four_heads(Index examples) {
  tasks::HiddenMarkovChainOptions options;
  options.train_examples = examples;
  options.test_examples = 0;
  tasks::HeadOptions same, uniform, random;
  same.kind = tasks::HeadKind::kSameToken;
  uniform.kind = tasks::HeadKind::kUniform;
  random.kind = tasks::HeadKind::kRandom;
  options.layers = {{same, random}, {uniform, random}};
  return tasks::make_hidden_markov_chain(options, 1);
}

void evaluation() {
  const tasks::Dataset data = four_heads(100);
  const ExampleSource& examples = *data.train.examples;
  const auto labels = std::make_shared<MatrixXd>(data.train.labels);
  const model::Architecture architecture = model::uniform_architecture(data.heads, 10);
  const auto paths = static_cast<Index>(model::path_count(data.heads));
  Observer observer;
  RowMatrixXd features;
  const double features_seconds = median_seconds(15, [&] {
    features = model::path_features(examples, data.heads, data.layers, {}, observer);
  });
  const MatrixXd scaled = theory::PathKernels::scale_features(features, paths, 1.0);
  theory::PathKernelOptions options;
  options.smallest_temperature = 0.01;
  std::shared_ptr<const theory::PathKernels> kernels;
  const double kernels_seconds = median_seconds(
      15, [&] { kernels = theory::make_path_kernels(scaled, *labels, paths, options); });
  posterior::ExactChain fixed(architecture, 0.01, kernels,
                              std::make_shared<MatrixXd>(0, scaled.cols()));
  Rng rng(1, StreamPurpose::kTests, 0);
  VectorXd at(fixed.dimension()), slope(fixed.dimension());
  fixed.draw_start(rng, at);
  const double fixed_seconds =
      median_seconds(51, [&] { static_cast<void>(fixed.log_density(at, slope)); });

  model::AttentionPrior prior;
  prior.heads = data.heads;
  const auto attention = std::make_shared<const model::LearnedAttention>(
      examples, prior, std::vector<LayerHeads>{}, Readout::kLastToken);
  posterior::LearnedChain learned(architecture, 0.01, attention, labels, nullptr);
  at.resize(learned.dimension());
  slope.resize(learned.dimension());
  learned.draw_start(rng, at);
  const double learned_seconds =
      median_seconds(15, [&] { static_cast<void>(learned.log_density(at, slope)); });
  const double unit = features_seconds + fixed_seconds;
  fmt::print(
      "Hidden-Markov study, P=100, S=30, four heads, N_0={}: {} attention weights\n"
      "  path features               {:8.2f} ms\n"
      "  kernels                     {:8.2f} ms\n"
      "  gradient, attention fixed   {:8.2f} ms\n"
      "  gradient, attention learned {:8.2f} ms, {:.2f} times features and fixed gradient\n",
      examples.features(), learned.weights(), 1e3 * features_seconds, 1e3 * kernels_seconds,
      1e3 * fixed_seconds, 1e3 * learned_seconds, learned_seconds / unit);
}

// U_a, the trace of U_1 and the largest attention weight: they do not change if heads change
// places.
class Recorder final : public sampling::DrawRecorder {
 public:
  Recorder(int chains, Index draws) : seen(3, MatrixXd(draws, chains)) {}
  void record(const sampling::Draw& draw, sampling::Target& target) override {
    const posterior::PosteriorDraw one =
        dynamic_cast<posterior::LearnedChain&>(target).observe(draw.position, false);
    seen[0](draw.index, draw.chain) = one.order_parameters.readout(0, 0);
    seen[1](draw.index, draw.chain) = one.order_parameters.layers.front().trace();
    seen[2](draw.index, draw.chain) = one.attention_largest;
  }
  std::vector<MatrixXd> seen;
};

constexpr Index kExamples = 30, kTokens = 5, kNumbers = 2, kFeatures = kNumbers + kTokens;

// As the posterior `attention_learned` of apps/posteriors, with other random numbers: two normal
// numbers and a position make a token, and the label follows the numbers of the last but one.
posterior::LearnedChain small_posterior() {
  constexpr double kTemperature = 0.1;
  Rng rng(1, StreamPurpose::kTests, 0);
  Tensor inputs({kExamples, kTokens, kFeatures});
  MatrixXd labels(kExamples, 1);
  for (Index p = 0; p < kExamples; ++p) {
    for (Index t = 0; t < kTokens; ++t) {
      double* token = inputs.values.data() + (p * kTokens + t) * kFeatures;
      rng.fill_normal({token, kNumbers});
      token[kNumbers + t] = 1.0;
      if (t + 2 == kTokens) {
        labels(p, 0) = token[0] - token[1] + std::sqrt(kTemperature) * rng.normal();
      }
    }
  }
  model::AttentionPrior prior;
  prior.heads = {1};
  prior.variance = 100.0;
  const model::Architecture architecture = model::uniform_architecture(prior.heads, 4);
  const auto attention = std::make_shared<const model::LearnedAttention>(
      tasks::MemoryExamples(inputs), prior, std::vector<LayerHeads>{}, Readout::kLastToken);
  return {architecture, kTemperature, attention, std::make_shared<MatrixXd>(labels), nullptr};
}

void draws() {
  const posterior::LearnedChain target = small_posterior();
  posterior::LearnedChain chain = target;
  VectorXd at(chain.dimension()), slope(chain.dimension());
  Rng rng(1, StreamPurpose::kTests, 0);
  chain.draw_start(rng, at);
  constexpr int kEvaluations = 1000;
  const double gradient_seconds = median_seconds(15, [&] {
    for (int i = 0; i < kEvaluations; ++i) static_cast<void>(chain.log_density(at, slope));
  });
  fmt::print("Reference posterior, P={}, S={}, N_0={}: gradient {:.2f} us\n", kExamples, kTokens,
             kFeatures, 1e6 * gradient_seconds / kEvaluations);
  for (const int replicas : {1, 8}) {
    sampling::SamplerOptions options;
    options.chains = 4;
    options.warmup = 500;
    options.draws = 500;
    options.threads = 1;
    options.replicas = replicas;
    options.metric = sampling::MetricKind::kDense;
    options.target_accept = 0.65;
    options.keep_draws = false;
    Recorder recorder(options.chains, options.draws);
    sampling::SamplingHooks hooks;
    hooks.recorder = &recorder;
    const double start = processor_seconds();
    static_cast<void>(sampling::sample(target, options, hooks));
    const double seconds = processor_seconds() - start;
    double effective = 1e300;
    double rhat = 0.0;
    for (const MatrixXd& one : recorder.seen) {
      const sampling::QuantityDiagnostics found = sampling::diagnose_quantity(one);
      effective = std::min(effective, found.ess_bulk);
      rhat = std::max(rhat, found.rhat);
    }
    fmt::print(
        "  {} replica{}: {:.0f} effective draws in {:.2f} s, warm-up included: {:.0f} a "
        "second; R-hat {:.3f}\n",
        replicas, replicas == 1 ? "" : "s", effective, seconds, effective / seconds, rhat);
  }
}

}  // namespace

int main() {
  numerics::prepare_blas();
  evaluation();
  draws();
  return 0;
}
