// What a trainer asks of the part that computes: a model, its gradient and its optimiser on one
// device. The only implementation uses LibTorch and lives in a library of its own, loaded when the
// first trainer is made, so that programs which never train neither need LibTorch nor wait for it.
#pragma once

#include <cmath>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "headway/core/cpu.hpp"
#include "training/kernels/cuda/gpu_attention.hpp"
#include "training/model/library_attention.hpp"
#include "training/model/transformer_blocks.hpp"
#include "training/model/transformer_parameters.hpp"

namespace headway::training::detail {

/// LibTorch's operations keep the arrays of all pairs of a layer up to `kept` bytes. Beyond it
/// queries go in chunks of at most `chunk` bytes (of one query at least), which are computed again
/// in the backward pass.
struct PairMemory {
  double kept = 0x1p30;
  double chunk = 0x1p28;
};

/// Fused attention on a device (training/kernels/cuda/gpu_attention.hpp): that of NVIDIA GPUs, or
/// one that stands in for it on the CPU.
struct GpuAttentionKernels {
  GpuDevice (*device)() = nullptr;
  decltype(&gpu_attention_forward) forward = nullptr;
  decltype(&gpu_attention_backward) backward = nullptr;
};

class StepDevice;
/// Makes the device of a hand-written step (training/step), on a stream of LibTorch's.
using MakeStepDevice = std::unique_ptr<StepDevice> (*)(void* stream);

struct EngineSetup {
  TransformerOptions model;  ///< widened
  TaskFormat format;
  std::vector<ParameterShape> shapes;
  Device device = Device::kCpu;
  Precision precision = Precision::kFloat32;
  int threads = 1;
  bool eager = false;
  PairMemory pair_memory = {};
  /// Fused attention for blocks of LibTorch's operations, used where it fits the device. Null: on a
  /// GPU the kernels that were built with the library, if there are any.
  const GpuAttentionKernels* gpu_kernels = nullptr;
  /// The hand-written step in place of LibTorch's operations, where it serves the network. Null: on
  /// a GPU, if the environment asks for it.
  MakeStepDevice make_step_device = nullptr;
  /// Layers that LibTorch's own fused attention takes from these kernels.
  LibraryAttentionUse library_attention = LibraryAttentionUse::kByShape;
};

/// Bytes of the arrays of all pairs that one query of every example adds, forward and backward.
double pair_bytes_of_query(const AttentionShape& shape, const AttentionOptions& options);

/// What one update computes its gradient from.
struct StepData {
  std::vector<TaskBatch> pieces;  ///< of the batch, with equal numbers of examples
  std::vector<float> dropout;     ///< [all layers, S, S] factors of the weights, or empty
};

/// What decides the launches of a hand-written step beside the network.
struct StepBatchShape {
  Index examples = 0;
  bool masked = false;
  bool dropout = false;
  Index runs = 1;
};

/// A view of some of the pieces.
struct StepPieces {
  std::span<const TaskBatch> pieces;
  std::span<const float> dropout;

  StepPieces(const StepData& all)  // NOLINT(google-explicit-constructor): all are some
      : pieces(all.pieces), dropout(all.dropout) {}
  [[nodiscard]] StepPieces part(Index first, Index count) const {
    StepPieces some = *this;
    some.pieces = pieces.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count));
    return some;
  }
};

/// One AdamW update (trainer.hpp).
struct AdamWStep {
  Index update = 1;  ///< t, from 1
  double rate = 0.0;
  double decay = 0.0;
  double beta_1 = 0.9;
  double beta_2 = 0.999;
  double epsilon = 1e-8;
  double most_norm = 0.0;  ///< of the gradient, which is scaled down to it; 0: none
};

/// What an update tells: the batch's mean loss (without the loss that balances a mixture, which is
/// in the gradient alone), and the 2-norm of its gradient before clipping.
struct StepNumbers {
  double loss = 0.0;
  double gradient_norm = 0.0;
  [[nodiscard]] bool finite() const { return std::isfinite(loss) && std::isfinite(gradient_norm); }
};

/// Most updates that may be made between two calls of read_steps().
inline constexpr Index kMostStepsAhead = 64;

