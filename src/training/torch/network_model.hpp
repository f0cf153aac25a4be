// A network of LibTorch tensors, as the engine sees it.
#pragma once

#include <memory>
#include <vector>

#include "training/model/transformer_engine.hpp"
#include "training/torch/headers.hpp"

namespace headway::training::detail {

/// A batch on the device. x: [B, T, F] numbers or [B, T] ids; mask [B, T] (uint8) or undefined;
/// dropout [all layers, T, T] or undefined; the last `scored` tokens are wanted.
struct ModelInput {
  at::Tensor x, mask, dropout;
  Index scored = 1;
};

/// Examples on the device, with what they are scored by; undefined: there is none.
struct PlacedBatch {
  ModelInput input;
  at::Tensor targets, classes, weights;
};

class NetworkModel {
 public:
  NetworkModel() = default;
  NetworkModel(const NetworkModel&) = delete;
  NetworkModel& operator=(const NetworkModel&) = delete;
  virtual ~NetworkModel() = default;

  /// Outputs of the wanted tokens, [B, scored, O]. Where `imbalance` is not null it gets the sum
  /// over layers of TransformerOptions::load_balancing, without its weight; undefined without a
  /// mixture.
  [[nodiscard]] virtual at::Tensor outputs(const ModelInput& input,
                                           at::Tensor* imbalance) const = 0;
  /// The weights of every layer, each [B, H, T, T].
  [[nodiscard]] virtual std::vector<at::Tensor> attention_weights(
      const ModelInput& input) const = 0;
};

/// The network of setup.model; `parameters`: one for each of setup.shapes, in order.
std::unique_ptr<NetworkModel> make_network_model(const EngineSetup& setup,
                                                 const std::vector<at::Tensor>& parameters);

}  // namespace headway::training::detail
