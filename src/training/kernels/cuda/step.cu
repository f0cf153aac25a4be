// The GPU of a hand-written training step: its kernels, compiled to CUDA, and cuBLASLt's products.
#include "training/kernels/cuda/gpu_attention.hpp"
#include "training/kernels/cuda/gpu_step.hpp"
#include "training/kernels/cuda/launch.hpp"
#include "training/kernels/cuda/step_launches.hpp"
#if __has_include(<cublasLt.h>)
#include "training/kernels/cuda/cublas_product.hpp"
#define HEADWAY_CUBLAS
#endif

namespace headway::training {

#ifdef HEADWAY_CUBLAS

namespace {

using gpu_kernels::check;
using gpu_kernels::CublasPlan;
using gpu_kernels::LeftOut;

/// Products, each planned when it runs first.
class Products {
 public:
  Products() : f_(gpu_kernels::cublas_functions()) {
    check(f_.create(&handle_), "start");
    check(cudaMalloc(&workspace_, kWorkspace), ErrorKind::kUnavailable, "memory of products");
  }
  ~Products() {
    plans_.clear();
    f_.destroy(handle_);
    cudaFree(workspace_);
  }
  Products(const Products&) = delete;
  Products& operator=(const Products&) = delete;

  void run(const detail::StepProduct& p, gpu_kernels::StreamOfDevice& device) {
    Planned& planned = plans_[&p];
    if (!planned.known) plan(p, &planned);
    gpu_kernels::StepLaunches<gpu_kernels::StreamOfDevice> launches(device);
    if (planned.plan == nullptr) return launches.plain_product(p);
    planned.plan->run(handle_, workspace_, kWorkspace, device.stream());
    if (planned.left_out == LeftOut::kNothing) return;
    launches.end_of(p, planned.left_out == LeftOut::kEndAndBias);
  }

 private:
  static constexpr std::size_t kWorkspace = std::size_t{32} << 20;
  struct Planned {
    bool known = false;
    std::unique_ptr<CublasPlan> plan;  ///< null: a kernel of ours makes the product
    LeftOut left_out = LeftOut::kNothing;
  };

  // Where cuBLASLt has no such end, a kernel of ours does it. It may lack products of bf16 whose
  // rows have an odd length.
  void plan(const detail::StepProduct& p, Planned* planned) {
    planned->known = true;
    for (const LeftOut left_out : {LeftOut::kNothing, LeftOut::kEnd, LeftOut::kEndAndBias}) {
      if (left_out == LeftOut::kEnd && p.end == detail::ProductEnd::kNone) continue;
      if (left_out == LeftOut::kEndAndBias && p.bias == nullptr) continue;
      planned->plan = std::make_unique<CublasPlan>(handle_, p, left_out, kWorkspace);
      planned->left_out = left_out;
      if (planned->plan->found()) return;
    }
    planned->plan.reset();
  }

  const gpu_kernels::CublasFunctions& f_;
  cublasLtHandle_t handle_ = nullptr;
  void* workspace_ = nullptr;
  std::map<const detail::StepProduct*, Planned> plans_;
};

class GpuStepDevice final : public detail::StepDevice {
 public:
  explicit GpuStepDevice(void* stream) : device_(stream), sizes_(gpu_device(0)) {}
  ~GpuStepDevice() override {
    for (void* array : arrays_) cudaFree(array);
  }

  [[nodiscard]] GpuDevice sizes() const override { return sizes_; }
  [[nodiscard]] double free_bytes() const override {
    std::size_t free = 0;
    std::size_t all = 0;
    check(cudaMemGetInfo(&free, &all), ErrorKind::kUnavailable, "free memory");
    return static_cast<double>(free);
  }
  void run(const detail::StepOperation& operation) override {
    std::visit([this](const auto& o) { run_one(o); }, operation);
  }

 protected:
  void* allocate(const char* name, Index count, std::size_t size, const void* numbers) override {
    const std::size_t bytes = static_cast<std::size_t>(count) * size;
    void* array = nullptr;
    check(cudaMalloc(&array, bytes), ErrorKind::kUnavailable, name);
    arrays_.push_back(array);
    if (numbers != nullptr) {
      // On the stream of the launches: the others do not wait for it.
      check(cudaMemcpyAsync(array, numbers, bytes, cudaMemcpyHostToDevice, device_.stream()),
            ErrorKind::kInternal, name);
      check(cudaStreamSynchronize(device_.stream()), ErrorKind::kInternal, name);
    }
    return array;
  }

 private:
  template <typename Operation>
  void run_one(const Operation& operation) {
    gpu_kernels::StepLaunches<gpu_kernels::StreamOfDevice> launches(device_);
    launches(operation);
  }
  void run_one(const detail::StepProduct& p) { products_.run(p, device_); }
  void run_one(const detail::StepAttention& a) {
    gpu_attention_forward(a.layer, a.plan, a.in, a.out, device_.stream());
  }
  void run_one(const detail::StepAttentionGradient& a) {
    gpu_attention_backward(a.layer, a.plan, a.in, a.passed, a.gradients, device_.stream());
  }

  gpu_kernels::StreamOfDevice device_;
  GpuDevice sizes_;
  Products products_;
  std::vector<void*> arrays_;
};

}  // namespace

std::unique_ptr<detail::StepDevice> make_gpu_step_device(void* stream) {
  return std::make_unique<GpuStepDevice>(stream);
}

#else

std::unique_ptr<detail::StepDevice> make_gpu_step_device(void* /*stream*/) {
  throw Error(ErrorKind::kUnavailable,
              "CUDA: this build has no hand-written step: cublasLt.h was not there");
}

#endif

}  // namespace headway::training
