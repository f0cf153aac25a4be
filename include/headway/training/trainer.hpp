#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headway/observer.hpp"
#include "headway/training/evaluation.hpp"
#include "headway/training/train_options.hpp"
#include "headway/training/training_task.hpp"
#include "headway/training/transformer_options.hpp"

namespace headway::training {

class TrainingRanks;
class TrainingStack;

/// A float32 array with a name, row-major.
struct NamedTensor {
  std::string name;
  std::vector<Index> shape;
  std::vector<float> values;
  bool operator==(const NamedTensor&) const = default;
};

/// Everything that the rest of a run depends on. Examples, dropout masks and initial weights are
/// addressed by (seed, purpose, index), so the position in every random stream is `step`; a run
/// that goes on from a state makes the same bits as one that never stopped. Best parameters are
/// part of it. Names of the parameters (l = 1..L; matrices are [out, in]):
///   embedding.weight [D, F] (ids: [V, D])  embedding.bias [D] (numbers only)
///   layers.<l>.attention_norm.scale [D], .bias [D] (layer_norm only)
///   layers.<l>.query.weight [H, d, D], .bias [H, d]; key, value alike
///   layers.<l>.output.weight [D, H dv], .bias [D]
///   layers.<l>.mixing [H, dv, dv] (hyla_deep)   layers.<l>.positions [buckets, H] (relative)
///   layers.<l>.feed_forward_norm.scale, .bias [D]
///   layers.<l>.up.weight [M, D], .bias [M]   layers.<l>.down.weight [D, M], .bias [D]
///   layers.<l>.gate.weight [M, D] (swiglu; up and down without bias)
///   with an encoder: encoder.<l>.* as layers.<l>.* here, and of the cross-attention
///   layers.<l>.cross.norm (of the queries), .memory_norm (of keys and values), .query, .key, ...
///   mixture: layers.<l>.router.weight [E, D], up.weight [E, M, D], up.bias [E, M], ...
///   norm.scale, norm.bias [D]   logits.weight [O, D], .bias [O]
/// A linear-value network has those of TrainedLinearValue (linear_value.hpp).
struct TrainState {
  Index step = 0;          ///< updates made
  Index examples = 0;      ///< training examples seen: the data position, step * batch
  std::uint64_t seed = 0;  ///< of every random stream of the run
  std::vector<NamedTensor> parameters;
  std::vector<NamedTensor> first_moments;  ///< AdamW's, in the order of the parameters
  std::vector<NamedTensor> second_moments;
  Index best_step = -1;  ///< -1: nothing was evaluated so far
  double best_loss = 0.0;
  std::vector<NamedTensor> best_parameters;  ///< empty while best_step = -1
  /// Loss summed over the steps since the last training record, for its mean.
  double loss_since_record = 0.0;
  Index steps_since_record = 0;
};

/// One line of the log.
struct TrainRecord {
  Index step = 0;
  std::string split;
  double loss = 0.0;  ///< train: mean over the steps since the last such record
  std::vector<Metric> metrics;
  double learning_rate = 0.0;     ///< train only
  double gradient_norm = 0.0;     ///< train only: of the last step, before clipping
  double steps_per_second = 0.0;  ///< training alone, since the start of this call of run()
};

/// When a checkpoint is written: every so many steps, where the selection split is best, at the
/// end.
enum class CheckpointKind { kPeriodic, kBest, kLast };

/// What a run tells while it goes on. The base class ignores everything.
class TrainSink {
 public:
  TrainSink() = default;
  TrainSink(const TrainSink&) = delete;
  TrainSink& operator=(const TrainSink&) = delete;
  virtual ~TrainSink() = default;

