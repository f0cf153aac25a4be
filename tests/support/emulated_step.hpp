// The device of a hand-written training step, in the emulator: every launch is checked, and every
// array knows between launches what was written.
#pragma once

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "emulated_attention.hpp"
#include "training/kernels/cuda/step_launches.hpp"
#include "training/model/named_tensors.hpp"
#include "training/step/fused_step.hpp"

namespace headway::testing {

class EmulatedStepDevice final : public training::detail::StepDevice {
 public:
  explicit EmulatedStepDevice(const training::GpuDevice& sizes = {},
                              double free_bytes = std::numeric_limits<double>::infinity())
      : sizes_(sizes), free_bytes_(free_bytes) {}

  [[nodiscard]] training::GpuDevice sizes() const override { return sizes_; }
  [[nodiscard]] double free_bytes() const override { return free_bytes_; }
  // Launches may come from several threads, one after the other: they are counted here.
  void run(const training::detail::StepOperation& operation) override {
    const emulated::Course before = std::exchange(emulated::course(), course_);
    std::visit([this](const auto& o) { run_one(o); }, operation);
    course_ = std::exchange(emulated::course(), before);
  }
  void run_aside(const training::detail::StepOperation& operation) override {
    if (!keeps_aside_) return run(operation);
    kept_.push_back(&operation);
  }
  void join() override {
    for (const auto* operation : std::exchange(kept_, {})) run(*operation);
  }
  void adopt(const char* name, const void* data, Index count, std::size_t size) override {
    bytes_ += static_cast<double>(count) * static_cast<double>(size);
    add(name, const_cast<void*>(data), count, true);  // NOLINT: the device's kernels write to some
  }
  using LeftOut = emulated::LeftOut;
  /// From now on the library leaves that to a kernel, of products that have it.
  void leave_out(LeftOut what) { left_out_ = what; }
  /// From now on products are made by the kernel that stands in where a library lacks them.
  void take_products_from_library() { library_has_products_ = false; }
  /// From now on what runs aside waits until it is joined.
  void keep_aside() { keeps_aside_ = true; }
  void was_written(const void* data) override {
    for (emulated::Shadow& one : array_of(data).shadow) one.written = true;
  }
  /// Of all arrays.
  [[nodiscard]] double bytes() const { return bytes_; }
  /// Launches so far.
  [[nodiscard]] int launches() const { return launches_; }
  /// Arrays to some of whose numbers no launch has written, and how many those are.
  [[nodiscard]] std::vector<std::pair<std::string, Index>> unwritten() const {
    std::vector<std::pair<std::string, Index>> found;
    for (const auto& [data, array] : arrays_) {
      const auto count = std::count_if(array.shadow.begin(), array.shadow.end(),
                                       [](const emulated::Shadow& one) { return !one.written; });
      if (count > 0) found.emplace_back(array.name, count);
    }
    return found;
  }

  // --- what StepLaunches wants ---
  template <typename Kernel>
  void launch(const emulated::Grid& grid, const Kernel& kernel) {
    ++launches_;
    emulated::launch(grid, kernel);
  }
  template <typename T>
  emulated::Global<T> bind(T* pointer) {
    if (pointer == nullptr) return {};
    emulated::Array& array = array_of(pointer);
    const std::int64_t offset = pointer - static_cast<T*>(array.data);
    REQUIRE(offset < array.size);
    return {&array, offset};
  }

 protected:
  void* allocate(const char* name, Index count, std::size_t size, const void* numbers) override {
    bytes_ += static_cast<double>(count) * static_cast<double>(size);
    memory_.emplace_back(static_cast<std::size_t>(count) * size);
    std::byte* data = memory_.back().data();
    if (numbers != nullptr) std::memcpy(data, numbers, memory_.back().size());
    add(name, data, count, numbers != nullptr);
    return data;
  }

