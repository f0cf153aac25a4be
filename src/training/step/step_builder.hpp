#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "training/step/fused_step.hpp"

namespace headway::training::detail {

/// Writes the list of launches of a step. Arrays of the forward pass are kept for the backward pass
/// under their names.
class StepBuilder {
 public:
  /// `copies_size`: numbers of the array of all partial sums, which are counted while the list is
  /// written; a first list may be written with any number.
  StepBuilder(const EngineSetup& setup, const StepBatchShape& batch, const StepArrays& arrays,
              StepDevice* device, Index copies_size);

  std::vector<StepLaunch> build(const AdamWStep& constants);
  [[nodiscard]] Index copies_used() const { return copies_used_; }

 private:
  /// What the forward pass of a layer leaves to the backward pass.
  struct Layer {
    std::string prefix;
    Index wanted = 0;          ///< tokens that leave it
    const float* x = nullptr;  ///< [B T, D]
    float *z = nullptr, *stats = nullptr, *packed = nullptr, *o = nullptr;
    float *mid = nullptr, *mid_z = nullptr, *mid_stats = nullptr;
    float *hidden = nullptr, *active = nullptr;
    StepAttention attention;
    float* score_copies = nullptr;  ///< [copies, H, wanted, T]
  };

  // --- forward (step_forward.cpp) ---
  void forward();
  const float* embed();
  void positions();
  void attend(Layer* layer, Index index);
  const float* feed_forward(Layer* layer);
  void outputs_and_loss(const float* x);
  StepPositions position_tables() const;

  // --- backward (step_backward.cpp) ---
  void backward();
  const float* feed_forward_gradient(const Layer& layer, const float* dx);
  const float* attention_gradient(Layer* layer, const float* d_mid);
  void attend_gradient(Layer* layer, const float* d_o, float* d_packed);
  void positions_gradient();
  void embedding_gradient(const float* dx);
  void finish(const AdamWStep& constants);

  // --- tools ---
  struct Linear {
    Index rows = 0, in = 0, out = 0;
  };
  void launch(std::string name, StepOperation operation) {
    launches_.push_back({std::move(name), std::move(operation)});
  }
  float* floats(const std::string& name, Index count) {
    return device_->array<float>(name.c_str(), count);
  }
  [[nodiscard]] bool tf32() const { return setup_.precision == Precision::kTf32; }
  [[nodiscard]] bool has(const std::string& name) const { return offsets_.contains(name); }
  [[nodiscard]] const float* value(const std::string& name) const;
  /// y = x W^T + b (+ added).
  [[nodiscard]] StepProduct linear(const Linear& n, const float* x, const std::string& weight,
                                   const std::string& bias, float* y) const;
  /// dx = dy W.
  [[nodiscard]] StepProduct back(const Linear& n, const float* dy, const std::string& weight,
                                 float* dx) const;
  /// The gradients of W and b, in copies.
  void weight_gradient(const Linear& n, const float* dy, const float* x, const std::string& weight,
                       const std::string& bias);
  float* norm(const std::string& name, Index rows, const float* x, float* stats);
  float* norm_gradient(const std::string& name, Index rows, const float* x, const float* stats,
                       const float* dz, const float* base);
  /// Room for `count_of_copies` copies of the gradient of `numbers` parameters from `name` on.
  float* sum(const std::string& name, Index count_of_copies, Index count);

  const EngineSetup& setup_;
  const TransformerOptions& model_;
  StepBatchShape batch_;
  StepArrays arrays_;
  StepDevice* device_;
  float* copies_;
  Index copies_size_;
  Index copies_used_ = 0;
  Index tokens_, rows_, wanted_rows_, dim_, packed_, parameters_ = 0;
  std::map<std::string, Index> offsets_;
  std::map<std::string, const ParameterShape*> shapes_;
  const std::int32_t* buckets_ = nullptr;
  const float* rotation_ = nullptr;
  std::vector<Layer> layers_;
  const float* last_ = nullptr;  // what enters the last norm
  float *last_z_ = nullptr, *last_stats_ = nullptr, *losses_ = nullptr, *d_outputs_ = nullptr;
  StepColumnSums column_sums_;
  std::vector<StepSum> sums_;
  std::vector<StepLaunch> launches_;
};

/// The plan of a layer's attention; nothing where it does not fit the device.
std::optional<StepAttention> plan_step_attention(const EngineSetup& setup,
                                                 const StepBatchShape& batch, Index wanted,
                                                 const GpuDevice& device);

}  // namespace headway::training::detail
