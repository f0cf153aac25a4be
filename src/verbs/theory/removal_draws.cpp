#include "verbs/theory/removal_draws.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "headway/core/quiet_observer.hpp"
#include "headway/core/rng.hpp"
#include "headway/posterior/exact_chain.hpp"
#include "headway/sampling/sample.hpp"
#include "verbs/theory/sample_setup.hpp"

namespace headway {
namespace {

constexpr int kChains = 4;  // as many as show whether they agree
constexpr int kWarmup = 150, kDraws = 50;
constexpr double kGradientsOfTransition = 10.0;  // about
constexpr double kMostFlops = 1e11;              // "auto": some seconds
// "auto": with the terms that the leading order drops below this share, its deviations were wrong
// by less than the 5 % that 200 draws leave.
constexpr double kSmallRatio = 0.02;
constexpr std::uint64_t kFirstRemovalStream = 500'000;  // none that a point of `sample` has

SampleOptions short_chains() {
  SampleOptions options;
  options.sampler = Sampler::kExact;
  options.chains = kChains;
  options.warmup = kWarmup;
  options.draws = kDraws;
  return options;
}

double flops_of_draws(const theory::PathKernels& kernels, Index removals) {
  const double evaluations = kChains * (kWarmup + kDraws) * kGradientsOfTransition +
                             kChains * kDraws * static_cast<double>(removals);
  return evaluations * kernels.cost().evaluation_flops;
}

/// U_1 at all draws of all chains.
Tensor first_layer_of(const sampling::SamplingResult& run, const posterior::BartlettChain& chain) {
  const auto chains = static_cast<Index>(run.state.chains.size());
  Tensor all;
  double* next = nullptr;
  for (const sampling::ChainState& state : run.state.chains) {
    const auto draws = state.draw_matrix();
    for (Index d = 0; d < draws.cols(); ++d) {
      const MatrixXd f = chain.factors(draws.col(d)).factor.front();
      const MatrixXd u = f * f.transpose();
      if (next == nullptr) {
        all = Tensor({chains, draws.cols(), u.rows(), u.cols()});
        next = all.values.data();
      }
      next = std::copy_n(u.data(), u.size(), next);
    }
  }
  return all;
}

}  // namespace

RemovalDraws draw_for_removal(const Study& study, const model::Architecture& architecture,
                              const TheoryProblem& problem, const SolvePoint& solved,
                              Index removals, const Observer& observer) {
  if (study.solve.corrections == When::kOff) return {{}, "solve.corrections = \"off\""};
  if (!(solved.temperature > 0.0)) return {{}, "the temperature is 0"};
  if (problem.kernels->form() == theory::KernelForm::kDistributed) {
    return {{}, "the kernel is spread over ranks"};
  }
  if (study.solve.corrections == When::kAuto) {
    if (dropped_terms(solved).ratio < kSmallRatio) return {{}, "the width is large"};
    if (flops_of_draws(*problem.kernels, removals) > kMostFlops) {
      return {{}, "exact draws would take too long"};
    }
  }
  const posterior::ExactChain target(architecture, solved.temperature, problem.kernels,
                                     std::make_shared<MatrixXd>());
  Study brief = study;
  brief.sample = short_chains();
  brief.model.attention_prior.reset();  // attention is that of the solution
  brief.model.value_network.reset();    // and so is S
  sampling::SamplerOptions options = sampler_options(brief,
                                                     {.architecture = architecture,
                                                      .sampler = Sampler::kExact,
                                                      .dimension = target.dimension(),
                                                      .labels = problem.train_labels.size()},
                                                     problem.kernels.get());
  options.first_stream = kFirstRemovalStream;
  options.keep_draws = true;
  QuietObserver quiet(observer);
  const sampling::SamplingResult run = sampling::sample(target, options, {.observer = &quiet});
  if (!run.summary.complete) return {{}, "interrupted"};
  return {first_layer_of(run, target.prior()), ""};
}

}  // namespace headway
