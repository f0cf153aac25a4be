#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "training/step/fused_step.hpp"

namespace headway::training::detail {

/// An attention of the network: the start of its parameters' names, its layer among all of them,
/// and the part of all query-key pairs that it has.
struct AttentionPart {
  std::string prefix;
  Index layer = 0;
  Index queries = 0, keys = 0;
  Index first_query = 0, first_key = 0;
  bool crosses = false;
};
/// In the order of the forward pass.
std::vector<AttentionPart> attention_parts(const EngineSetup& setup);

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
  /// What the forward pass of an attention leaves to the backward pass.
  struct Attention {
    AttentionPart part;
    const float* x = nullptr;       ///< [B, keys, D]; with a memory [B, queries, D]
    const float* memory = nullptr;  ///< [B, keys, D]
    float *z = nullptr, *stats = nullptr, *memory_z = nullptr, *memory_stats = nullptr;
    float* query = nullptr;   ///< with a memory; else in `packed`
    float* packed = nullptr;  ///< of each key: (queries,) keys, values
    float* o = nullptr;
    StepAttention attention;
    float* score_copies = nullptr;  ///< [copies, H, queries, keys]
  };
  struct FeedForwardPass {
    std::string prefix;
    Index rows = 0;
    const float* mid = nullptr;
    float *mid_z = nullptr, *mid_stats = nullptr, *hidden = nullptr, *active = nullptr;
  };

  // --- forward (step_forward.cpp) ---
  void forward();
  const float* run_blocks(const float* x);
  const float* embed();
  void positions();
  void dropout_blocks();
  const float* some_tokens(const std::string& name, const float* x, Index first, Index wanted);
  /// The stream after an attention. `memory` null: of x itself.
  const float* attend(Attention* a, const float* x, const float* memory);
  void project(Attention* a);
  void project_with_memory(Attention* a);
  /// Turns `heads` heads of rows of `tokens` tokens of an example, the first at place `first`.
  void rotate(const std::string& name, const StepMatrix<float>& x, Index tokens, Index heads,
              Index first, bool backward);
  const float* feed_forward(const std::string& prefix, Index tokens, const float* mid);
  void outputs_and_loss(const float* x);
  [[nodiscard]] StepPositions position_tables() const;

  // --- backward (step_backward.cpp) ---
  void backward();
  const float* blocks_gradient(const float* dx);
  const float* feed_forward_gradient(const FeedForwardPass& pass, const float* dx);
  const float* attention_gradient(Attention* a, const float* d_mid);
  /// Adds to the gradient of the memory, too.
  const float* cross_attention_gradient(Attention* a, const float* d_mid, const float** d_memory);
  float* output_gradient(const Attention& a, const float* d_mid);
  void attend_gradient(Attention* a, const float* d_o, float* d_query, float* d_key);
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
  Index context_;  ///< tokens of the memory, or 0
  const std::int32_t* buckets_ = nullptr;
  const float* rotation_ = nullptr;
  std::vector<Attention> attentions_;
  std::vector<FeedForwardPass> passes_;
  const float* last_ = nullptr;  // what enters the last norm
  float *last_z_ = nullptr, *last_stats_ = nullptr, *losses_ = nullptr, *d_outputs_ = nullptr;
  StepColumnSums column_sums_;
  std::vector<StepSum> sums_;
  std::vector<StepLaunch> launches_;
};

/// The plan of a layer's attention; nothing where it does not fit the device.
std::optional<StepAttention> plan_step_attention(const EngineSetup& setup,
                                                 const StepBatchShape& batch,
                                                 const AttentionPart& part,
                                                 const GpuDevice& device);

}  // namespace headway::training::detail