 private:
  emulated::Array& array_of(const void* pointer) {
    auto found = arrays_.upper_bound(static_cast<const std::byte*>(pointer));
    REQUIRE(found != arrays_.begin());
    return (--found)->second;
  }
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
  void run_one(const training::detail::StepProduct& p) {
    if (!library_has_products_) {
      return emulated::StepLaunches<EmulatedStepDevice>(*this).plain_product(p);
    }
    const bool has_it = left_out_ == LeftOut::kEndAndBias
                            ? !(p.bias == nullptr)
                            : p.end != training::detail::ProductEnd::kNone;
    const LeftOut left_out = has_it ? left_out_ : LeftOut::kNothing;
    library_product(emulated::library_part(p, left_out));
    emulated::StepLaunches<EmulatedStepDevice>(*this).end_of(p, left_out);
  }
  void library_product(const training::detail::StepProduct& p);
  void run_one(const training::detail::StepAttention& a) {
    OfRuns runs = {*this, static_cast<int>(a.in.stack.runs)};
    with_arithmetic(a.layer.arithmetic, [&]<emulated::Arithmetic kind, typename T>() {
      emulated::launch_forward<kind>(runs, a.plan, arguments<T>(a.layer, a.in, a.out));
    });
  }
  void run_one(const training::detail::StepAttentionGradient& a) {
    with_arithmetic(a.layer.arithmetic,
                    [&]<emulated::Arithmetic kind, typename T>() { run_backward<kind, T>(a); });
  }
  template <typename Work>
  static void with_arithmetic(training::GpuArithmetic arithmetic, const Work& work) {
    switch (arithmetic) {
      case training::GpuArithmetic::kFloat32:
        return work.template operator()<emulated::Arithmetic::kFloat32, float>();
      case training::GpuArithmetic::kTf32:
        return work.template operator()<emulated::Arithmetic::kTf32, float>();
      case training::GpuArithmetic::kBf16:
        return work.template operator()<emulated::Arithmetic::kBf16, training::Bf16>();
    }
  }
  template <emulated::Arithmetic kind, typename T>
  void run_backward(const training::detail::StepAttentionGradient& a);
  template <typename T>
  emulated::AttentionArguments<T> arguments(const training::GpuAttentionLayer& layer,
                                            const training::GpuAttentionInputs& in,
                                            const training::GpuAttentionOutputs& out);
  template <typename T>
  auto bind_as(const void* pointer) {
    return bind(static_cast<T*>(const_cast<void*>(pointer)));  // NOLINT: as the kernel has it
  }
  // The device for launches whose x counts the blocks of several runs.
  struct OfRuns {
    EmulatedStepDevice& device;
    int runs;
    template <typename Kernel>
    void launch(emulated::Grid grid, const Kernel& kernel) {
      REQUIRE(grid.x % runs == 0);
      grid.x /= runs;
      grid.runs = runs;
      device.launch(grid, kernel);
    }
  };

