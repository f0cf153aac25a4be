// Networks that tests of the hand-written step train or count.
#pragma once

#include <string>

#include "training/step/fused_step.hpp"
#include "training_tasks.hpp"

namespace headway::testing {

inline training::TransformerOptions model_of(const std::string& attention) {
  training::TransformerOptions model = small_model();
  model.attention = attention;
  return model;
}

inline training::TransformerOptions linear_value_model(Index layers) {
  training::TransformerOptions model;
  model.network = training::NetworkKind::kLinearValue;
  model.layers = layers;
  model.heads = 2;
  model.model_dim = 4;
  model.query_dim = 6;
  model.query_rate = 3.0;
  return model;
}

/// A step of the network of the SRAVEN study, with its batch of 128.
inline training::detail::FusedStep sraven_step(
    const std::string& attention, training::detail::StepDevice* device,
    training::Precision precision = training::Precision::kFloat32, Index runs = 1) {
  training::TransformerOptions model = model_of(attention);
  model.layers = 4;
  model.model_dim = 128;
  model.heads = 16;
  model.query_dim = model.value_dim = 64;
  model.mlp_dim = 256;
  training::detail::EngineSetup setup;
  setup.model = model;
  setup.precision = precision;
  setup.format = {36, 9, 0, 8, training::LossKind::kCrossEntropy, 4, false, {}};
  setup.shapes = training::detail::parameter_shapes(setup.model, setup.format);
  return {setup, {128, false, true, runs}, {}, {}, device};
}

}  // namespace headway::testing
