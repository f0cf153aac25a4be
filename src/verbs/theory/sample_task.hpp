#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "headway/architecture.hpp"
#include "headway/dataset.hpp"
#include "headway/sampling/options.hpp"
#include "headway/sampling/target.hpp"
#include "headway/study.hpp"
#include "verbs/theory/calibration.hpp"
#include "verbs/theory/learned_problem.hpp"
#include "verbs/theory/problem.hpp"

/// Private to verbs: what `sample` samples.
namespace headway {

/// What is to be sampled at a point, and how.
struct SampleTask {
  model::Architecture architecture;
  Sampler sampler;
  bool linear;  ///< values, with given attention
  std::unique_ptr<sampling::Target> target;
  sampling::SamplerOptions options;
  bool keep_positions;

  /// The chain of given attention.
  [[nodiscard]] bool exact() const { return sampler == Sampler::kExact && linear; }
};

/// The tasks of a study, whose parts must outlive it.
class SampleTasks {
 public:
  /// `learned`: null where attention is given.
  SampleTasks(const Study& study, const tasks::Dataset& dataset, const TheoryProblem& problem,
              const LearnedProblem* learned);
  [[nodiscard]] SampleTask at(const SweepPoint& sweep, std::size_t index) const;
  /// Calibration of a task of this point with the kernels of its draws. Both must outlive it.
  [[nodiscard]] CalibrationProblem calibration(const SampleTask& task,
                                               const SweepPoint& sweep) const;

 private:
  using Kernels = std::shared_ptr<const theory::PathKernels>;
  [[nodiscard]] std::vector<VectorXd> attention_starts(const SampleTask& task) const;
  [[nodiscard]] std::unique_ptr<sampling::Target> linear_target(
      const model::Architecture& architecture, const SweepPoint& sweep, Sampler sampler,
      const Kernels& kernels) const;

  const Study& study_;
  const tasks::Dataset& dataset_;
  const TheoryProblem& problem_;
  const LearnedProblem* learned_;
  std::shared_ptr<const MatrixXd> evaluation_features_;
};

}  // namespace headway
