#include "headway/verbs/theory/plan.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "headway/core/memory.hpp"
#include "headway/error.hpp"
#include "headway/numerics/dense.hpp"
#include "headway/path_features.hpp"
#include "headway/solve.hpp"
#include "headway/verbs/theory/learned_attention.hpp"
#include "verbs/theory/sample_setup.hpp"
#include "verbs/theory/value_problem.hpp"
#include "verbs/theory/value_sample.hpp"

namespace headway {
namespace {

constexpr double kNumber = 8.0;           // bytes
constexpr double kStatesOfASolver = 2.0;  // the current state, and the one that a step tries
constexpr double kDirectionsOfASolver =
    40.0;  // without a Hessian; includes those kept of earlier products

/// Weights of one network of this architecture.
double weight_count(const model::Architecture& architecture, Index features) {
  double weights = 0;
  double below = static_cast<double>(features);
  for (std::size_t l = 0; l < architecture.widths.size(); ++l) {
    const auto width = static_cast<double>(architecture.widths[l]);
    weights += below * width * (l == 0 ? 1.0 : static_cast<double>(architecture.heads[l - 1]));
    below = width;
  }
  return weights + below * static_cast<double>(architecture.outputs);
}

/// Sizes of U_a, U_L, ..., U_1.
std::vector<double> matrix_sizes(const Study& study, const tasks::Dataset& dataset) {
  std::vector<double> sizes = {static_cast<double>(dataset.outputs())};
  const std::vector<int> heads = readout_heads(study, dataset);
  for (auto layer = heads.rbegin(); layer != heads.rend(); ++layer) {
    sizes.push_back(sizes.back() * *layer);
  }
  return sizes;
}

/// Memory of the draws of `sample` at one sweep point.
double draw_bytes(const Study& study, const tasks::Dataset& dataset) {
  const SampleOptions& sample = study.sample;
  double kept = 0;  // numbers a draw
  for (const double n : matrix_sizes(study, dataset)) {
    // A triangle while sampling, then the whole matrix, and once more for the file.
    kept += n * (n + 1) / 2 + 2 * n * n;
  }
  if (sample.keep_weights && draws_weights(sample.sampler)) {
    double most = 0;
    for (const std::vector<Index>& widths : study.model.widths) {
      most =
          std::max(most, weight_count(architecture_of(study, dataset, widths), dataset.features));
    }
    kept += 3 * most;
  }
  return kNumber * kept * sample.chains * sample.draws;
}

double feature_flops(const Study& study, const tasks::Dataset& dataset) {
  const Readout readout = readout_of(study, dataset);
  const bool supplied = dataset.form == AttentionForm::kSupplied;
  const auto of = [&](const tasks::Split& split) {
    return split.examples == nullptr
               ? 0.0
               : model::path_feature_flops(*split.examples, dataset.heads,
                                           supplied ? std::vector<LayerHeads>{} : dataset.layers,
                                           readout);
  };
  double flops = of(dataset.train);
  if (dataset.test) flops += of(*dataset.test);
  for (const tasks::NamedSplit& set : dataset.sets) flops += of(set.split);
  return flops;
}

/// Sites of an example of a value network, at most.
double sites_of_example(const Study& study, const tasks::Dataset& dataset) {
  const auto tokens = static_cast<double>(dataset.train.examples->tokens());
  const double queries = readout_of(study, dataset) == Readout::kMean ? tokens : 1.0;
  switch (study.model.value_network->form) {
    case model::ValueForm::kHyla:
      return queries * tokens;
    case model::ValueForm::kPerHead:
      return tokens * dataset.heads.front();
    case model::ValueForm::kAfterAttention:
      return queries;
    case model::ValueForm::kBeforeAttention:
      break;
  }
  return tokens;
}

/// Flops and memory of a value network's kernel, which makes the features that all else works with.
void count_values(const Study& study, const tasks::Dataset& dataset, TheoryPlan& plan) {
  if (!study.model.value_network) return;
  const auto d = static_cast<double>(
      model::value_inputs(study.model.value_network->form, dataset.heads, dataset.features));
  const double each = sites_of_example(study, dataset);
  const double train = each * static_cast<double>(plan.train_examples);
  const double all = train + each * static_cast<double>(dataset.evaluated_examples());
  const double rows = plan.paths * static_cast<double>(plan.train_examples);
  plan.path_feature_flops =
      2.0 * train * (all - 0.5 * train) * (d + plan.paths) + rows * rows * rows;
  const double bytes = kNumber * (2.0 * all * (d + plan.paths) + 2.0 * rows * rows);
  plan.memory_bytes += bytes;
  plan.least_bytes += bytes;
}

/// Transitions of the chains, and what calibration adds: a chain for each network, with its own
/// kernels where attention is given and values are linear.
void count_draws(const Study& study, TheoryPlan& plan) {
  const SampleOptions& sample = study.sample;
  const double chain = sample.warmup + static_cast<double>(sample.draws) * sample.thin;
  const double networks = sample.calibrate;
  plan.draw_transitions = sample.chains * chain;
  plan.calibration_transitions = networks * chain;
  if (networks == 0 || study.model.value_network || learns_attention(study)) return;
  const double bytes = plan.kernels.kernel_bytes;
  plan.calibration_flops = networks * plan.kernels.construction_flops;
  plan.calibration_bytes = bytes * calibration_threads(study, bytes);
  plan.memory_bytes += plan.calibration_bytes;
}

void count_memory(const tasks::Dataset& dataset, Index columns, TheoryPlan& plan) {
  const double row = kNumber * plan.paths * static_cast<double>(columns);
  const bool matrices = plan.kernels.form == theory::KernelForm::kGram;
  const auto train =
      matrices ? 0.0 : static_cast<double>(plan.train_examples) * plan.kernels.feature_share;
  const auto evaluated = static_cast<double>(dataset.evaluated_examples());
  plan.feature_bytes = row * (train + evaluated);
  // Unscaled too: one split after the other where they are computed, all where the file has them.
  const double unscaled = dataset.form == AttentionForm::kPathFeatures
                              ? plan.feature_bytes + row * std::max(train, evaluated)
                              : row * std::max(train, evaluated);
  const theory::KernelCost& cost = plan.kernels;
  const bool dense = plan.unknowns <= static_cast<double>(theory::kLargestDenseProblem);
  const double second_order =
      dense ? cost.hessian_bytes
            : cost.product_bytes + kDirectionsOfASolver * kNumber * 2.0 * plan.unknowns;
  plan.point_bytes = kStatesOfASolver * cost.state_bytes + std::max(cost.work_bytes, second_order);
  plan.memory_bytes = plan.feature_bytes + std::max(unscaled, cost.kernel_bytes + plan.point_bytes);
  plan.least_bytes = plan.feature_bytes + cost.kernel_bytes + cost.state_bytes + cost.work_bytes;
}

void count_alignment(const tasks::Dataset& dataset, TheoryPlan& plan) {
  const Index rows = plan.train_examples * plan.outputs;
  if (rows > numerics::kLargestEigenvectors) {
    throw Error(
        ErrorKind::kBadStudy,
        fmt::format("{}: {} examples of {} outputs: align takes at most {} of both together, "
                    "which is as far as LAPACK counts",
                    dataset.name, plan.train_examples, plan.outputs,
                    numerics::kLargestEigenvectors));
  }
  const double bytes = alignment_bytes(rows);
  const double held = plan.feature_bytes + plan.kernels.kernel_bytes;
  plan.point_bytes = std::max(plan.point_bytes, bytes);
  plan.memory_bytes = std::max(plan.memory_bytes, held + bytes);
  plan.least_bytes = std::max(plan.least_bytes, held + bytes);
}

}  // namespace

void require_examples(const tasks::Dataset& dataset) {
  if (!dataset.gram) return;
  throw Error(ErrorKind::kBadStudy,
              fmt::format("{}: holds Gram matrices, which give no kernel between examples: must be "
                          "the data set that they were made from",
                          dataset.name));
}

double alignment_bytes(Index rows) {
  constexpr double kMatrices = 4.0;  // two of the workspace; one more while the kernel is made
  return kMatrices * kNumber * static_cast<double>(rows) * static_cast<double>(rows);
}

TheoryPlan plan_theory(const Study& study, const tasks::Dataset& dataset, TheoryVerb verb,
                       int ranks) {
  check_study_against_dataset(study, dataset);
  TheoryPlan plan;
  plan.train_examples = dataset.train_examples();
  plan.test_examples = dataset.test ? dataset.test->size() : 0;
  for (const tasks::NamedSplit& set : dataset.sets) {
    plan.sets.emplace_back(set.name, set.split.size());
  }
  if (dataset.train.examples != nullptr) plan.tokens = dataset.train.examples->tokens();
  plan.features = dataset.features;
  plan.outputs = dataset.outputs();
  plan.heads = dataset.heads;
  const std::vector<double> sizes = matrix_sizes(study, dataset);
  for (const double n : sizes) plan.unknowns += n * (n + 1) / 2;
  plan.paths = sizes.back() / static_cast<double>(plan.outputs);
  plan.points = static_cast<double>(study.model.widths.size()) *
                static_cast<double>(study.model.temperatures.size());
  if (!study.model.value_network) plan.path_feature_flops = feature_flops(study, dataset);
  theory::PathKernelOptions options = kernel_options(study);
  if (dataset.gram && !gram_becomes_rows(study, dataset)) {
    options.form = theory::KernelForm::kGram;
  }
  options.ranks = ranks;
  const auto paths = static_cast<Index>(plan.paths);
  // Of a value network: a direction for each example and readout, and those of the examples that
  // are predicted.
  const Index columns =
      study.model.value_network ? paths * (plan.train_examples + 1) : plan.features;
  plan.kernels = theory::kernel_cost({plan.train_examples, paths, columns, plan.outputs}, options);
  count_memory(dataset, columns, plan);
  count_values(study, dataset, plan);
  if (verb == TheoryVerb::kSamples) {
    check_sampling(study);
    check_value_sampling(study, dataset);
    plan.draw_bytes = draw_bytes(study, dataset);
    count_draws(study, plan);
  }
  if (verb == TheoryVerb::kAligns) {
    require_examples(dataset);
    count_alignment(dataset, plan);
  }
  return plan;
}

void require_memory(const TheoryPlan& plan, const Study& study, double memory_bytes) {
  if (plan.least_bytes > memory_bytes) {
    throw Error(ErrorKind::kBadStudy,
                fmt::format("{} examples, {} features and {:.0f} paths need at least {:.1f} GiB: "
                            "must be at most {:.1f} GiB, the memory of this machine",
                            plan.train_examples + plan.test_examples, plan.features, plan.paths,
                            plan.least_bytes / kGibibyte, memory_bytes / kGibibyte));
  }
  if (plan.draw_bytes > memory_bytes) {
    throw Error(
        ErrorKind::kBadStudy,
        fmt::format(
            "sample.draws = {}: {} chains of so many draws need {:.1f} GiB: must fit into {:.1f} "
            "GiB, the memory of this machine. Lower sample.draws or raise sample.thin",
            study.sample.draws, study.sample.chains, plan.draw_bytes / kGibibyte,
            memory_bytes / kGibibyte));
  }
}

}  // namespace headway
