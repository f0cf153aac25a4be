// The parts of CUDA that the engine uses itself. They do nothing if LibTorch was built without
// CUDA.
#pragma once

#include <functional>
#include <memory>

#include "training/torch/headers.hpp"

namespace headway::training::detail {

/// The stream on which LibTorch's operations run in this thread, a cudaStream_t; null on the CPU.
void* current_stream(at::Device device);

/// Gives back the memory of a GPU that LibTorch keeps for arrays to come.
void release_kept_memory();

/// A stream of its own, so that several runs share a GPU.
class OwnStream {
 public:
  explicit OwnStream(at::Device device);
  ~OwnStream();
  OwnStream(const OwnStream&) = delete;
  OwnStream& operator=(const OwnStream&) = delete;

  /// While it lives, LibTorch's operations of this thread run on the stream.
  class Scope {
   public:
    explicit Scope(const OwnStream& stream);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    struct Guard;
    std::unique_ptr<Guard> guard_;
  };

 private:
  struct Stream;
  std::unique_ptr<Stream> stream_;  // null on the CPU
};

/// Work that launches the same kernels on the same memory each time, and does nothing else: on a
/// GPU it is recorded as a CUDA graph after a few calls, and one launch from then on; where
/// LibTorch cannot record it, it is called as before.
class RepeatedWork {
 public:
  /// `recordable` false: only ever called.
  RepeatedWork(at::Device device, bool recordable);
  ~RepeatedWork();
  RepeatedWork(const RepeatedWork&) = delete;
  RepeatedWork& operator=(const RepeatedWork&) = delete;

  void run(const std::function<void()>& work);
  /// Drops the recording. To be called when the memory has changed.
  void forget();

 private:
  struct Graph;
  std::unique_ptr<Graph> graph_;  // null where nothing is recorded
};

}  // namespace headway::training::detail
