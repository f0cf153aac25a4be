// A training run in which every number differs from every other, with non-square arrays.
#pragma once

#include <string>
#include <vector>

#include "headway/train.hpp"

namespace headway::testing {

inline training::NamedTensor built_tensor(const std::string& name, std::vector<Index> shape,
                                          float first) {
  training::NamedTensor tensor{name, std::move(shape), {}};
  Index count = 1;
  for (const Index n : tensor.shape) count *= n;
  for (Index i = 0; i < count; ++i) tensor.values.push_back(first + 0.1F * static_cast<float>(i));
  return tensor;
}

/// Names in another order than a file sorts them, as a model has them.
inline std::vector<training::NamedTensor> built_tensors(float first) {
  return {built_tensor("embedding.weight", {3, 2}, first),
          built_tensor("layers.1.query.weight", {2, 1, 3}, first + 10.0F),
          built_tensor("layers.10.bias", {4}, first + 20.0F),
          built_tensor("b", {1}, first + 30.0F)};
}

inline headway::TrainedRun built_run() {
  headway::TrainedRun run;
  run.settings = {{"train.attention", "\"hyla\""}, {"seed", "18446744073709551615"}};
  run.label = "hyla";
  run.variant = "hyla + mixture";
  run.seed = 18446744073709551615ULL;
  run.cost = {151009, 1.5e9, 2.5e8, "cpu"};
  run.records = {{5, "train", 0.7, {}, 1e-3, 2.5, 100.5},
                 {5, "held_out", 0.8, {{"r2", 0.25}, {"r2_pooled", 0.35}}, 0.0, 0.0, 101.5},
                 {5, "unknown_terms", 0.9, {{"r2", -0.5}, {"r2_pooled", -0.6}}, 0.0, 0.0, 102.5},
                 {9, "train", 0.65, {}, 9e-4, 2.25, 103.5}};
  run.summary.outcome = training::TrainOutcome::kInterrupted;
  run.summary.message = "interrupted after step 9";
  run.summary.steps = 9;
  run.summary.last_train_loss = 0.625;
  run.summary.best_step = 5;
  run.summary.best_loss = 0.8;
  run.summary.best_split = "validation";
  run.summary.steps_per_second = 104.5;
  run.summary.flops_per_second = 1e11;
  run.summary.evaluations = {{"held_out", {64, 0.75, {{"r2", 0.375}}}},
                             {"another", {32, 0.85, {{"r2", 0.125}}}}};
  run.training_seconds = 3.5;
  run.sample = "a \"quoted\" line\nand \xC3\xA9";
  run.state.step = 9;
  run.state.examples = 9 * 128;
  run.state.seed = run.seed;
  run.state.parameters = built_tensors(1.0F);
  run.state.first_moments = built_tensors(100.0F);
  run.state.second_moments = built_tensors(200.0F);
  run.state.best_step = 5;
  run.state.best_loss = 0.8;
  run.state.best_parameters = built_tensors(300.0F);
  run.state.loss_since_record = 0.123456789;
  run.state.steps_since_record = 4;
  return run;
}

}  // namespace headway::testing