  virtual void record(const TrainRecord& /*record*/) {}
  /// `state()` copies the state only when called. `seconds`: training time of this call, without
  /// evaluations.
  virtual void checkpoint(CheckpointKind /*kind*/, double /*seconds*/,
                          const std::function<TrainState()>& /*state*/) {}
};

/// One update.
struct StepResult {
  Index step = 0;  ///< number of this update, from 0
  double loss = 0.0;
  double gradient_norm = 0.0;
  double learning_rate = 0.0;
  /// False: loss or gradient is not finite; nothing was updated, and state() is the last good one.
  bool finite = true;
};

/// Why a run ended.
enum class TrainOutcome {
  kNotRun,
  kFinished,     ///< all steps are done
  kInterrupted,  ///< the observer asked to stop; the state can be gone on from
  kDiverged,     ///< loss or gradient not finite; `message` names step and learning rate
};

/// How a run ended and what it has done, over all calls that made it.
struct TrainSummary {
  TrainOutcome outcome = TrainOutcome::kNotRun;
  std::string message;
  Index steps = 0;  ///< updates in the state, those of earlier calls included
  double last_train_loss = 0.0;
  Index best_step = -1;
  double best_loss = 0.0;
  std::string best_split;                                       ///< whose loss chose the best step
  std::vector<std::pair<std::string, Evaluation>> evaluations;  ///< at the end, by split; empty
                                                                ///< unless kFinished
  double training_seconds = 0.0;  ///< of this call, evaluations left out
  double steps_per_second = 0.0;
  double flops_per_second = 0.0;  ///< flops_per_step() times steps per second
};

/// A key-query pair of tokens whose latent code is wanted, counted from 0.
struct TokenPair {
  Index query = 0;
  Index key = 0;
};

/// Continues a text.
struct GenerateOptions {
  Index tokens = 256;        ///< new ones
  double temperature = 1.0;  ///< 0: always the likeliest token
  Index top = 0;             ///< draws among the most likely ones; 0: among all
  std::uint64_t seed = 0;
};

/// Trains one network on one task. Parameters are drawn at construction. AdamW decays every
/// parameter but those of one dimension: norms, and the biases of embedding, attention output,
/// feed-forward networks and logits; the biases of queries, keys and values, [H, d], and the
/// position tables are decayed as in the reference. With update t = 1, 2, ... and gradient g
/// (src/training/README.md, eq. 12),
///   m = beta_1 m + (1 - beta_1) g,  v = beta_2 v + (1 - beta_2) g^2,
///   p -= rate (m / (1 - beta_1^t) / (sqrt(v / (1 - beta_2^t)) + epsilon) + decay p).
/// One thread at a time may call a trainer.
class Trainer {
 public:
  /// `task` must outlive the trainer. Error{kBadStudy} for options that do not fit each other or
  /// the task; Error{kUnavailable} when this build has no LibTorch, or CUDA is wanted and missing.
  Trainer(const TransformerOptions& model, const TrainOptions& options, const TrainingTask& task);
  /// A run of a stack, at a place of it that it has entered (training_stack.hpp). If the run does
  /// not fit there, it is trained by itself. `stack` must outlive the trainer.
  Trainer(const TransformerOptions& model, const TrainOptions& options, const TrainingTask& task,
          TrainingStack& stack, Index place);
  ~Trainer();
  Trainer(Trainer&&) noexcept;
  Trainer& operator=(Trainer&&) noexcept;

  [[nodiscard]] const TransformerOptions& model_options() const;
  [[nodiscard]] const TrainOptions& options() const;
  [[nodiscard]] Index parameters() const;  ///< as the model has them; equals count_parameters()
  [[nodiscard]] Device device() const;     ///< kCpu or kCuda
  [[nodiscard]] Index steps_done() const;

  /// From now on all these ranks, which must outlive the trainer, take every step together. Each
  /// computes the gradients of its share of the micro-batches. All call this together, with equal
  /// options, and continue from the state of the first. The first rank alone evaluates, records and
  /// keeps the best parameters. run() stops on all ranks when it is interrupted on one.
  void take_steps_with(TrainingRanks& ranks);

  /// One update with the next examples.
  StepResult step();
  /// Trains to options().steps: steps, evaluations, records and checkpoints, with kLast at every
  /// end. Stops between two steps when the observer is interrupted.
  TrainSummary run(Observer& observer, TrainSink& sink);
  /// Loss and metrics on the first `examples` of a split (0: options().eval_examples; fewer where
  /// the split ends). Without dropout.
  Evaluation evaluate(std::string_view split, Index examples = 0);

  /// Outputs [count, scored, O] for examples first, ... of a split.
  std::vector<float> outputs(std::string_view split, Index first, Index count);
  /// Latent codes ([S25], figures 2 and 5): the weights a[1..H] of chosen pairs in every layer,
  /// [count, layers, pairs, H], for examples first, ... of a split. Masked pairs are 0. With an
  /// encoder its layers come first. The encoder's layers have the pairs of the context, the
  /// decoder's those with a scored token as query; pairs that a layer does not have are 0.
  std::vector<float> latent_codes(std::string_view split, Index first, Index count,
                                  std::span<const TokenPair> pairs);
  /// Gradient of the mean loss of examples first, ... of a split, without dropout, in the order of
  /// the parameters. With TransformerOptions::load_balancing that loss is part of it.
  std::vector<NamedTensor> gradients(std::string_view split, Index first, Index count);
  /// New token ids after `prompt` (at least one id), each from the last S ids at most. Only for
  /// causal models of ids; Error{kBadStudy} otherwise.
  std::vector<std::int32_t> generate(std::span<const std::int32_t> prompt,
                                     const GenerateOptions& options);

  [[nodiscard]] TrainState state() const;
  /// Continues from a state. Error{kBadData} when it is of another model (names and shapes) or
  /// seed, or holds numbers that are not finite.
  void set_state(const TrainState& state);
  /// Replaces the parameters alone, given in any order, for evaluation (best_parameters of a state,
  /// say). Errors as set_state().
  void set_parameters(const std::vector<NamedTensor>& parameters);

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace headway::training
