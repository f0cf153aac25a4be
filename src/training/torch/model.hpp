// A transformer of LibTorch tensors, on fused blocks (CPU) or LibTorch's operations.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "training/torch/functions.hpp"
#include "training/transformer_engine.hpp"

namespace headway::training::detail {

/// A batch on the device. x: [B, T, F] numbers or [B, T] ids; mask [B, T] (uint8) or undefined;
/// dropout [layers, T, T] or undefined; the last `scored` tokens are wanted.
struct ModelInput {
  at::Tensor x, mask, dropout;
  Index scored = 1;
};

class TransformerModel {
 public:
  /// `parameters`: one for each of setup.shapes, in order.
  TransformerModel(const EngineSetup& setup, const std::vector<at::Tensor>& parameters);

  /// Outputs of the wanted tokens, [B, scored, O]. The last layer computes nothing for the others.
  [[nodiscard]] at::Tensor outputs(const ModelInput& input) const;
  /// The weights of every layer, each [B, H, T, T].
  [[nodiscard]] std::vector<at::Tensor> attention_weights(const ModelInput& input) const;

 private:
  [[nodiscard]] at::Tensor parameter(const std::string& name) const;
  [[nodiscard]] NormTensors norm(const std::string& name) const;
  [[nodiscard]] at::Tensor embed(const at::Tensor& x) const;
  [[nodiscard]] at::Tensor scores(const std::string& layer, Index queries, Index keys) const;
  [[nodiscard]] at::Tensor attention(Index layer, const at::Tensor& x, Index queries,
                                     const ModelInput& input, at::Tensor* weights) const;
  [[nodiscard]] at::Tensor feed_forward(Index layer, const at::Tensor& x) const;
  [[nodiscard]] at::Tensor mixture(const std::string& layer, const at::Tensor& x) const;

  EngineSetup setup_;
  BlockContext context_;
  bool fused_;
  bool centred_;
  std::map<std::string, at::Tensor> parameters_;
};

}  // namespace headway::training::detail