  training::GpuDevice sizes_;
  bool library_has_products_ = true;
  LeftOut left_out_ = LeftOut::kNothing;
  bool keeps_aside_ = false;
  std::vector<const training::detail::StepOperation*> kept_;
  double free_bytes_;
  double bytes_ = 0.0;
  int launches_ = 0;
  emulated::Course course_;
  std::deque<std::vector<std::byte>> memory_;
  std::map<const std::byte*, emulated::Array> arrays_;
};

/// The plain product that stands in for a library's. Factors are read as they are stored: floats,
/// or bf16 in that precision. What it writes is rounded once.
inline void EmulatedStepDevice::library_product(const training::detail::StepProduct& p) {
  using training::detail::ProductEnd;
  REQUIRE(p.left.data.is_bf16() == p.right.data.is_bf16());
  if (!(p.added.data == nullptr)) REQUIRE_FALSE(p.out.data.is_bf16());
  if (!(p.bias == nullptr)) REQUIRE(p.bias.is_bf16() == p.out.data.is_bf16());
  if (!(p.kept == nullptr)) REQUIRE(p.kept.is_bf16() == p.out.data.is_bf16());
  ++launches_;
  auto& here = emulated::course();
  ++here.launch;
  ++here.phase;
  here.block = here.thread = 0;
  const auto array = [this]<typename Float>(const training::detail::NumbersOfRuns<Float>& x) {
    return emulated::Numbers<Float>{{bind(x.floats.data), x.floats.step},
                                    {bind(x.halves.data), x.halves.step}};
  };
  const auto left = array(p.left.data);
  const auto right = array(p.right.data);
  const auto bias = array(p.bias);
  const auto added = array(p.added.data);
  const auto kept = array(p.kept);
  const auto out = array(p.out.data);
  const auto of = [&p](const auto& numbers, const auto& m, bool turned, Index b, Index r, Index c) {
    const float x = get(numbers, b * m.batch + (turned ? c * m.row + r : r * m.row + c));
    return static_cast<double>(p.tf32 ? training::to_tf32(x) : x);
  };
  const auto write = [&](Index b, Index r, Index c) {
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
  };
  for (here.run = 0; here.run < p.runs; ++here.run) {
    for (Index b = 0; b < p.batch; ++b) {
      for (Index r = 0; r < p.rows; ++r) {
        for (Index c = 0; c < p.columns; ++c) write(b, r, c);
      }
    }
  }
  here.run = 0;
}

template <typename T>
emulated::AttentionArguments<T> EmulatedStepDevice::arguments(
    const training::GpuAttentionLayer& layer, const training::GpuAttentionInputs& in,
    const training::GpuAttentionOutputs& out) {
  auto x = emulated::arguments_of<T>(layer.shape, layer.options);
  x.query = bind_as<const T>(in.query);
  x.key = bind_as<const T>(in.key);
  x.value = bind_as<const T>(in.value);
  x.query_steps = in.query_steps;
  x.key_steps = in.key_steps;
  x.value_steps = in.value_steps;
  x.bias = {bind(in.bias), in.stack.bias};
  x.key_mask = bind(in.key_mask);
  x.mixing = {bind(in.mixing), in.stack.mixing};
  x.dropout.given = {bind(in.dropout.given), in.stack.dropout};
  x.output = bind_as<T>(out.output);
  x.log_sum_exp = bind(out.log_sum_exp);
  return x;
}

template <emulated::Arithmetic kind, typename T>
void EmulatedStepDevice::run_backward(const training::detail::StepAttentionGradient& a) {
  const training::GpuAttentionGradients& g = a.gradients;
  const auto x = arguments<T>(a.layer, a.in, a.passed.outputs);
  emulated::GradientArguments<T> y = {};
  y.output = x.output;
  y.log_sum_exp = x.log_sum_exp;
  y.d_output = bind_as<const T>(a.passed.d_output);
  y.over_keys = bind(g.over_keys);
  y.query_sums = bind(g.query_sums);
  y.query_sum_steps = g.query_sum_steps;
  y.key = bind_as<T>(g.key);
  y.value = bind_as<T>(g.value);
  y.bias_sums = bind(g.bias_sums);
  y.mixing_sums = bind(g.mixing_sums);
  const emulated::SummedGradients<T> sums = {bind_as<T>(g.query), {}, {}};
  OfRuns runs = {*this, static_cast<int>(a.in.stack.runs)};
  emulated::launch_backward<kind>(runs, a.plan, x, y, sums);
}

/// A step of a stack of runs on the emulator, with its arrays.
class EmulatedStep {
 public:
  /// `data`: what each run computes its gradient from.
  EmulatedStep(const training::detail::EngineSetup& setup,
               const std::vector<training::detail::StepData>& data,
               const training::detail::AdamWStep& constants = {},
               const training::GpuDevice& device = {})
      : setup_(setup),
        step_size_(static_cast<std::size_t>(training::detail::step_parameters(setup.shapes))),
        device_(device) {
    for (const training::detail::StepData& of_run : data) add(of_run);
    const std::size_t runs = data.size();
    for (auto* array : {&values_, &gradients_, &first_, &second_}) {
      array->assign(runs * step_size_, 0.0F);
    }
    numbers_.resize(4 * runs);
    loss_.resize(runs);
    history_.resize(2 * training::detail::kMostStepsAhead * runs);
    places_.resize(runs);
    training::detail::StepArrays a;
    const auto put = [](auto& numbers) { return numbers.empty() ? nullptr : numbers.data(); };
    a.inputs = put(batch_.inputs);
    a.ids = put(batch_.ids);
    a.mask = put(batch_.mask);
    a.targets = put(batch_.targets);
    a.classes = put(batch_.classes);
    a.dropout = put(dropout_);
    a.values = values_.data();
    a.gradients = gradients_.data();
    a.first = first_.data();
    a.second = second_.data();
    a.numbers = numbers_.data();
    a.loss = loss_.data();
    a.history = history_.data();
    const training::detail::StepBatchShape shape = {data[0].pieces[0].examples,
                                                    !batch_.mask.empty(), !dropout_.empty(),
                                                    static_cast<Index>(runs)};
    step_.emplace(setup_, shape, a, constants, &device_);
  }

