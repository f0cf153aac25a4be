// A linear-value network of LibTorch tensors: path features by the fused block (CPU) or by
// LibTorch's operations, times effective weights that are computed once a batch.
#pragma once

#include "training/contributions/head_paths.hpp"
#include "training/torch/network_model.hpp"

namespace headway::training::detail {

/// Arrays of the last batch.
struct HeadPathMemory {
  at::Tensor projected, attention;
};

class LinearValueModel final : public NetworkModel {
 public:
  LinearValueModel(const EngineSetup& setup, const std::vector<at::Tensor>& parameters);

  /// f(x) = sum_pi w_pi . xi_pi(x)
  [[nodiscard]] at::Tensor outputs(const ModelInput& input, at::Tensor* imbalance) const override;
  [[nodiscard]] std::vector<at::Tensor> attention_weights(const ModelInput& input) const override;

 private:
  struct Layer {
    at::Tensor query, key, value;  ///< [H, G, F], [H, G, F], [H, N, N]
  };
  /// w, [p O, F] with the output fastest: the readout times a value matrix of each layer and the
  /// input layer, for every path.
  [[nodiscard]] at::Tensor effective_weights() const;
  /// xi, [B, p, F]
  [[nodiscard]] at::Tensor path_features(const at::Tensor& x) const;
  [[nodiscard]] at::Tensor eager_path_features(const at::Tensor& x) const;

  EngineSetup setup_;
  BlockContext context_;
  bool fused_;
  at::Tensor input_, readout_;
  std::vector<Layer> layers_;
  mutable HeadPathMemory memory_;
};

}  // namespace headway::training::detail
