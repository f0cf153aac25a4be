// The engine of LibTorch, and the one C function of its library.
#include <c10/util/Exception.h>
#include <fmt/format.h>
#include <malloc.h>
#include <torch/csrc/api/include/torch/cuda.h>
#include <torch/csrc/api/include/torch/version.h>

#include <algorithm>
#include <cmath>
#include <new>
#include <utility>

#include "headway/core/error.hpp"
#include "headway/core/parallel.hpp"
#include "training/row_kernels.hpp"
#include "training/torch/bfloat16_products.hpp"
#include "training/torch/matrix_product.hpp"
#include "training/torch/network_model.hpp"

namespace headway::training::detail {
namespace {

using at::Tensor;

// LibTorch's exceptions as ours, and one thread for whatever it runs by itself: its sums depend on
// how many there are, ours do not.
template <typename Work>
auto guarded(int threads, const Work& work) -> decltype(work()) {
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

class TorchEngine final : public TransformerEngine {
 public:
  explicit TorchEngine(const EngineSetup& setup)
      : setup_(setup),
        library_threads_(setup.eager ? setup.threads : 1),
        device_(setup.device == Device::kCuda ? at::kCUDA : at::kCPU) {
    Index count = 0;
    for (const ParameterShape& shape : setup.shapes) count += shape.count();
    const auto on_device = at::TensorOptions().dtype(at::kFloat).device(device_);
    for (Tensor* array : {&values_, &gradients_, &first_, &second_}) {
      *array = at::zeros({count}, on_device);
    }
    Index offset = 0;
    for (const ParameterShape& shape : setup.shapes) {
      Tensor parameter = values_.narrow(0, offset, shape.count()).view(shape.shape).detach();
      parameter.set_requires_grad(true);
      parameter.mutable_grad() = gradients_.narrow(0, offset, shape.count()).view(shape.shape);
      parameters_.push_back(parameter);
      offset += shape.count();
    }
    model_ = make_network_model(setup, parameters_);
  }

  void read(EngineArray array, std::span<float> out) const override {
    guarded(1, [&] {
      const Tensor host = of(array).to(at::kCPU).contiguous();
      std::copy_n(host.data_ptr<float>(), out.size(), out.data());
    });
  }
  void write(EngineArray array, std::span<const float> in) override {
    guarded(1, [&] { of(array).copy_(from(in.data(), {static_cast<Index>(in.size())})); });
  }
  void clear_gradients() override {
    guarded(1, [&] { gradients_.zero_(); });
  }
  double add_gradients(const TaskBatch& batch, std::span<const float> dropout,
                       double share) override;
  [[nodiscard]] double gradient_norm() const override;
  void update(const AdamWStep& step) override;
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
  // A view of numbers of ours on the CPU, a copy elsewhere.
  template <typename T>
  [[nodiscard]] Tensor from(const T* data, at::IntArrayRef sizes) const {
    constexpr auto kType = c10::CppTypeToScalarType<T>::value;
    return at::from_blob(const_cast<T*>(data), sizes, at::dtype(kType)).to(device_);  // NOLINT
  }
  [[nodiscard]] ModelInput input(const TaskBatch& batch, Index scored) const;
  [[nodiscard]] Tensor loss(const Tensor& outputs, const TaskBatch& batch) const;
  void update_on_cpu(const AdamWStep& step);
  void update_elsewhere(const AdamWStep& step);

  EngineSetup setup_;
  int library_threads_;
  at::Device device_;
  Tensor values_, gradients_, first_, second_;  // all parameters end to end
  std::vector<Tensor> parameters_;              // views of values_
  std::unique_ptr<NetworkModel> model_;
};

ModelInput TorchEngine::input(const TaskBatch& batch, Index scored) const {
  ModelInput in;
  in.scored = scored;
  const Index examples = batch.examples;
  const Index features = setup_.format.features;
  if (features > 0) {
    const Index tokens = static_cast<Index>(batch.inputs.size()) / (examples * features);
    in.x = from(batch.inputs.data(), {examples, tokens, features});
  } else {
    const Index tokens = static_cast<Index>(batch.ids.size()) / examples;
    in.x = from(batch.ids.data(), {examples, tokens}).to(at::kLong);
  }
  if (!batch.mask.empty()) in.mask = from(batch.mask.data(), {examples, in.x.size(1)});
  return in;
}

Tensor TorchEngine::loss(const Tensor& outputs, const TaskBatch& batch) const {
  const Tensor numbers = outputs.to(at::kFloat);
  if (setup_.format.loss == LossKind::kSquaredError) {
    return at::mse_loss(numbers, from(batch.targets.data(), numbers.sizes()));
  }
  const Tensor classes =
      from(batch.classes.data(), {static_cast<Index>(batch.classes.size())}).to(at::kLong);
  return at::nll_loss(at::log_softmax(numbers.flatten(0, 1), 1), classes);
}

double TorchEngine::add_gradients(const TaskBatch& batch, std::span<const float> dropout,
                                  double share) {
  return guarded(library_threads_, [&] {
    ModelInput in = input(batch, setup_.format.scored);
    if (!dropout.empty()) {
      const Index tokens = setup_.format.tokens;
      in.dropout = from(dropout.data(), {setup_.model.all_layers(), tokens, tokens});
    }
    const double balancing = setup_.model.load_balancing;
    Tensor value, imbalance;
    {
      const Bfloat16Products products(setup_.precision == Precision::kBfloat16);
      value = loss(model_->outputs(in, balancing > 0.0 ? &imbalance : nullptr), batch);
    }
    const Tensor minimised = imbalance.defined() ? value + balancing * imbalance : value;
    torch::autograd::backward({minimised}, {at::full_like(minimised, share)});
    return value.item<double>();
  });
}

double TorchEngine::gradient_norm() const {
  return guarded(1, [&] {
    if (device_ != at::kCPU) return gradients_.to(at::kDouble).norm().item<double>();
    // Runs of fixed length, added in index order.
    constexpr Index kRun = 1 << 14;
    const float* g = gradients_.data_ptr<float>();
    const Index count = gradients_.numel();
    std::vector<double> sums(static_cast<std::size_t>((count + kRun - 1) / kRun));
    parallel_for(static_cast<Index>(sums.size()), setup_.threads, [&](Index run) {
      double sum = 0.0;
      for (Index i = run * kRun; i < std::min(count, (run + 1) * kRun); ++i) {
        sum += static_cast<double>(g[i]) * g[i];
      }
      sums[static_cast<std::size_t>(run)] = sum;
    });
    double sum = 0.0;
    for (const double part : sums) sum += part;
    return std::sqrt(sum);
  });
}

void TorchEngine::update(const AdamWStep& step) {
  guarded(1, [&] {
    if (device_ != at::kCPU) return update_elsewhere(step);
    update_on_cpu(step);
  });
}

void TorchEngine::update_on_cpu(const AdamWStep& step) {
  const auto t = static_cast<double>(step.update);
  const double first = step.rate / (1.0 - std::pow(step.beta_1, t));
  const double second = 1.0 / (1.0 - std::pow(step.beta_2, t));
  std::vector<Index> offsets = {0};
  for (const ParameterShape& shape : setup_.shapes) {
    offsets.push_back(offsets.back() + shape.count());
  }
  const RowKernels& kernels = row_kernels();
  parallel_for(static_cast<Index>(setup_.shapes.size()), setup_.threads, [&](Index i) {
    const auto at = static_cast<std::size_t>(i);
    const ParameterShape& shape = setup_.shapes[at];
    const Index offset = offsets[at];
    AdamWRates rates{static_cast<float>(step.beta_1),        static_cast<float>(step.beta_2),
                     static_cast<float>(first * shape.rate), static_cast<float>(second),
                     static_cast<float>(step.epsilon),       1.0F,
                     static_cast<float>(step.clip)};
    if (shape.decayed()) {
      rates.shrink = static_cast<float>(1.0 - step.rate * shape.rate * step.decay);
    }
    kernels.adamw(offsets[at + 1] - offset, rates, gradients_.data_ptr<float>() + offset,
                  first_.data_ptr<float>() + offset, second_.data_ptr<float>() + offset,
                  values_.data_ptr<float>() + offset);
  });
}

void TorchEngine::update_elsewhere(const AdamWStep& step) {
  const at::NoGradGuard no_gradient;
  const auto t = static_cast<double>(step.update);
  const Tensor g = gradients_ * step.clip;
  first_.mul_(step.beta_1).add_(g, 1.0 - step.beta_1);
  second_.mul_(step.beta_2).addcmul_(g, g, 1.0 - step.beta_2);
  const Tensor root = at::sqrt(second_ / (1.0 - std::pow(step.beta_2, t))) + step.epsilon;
  const Tensor change = first_ / root * (step.rate / (1.0 - std::pow(step.beta_1, t)));
  Index offset = 0;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const ParameterShape& shape = setup_.shapes[i];
    const Tensor values = parameters_[i].detach();
    if (shape.decayed()) values.mul_(1.0 - step.rate * shape.rate * step.decay);
    values.sub_(change.narrow(0, offset, shape.count()).view(shape.shape), shape.rate);
    offset += shape.count();
  }
}

std::vector<float> TorchEngine::outputs(const TaskBatch& batch, Index scored) {
  return guarded(library_threads_, [&] {
    const at::NoGradGuard no_gradient;
    const Bfloat16Products products(setup_.precision == Precision::kBfloat16);
    const Tensor y =
        model_->outputs(input(batch, scored), nullptr).to(at::kFloat).to(at::kCPU).contiguous();
    return std::vector<float>(y.data_ptr<float>(), y.data_ptr<float>() + y.numel());
  });
}

std::vector<float> TorchEngine::latent_codes(const TaskBatch& batch,
                                             std::span<const TokenPair> pairs) {
  return guarded(library_threads_, [&] {
    const at::NoGradGuard no_gradient;
    std::vector<Tensor> layers;
    for (const Tensor& a : model_->attention_weights(input(batch, setup_.format.scored))) {
      std::vector<Tensor> codes;
      for (const TokenPair& pair : pairs)
        codes.push_back(a.select(2, pair.query).select(2, pair.key));
      layers.push_back(at::stack(codes, 1));  // [B, pairs, H]
    }
    const Tensor y = at::stack(layers, 1).to(at::kFloat).to(at::kCPU).contiguous();
    return std::vector<float>(y.data_ptr<float>(), y.data_ptr<float>() + y.numel());
  });
}

// Every step frees and takes the same arrays: glibc should keep them, and not give them back to the
// kernel and clear their pages again, which was a fifth of a step.
void keep_freed_memory() {
#ifdef __GLIBC__
  constexpr int kLargestKept = 32 << 20;  // glibc's own upper bound
  constexpr int kKept = 2000 << 20;
  static_cast<void>(mallopt(M_MMAP_THRESHOLD, kLargestKept));
  static_cast<void>(mallopt(M_TRIM_THRESHOLD, kKept));
#endif
}

std::unique_ptr<TransformerEngine> make_engine(const EngineSetup& setup) {
  if (!setup.eager) keep_freed_memory();  // LibTorch's own operations run as LibTorch comes
  return guarded(1, [&]() -> std::unique_ptr<TransformerEngine> {
    return std::make_unique<TorchEngine>(setup);
  });
}

bool cuda_found() { return at::hasCUDA() && torch::cuda::is_available(); }

std::string describe() {
  std::string cuda = "without CUDA";
  if (at::hasCUDA()) {
    const auto devices = torch::cuda::device_count();
    cuda =
        devices == 0 ? "with CUDA but no device" : fmt::format("with CUDA, devices: {}", devices);
  }
  return fmt::format("LibTorch {} {}, matrix products by {}", TORCH_VERSION, cuda,
                     matrix_product_name());
}

}  // namespace
}  // namespace headway::training::detail

extern "C" __attribute__((visibility("default"))) const headway::training::detail::TorchLibrary*
headway_torch_library(int interface) {
  using namespace headway::training::detail;  // NOLINT
  static const TorchLibrary library = {make_engine, cuda_found, describe};
  return interface == kTorchInterface ? &library : nullptr;
}
