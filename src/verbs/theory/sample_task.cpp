#include "verbs/theory/sample_task.hpp"

#include <fmt/format.h>

#include <string>

#include "headway/core/rng.hpp"
#include "headway/core/text.hpp"
#include "headway/posterior/collapsed_chain.hpp"
#include "headway/posterior/exact_chain.hpp"
#include "headway/posterior/weight_posterior.hpp"
#include "headway/solve.hpp"
#include "verbs/theory/sample_setup.hpp"
#include "verbs/theory/value_sample.hpp"

namespace headway {

SampleTasks::SampleTasks(const Study& study, const tasks::Dataset& dataset,
                         const TheoryProblem& problem, const LearnedProblem* learned)
    : study_(study),
      dataset_(dataset),
      problem_(problem),
      learned_(learned),
      evaluation_features_(std::make_shared<MatrixXd>(problem.evaluation_features)) {}

SampleTask SampleTasks::at(const SweepPoint& sweep, std::size_t index) const {
  SampleTask task;
  task.architecture = architecture_of(study_, dataset_, sweep.widths);
  task.linear = learned_ == nullptr && problem_.values == nullptr;
  const theory::PathKernels* kernels = problem_.values ? nullptr : problem_.kernels.get();
  task.sampler = sampler_of(study_, task.architecture, sweep.temperature, kernels);
  if (learned_ != nullptr) {
    task.target = learned_target(study_, dataset_, *learned_, sweep);
  } else if (problem_.values) {
    task.target = value_target(study_, dataset_, problem_,
                               std::make_shared<const MatrixXd>(problem_.train_labels), sweep);
  } else {
    task.target = linear_target(task.architecture, sweep, task.sampler, problem_.kernels);
  }
  task.options = sampler_options(study_,
                                 {.architecture = task.architecture,
                                  .sampler = task.sampler,
                                  .dimension = task.target->dimension(),
                                  .labels = dataset_.train.labels.size(),
                                  .index = index},
                                 kernels);
  if (learned_ != nullptr && study_.sample.attention_start != AttentionStart::kPrior) {
    task.options.starts = attention_starts(task);
  }
  task.options.validate(task.target->dimension());
  const bool has_weights = learned_ != nullptr || draws_weights(task.sampler);
  task.keep_positions =
      task.exact() ? study_.sample.evidence : has_weights && study_.sample.keep_weights;
  return task;
}

/// Starts of the chains, whose order parameters are draws from the prior.
std::vector<VectorXd> SampleTasks::attention_starts(const SampleTask& task) const {
  auto& target = dynamic_cast<posterior::LearnedChain&>(*task.target);
  std::vector<VectorXd> starts;
  for (int c = 0; c < task.options.chains; ++c) {
    Rng rng(study_.seed, StreamPurpose::kChainStart,
            task.options.first_stream + static_cast<std::uint64_t>(c));
    starts.emplace_back(target.dimension());
    target.draw_start(rng, starts.back());
    start_attention(study_.sample.attention_start, *learned_, starts.back().head(target.weights()));
  }
  return starts;
}

std::unique_ptr<sampling::Target> SampleTasks::linear_target(
    const model::Architecture& architecture, const SweepPoint& sweep, Sampler sampler,
    const Kernels& kernels) const {
  std::string fingerprint =
      fmt::format("sampler {} widths {} temperature {:.17g} variances {} data {}", word_of(sampler),
                  join(sweep.widths, ","), sweep.temperature, join(architecture.variances, ","),
                  dataset_.content_hash);
  // Left out where they are as usual, so that states of older versions fit.
  const Readout readout = readout_of(study_, dataset_);
  if (readout != Readout::kLastToken) fingerprint += fmt::format(" readout {}", word_of(readout));
  if (study_.model.attention != AttentionKind::kSoftmax) {
    fingerprint += fmt::format(" attention {}", word_of(study_.model.attention));
  }
  if (sampler == Sampler::kExact) {
    return std::make_unique<posterior::ExactChain>(architecture, sweep.temperature, kernels,
                                                   evaluation_features_, fingerprint);
  }
  if (sampler == Sampler::kCollapsed) {
    return std::make_unique<posterior::CollapsedChain>(architecture, sweep.temperature, kernels,
                                                       evaluation_features_, fingerprint);
  }
  return std::make_unique<posterior::WeightPosterior>(architecture, sweep.temperature, kernels,
                                                      evaluation_features_, fingerprint);
}

CalibrationProblem SampleTasks::calibration(const SampleTask& task, const SweepPoint& sweep) const {
  CalibrationProblem problem{task.architecture, SampledNetwork::kLinear,
                             sweep.temperature, problem_.evaluation.examples(),
                             DrawNetwork(),     {}};
  if (learned_ != nullptr) {
    problem.kind = SampledNetwork::kLearnedAttention;
    problem.target = [this, &sweep](const MatrixXd& labels) {
      LearnedProblem with = *learned_;
      with.labels = std::make_shared<MatrixXd>(labels);
      return learned_target(study_, dataset_, with, sweep);
    };
  } else if (problem_.values) {
    problem.kind = SampledNetwork::kHiddenWeights;
    problem.target = [this, &sweep](const MatrixXd& labels) {
      return value_target(study_, dataset_, problem_, std::make_shared<const MatrixXd>(labels),
                          sweep);
    };
  } else {
    problem.target = [this, &task, &sweep](const MatrixXd& labels) {
      const theory::PathKernels& kernels = *problem_.kernels;
      return linear_target(task.architecture, sweep, task.sampler,
                           theory::make_path_kernels(kernels.features(), labels, kernels.paths(),
                                                     same_kernels(kernels)));
    };
  }
  problem.network = task.linear ? linear_networks(task.architecture, problem_.kernels->features(),
                                                  *evaluation_features_)
                                : networks_of(task.target->clone());
  return problem;
}

}  // namespace headway
