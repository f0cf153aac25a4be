// Studies whose networks train within moments.
#pragma once

#include "headway/study.hpp"

namespace headway::testing {

/// Fuzzy logic, half of its tasks held out, by HYLA of 2 layers on one thread.
inline headway::Study small_study() {
  headway::Study study;
  study.seed = 5;
  study.threads = 1;
  study.task.set_kind(headway::TaskKind::kFuzzyLogic);
  study.task.as<tasks::FuzzyLogicOptions>().sequence_length = 12;
  study.task.as<tasks::FuzzyLogicOptions>().held_out = 0.5;
  study.train.model.attention = "hyla";
  study.train.model.layers = 2;
  study.train.model.model_dim = 8;
  study.train.model.heads = 2;
  study.train.model.query_dim = 4;
  study.train.model.value_dim = 4;
  study.train.model.mlp_dim = 8;
  study.train.run.steps = 20;
  study.train.run.batch = 4;
  study.train.run.warmup_steps = 3;
  study.train.run.eval_every = 10;
  study.train.run.eval_examples = 16;
  study.train.run.device = training::Device::kCpu;
  return study;
}

}  // namespace headway::testing