  /// From the model's order to the step's.
  void write(const std::vector<float>& flat, std::vector<float>* to, std::size_t run = 0) const {
    for_parameters([&](std::size_t in_model, std::size_t in_step, std::size_t count) {
      std::copy_n(flat.data() + in_model, count, to->data() + run * step_size_ + in_step);
    });
  }
  [[nodiscard]] std::vector<float> read(const std::vector<float>& from, std::size_t run = 0) const {
    std::vector<float> flat(static_cast<std::size_t>(training::detail::total_count(setup_.shapes)));
    for_parameters([&](std::size_t in_model, std::size_t in_step, std::size_t count) {
      std::copy_n(from.data() + run * step_size_ + in_step, count, flat.data() + in_model);
    });
    return flat;
  }
  /// A whole step with an update of each run, or none. Its numbers go to the next place of the
  /// run's history.
  void run(const std::vector<std::optional<training::detail::AdamWStep>>& updates) {
    for (std::size_t r = 0; r < updates.size(); ++r) {
      const auto numbers = updates[r] ? training::detail::update_numbers(*updates[r], places_[r]++)
                                      : training::detail::kNoUpdate;
      std::copy(numbers.begin(), numbers.end(), numbers_.begin() + static_cast<Index>(4 * r));
    }
    step_->run_gradients();
    step_->run_update();
  }

  training::detail::EngineSetup setup_;
  training::TaskBatch batch_;  // those of all runs
  std::vector<float> dropout_, values_, gradients_, first_, second_, numbers_;
  std::vector<double> loss_, history_;
  std::size_t step_size_;  // parameters from a run to the next
  EmulatedStepDevice device_;
  std::optional<training::detail::FusedStep> step_;
  std::vector<Index> places_;

 private:
  void add(const training::detail::StepData& data) {
    const auto append = [](auto& all, const auto& some) {
      all.insert(all.end(), some.begin(), some.end());
    };
    const training::TaskBatch& batch = data.pieces[0];
    append(batch_.inputs, batch.inputs);
    append(batch_.ids, batch.ids);
    append(batch_.mask, batch.mask);
    append(batch_.targets, batch.targets);
    append(batch_.classes, batch.classes);
    append(dropout_, data.dropout);
  }
  template <typename Work>
  void for_parameters(const Work& work) const {
    const std::vector<Index> offsets = training::detail::step_offsets(setup_.shapes);
    std::size_t at = 0;
    for (std::size_t i = 0; i < offsets.size(); ++i) {
      const auto count = static_cast<std::size_t>(setup_.shapes[i].count());
      work(at, static_cast<std::size_t>(offsets[i]), count);
      at += count;
    }
  }
};

}  // namespace headway::testing
