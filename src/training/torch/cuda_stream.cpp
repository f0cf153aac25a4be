#include "training/torch/cuda_stream.hpp"

#ifdef HEADWAY_TORCH_CUDA
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <mutex>
#include <optional>
#include <set>
#endif

namespace headway::training::detail {

#ifdef HEADWAY_TORCH_CUDA

void* current_stream(at::Device device) {
  return device.is_cuda() ? c10::cuda::getCurrentCUDAStream(device.index()).stream() : nullptr;
}

void release_kept_memory() { c10::cuda::CUDACachingAllocator::emptyCache(); }

namespace {

// Streams of LibTorch's pool that runs have. It hands out the same 32 over and over, so a new run
// could get that of one that still trains, and record its work.
std::mutex taken_streams_mutex;
std::set<cudaStream_t> taken_streams;
constexpr int kStreamsOfPool = 32;

}  // namespace

struct OwnStream::Stream {
  c10::cuda::CUDAStream stream = c10::cuda::getStreamFromPool();
  cudaStream_t made = nullptr;  // where the pool had none left

  Stream() {
    const std::lock_guard lock(taken_streams_mutex);
    for (int i = 0; i < kStreamsOfPool; ++i) {
      if (taken_streams.insert(stream.stream()).second) return;
      stream = c10::cuda::getStreamFromPool();
    }
    C10_CUDA_CHECK(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking));
    stream = c10::cuda::getStreamFromExternal(made, c10::cuda::current_device());
  }
  ~Stream() {
    if (made != nullptr) {
      // Errors of the work have been reported where it was waited for.
      static_cast<void>(cudaStreamSynchronize(made));
      static_cast<void>(cudaStreamDestroy(made));
      return;
    }
    const std::lock_guard lock(taken_streams_mutex);
    taken_streams.erase(stream.stream());
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
};
struct OwnStream::Scope::Guard {
  c10::cuda::CUDAStreamGuard guard;
};

OwnStream::OwnStream(at::Device device) {
  if (device.is_cuda()) stream_ = std::make_unique<Stream>();
}
OwnStream::Scope::Scope(const OwnStream& stream) {
  if (stream.stream_) {
    guard_.reset(new Guard{c10::cuda::CUDAStreamGuard(stream.stream_->stream)});
  }
}

struct RepeatedWork::Graph {
  // LibTorch's replay() first sends the state of its random numbers, in two launches. The work of
  // this program draws none of them.
  struct Recorded : at::cuda::CUDAGraph {
    void launch() {
      C10_CUDA_CHECK(cudaGraphLaunch(graph_exec_, c10::cuda::getCurrentCUDAStream().stream()));
    }
  };

  // Calls before the recording. Libraries take their workspace in them, and LibTorch's allocator
  // its blocks.
  static constexpr int kCallsBefore = 3;
  int calls = 0;
  std::optional<Recorded> graph;

  // False where a launch of the work cannot be recorded; nothing of it has run then.
  bool record(const std::function<void()>& work) {
    static std::mutex recording;  // LibTorch's allocator expects one at a time
    const std::lock_guard lock(recording);
    graph.emplace();
    graph->capture_begin({0, 0}, cudaStreamCaptureModeThreadLocal);
    bool recorded = true;
    try {
      work();
    } catch (const c10::Error&) {
      recorded = false;
    } catch (...) {
      ended();
      graph.reset();  // it holds a part of the work
      throw;
    }
    return ended() && recorded;
  }

  // Ends the recording; false where something went wrong before.
  bool ended() {
    try {
      graph->capture_end();
      return true;
    } catch (const c10::Error&) {
      return false;
    }
  }
};

RepeatedWork::RepeatedWork(at::Device device, bool recordable) {
  if (device.is_cuda() && recordable) graph_ = std::make_unique<Graph>();
}

void RepeatedWork::forget() {
  if (!graph_) return;
  graph_->graph.reset();
  graph_->calls = 0;
}

void RepeatedWork::run(const std::function<void()>& work) {
  if (!graph_ || graph_->calls++ < Graph::kCallsBefore) return work();
  if (!graph_->graph && !graph_->record(work)) {
    graph_.reset();
    return work();
  }
  graph_->graph->launch();
}

#else

void* current_stream(at::Device /*device*/) { return nullptr; }

void release_kept_memory() {}

struct OwnStream::Stream {};
struct OwnStream::Scope::Guard {};
OwnStream::OwnStream(at::Device /*device*/) {}
OwnStream::Scope::Scope(const OwnStream& /*stream*/) {}

struct RepeatedWork::Graph {};
RepeatedWork::RepeatedWork(at::Device /*device*/, bool /*recordable*/) {}
void RepeatedWork::forget() {}
void RepeatedWork::run(const std::function<void()>& work) { work(); }

#endif

OwnStream::~OwnStream() = default;
OwnStream::Scope::~Scope() = default;
RepeatedWork::~RepeatedWork() = default;

}  // namespace headway::training::detail
