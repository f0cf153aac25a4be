// A transformer of LibTorch tensors, on fused blocks (CPU) or LibTorch's operations.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "training/torch/functions.hpp"
#include "training/torch/network_model.hpp"

namespace headway::training::detail {

class TransformerModel final : public NetworkModel {
 public:
  /// `parameters`: one for each of setup.shapes, in order.
  TransformerModel(const EngineSetup& setup, const std::vector<at::Tensor>& parameters);

  /// The last layer computes nothing for tokens that are not wanted.
  [[nodiscard]] at::Tensor outputs(const ModelInput& input) const override;
  [[nodiscard]] std::vector<at::Tensor> attention_weights(const ModelInput& input) const override;

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
