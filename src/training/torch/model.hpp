// A transformer of LibTorch tensors, on fused blocks (CPU) or LibTorch's operations.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "training/torch/eager.hpp"
#include "training/torch/network_model.hpp"

namespace headway::training::detail {

class TransformerModel final : public NetworkModel {
 public:
  /// `parameters`: one for each of setup.shapes, in order.
  TransformerModel(const EngineSetup& setup, const std::vector<at::Tensor>& parameters);

  /// The last layer computes nothing for tokens that are not wanted.
  [[nodiscard]] at::Tensor outputs(const ModelInput& input, at::Tensor* imbalance) const override;
  /// The weights of every layer, each [B, H, T, T], those of the encoder first.
  [[nodiscard]] std::vector<at::Tensor> attention_weights(const ModelInput& input) const override;

 private:
  /// One attention: the start of its parameters' names, its layer among all of them, and the part
  /// of all query-key pairs that it has.
  struct Attention {
    std::string prefix;
    Index layer;
    Index first_query, queries, first_key, keys;
  };
  using Weights = std::vector<at::Tensor>;
  /// What is wanted beside the outputs; null: it is not.
  struct Beside {
    Weights* weights = nullptr;
    at::Tensor* imbalance = nullptr;
  };

  [[nodiscard]] at::Tensor parameter(const std::string& name) const;
  [[nodiscard]] NormTensors norm(const std::string& name) const;
  [[nodiscard]] at::Tensor embed(const at::Tensor& x) const;
  [[nodiscard]] AttentionTensors tensors(const std::string& prefix, const std::string& norm) const;
  [[nodiscard]] at::Tensor scores(const Attention& a) const;
  [[nodiscard]] EagerPairs eager_pairs(const Attention& a, const ModelInput& input) const;
  [[nodiscard]] AttentionBlockShape block_shape(const Attention& a, Index batch) const;
  [[nodiscard]] at::Tensor dropout(const Attention& a, const ModelInput& input) const;
  /// Puts weights [B, H, queries, keys] into those of the layer.
  static void put(const Attention& a, const at::Tensor& w, Index tokens, Weights* weights);
  /// x is that of the keys, of which the last are the queries.
  [[nodiscard]] at::Tensor attention(const Attention& a, const at::Tensor& x,
                                     const ModelInput& input, Weights* weights) const;
  [[nodiscard]] at::Tensor cross_attention(const Attention& a, const at::Tensor& x,
                                           const at::Tensor& memory, const ModelInput& input,
                                           Weights* weights) const;
  [[nodiscard]] at::Tensor feed_forward(const std::string& prefix, const at::Tensor& x,
                                        at::Tensor* imbalance) const;
  [[nodiscard]] at::Tensor mixture(const std::string& layer, const at::Tensor& x,
                                   at::Tensor* imbalance) const;

  /// The last layer's tokens: the wanted ones, or all of them where weights are asked for.
  [[nodiscard]] at::Tensor one_stream(const at::Tensor& x, const ModelInput& input,
                                      const Beside& beside) const;
  [[nodiscard]] at::Tensor encoder_and_decoder(const at::Tensor& x, const ModelInput& input,
                                               const Beside& beside) const;
  [[nodiscard]] at::Tensor hidden(const ModelInput& input, const Beside& beside) const;

  EngineSetup setup_;
  BlockContext context_;
  bool fused_;
  bool centred_;
  Index farthest_;  ///< largest distance of two tokens
  std::vector<std::int64_t>
      buckets_;  ///< of the distances farthest_, ..., -farthest_; relative only
  DeviceAttention device_attention_;
  at::Tensor device_buckets_;  ///< the same on the device
  std::map<std::string, at::Tensor> parameters_;
};

}  // namespace headway::training::detail
