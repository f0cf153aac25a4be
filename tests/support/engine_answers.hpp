// What an engine computes from one batch: outputs, and gradients with dropout.
#pragma once

#include <cmath>

#include "training/model/named_tensors.hpp"
#include "training/model/transformer_engine.hpp"
#include "training_tasks.hpp"

namespace headway::testing {

inline training::detail::EngineSetup engine_setup(const training::TransformerOptions& model,
                                                  const training::TrainingTask& task, bool eager) {
  training::detail::EngineSetup setup;
  setup.model = model.widened();
  setup.format = task.format();
  setup.shapes = training::detail::parameter_shapes(model, task.format());
  setup.eager = eager;
  return setup;
}

inline std::vector<float> dropout_of(const training::TransformerOptions& model, Index tokens) {
  Rng rng(2, StreamPurpose::kTests);
  std::vector<float> factors(static_cast<std::size_t>(model.all_layers() * tokens * tokens));
  for (float& x : factors) x = rng.uniform() < 0.3 ? 0.0F : 1.0F / 0.7F;
  return factors;
}

struct EngineAnswer {
  std::vector<float> outputs;
  std::vector<training::NamedTensor> gradients;
};

constexpr Index kEngineExamples = 3;

inline EngineAnswer engine_answer(const training::detail::EngineSetup& setup,
                                  const training::TrainingTask& task) {
  namespace detail = training::detail;
  const auto engine = detail::torch_library().make_engine(setup);
  const auto parameters = shaken_parameters(setup.model, setup.format);
  std::vector<float> flat = detail::join_tensors(setup.shapes, parameters);
  engine->write(detail::EngineArray::kParameters, flat);
  detail::StepData data;
  task.batch("train", 4, kEngineExamples, data.pieces.emplace_back());
  data.dropout = dropout_of(setup.model, setup.format.tokens);
  engine->compute_gradients(data);
  engine->read(detail::EngineArray::kGradients, flat);
  return {engine->outputs(data.pieces[0], setup.format.scored),
          detail::split_tensors(setup.shapes, flat)};
}

/// |a - b| / (|b| or `least`)
inline double relative_to(const std::vector<float>& a, const std::vector<float>& b, double least) {
  REQUIRE(a.size() == b.size());
  double difference = 0.0;
  double size = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference += std::pow(static_cast<double>(a[i]) - b[i], 2);
    size += std::pow(static_cast<double>(b[i]), 2);
  }
  return std::sqrt(difference / (size + least * least));
}

inline double size_of(const std::vector<training::NamedTensor>& tensors) {
  double size = 0.0;
  for (const training::NamedTensor& t : tensors) {
    for (const float x : t.values) size += std::pow(static_cast<double>(x), 2);
  }
  return std::sqrt(size);
}

// Gradients that are zero but for rounding (keys' biases under softmax) are compared with a
// thousandth of the size of all gradients.
inline void check_same_gradients(const std::vector<training::NamedTensor>& a,
                                 const std::vector<training::NamedTensor>& b, double most) {
  const double least = 1e-3 * size_of(b);
  for (std::size_t i = 0; i < a.size(); ++i) {
    INFO(a[i].name);
    CHECK(relative_to(a[i].values, b[i].values, least) < most);
  }
}

inline void check_same_answer(const EngineAnswer& a, const EngineAnswer& b, double most) {
  CHECK(relative_to(a.outputs, b.outputs, 0.0) < most);
  check_same_gradients(a.gradients, b.gradients, 10 * most);
}

}  // namespace headway::testing
