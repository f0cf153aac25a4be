// What the engines of LibTorch share: the arrays and the network of a run on one device, what is
// read of them, and the gradient by the network's own operations. How steps are made is said in
// engine_ways.hpp.
#pragma once

#include <c10/util/Exception.h>

#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "headway/core/parallel.hpp"
#include "headway/error.hpp"
#include "training/torch/cuda_stream.hpp"
#include "training/torch/device_update.hpp"
#include "training/torch/matrix_product.hpp"
#include "training/torch/network_model.hpp"

namespace headway::training::detail {

/// LibTorch's exceptions as ours, and one thread for whatever it runs by itself: its sums depend on
/// how many there are, ours do not.
template <typename Work>
auto guarded(int threads, const Work& work) -> decltype(work()) {
  require_library_threads();
  const SerialLibraries serial;
  at::set_num_threads(threads);
  try {
    return work();
  } catch (const c10::Error& error) {
    const std::string message = error.what_without_backtrace();
    for (const char* memory : {"can't allocate memory", "out of memory"}) {
      if (message.find(memory) != std::string::npos) throw std::bad_alloc();
    }
    throw Error(ErrorKind::kInternal, "LibTorch: " + message);
  }
}

class TorchEngine : public TransformerEngine {
 public:
  void read(EngineArray array, std::span<float> out) const override;
  void write(EngineArray array, std::span<const float> in) override;
  double compute_gradients(const StepPieces& data) override;
  std::vector<float> outputs(const TaskBatch& batch, Index scored) override;
  std::vector<float> latent_codes(const TaskBatch& batch,
                                  std::span<const TokenPair> pairs) override;

 protected:
  /// With a stream and arrays of its own.
  explicit TorchEngine(const EngineSetup& setup);
  /// `arrays` are made on `stream`, for all of setup.shapes.
  TorchEngine(const EngineSetup& setup, std::shared_ptr<OwnStream> stream,
              const UpdatedArrays& arrays);

  /// work() on the stream.
  template <typename Work>
  auto on_stream(const Work& work) const -> decltype(work()) {
    const OwnStream::Scope scope(*stream_);
    return work();
  }
  /// The same for a caller who is not in guarded().
  template <typename Work>
  auto here(int threads, const Work& work) const -> decltype(work()) {
    return guarded(threads, [&] { return on_stream(work); });
  }
  /// Puts a step's batch where the gradient is computed. Nothing that is placed is read back, so
  /// nothing waits. True if the memory has moved since the last call.
  bool place(const StepPieces& data);
  /// Of what was placed last: the gradient of the mean loss, to arrays().gradients.
  /// keep(loss, share) is called for each piece, whose loss is that share of the mean.
  template <typename Keep>
  void add_all_gradients(const Keep& keep) {
    arrays_.gradients.zero_();
    const double share = 1.0 / static_cast<double>(pieces_.size());
    for (const PlacedBatch& piece : pieces_) keep(add_gradients(piece, share), share);
  }
  /// The same, and the mean loss, summed on the host.
  double gradients_and_loss();

  [[nodiscard]] const EngineSetup& setup() const { return setup_; }
  [[nodiscard]] int library_threads() const { return setup_.eager ? setup_.threads : 1; }
  [[nodiscard]] at::Device device() const { return memory_.device(); }
  [[nodiscard]] const std::vector<PlacedBatch>& pieces() const { return pieces_; }
  [[nodiscard]] const std::vector<Index>& offsets() const { return offsets_; }
  [[nodiscard]] const UpdatedArrays& arrays() const { return arrays_; }

 private:
  TorchEngine(const EngineSetup& setup, const std::shared_ptr<OwnStream>& stream);
  [[nodiscard]] const at::Tensor& of(EngineArray array) const;
  bool place(const TaskBatch& batch, Index scored, PlacedBatch* placed) const;
  [[nodiscard]] PlacedBatch placed(const TaskBatch& batch, Index scored) const {
    PlacedBatch batch_there;
    place(batch, scored, &batch_there);
    return batch_there;
  }
  [[nodiscard]] at::Tensor loss(const at::Tensor& outputs, const PlacedBatch& batch) const;
  at::Tensor add_gradients(const PlacedBatch& piece, double share);

  EngineSetup setup_;
  DeviceMemory memory_;
  std::shared_ptr<OwnStream> stream_;
  std::vector<Index> offsets_;  // of each of setup_.shapes in the arrays
  UpdatedArrays arrays_;
  std::vector<at::Tensor> parameters_;  // views of arrays_.values
  std::unique_ptr<NetworkModel> model_;
  std::vector<PlacedBatch> pieces_;
  at::Tensor dropout_;
};

}  // namespace headway::training::detail
