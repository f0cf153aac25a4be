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

using Floats = OfRuns<float>;
using ConstFloats = OfRuns<const float>;
using Numbers = NumbersOfRuns<float>;
using ConstNumbers = NumbersOfRuns<const float>;

/// Writes the list of launches of a step. Arrays of the forward pass are kept for the backward pass
/// under their names. It is written as for one run; OfRuns and launch() do the rest.
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
    ConstFloats x;       ///< [B, keys, D]; with a memory [B, queries, D]
    ConstFloats memory;  ///< [B, keys, D]
    Floats stats, memory_stats;
    Numbers z, memory_z;
    Numbers query;   ///< with a memory; else in `packed`
    Numbers packed;  ///< of each key: (queries,) keys, values
    Numbers o;
    StepAttention attention;
    Floats score_copies;  ///< [copies, H, queries, keys]
  };
  struct FeedForwardPass {
    std::string prefix;
    Index rows = 0;
    ConstFloats mid;
    Floats mid_stats;
    Numbers mid_z, hidden, active;
    // of a mixture
    Numbers weights;  ///< of the second layer, [D, E, M]
    Floats gates, likely, shares;
    Numbers factors;  ///< gates, as products read them
  };
  /// The gradient of a stream, as layers add to it and as products read it.
  struct StreamGradient {
    ConstFloats sum;
    ConstNumbers factor;
  };

  // --- forward (step_forward.cpp) ---
  void forward();
  ConstFloats run_blocks(ConstFloats x);
  ConstFloats embed();
  void positions();
  void dropout_blocks();
  ConstFloats some_tokens(const std::string& name, ConstFloats x, Index first, Index wanted);
  /// The stream after an attention. `memory` null: of x itself.
  ConstFloats attend(Attention* a, ConstFloats x, ConstFloats memory);
  void project(Attention* a);
  void project_with_memory(Attention* a);
  /// Turns `heads` heads of rows of `tokens` tokens of an example, the first at place `first`.
  void rotate(const std::string& name, const StepMatrix<float>& x, Index tokens, Index heads,
              Index first, bool backward);
  ConstFloats feed_forward(const std::string& prefix, Index tokens, ConstFloats mid);
  void expert_weights();
  ConstFloats mixture(FeedForwardPass* pass);
  void gates(FeedForwardPass* pass);
  void outputs_and_loss(ConstFloats x);
  /// Losses and their gradient by the outputs y.
  void loss(ConstFloats y);
  /// The examples, as products read them.
  ConstNumbers inputs();
  [[nodiscard]] StepPositions position_tables() const;

  // --- backward (step_backward.cpp) ---
  void backward();
  StreamGradient blocks_gradient(StreamGradient dx);
  StreamGradient feed_forward_gradient(const FeedForwardPass& pass, const StreamGradient& dx);
  StreamGradient mixture_gradient(const FeedForwardPass& pass, const StreamGradient& dx);
  Numbers experts_gradient(const FeedForwardPass& pass, ConstNumbers dx, Floats d_gates);
  StreamGradient attention_gradient(Attention* a, const StreamGradient& d_mid);
  /// Adds to the gradient of the memory, too.
  StreamGradient cross_attention_gradient(Attention* a, const StreamGradient& d_mid,
                                          StreamGradient* d_memory);
  Numbers output_gradient(const Attention& a, ConstNumbers d_mid);
  void attend_gradient(Attention* a, ConstNumbers d_o, Numbers d_query, Numbers d_key);
  /// The partial sums of biases and positions that are known by now.
  void sums_so_far();
  void positions_gradient();
  void embedding_gradient(const StreamGradient& dx);
  void finish(const AdamWStep& constants);

  // --- a linear-value network (step_paths.cpp) ---
  void paths();
  struct Paths;
  void path_features(Paths* p);
  void path_weights(Paths* p);
  void path_outputs(Paths* p);
  void path_weights_gradient(const Paths& p);
  /// `d_below`: the gradient of the weights below the first layer.
  void value_gradients(const Paths& p, Numbers d_below);
  void path_features_gradient(const Paths& p);

  // --- tools ---
  struct Linear {
    Index rows = 0, in = 0, out = 0;
  };
  void launch(std::string name, StepOperation operation) {
    std::visit(
        [this](auto& one) {
          if constexpr (requires { one.runs; }) one.runs = batch_.runs;
        },
        operation);
    launches_.push_back({std::move(name), std::move(operation)});
  }
  /// What it writes is read by the sum of all gradients alone (StepLaunch::aside).
  void launch_aside(std::string name, StepOperation operation) {
    launch(std::move(name), std::move(operation));
    launches_.back().aside = true;
  }
  template <typename T = float>
  OfRuns<T> floats(const std::string& name, Index count) {
    return {device_->array<T>(name.c_str(), batch_.runs * count), count};
  }
  /// Room for what a product reads.
  Numbers numbers(const std::string& name, Index count) {
    return bf16() ? Numbers(floats<Bf16>(name, count)) : Numbers(floats(name, count));
  }
  /// Room for what is a sum of floats and what products read, too: rounded in bf16, else null.
  OfRuns<Bf16> rounded(const std::string& name, Index count) {
    return bf16() ? floats<Bf16>(name, count) : OfRuns<Bf16>();
  }
  [[nodiscard]] bool tf32() const { return setup_.precision == Precision::kTf32; }
  [[nodiscard]] bool bf16() const { return setup_.precision == Precision::kBfloat16; }
  [[nodiscard]] bool has(const std::string& name) const { return offsets_.contains(name); }
  [[nodiscard]] ConstFloats value(const std::string& name) const;
  /// `count` parameters from `name` on, as products read them; null where there are none.
  ConstNumbers factor(const std::string& name, Index count);
  /// `count` floats, as products read them; in bf16 they are rounded at the start of each step.
  ConstNumbers factor(const std::string& name, ConstFloats from, Index count);
  /// y = x W^T + b (+ added).
  StepProduct linear(const Linear& n, ConstNumbers x, const std::string& weight,
                     const std::string& bias, Numbers y);
  /// dx = dy W.
  StepProduct back(const Linear& n, ConstNumbers dy, const std::string& weight, Numbers dx);
  /// The gradients of W and b, in copies.
  void weight_gradient(const Linear& n, ConstNumbers dy, ConstNumbers x, const std::string& weight,
                       const std::string& bias);
  /// Launches a product that makes `to`, a stream: bias and the stream before are added to it. In
  /// bf16 by the product, else by the norm that has `to` next: cuBLASLt does that to floats in a
  /// kernel of its own.
  void launch_stream(const std::string& name, StepProduct product, StepNorm::Added added);
  Numbers norm(const std::string& name, Index rows, ConstFloats x, Floats stats);
  struct PassedNorm {
    Index rows = 0;
    ConstFloats x, stats;
  };
  /// The gradient of what the norm had, added to `base`, from that of what it gave.
  StreamGradient norm_gradient(const std::string& name, const PassedNorm& passed, ConstNumbers dz,
                               ConstFloats base);
  /// The gradient of W of rows dy and x, in copies.
  void gradient_product(const Linear& n, ConstNumbers dy, ConstNumbers x, const std::string& weight,
                        Floats copies);
  /// Room for so many copies of so many numbers.
  Floats copies_of(Index count_of_copies, Index count);
  /// Room for `count_of_copies` copies of the gradient of `numbers` parameters from `name` on.
  Floats sum(const std::string& name, Index count_of_copies, Index count);

  const EngineSetup& setup_;
  const TransformerOptions& model_;
  StepBatchShape batch_;
  StepArrays arrays_;
  StepDevice* device_;
  float* copies_;
  Index copies_size_;
  Index copies_used_ = 0;
  Index tokens_, rows_, wanted_rows_, dim_, packed_, parameters_ = 0;
  Index parameters_step_;  ///< from a run to the next
  std::map<std::string, Index> offsets_;
  std::map<std::string, const ParameterShape*> shapes_;
  Index context_;  ///< tokens of the memory, or 0
  const std::int32_t* buckets_ = nullptr;
  const float* rotation_ = nullptr;
  std::vector<Attention> attentions_;
  std::vector<FeedForwardPass> passes_;
  std::map<std::string, Numbers> expert_weights_;  ///< of layers
  std::map<std::string, ConstNumbers> factors_;    ///< in bf16
  StepRounding rounding_;
  std::map<const float*, StepNorm::Added> left_to_norms_;
  ConstFloats last_;  // what enters the last norm
  Floats last_stats_, losses_;
  Numbers last_z_, d_outputs_;
  StepColumnSums column_sums_;
  std::vector<StepSum> sums_;
  std::vector<StepLaunch> launches_;
};

/// Copies of the gradient of a matrix that is summed over so many rows.
Index weight_copies(Index rows);

/// The plan of a layer's attention; nothing where it does not fit the device.
std::optional<StepAttention> plan_step_attention(const EngineSetup& setup,
                                                 const StepBatchShape& batch,
                                                 const AttentionPart& part,
                                                 const GpuDevice& device);

}  // namespace headway::training::detail
