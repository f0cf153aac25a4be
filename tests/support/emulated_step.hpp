// The device of a hand-written training step, in the emulator: every launch is checked, and every
// array knows between launches what was written.
#pragma once

#include <map>

#include "emulated_attention.hpp"
#include "training/kernels/cuda/step_launches.hpp"
#include "training/step/fused_step.hpp"

namespace headway::testing {

class EmulatedStepDevice final : public training::detail::StepDevice {
 public:
  explicit EmulatedStepDevice(const training::GpuDevice& sizes = {}) : sizes_(sizes) {}

  [[nodiscard]] training::GpuDevice sizes() const override { return sizes_; }
  void run(const training::detail::StepOperation& operation) override {
    std::visit([this](const auto& o) { run_one(o); }, operation);
  }
  void adopt(const char* name, const void* data, Index count, std::size_t /*size*/) override {
    add(name, const_cast<void*>(data), count, true);  // NOLINT: the device's kernels write to some
  }
  /// Launches so far.
  [[nodiscard]] int launches() const { return launches_; }

  // --- what StepLaunches wants ---
  template <typename Kernel>
  void launch(const emulated::Grid& grid, const Kernel& kernel) {
    ++launches_;
    emulated::launch(grid, kernel);
  }
  template <typename T>
  emulated::Global<T> bind(T* pointer) {
    if (pointer == nullptr) return {};
    const auto* address = reinterpret_cast<const std::byte*>(pointer);
    auto found = arrays_.upper_bound(address);
    REQUIRE(found != arrays_.begin());
    emulated::Array& array = (--found)->second;
    const std::int64_t offset = (address - found->first) / static_cast<std::int64_t>(sizeof(T));
    REQUIRE(offset < array.size);
    return {&array, offset};
  }

 protected:
  void* allocate(const char* name, Index count, std::size_t size, const void* numbers) override {
    memory_.emplace_back(static_cast<std::size_t>(count) * size);
    std::byte* data = memory_.back().data();
    if (numbers != nullptr) std::memcpy(data, numbers, memory_.back().size());
    add(name, data, count, numbers != nullptr);
    return data;
  }

 private:
  void add(const char* name, void* data, Index count, bool written) {
    emulated::Shadow first;
    first.written = written;
    arrays_[static_cast<const std::byte*>(data)] = {
        name, data, count, false,
        std::vector<emulated::Shadow>(static_cast<std::size_t>(count), first)};
  }

  template <typename Operation>
  void run_one(const Operation& operation) {
    emulated::StepLaunches<EmulatedStepDevice> launches(*this);
    launches(operation);
  }
  void run_one(const training::detail::StepProduct& p);
  void run_one(const training::detail::StepAttention& a) {
    const auto x = arguments(a.layer, a.in, a.out);
    if (a.layer.arithmetic == training::GpuArithmetic::kTf32) {
      emulated::launch_forward<emulated::Arithmetic::kTf32>(*this, a.plan, x);
    } else {
      emulated::launch_forward<emulated::Arithmetic::kFloat32>(*this, a.plan, x);
    }
  }
  void run_one(const training::detail::StepAttentionGradient& a);
  emulated::AttentionArguments<float> arguments(const training::GpuAttentionLayer& layer,
                                                const training::GpuAttentionInputs& in,
                                                const training::GpuAttentionOutputs& out);
  template <typename T>
  auto bind_as(const void* pointer) {
    return bind(static_cast<T*>(const_cast<void*>(pointer)));  // NOLINT: as the kernel has it
  }

  training::GpuDevice sizes_;
  int launches_ = 0;
  std::deque<std::vector<std::byte>> memory_;
  std::map<const std::byte*, emulated::Array> arrays_;
};

/// The plain product that stands in for a library's.
inline void EmulatedStepDevice::run_one(const training::detail::StepProduct& p) {
  using training::detail::ProductEnd;
  ++launches_;
  auto& here = emulated::course();
  ++here.launch;
  ++here.phase;
  here.block = here.thread = 0;
  const auto left = bind(p.left.data);
  const auto right = bind(p.right.data);
  const auto bias = bind(p.bias);
  const auto added = bind(p.added.data);
  const auto kept = bind(p.kept);
  const auto out = bind(p.out.data);
  const auto of = [&p](const auto& array, const auto& m, bool turned, Index b, Index r, Index c) {
    const float x = get(array, b * m.batch + (turned ? c * m.row + r : r * m.row + c));
    return static_cast<double>(p.tf32 ? training::to_tf32(x) : x);
  };
  for (Index b = 0; b < p.batch; ++b) {
    for (Index r = 0; r < p.rows; ++r) {
      for (Index c = 0; c < p.columns; ++c) {
        double sum = bias == nullptr ? 0.0 : static_cast<double>(get(bias, c));
        for (Index k = 0; k < p.inner; ++k) {
          sum += of(left, p.left, p.left_transposed, b, r, k) *
                 of(right, p.right, p.right_transposed, b, k, c);
        }
        if (!(added == nullptr)) sum += get(added, b * p.added.batch + r * p.added.row + c);
        auto x = static_cast<float>(sum);
        const Index at = r * p.columns + c;
        if (p.end == ProductEnd::kGelu) {
          put(kept, at, x);
          x = emulated::apply(training::Nonlinearity::kGelu, x).value;
        } else if (p.end == ProductEnd::kGeluGradient) {
          x *= emulated::apply(training::Nonlinearity::kGelu, get(kept, at)).slope;
        }
        put(out, b * p.out.batch + r * p.out.row + c, x);
      }
    }
  }
}

inline emulated::AttentionArguments<float> EmulatedStepDevice::arguments(
    const training::GpuAttentionLayer& layer, const training::GpuAttentionInputs& in,
    const training::GpuAttentionOutputs& out) {
  auto x = emulated::arguments_of<float>(layer.shape, layer.options);
  x.query = bind_as<const float>(in.query);
  x.key = bind_as<const float>(in.key);
  x.value = bind_as<const float>(in.value);
  x.query_steps = in.query_steps;
  x.key_steps = in.key_steps;
  x.value_steps = in.value_steps;
  x.bias = bind(in.bias);
  x.key_mask = bind(in.key_mask);
  x.mixing = bind(in.mixing);
  x.dropout.given = bind(in.dropout.given);
  x.output = bind_as<float>(out.output);
  x.log_sum_exp = bind(out.log_sum_exp);
  return x;
}

inline void EmulatedStepDevice::run_one(const training::detail::StepAttentionGradient& a) {
  const training::GpuAttentionGradients& g = a.gradients;
  const auto x = arguments(a.layer, a.in, a.passed.outputs);
  emulated::GradientArguments<float> y = {};
  y.output = x.output;
  y.log_sum_exp = x.log_sum_exp;
  y.d_output = bind_as<const float>(a.passed.d_output);
  y.over_keys = bind(g.over_keys);
  y.query_sums = bind(g.query_sums);
  y.query_sum_steps = g.query_sum_steps;
  y.key = bind_as<float>(g.key);
  y.value = bind_as<float>(g.value);
  y.bias_sums = bind(g.bias_sums);
  y.mixing_sums = bind(g.mixing_sums);
  const emulated::SummedGradients<float> none = {};
  if (a.layer.arithmetic == training::GpuArithmetic::kTf32) {
    emulated::launch_backward<emulated::Arithmetic::kTf32>(*this, a.plan, x, y, none);
  } else {
    emulated::launch_backward<emulated::Arithmetic::kFloat32>(*this, a.plan, x, y, none);
  }
}

}  // namespace headway::testing
