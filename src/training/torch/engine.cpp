// The engine of LibTorch, and the one C function of its library.
#include <c10/util/Exception.h>
#include <fmt/format.h>
#include <torch/csrc/api/include/torch/cuda.h>
#include <torch/csrc/api/include/torch/version.h>

#include <algorithm>
#include <cmath>
#include <new>
#include <optional>
#include <utility>

#include "headway/core/parallel.hpp"
#include "headway/error.hpp"
#include "training/kernels/cpu/row_kernels.hpp"
#include "training/step/stack_meeting.hpp"
#include "training/torch/bfloat16_products.hpp"
#include "training/torch/cuda_stream.hpp"
#include "training/torch/device_attention.hpp"
#include "training/torch/device_stack.hpp"
#include "training/torch/device_step.hpp"
#include "training/torch/host_update.hpp"
#include "training/torch/matrix_product.hpp"
#include "training/torch/network_model.hpp"

namespace headway::training::detail {
namespace {

using at::Tensor;

// LibTorch's exceptions as ours, and one thread for whatever it runs by itself: its sums depend on
// how many there are, ours do not.
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

// A batch on the device.
struct PlacedBatch {
  ModelInput input;
  Tensor targets, classes;
};

// Where a run of a stack has its arrays and meets the others.
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
        work_(memory_.device(),
              setup.model.feed_forward != FeedForward::kMixture ||
                  (step_device_of(setup) != nullptr && setup.precision != Precision::kBfloat16)) {
    const OwnStream::Scope scope(*stream_);
    const MakeStepDevice make = step_device_of(setup);
    take_arrays(make != nullptr);
    for (std::size_t i = 0; i < offsets_.size(); ++i) {
      const ParameterShape& shape = setup.shapes[i];
      const Index first = offsets_[i];
      Tensor parameter = values_.narrow(0, first, shape.count()).view(shape.shape).detach();
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
      const Tensor host = of(array).to(at::kCPU).contiguous();
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
      Tensor sent;
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
  [[nodiscard]] const Tensor& of(EngineArray array) const {
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
  [[nodiscard]] Tensor loss(const Tensor& outputs, const PlacedBatch& batch) const;
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
  Tensor values_, gradients_, first_, second_;  // all parameters
  std::vector<Index> offsets_;                  // of each of setup_.shapes in them
  std::vector<Tensor> parameters_;              // views of values_
  std::unique_ptr<NetworkModel> model_;
  std::vector<PlacedBatch> pieces_;
  Tensor dropout_;
  // LibTorch's operations keep the loss and make the update where the parameters are; the fused
  // kernels do on the host, which is there too.
  Tensor loss_;
  std::optional<DeviceUpdate> update_;
  std::optional<DeviceStep> step_;
  AdamWStep constants_;
  double loss_on_cpu_ = 0.0;
  std::vector<StepNumbers> steps_;
};

void TorchEngine::take_arrays(bool of_step) {
  Index count = 0;
  for (const ParameterShape& shape : setup_.shapes) {
    offsets_.push_back(count);
    count += shape.count();
  }
  if (of_step) offsets_ = step_offsets(setup_.shapes);
  if (place_) {
    const UpdatedArrays mine = place_->stack->arrays(place_->run);
    values_ = mine.values;
    gradients_ = mine.gradients;
    first_ = mine.first;
    second_ = mine.second;
    return;
  }
  const auto on_device = at::TensorOptions().dtype(at::kFloat).device(memory_.device());
  for (Tensor* array : {&values_, &gradients_, &first_, &second_}) {
    *array = at::zeros({count}, on_device);
  }
}

bool TorchEngine::place(const TaskBatch& batch, Index scored, PlacedBatch* placed) const {
  placed->input.scored = scored;
  const Index examples = batch.examples;
  const TaskFormat& format = setup_.format;
  Tensor* x = &placed->input.x;
  bool moved = false;
  if (format.features > 0) {
    const Index tokens = static_cast<Index>(batch.inputs.size()) / (examples * format.features);
    moved |= memory_.put(batch.inputs, {examples, tokens, format.features}, x);
  } else {
    const Index tokens = static_cast<Index>(batch.ids.size()) / examples;
    moved |= memory_.put(batch.ids, {examples, tokens}, x);
  }
  moved |= memory_.put(batch.mask, {examples, x->size(1)}, &placed->input.mask);
  moved |= memory_.put(batch.targets, {examples, format.scored, format.outputs}, &placed->targets);
  moved |= memory_.put(batch.classes, {static_cast<Index>(batch.classes.size())}, &placed->classes);
  return moved;
}

bool TorchEngine::place(const StepPieces& data) {
  bool moved = pieces_.size() != data.pieces.size();
  pieces_.resize(data.pieces.size());
  const Index tokens = setup_.format.tokens;
  moved |= memory_.put(data.dropout, {setup_.model.all_layers(), tokens, tokens}, &dropout_);
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    moved |= place(data.pieces[i], setup_.format.scored, &pieces_[i]);
    pieces_[i].input.dropout = dropout_;
  }
  return moved;
}

Tensor TorchEngine::loss(const Tensor& outputs, const PlacedBatch& batch) const {
  const Tensor numbers = outputs.to(at::kFloat);
  if (setup_.format.loss == LossKind::kSquaredError) return at::mse_loss(numbers, batch.targets);
  return at::nll_loss(at::log_softmax(numbers.flatten(0, 1), 1), batch.classes.to(at::kLong));
}

void TorchEngine::add_gradients(const PlacedBatch& piece, double share) {
  const double balancing = setup_.model.load_balancing;
  Tensor value, imbalance;
  {
    const ProductsIn products(setup_.precision, memory_.device().type());
    value = loss(model_->outputs(piece.input, balancing > 0.0 ? &imbalance : nullptr), piece);
  }
  const Tensor minimised = imbalance.defined() ? value + balancing * imbalance : value;
  torch::autograd::backward({minimised}, {at::full_like(minimised, share)});
  if (update_) {
    loss_.add_(value.detach().to(at::kDouble), share);
  } else {
    loss_on_cpu_ += share * value.item<double>();
  }
}

void TorchEngine::add_all_gradients() {
  gradients_.zero_();
  if (update_) {
    loss_.zero_();
  } else {
    loss_on_cpu_ = 0.0;
  }
  for (const PlacedBatch& piece : pieces_) {
    add_gradients(piece, 1.0 / static_cast<double>(pieces_.size()));
  }
}

// Whoever comes last launches the step of all, perhaps after this run has gone.
void TorchEngine::step_in_stack(const StepPieces& data, const AdamWStep& step) {
  const StackPlace& mine = *place_;
  here(1, [&] { mine.stack->prepare(mine.run, data, step); });
  mine.meeting->arrive(mine.run, [stack = mine.stack](const std::vector<bool>& ready) {
    guarded(1, [&] {
      const OwnStream::Scope scope(*stack->stream());
      stack->launch(ready);
    });
  });
}

void TorchEngine::step(const StepPieces& data, const AdamWStep& step) {
  if (place_) return step_in_stack(data, step);
  here(library_threads_, [&] {
    const bool moved = place(data);
    if (hand_written(moved, step)) {
      if (step_->is_new()) work_.forget();
      step_->prepare(step);
      work_.run([this] {
        step_->run_gradients();
        step_->run_update();
      });
      return;
    }
    if (update_) {
      if (moved) work_.forget();
      update_->prepare(step);
      work_.run([this] {
        add_all_gradients();
        update_->run();
      });
      return;
    }
    add_all_gradients();
    update_on_cpu(step);
  });
}

void TorchEngine::update(double loss, const AdamWStep& step) {
  here(library_threads_, [&] {
    if (update_) {
      loss_.fill_(loss);
      update_->prepare(step);
      update_->run();
      return;
    }
    loss_on_cpu_ = loss;
    update_on_cpu(step);
  });
}

std::vector<StepNumbers> TorchEngine::read_steps() {
  return here(1, [&] {
    if (place_) return place_->stack->read(place_->run);
    if (step_ && step_->steps() > 0) return step_->read();
    return update_ ? update_->read() : std::exchange(steps_, {});
  });
}

void TorchEngine::update_on_cpu(const AdamWStep& step) {
  const bool alive = steps_.empty() || steps_.back().finite();
  steps_.push_back({loss_on_cpu_, host_gradient_norm(gradients_, setup_.threads)});
  if (!alive) steps_.back().loss = std::nan("");
  if (!steps_.back().finite()) return;
  host_update(setup_, offsets_, {values_, gradients_, first_, second_, {}}, step,
              steps_.back().gradient_norm);
}

std::vector<float> TorchEngine::outputs(const TaskBatch& batch, Index scored) {
  return here(library_threads_, [&] {
    const at::NoGradGuard no_gradient;
    const ProductsIn products(setup_.precision, memory_.device().type());
    const Tensor y = model_->outputs(placed(batch, scored).input, nullptr)
                         .to(at::kFloat)
                         .to(at::kCPU)
                         .contiguous();
    return std::vector<float>(y.data_ptr<float>(), y.data_ptr<float>() + y.numel());
  });
}

std::vector<float> TorchEngine::latent_codes(const TaskBatch& batch,
                                             std::span<const TokenPair> pairs) {
  return here(library_threads_, [&] {
    const at::NoGradGuard no_gradient;
    choose_float32_products(Precision::kFloat32, memory_.device().type());
    std::vector<Tensor> layers;
    for (const Tensor& a : model_->attention_weights(placed(batch, setup_.format.scored).input)) {
      std::vector<Tensor> codes;
      for (const TokenPair& pair : pairs)
        codes.push_back(a.select(2, pair.query).select(2, pair.key));
      layers.push_back(at::stack(codes, 1));  // [B, pairs, H]
    }
    const Tensor y = at::stack(layers, 1).to(at::kFloat).to(at::kCPU).contiguous();
    return std::vector<float>(y.data_ptr<float>(), y.data_ptr<float>() + y.numel());
  });
}

std::unique_ptr<TransformerEngine> make_engine(const EngineSetup& setup) {
  if (!setup.eager) keep_freed_memory();  // LibTorch's own operations run as LibTorch comes
  return guarded(1, [&]() -> std::unique_ptr<TransformerEngine> {
#if TORCH_VERSION_MAJOR >= 2  // 1.13 has no such setting
    at::globalContext().setAllowBF16ReductionCuBLAS(false);
#endif
    return std::make_unique<TorchEngine>(setup);
  });
}

class TorchStack final : public EngineStack {
 public:
  TorchStack(const EngineSetup& setup, const StackShape& shape, MakeStepDevice make)
      : setup_(setup),
        meeting_(shape.meeting),
        stack_(std::make_shared<DeviceStack>(setup, shape, make)) {}
  std::unique_ptr<TransformerEngine> engine(Index place) override {
    return guarded(1, [&] {
      return std::make_unique<TorchEngine>(setup_, StackPlace{stack_, meeting_, place});
    });
  }

 private:
  EngineSetup setup_;
  std::shared_ptr<StackMeeting> meeting_;
  std::shared_ptr<DeviceStack> stack_;
};

std::unique_ptr<EngineStack> make_stack(const EngineSetup& setup, const StackShape& shape) {
  const MakeStepDevice make = step_device_of(setup);
  if (make == nullptr) return nullptr;
  return guarded(1, [&]() -> std::unique_ptr<EngineStack> {
    const GpuDevice sizes = make(nullptr)->sizes();
    if (!FusedStep::obstacle(setup, shape.batch, sizes).empty()) return nullptr;
    return std::make_unique<TorchStack>(setup, shape, make);
  });
}

bool cuda_found() { return at::hasCUDA() && torch::cuda::is_available(); }

std::string describe() {
#ifdef HEADWAY_TORCH_CUDA
  const bool built_with_it = true;  // at::hasCUDA() of newer ones asks for a device
#else
  const bool built_with_it = at::hasCUDA();
#endif
  std::string cuda = "without CUDA";
  if (built_with_it) {
    const auto devices = torch::cuda::device_count();
    cuda = devices == 0
               ? "with CUDA but no device"
               : fmt::format("with CUDA, devices: {}, attention by {}{}", devices,
                             built_gpu_kernels() != nullptr ? "fused kernels" : "its operations",
                             hand_written_steps() ? ", steps written by hand" : "");
  }
  return fmt::format("LibTorch {} {}, matrix products by {}", TORCH_VERSION, cuda,
                     matrix_product_name());
}

}  // namespace
}  // namespace headway::training::detail

extern "C" __attribute__((visibility("default"))) const headway::training::detail::TorchLibrary*
headway_torch_library(int interface) {
  using namespace headway::training::detail;  // NOLINT
  static const TorchLibrary library = {make_engine, make_stack, hand_written_steps,
                                       cuda_found,  describe,   matrix_product};
  return interface == kTorchInterface ? &library : nullptr;
}
