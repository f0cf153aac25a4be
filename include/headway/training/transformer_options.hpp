#pragma once

#include <string>

#include "headway/core/option_table_fwd.hpp"
#include "headway/core/words.hpp"
#include "headway/training/attention_variant.hpp"
#include "headway/training/training_task.hpp"
#include "headway/types.hpp"

namespace headway::training {

/// The network between the attention layers.
enum class FeedForward {
  kGelu,     ///< W_2 gelu(W_1 x + b_1) + b_2, gelu in its tanh form
  kSwiglu,   ///< W_2 (silu(W_g x) * W_1 x), no biases
  kMixture,  ///< sum over experts of gate_e(x) times a kGelu network of its own; see experts
};
Words<FeedForward> words_of(FeedForward);

/// The kind of norm before each block.
enum class Norm {
  kLayerNorm,  ///< (x - mean) / sqrt(variance + 1e-6) times a learned scale, plus a learned bias
  kRmsNorm,    ///< x / sqrt(mean of x^2 + 1e-6) times a learned scale
};
Words<Norm> words_of(Norm);

/// How a token's place enters.
enum class Positions {
  /// T5: a learned number for each head and bucket of the distance query - key is added to the
  /// scaled scores; keys to the right share bucket 0 (relative_position_bucket()).
  kRelative,
  kRotary,  ///< RoPE: queries and keys are turned by their place; the dims of a head must be even
  kNone,
};
Words<Positions> words_of(Positions);

/// First weights of the embedding of inputs that are numbers. That of ids is always kDims.
enum class EmbeddingStart {
  kDims,      ///< normal of variance 1 / D
  kFeatures,  ///< LeCun normal (truncated) by the number of features, as in the code of [S25]
};
Words<EmbeddingStart> words_of(EmbeddingStart);

/// First weights of a linear-value network, and what one learning rate means for them. Its products
/// are divided by the root of their number of inputs n (linear_value.hpp).
enum class WeightsStart {
  kPrior,  ///< standard normal: a draw from the theory's prior
  /// Those of PyTorch's linear layers, whose products are not divided, as in the code of [T24]:
  /// uniform on (-1, 1), so of deviation 1 / sqrt(3), and with sqrt(n) times the learning rate. An
  /// update of AdamW then moves a product as it moves that of such a layer. Queries and keys are
  /// uniform, too, and keep their deviation and rate.
  kLinearLayers,
};
Words<WeightsStart> words_of(WeightsStart);

/// Which kind of network is trained.
enum class NetworkKind {
  kTransformer,  ///< pre-norm blocks with residuals, as below
  /// Attention paths alone (eqs. 1 to 3): no residual, no norm, no nonlinearity; every
  /// layer takes its attention from the input. See linear_value.hpp.
  kLinearValue,
};
Words<NetworkKind> words_of(NetworkKind);

/// A transformer of pre-norm blocks, x += attention(norm x); x += feed_forward(norm x), then a last
/// norm and a linear layer to the outputs (src/training/README.md, eq. 8). Queries, keys, values
/// and the attention's output have biases. Dims of queries and values are totals over heads. The
/// defaults are the fuzzy-logic model of [S25]. A linear-value network has layers, model_dim (N,
/// the same everywhere), heads and query_dim; the other fields then keep their defaults.
struct TransformerOptions {
  NetworkKind network = NetworkKind::kTransformer;
  std::string attention = "softmax";  ///< a name of attention_variant_names()
  /// "" keeps the variant's; else a name of nonlinearity_names(), only where the variant has a
  /// value network with a nonlinearity.
  std::string nonlinearity;
  Index layers = 2;
  /// 0: one stream of all tokens. Otherwise an encoder of this many blocks reads the context: the
  /// tokens that are not scored. A decoder of `layers` blocks turns the scored tokens into outputs.
  /// Its blocks do x += attention(norm x) among these tokens, x += cross-attention(norm x, norm'
  /// memory) with keys and values from the encoder, and x += feed_forward(norm x). Distances
  /// are those of the whole sequence. Only for tasks that do not score every token.
  Index encoder_layers = 0;
  Index model_dim = 128;
  Index heads = 8;
  Index query_dim = 16;  ///< of queries and keys, all heads together: d = query_dim / heads
  Index value_dim = 16;  ///< of values, all heads together
  Index mlp_dim = 256;   ///< hidden dims of the feed-forward network (of each expert)
  FeedForward feed_forward = FeedForward::kGelu;
  /// kMixture, the capacity control of [S25, table A1]. gate = softmax of a linear map of x
  /// (without bias), over the `active_experts` largest of it; 0 keeps all of them (soft mixture).
  Index experts = 8;
  Index active_experts = 2;
  /// Weight of a loss that keeps the experts of a kMixture equally busy (Fedus et al. 2022,
  /// equation 4; there 0.01), added for every layer: E sum_e f_e p_e. Here f_e is the share of the
  /// tokens' choices that fall on expert e, and p_e the mean over tokens of softmax(router) at e.
  /// In the last layer these are the scored tokens. The loss is 1 where all experts are equally
  /// busy. Reported losses do not contain it.
  double load_balancing = 0.0;
  EmbeddingStart embedding_start = EmbeddingStart::kDims;
  Norm norm = Norm::kLayerNorm;
  Positions positions = Positions::kRelative;
  Index position_buckets = 0;  ///< buckets and largest distance of kRelative; 0: number of tokens
  bool causal = false;         ///< token q sees tokens k <= q only
  /// Rate of the reference's attention dropout: one mask of query-key pairs for all examples and
  /// heads of a layer, on the normalised weights (the reference trains with 0.1).
  double attention_dropout = 0.0;
  Index width_multiplier = 1;  ///< multiplies heads and all dims