/// Arrays of all parameters end to end, in the order of EngineSetup::shapes.
enum class EngineArray { kParameters, kGradients, kFirstMoments, kSecondMoments };

class TransformerEngine {
 public:
  TransformerEngine() = default;
  TransformerEngine(const TransformerEngine&) = delete;
  TransformerEngine& operator=(const TransformerEngine&) = delete;
  virtual ~TransformerEngine() = default;

  virtual void read(EngineArray array, std::span<float> out) const = 0;
  virtual void write(EngineArray array, std::span<const float> in) = 0;
  /// The gradient of the mean loss over all pieces, with that of the loss that balances a mixture.
  /// Returns the mean loss, without that.
  virtual double compute_gradients(const StepPieces& data) = 0;
  /// Computes the gradient and makes the update, on a GPU without waiting for either. An update
  /// whose numbers are not finite changes no parameter and no moment, nor does any after it until
  /// read_steps(). `data` may be changed after the call.
  virtual void step(const StepPieces& data, const AdamWStep& step) = 0;
  /// The same with the gradient that is in kGradients, of this loss.
  virtual void update(double loss, const AdamWStep& step) = 0;
  /// Waits, and tells of the updates since the last call, in order.
  virtual std::vector<StepNumbers> read_steps() = 0;
  /// Outputs of the last `scored` tokens, [B, scored, O]. The sequences may be shorter than S.
  virtual std::vector<float> outputs(const TaskBatch& batch, Index scored) = 0;
  /// [B, all layers, pairs, H]
  virtual std::vector<float> latent_codes(const TaskBatch& batch,
                                          std::span<const TokenPair> pairs) = 0;
};

class StackMeeting;

/// What the runs of a stack have in common, beside EngineSetup.
struct StackShape {
  StepBatchShape batch;
  AdamWStep constants;  ///< betas, epsilon and most_norm of every update
  Index evaluated = 0;  ///< examples at a time in an evaluation
  std::shared_ptr<StackMeeting> meeting;
};

/// Runs of one shape on one device, whose steps are one hand-written step (training/step). Each has
/// an engine, and is trained with it as if it were alone, in a thread of its own: step() waits for
/// the other runs. Each has the same numbers whatever it is stacked with.
class EngineStack {
 public:
  EngineStack() = default;
  EngineStack(const EngineStack&) = delete;
  EngineStack& operator=(const EngineStack&) = delete;
  virtual ~EngineStack() = default;

  /// The engine of the run at this place of the meeting. It leaves the meeting when it goes.
  virtual std::unique_ptr<TransformerEngine> engine(Index place) = 0;
};

/// The functions of the library of LibTorch.
struct TorchLibrary {
  std::unique_ptr<TransformerEngine> (*make_engine)(const EngineSetup& setup) = nullptr;
  /// Null where the hand-written step is off, or does not serve such runs.
  std::unique_ptr<EngineStack> (*make_stack)(const EngineSetup& setup,
                                             const StackShape& shape) = nullptr;
  /// How many of shape.batch.runs runs fit the free memory of the device; 0 where make_stack gives
  /// null. The meeting may be null.
  Index (*runs_that_fit)(const EngineSetup& setup, const StackShape& shape) = nullptr;
  /// Whether the hand-written step is on.
  bool (*hand_written_steps)() = nullptr;
  bool (*cuda_available)() = nullptr;
  std::string (*describe)() = nullptr;
  /// The product that the fused kernels take where this is the widest instruction set.
  MatrixProduct (*matrix_product)(InstructionSet set) = nullptr;
};

/// Its one C function, by the name kTorchLibraryEntry. `interface` is kTorchInterface of the
/// caller; null where the library was built for another one.
using TorchLibraryEntry = const TorchLibrary* (*)(int interface);
inline constexpr const char* kTorchLibraryEntry = "headway_torch_library";
inline constexpr int kTorchInterface = 8;

/// Error{kUnavailable} if a limit on address space leaves less than `bytes`. `who` is who needs
/// them, with a verb, for the message: "LibTorch takes".
void require_address_space(double bytes, const std::string& who);

/// Loads the library once. Error{kUnavailable} when this build has none or it cannot be loaded.
const TorchLibrary& torch_library();

}  // namespace headway::training::detail
