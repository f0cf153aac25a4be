// The engine of LibTorch: a run's network on one device, by the fused kernels of the CPU,
// LibTorch's operations, or the step that is written by hand.
#pragma once

#include <c10/util/Exception.h>

#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "headway/core/parallel.hpp"
#include "headway/error.hpp"
#include "training/step/stack_meeting.hpp"
#include "training/torch/cuda_stream.hpp"
#include "training/torch/device_stack.hpp"
#include "training/torch/device_step.hpp"
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

/// A batch on the device.
struct PlacedBatch {
  ModelInput input;
  at::Tensor targets, classes, weights;
};

/// Where a run of a stack has its arrays and meets the others.
struct StackPlace {
  std::shared_ptr<DeviceStack> stack;
  std::shared_ptr<StackMeeting> meeting;
  Index run = 0;
};

class TorchEngine final : public TransformerEngine {
 public:
  explicit TorchEngine(const EngineSetup& setup, std::optional<StackPlace> place = std::nullopt)
      : setup_(setup),
        place_(std::move(place)),
        library_threads_(setup.eager ? setup.threads : 1),
        memory_(setup.device == Device::kCuda ? at::kCUDA : at::kCPU,
                setup.gpu_kernels != nullptr || setup.make_step_device != nullptr),
        stream_(place_ ? place_->stack->stream() : std::make_shared<OwnStream>(memory_.device())),
        // Of LibTorch's operations the host picks the tokens of each expert: not to be recorded.
        work_(memory_.device(), setup.model.feed_forward != FeedForward::kMixture ||
                                    step_device_of(setup) != nullptr) {
    const OwnStream::Scope scope(*stream_);
    const MakeStepDevice make = step_device_of(setup);
    take_arrays(make != nullptr);
    for (std::size_t i = 0; i < offsets_.size(); ++i) {
      const ParameterShape& shape = setup.shapes[i];
      const Index first = offsets_[i];
      at::Tensor parameter = values_.narrow(0, first, shape.count()).view(shape.shape).detach();
      parameter.set_requires_grad(true);
      parameter.mutable_grad() = gradients_.narrow(0, first, shape.count()).view(shape.shape);
      parameters_.push_back(parameter);
    }
    model_ = make_network_model(setup, parameters_);
    if (setup.device == Device::kCpu && !setup.eager) return;
    if (place_) return;  // the stack makes the steps
    loss_ = at::zeros({}, at::dtype(at::kDouble).device(memory_.device()));
    const UpdatedArrays arrays = {values_, gradients_, first_, second_, loss_};
    update_.emplace(setup, offsets_, arrays);
    step_.emplace(setup_, arrays, make);
  }
  ~TorchEngine() override {
    if (place_) place_->meeting->leave(place_->run);
  }
  TorchEngine(const TorchEngine&) = delete;
  TorchEngine& operator=(const TorchEngine&) = delete;

  void read(EngineArray array, std::span<float> out) const override {
    here(1, [&] {
      const at::Tensor host = of(array).to(at::kCPU).contiguous();
      Index at = 0;
      for (std::size_t i = 0; i < offsets_.size(); ++i) {
        const Index count = setup_.shapes[i].count();
        std::copy_n(host.data_ptr<float>() + offsets_[i], count, out.data() + at);
        at += count;
      }
    });
  }
  void write(EngineArray array, std::span<const float> in) override {
    here(1, [&] {
      std::vector<float> ordered(in.size());
      Index at = 0;
      for (std::size_t i = 0; i < offsets_.size(); ++i) {
        const Index count = setup_.shapes[i].count();
        std::copy_n(in.data() + at, count, ordered.data() + offsets_[i]);
        at += count;
      }
      at::Tensor sent;
      memory_.put(ordered, {static_cast<Index>(in.size())}, &sent);
      of(array).copy_(sent);
    });
  }
  double compute_gradients(const StepPieces& data) override {
    return here(library_threads_, [&] {
      const bool moved = place(data);
      work_.forget();
      if (hand_written(moved, constants_)) {
        step_->run_gradients();
        return step_->loss();
      }
      add_all_gradients();
      return update_ ? loss_.item<double>() : loss_on_cpu_;
    });
  }
  void step(const StepPieces& data, const AdamWStep& step) override;
  void update(double loss, const AdamWStep& step) override;
  std::vector<StepNumbers> read_steps() override;
  std::vector<float> outputs(const TaskBatch& batch, Index scored) override;
  std::vector<float> latent_codes(const TaskBatch& batch,
                                  std::span<const TokenPair> pairs) override;

 private:
  [[nodiscard]] const at::Tensor& of(EngineArray array) const {
    switch (array) {
      case EngineArray::kParameters:
        return values_;
      case EngineArray::kGradients:
        return gradients_;
      case EngineArray::kFirstMoments:
        return first_;
      case EngineArray::kSecondMoments:
        return second_;
    }
    return values_;
  }
  template <typename Work>
  auto here(int threads, const Work& work) const -> decltype(work()) {
    return guarded(threads, [&] {
      const OwnStream::Scope scope(*stream_);
      return work();
    });
  }
  void take_arrays(bool of_step);
  void step_in_stack(const StepPieces& data, const AdamWStep& step);
  // Nothing that is placed is read back, so nothing waits. True if the memory has moved since the
  // last call.
  bool place(const TaskBatch& batch, Index scored, PlacedBatch* placed) const;
  bool place(const StepPieces& data);
  [[nodiscard]] PlacedBatch placed(const TaskBatch& batch, Index scored) const {
    PlacedBatch batch_there;
    place(batch, scored, &batch_there);
    return batch_there;
  }
  [[nodiscard]] at::Tensor loss(const at::Tensor& outputs, const PlacedBatch& batch) const;
  // Whether the hand-written step serves what was placed last.
  bool hand_written(bool moved, const AdamWStep& constants) {
    constants_ = constants;
    return step_ && pieces_.size() == 1 &&
           step_->serves({pieces_[0].input, pieces_[0].targets, pieces_[0].classes}, moved,
                         constants);
  }
  // Of what was placed last: gradients_, and the loss.
  void add_all_gradients();
  void add_gradients(const PlacedBatch& piece, double share);
  void update_on_cpu(const AdamWStep& step);

  EngineSetup setup_;
  std::optional<StackPlace> place_;
  int library_threads_;
  DeviceMemory memory_;
  std::shared_ptr<OwnStream> stream_;
  RepeatedWork work_;
  at::Tensor values_, gradients_, first_, second_;  // all parameters
  std::vector<Index> offsets_;                      // of each of setup_.shapes in them
  std::vector<at::Tensor> parameters_;              // views of values_
  std::unique_ptr<NetworkModel> model_;
  std::vector<PlacedBatch> pieces_;
  at::Tensor dropout_;
  // LibTorch's operations keep the loss and make the update where the parameters are; the fused
  // kernels do on the host, which is there too.
  at::Tensor loss_;
  std::optional<DeviceUpdate> update_;
  std::optional<DeviceStep> step_;
  AdamWStep constants_;
  double loss_on_cpu_ = 0.0;
  std::vector<StepNumbers> steps_;
};

}  // namespace headway::training::detail
