// Networks and data of the kinds that users have, small, for calibration of samplers.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "headway/path_kernels.hpp"
#include "headway/posterior/learned_chain.hpp"
#include "headway/posterior/value_chain.hpp"
#include "learned_problems.hpp"
#include "random_examples.hpp"
#include "verbs/theory/calibration.hpp"
#include "weight_problems.hpp"

namespace headway::testing {

/// A calibration and what it refers to.
struct Calibrated {
  std::string name;
  std::shared_ptr<const model::Architecture> architecture;
  std::shared_ptr<const MatrixXd> features, test_features;  // of given attention
  CalibrationProblem problem;
};

/// Given attention: four paths of two layers, several outputs, few features of many examples, three
/// layers, and many paths in a narrow layer below a wide readout.
inline std::vector<WeightProblem> networks_of_users() {
  return {{{{2, 2}, {10, 10, 10}, {1.0, 1.0, 1.0, 1.0}, 1}, 0.1, 16, 6, 81},
          {{{2}, {6, 5}, {1.0, 1.0, 1.0}, 3}, 0.2, 8, 5, 82},
          {{{2}, {8, 8}, {1.0, 1.3, 0.8}, 1}, 0.1, 30, 3, 83},
          {{{2, 1, 2}, {3, 4, 3, 4}, {0.9, 1.1, 0.8, 1.2, 1.0}, 1}, 0.3, 8, 4, 84},
          {{{8}, {3, 1000}, {1.0, 1.0, 1.0}, 1}, 0.2, 14, 3, 85}};
}

/// `Chain` on a problem of given attention; it takes the temperature to be `factor` times what it
/// is.
template <class Chain>
Calibrated calibration_of(const WeightProblem& problem, double factor = 1.0) {
  const WeightData data = random_weight_data(problem);
  Calibrated all{describe(problem),
                 std::make_shared<model::Architecture>(problem.architecture),
                 std::make_shared<MatrixXd>(data.kernels->features()),
                 data.test_features,
                 {problem.architecture,
                  SampledNetwork::kLinear,
                  problem.temperature,
                  problem.examples,
                  {},
                  {}}};
  const Index paths = problem.architecture.paths();
  all.problem.network = linear_networks(*all.architecture, *all.features, *all.test_features);
  all.problem.target = [a = all.architecture, x = all.features, test = all.test_features, paths,
                        t = factor * problem.temperature](
                           const MatrixXd& labels) -> std::unique_ptr<sampling::Target> {
    return std::make_unique<Chain>(*a, t, theory::make_path_kernels(*x, labels, paths), test);
  };
  return all;
}

/// Attention with a prior.
inline Calibrated calibration_of(const LearnedProblem& problem, double temperature,
                                 double factor = 1.0) {
  const LearnedData data = learned_data(problem);
  Rng rng(88, StreamPurpose::kTests, problem.name.size());
  const Shape& shape = problem.shape;
  const tasks::MemoryExamples others(
      random_tensor({shape.examples, shape.tokens, shape.features}, rng),
      problem.masked ? random_mask(shape, rng) : std::vector<std::uint8_t>{});
  const auto test = std::make_shared<model::LearnedAttention>(
      others, problem.prior, data.given, problem.readout, AttentionKind::kSoftmax, 1);
  const auto architecture = std::make_shared<model::Architecture>(learned_architecture(problem, 4));
  const auto target = [architecture, data, test, t = factor * temperature](
                          const MatrixXd& labels) -> std::unique_ptr<sampling::Target> {
    return std::make_unique<posterior::LearnedChain>(*architecture, t, data.attention,
                                                     std::make_shared<MatrixXd>(labels), test);
  };
  return {problem.name,
          architecture,
          nullptr,
          nullptr,
          {*architecture, SampledNetwork::kLearnedAttention, temperature, problem.shape.examples,
           networks_of(target(*data.labels)), target}};
}

/// A value network of two heads.
inline Calibrated calibration_of(model::ValueNetwork network, Index outputs, double temperature,
                                 double factor = 1.0) {
  constexpr Index kExamples = 8, kTokens = 3, kFeatures = 2;
  Rng rng(86, StreamPurpose::kTests, static_cast<std::uint64_t>(network.form));
  const tasks::MemoryExamples examples(random_tensor({kExamples, kTokens, kFeatures}, rng), {},
                                       {random_tensor({kExamples, 2, kTokens, kTokens}, rng)});
  Observer observer;
  const auto sites_of = [&](const tasks::MemoryExamples& of) {
    return std::make_shared<const model::ValueSites>(
        model::value_sites(network, of, {2}, {}, {.readout = Readout::kLastToken}, observer));
  };
  const auto sites = sites_of(examples);
  const auto test =
      sites_of(tasks::MemoryExamples(random_tensor({kExamples, kTokens, kFeatures}, rng), {},
                                     {random_tensor({kExamples, 2, kTokens, kTokens}, rng)}));
  const auto architecture = std::make_shared<model::Architecture>();
  architecture->heads = {static_cast<int>(sites->readouts())};
  architecture->widths = {3, 5};
  architecture->variances = {1.0, 1.0, 1.0};
  architecture->outputs = outputs;
  const auto target = [architecture, sites, test, t = factor * temperature](
                          const MatrixXd& labels) -> std::unique_ptr<sampling::Target> {
    return std::make_unique<posterior::ValueChain>(
        *architecture, t, sites, std::make_shared<const MatrixXd>(labels), test, "test");
  };
  return {std::string(word_of(network.form)),
          architecture,
          nullptr,
          nullptr,
          {*architecture, SampledNetwork::kHiddenWeights, temperature, kExamples,
           networks_of(target(MatrixXd::Zero(kExamples, outputs))), target}};
}

}  // namespace headway::testing
