// One attention layer on a real device: its memory between guards, its kernels and their times.
#pragma once

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "attention_problems.hpp"
#include "training/kernels/cuda/bf16.hpp"
#include "training/kernels/cuda/gpu_attention.hpp"

namespace headway::testing {

using training::GpuArithmetic;

inline constexpr int kCudaFailed = 70;  // a kernel crashed: nothing after it can be trusted

inline void require(cudaError_t outcome, const char* what) {
  if (outcome == cudaSuccess) return;
  fmt::print("gpu_kernels: {}: {}\n", what, cudaGetErrorString(outcome));
  std::exit(kCudaFailed);  // NOLINT(concurrency-mt-unsafe): one thread
}

/// Memory of the device between two guards. All of it starts as NaN, so what nobody wrote is seen.
class GuardedMemory {
 public:
  explicit GuardedMemory(std::size_t bytes) : bytes_(bytes) {
    require(cudaMalloc(&memory_, bytes + 2 * kGuard), "cudaMalloc");
    require(cudaMemset(memory_, kFill, bytes + 2 * kGuard), "cudaMemset");
  }
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;
  ~GuardedMemory() { cudaFree(memory_); }

  [[nodiscard]] char* data() const { return static_cast<char*>(memory_) + kGuard; }
  [[nodiscard]] bool guards_are_intact() const {
    std::vector<unsigned char> guards(2 * kGuard);
    require(cudaMemcpy(guards.data(), memory_, kGuard, cudaMemcpyDeviceToHost), "guard");
    require(cudaMemcpy(guards.data() + kGuard, data() + bytes_, kGuard, cudaMemcpyDeviceToHost),
            "guard");
    return std::all_of(guards.begin(), guards.end(), [](unsigned char c) { return c == kFill; });
  }

 private:
  static constexpr std::size_t kGuard = 4096;
  static constexpr unsigned char kFill = 0xFF;
  void* memory_ = nullptr;
  std::size_t bytes_;
};

/// All that one layer has on the device.
class DeviceArrays {
 public:
  template <typename T>
  T* room(std::size_t count) {
    if (count == 0) return nullptr;
    held_.push_back(std::make_unique<GuardedMemory>(count * sizeof(T)));
    return reinterpret_cast<T*>(held_.back()->data());  // NOLINT: bytes of the device
  }
  template <typename T>
  T* sent(const std::vector<T>& values) {
    T* const place = room<T>(values.size());
    if (place != nullptr) {
      require(cudaMemcpy(place, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice),
              "send");
    }
    return place;
  }
  [[nodiscard]] bool guards_are_intact() const {
    return std::all_of(held_.begin(), held_.end(),
                       [](const auto& one) { return one->guards_are_intact(); });
  }

 private:
  std::vector<std::unique_ptr<GuardedMemory>> held_;
};

template <typename T>
std::vector<T> in_numbers(const std::vector<float>& values) {
  std::vector<T> out;
  out.reserve(values.size());
  for (const float x : values) out.push_back(training::from_float<T>(x));
  return out;
}

template <typename T>
void fetch(const void* from, std::vector<float>* to) {
  std::vector<T> numbers(to->size());
  if (numbers.empty()) return;
  require(cudaMemcpy(numbers.data(), from, numbers.size() * sizeof(T), cudaMemcpyDeviceToHost),
          "fetch");
  std::transform(numbers.begin(), numbers.end(), to->begin(),
                 [](T x) { return training::to_float(x); });
}

struct Outcome {
  AttentionAnswer<float> answer;
  bool guarded = true;
  double forward_ms = 0.0;
  double backward_ms = 0.0;
};

/// One layer on the device.
template <typename T>
class DeviceLayer {
 public:
  DeviceLayer(const AttentionProblem<float>& problem, GpuArithmetic kind,
              const training::GpuAttentionPlan& plan)
      : problem_(problem), plan_(plan), layer_{problem.shape, problem.options, kind} {
    require(cudaStreamCreate(&stream_), "cudaStreamCreate");
    in_.query = arrays_.sent(in_numbers<T>(problem.query));
    in_.key = arrays_.sent(in_numbers<T>(problem.key));
    in_.value = arrays_.sent(in_numbers<T>(problem.value));
    in_.bias = arrays_.sent(problem.bias);
    in_.key_mask = arrays_.sent(problem.mask);
    in_.mixing = arrays_.sent(problem.mixing);
    in_.dropout.given = arrays_.sent(problem.dropout);
    const AttentionAnswer<float> sizes(problem);
    passed_.outputs.output = arrays_.template room<T>(sizes.output.size());
    passed_.outputs.log_sum_exp = arrays_.template room<float>(sizes.log_sum_exp.size());
    passed_.d_output = arrays_.sent(in_numbers<T>(problem.d_output));
    gradients_.query = arrays_.template room<T>(problem.query.size());
    gradients_.key = arrays_.template room<T>(problem.key.size());
    gradients_.value = arrays_.template room<T>(problem.value.size());
    gradients_.bias = arrays_.template room<float>(problem.bias.size());
    gradients_.mixing = arrays_.template room<float>(problem.mixing.size());
    gradients_.query_sums = workspace(plan.query_sums);
    gradients_.bias_sums = workspace(plan.bias_sums);
    gradients_.mixing_sums = workspace(plan.mixing_sums);
    gradients_.over_keys = workspace(plan.over_keys);
  }
  DeviceLayer(const DeviceLayer&) = delete;
  DeviceLayer& operator=(const DeviceLayer&) = delete;
  ~DeviceLayer() { cudaStreamDestroy(stream_); }