  // Linear-value networks alone:
  WeightsStart weights_start = WeightsStart::kPrior;
  /// Keys start as copies of the queries, K_l^h = Q_l^h: a head then begins by comparing tokens, as
  /// logits x_s^T Q^T Q x_t grow with what two tokens share. Independent ones begin with a plateau
  /// of thousands of steps on tasks that ask for a comparison.
  bool keys_start_as_queries = false;
  double initial_query_scale =
      1.0;                  ///< standard deviation of first queries and keys, times sqrt(F)
  double query_rate = 1.0;  ///< multiplies the learning rate of queries and keys

  /// [train]: the network. Says which options either kind of network alone has.
  static const OptionTable<TransformerOptions>& table();
  /// Error{kBadStudy} naming the field, its value and what is allowed; also for an option of the
  /// other kind of network that is not at its default.
  void validate() const;
  /// The same model with the multiplier applied, and a multiplier of 1.
  [[nodiscard]] TransformerOptions widened() const;
  /// Normalisation, value network, nonlinearity and causality of the layers. Cross-attention has
  /// the same but for causality: the whole context comes before the scored tokens.
  [[nodiscard]] AttentionOptions attention_options() const;
  /// Of the encoder and of the decoder together: each has one dropout mask and one latent code.
  [[nodiscard]] Index all_layers() const { return encoder_layers + layers; }
  /// Error{kBadStudy} where there is an encoder and the task has no context for it.
  void require_context(const TaskFormat& format) const;
  bool operator==(const TransformerOptions&) const = default;
};

/// T5's bucket of the distance query - key, one-sided. `buckets` is the number of buckets and also
/// the largest distance. Keys to the right have bucket 0. Below buckets / 2 the bucket is the
/// distance; above, it grows with the logarithm; from distance `buckets` on it is the last.
Index relative_position_bucket(Index distance, Index buckets);

/// Numbers that training changes, in closed form: 151,009 for the fuzzy-logic model at S = 16, and
/// 402,824 for SRAVEN's with 4 layers, as published. A block of an encoder has as many as a block
/// without one. A block of a decoder has one attention layer and two norms more. Validates
/// `options`.
Index count_parameters(const TransformerOptions& options, const TaskFormat& format);

/// Floating-point operations of one training step (a multiply-add is two): every matrix product of
/// the forward and backward pass that a step needs. Without an encoder the last layer is counted
/// for the scored tokens alone, for no others reach the loss. Norms, nonlinearities and the
/// optimiser are not counted.
struct StepFlops {
  double linear = 0.0;     ///< linear layers, embedding and outputs
  double attention = 0.0;  ///< count_multiply_adds(): forward and backward, nothing twice
  [[nodiscard]] double total() const { return linear + attention; }
};
StepFlops flops_per_step(const TransformerOptions& options, const TaskFormat& format, Index batch);

}  // namespace headway::training
