// The GPU of a hand-written training step: its kernels, compiled to CUDA, and cuBLASLt's products.
#include "training/kernels/cuda/gpu_attention.hpp"
#include "training/kernels/cuda/gpu_step.hpp"
#include "training/kernels/cuda/launch.hpp"
#include "training/kernels/cuda/step_launches.hpp"
#if __has_include(<cublasLt.h>)
#include "training/kernels/cuda/cublas_product.hpp"
#define HEADWAY_CUBLAS
#endif

#include <utility>

namespace headway::training {

#ifdef HEADWAY_CUBLAS

namespace {

using gpu_kernels::check;
using gpu_kernels::CublasPlan;
using gpu_kernels::LeftOut;

/// What libraries may write to while a product runs; those of one stream share it.
class Workspace {
 public:
  Workspace() {
    check(cudaMalloc(&memory_, kBytes), ErrorKind::kUnavailable, "memory of products");
  }
  ~Workspace() { cudaFree(memory_); }
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;
  [[nodiscard]] void* memory() const { return memory_; }

  static constexpr std::size_t kBytes = std::size_t{32} << 20;

 private:
  void* memory_ = nullptr;
};

/// A stream beside another one. Recorded into a CUDA graph, it is a branch of it.
class SideStream {
 public:
  SideStream() {
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), ErrorKind::kUnavailable,
          "second stream");
    for (cudaEvent_t* event : {&forked_, &joined_}) {
      check(cudaEventCreateWithFlags(event, cudaEventDisableTiming), ErrorKind::kUnavailable,
            "event");
    }
  }
  ~SideStream() {
    cudaEventDestroy(forked_);
    cudaEventDestroy(joined_);
    cudaStreamDestroy(stream_);
  }
  SideStream(const SideStream&) = delete;
  SideStream& operator=(const SideStream&) = delete;

  /// Goes on after all that `other` has been given.
  void follow(cudaStream_t other) { order(forked_, other, stream_); }
  /// `other` goes on after all that this one has been given.
  void join(cudaStream_t other) { order(joined_, stream_, other); }
  [[nodiscard]] cudaStream_t stream() const { return stream_; }

 private:
  static void order(cudaEvent_t event, cudaStream_t before, cudaStream_t after) {
    check(cudaEventRecord(event, before), ErrorKind::kInternal, "order of streams");
    check(cudaStreamWaitEvent(after, event, 0), ErrorKind::kInternal, "order of streams");
  }

  cudaStream_t stream_ = nullptr;
  cudaEvent_t forked_ = nullptr, joined_ = nullptr;
};

/// Products, each planned when it runs first.
class Products {
 public:
  Products() : f_(gpu_kernels::cublas_functions()) { check(f_.create(&handle_), "start"); }
  ~Products() {
    plans_.clear();
    f_.destroy(handle_);
  }
  Products(const Products&) = delete;
  Products& operator=(const Products&) = delete;

  void run(const detail::StepProduct& p, gpu_kernels::StreamOfDevice& device,
           const Workspace& workspace) {
    Planned& planned = plans_[&p];
    if (!planned.known) plan(p, &planned);
    gpu_kernels::StepLaunches<gpu_kernels::StreamOfDevice> launches(device);
    if (planned.plan == nullptr) return launches.plain_product(p);
    planned.plan->run(handle_, workspace.memory(), Workspace::kBytes, device.stream());
    launches.end_of(p, planned.left_out);
  }

 private:
  struct Planned {
    bool known = false;
    std::unique_ptr<CublasPlan> plan;  ///< null: a kernel of ours makes the product
    LeftOut left_out = LeftOut::kNothing;
  };

  // What cuBLASLt does not have is left to a kernel of ours. It may lack products of bf16 whose
  // rows have an odd length. Of floats it does GELU in a kernel of its own that is slower than
  // ours.
  void plan(const detail::StepProduct& p, Planned* planned) {
    planned->known = true;
    const bool ends = p.end != detail::ProductEnd::kNone;
    for (const LeftOut left_out : {LeftOut::kNothing, LeftOut::kEnd, LeftOut::kEndAndBias}) {
      if (left_out == LeftOut::kNothing && ends && !p.out.data.is_bf16()) continue;
      if (left_out == LeftOut::kEnd && !ends) continue;
      if (left_out == LeftOut::kEndAndBias && p.bias == nullptr) continue;
      planned->plan = std::make_unique<CublasPlan>(handle_, gpu_kernels::library_part(p, left_out),
                                                   Workspace::kBytes);
      planned->left_out = left_out;
      if (planned->plan->found()) return;
    }
    planned->plan.reset();
  }

  const gpu_kernels::CublasFunctions& f_;
  cublasLtHandle_t handle_ = nullptr;
  std::map<const detail::StepProduct*, Planned> plans_;
};

class GpuStepDevice final : public detail::StepDevice {
 public:
  explicit GpuStepDevice(void* stream)
      : main_(stream), aside_(side_.stream()), sizes_(gpu_device(0)) {}
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
    main_is_ahead_ = true;
    run_on(&main_, operation);
  }
  void run_aside(const detail::StepOperation& operation) override {
    if (std::exchange(main_is_ahead_, false)) side_.follow(main_.device.stream());
    run_on(&aside_, operation);
    to_join_ = true;
  }
  void join() override {
    if (std::exchange(to_join_, false)) side_.join(main_.device.stream());
  }

 protected:
  void* allocate(const char* name, Index count, std::size_t size, const void* numbers) override {
    const std::size_t bytes = static_cast<std::size_t>(count) * size;
    void* array = nullptr;
    check(cudaMalloc(&array, bytes), ErrorKind::kUnavailable, name);
    arrays_.push_back(array);
    if (numbers != nullptr) {
      // On the stream of the launches: the others do not wait for it.
      const cudaStream_t stream = main_.device.stream();
      check(cudaMemcpyAsync(array, numbers, bytes, cudaMemcpyHostToDevice, stream),
            ErrorKind::kInternal, name);
      check(cudaStreamSynchronize(stream), ErrorKind::kInternal, name);
    }
    return array;
  }

 private:
  /// Where operations run, one after the other.
  struct Line {
    explicit Line(void* stream) : device(stream) {}
    gpu_kernels::StreamOfDevice device;
    Workspace workspace;
  };

  void run_on(Line* line, const detail::StepOperation& operation) {
    std::visit([&](const auto& o) { run_one(line, o); }, operation);
  }
  template <typename Operation>
  void run_one(Line* line, const Operation& operation) {
    gpu_kernels::StepLaunches<gpu_kernels::StreamOfDevice> launches(line->device);
    launches(operation);
  }
  void run_one(Line* line, const detail::StepProduct& p) {
    products_.run(p, line->device, line->workspace);
  }
  void run_one(Line* line, const detail::StepAttention& a) {
    gpu_attention_forward(a.layer, a.plan, a.in, a.out, line->device.stream());
  }
  void run_one(Line* line, const detail::StepAttentionGradient& a) {
    gpu_attention_backward(a.layer, a.plan, a.in, a.passed, a.gradients, line->device.stream());
  }

  SideStream side_;
  Line main_, aside_;
  bool main_is_ahead_ = true;  ///< of where the other one has followed it
  bool to_join_ = false;
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