  void forward() { training::gpu_attention_forward(layer_, plan_, in_, passed_.outputs, stream_); }
  void backward() {
    training::gpu_attention_backward(layer_, plan_, in_, passed_, gradients_, stream_);
  }

  Outcome run() {
    Outcome outcome{AttentionAnswer<float>(problem_)};
    forward();
    backward();
    require(cudaStreamSynchronize(stream_), "kernels");
    fetch<T>(passed_.outputs.output, &outcome.answer.output);
    fetch<float>(passed_.outputs.log_sum_exp, &outcome.answer.log_sum_exp);
    fetch<T>(gradients_.query, &outcome.answer.d_query);
    fetch<T>(gradients_.key, &outcome.answer.d_key);
    fetch<T>(gradients_.value, &outcome.answer.d_value);
    fetch<float>(gradients_.bias, &outcome.answer.d_bias);
    fetch<float>(gradients_.mixing, &outcome.answer.d_mixing);
    outcome.guarded = arrays_.guards_are_intact();
    return outcome;
  }

  /// Median over replays of a graph, which leaves the time of a launch by the host out.
  double median_ms(const std::function<void()>& work, int replays) {
    constexpr int kLaunches = 10;
    constexpr int kWarm = 2;
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t replayed = nullptr;
    require(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), "capture");
    for (int i = 0; i < kLaunches; ++i) work();
    require(cudaStreamEndCapture(stream_, &graph), "end of capture");
    require(cudaGraphInstantiate(&replayed, graph, 0), "instantiate");
    cudaEvent_t begin = nullptr;
    cudaEvent_t end = nullptr;
    require(cudaEventCreate(&begin), "event");
    require(cudaEventCreate(&end), "event");
    std::vector<float> times;
    for (int i = 0; i < replays + kWarm; ++i) {
      float ms = 0.0F;
      require(cudaEventRecord(begin, stream_), "record");
      require(cudaGraphLaunch(replayed, stream_), "replay");
      require(cudaEventRecord(end, stream_), "record");
      require(cudaStreamSynchronize(stream_), "replay");
      require(cudaEventElapsedTime(&ms, begin, end), "elapsed");
      if (i >= kWarm) times.push_back(ms / kLaunches);
    }
    cudaEventDestroy(begin);
    cudaEventDestroy(end);
    cudaGraphExecDestroy(replayed);
    cudaGraphDestroy(graph);
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
  }

 private:
  float* workspace(Index count) {
    return arrays_.template room<float>(static_cast<std::size_t>(count));
  }

  const AttentionProblem<float>& problem_;
  const training::GpuAttentionPlan plan_;
  const training::GpuAttentionLayer layer_;
  DeviceArrays arrays_;
  training::GpuAttentionInputs in_;
  training::GpuAttentionPassedBack passed_;
  training::GpuAttentionGradients gradients_;
  cudaStream_t stream_ = nullptr;
};

}  // namespace headway::testing
