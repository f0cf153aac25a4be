#include "emulated_step.hpp"

#include "emulator/emulated_device.hpp"
#include "training/kernels/cuda/step_launches.hpp"

namespace headway::testing {
namespace {

void require(bool holds, const char* what) {
  if (!holds) throw Error(ErrorKind::kInternal, std::string("emulated step: ") + what);
}

}  // namespace

// What StepLaunches wants of a device, and the operations that do not go through it.
class EmulatedLaunches {
 public:
  explicit EmulatedLaunches(EmulatedStepDevice& device) : device_(device) {}

  template <typename Kernel>
  void launch(const emulated::Grid& grid, const Kernel& kernel) {
    ++device_.launches_;
    emulated::launch(grid, kernel);
  }
  template <typename T>
  emulated::Global<T> bind(T* pointer) {
    if (pointer == nullptr) return {};
    emulated::Array& array = device_.array_of(pointer);
    const std::int64_t offset = pointer - static_cast<T*>(array.data);
    require(offset < array.size, "a pointer lies behind its array");
    return {&array, offset};
  }

  template <typename Operation>
  void run(const Operation& operation) {
    launches_(operation);
  }
  void run(const training::detail::StepProduct& p) {
    if (!device_.library_has_products_) return launches_.plain_product(p);
    const LeftOut wanted = device_.left_out_;
    const bool has_it = wanted == LeftOut::kEndAndBias
                            ? !(p.bias == nullptr)
                            : p.end != training::detail::ProductEnd::kNone;
    const LeftOut left_out = has_it ? wanted : LeftOut::kNothing;
    library_product(emulated::library_part(p, left_out));
    launches_.end_of(p, left_out);
  }
  void run(const training::detail::StepAttention& a) {
    OfRuns runs = {*this, {static_cast<int>(a.in.stack.runs)}};
    emulated::run_forward(runs, a.layer, a.plan, a.in, a.out);
  }
  void run(const training::detail::StepAttentionGradient& a) {
    OfRuns runs = {*this, {static_cast<int>(a.in.stack.runs)}};
    emulated::run_backward(runs, a.layer, a.plan, a.in, a.passed, a.gradients);
  }

 private:
  using LeftOut = EmulatedStepDevice::LeftOut;
  // The device for launches whose x counts the blocks of several runs.
  struct OfRuns {
    EmulatedLaunches& launches;
    EmulatedDevice device;
    template <typename Kernel>
    void launch(const emulated::Grid& grid, const Kernel& kernel) {
      ++launches.device_.launches_;
      device.launch(grid, kernel);
    }
    template <typename T>
    emulated::Global<T> bind(T* pointer) {
      return launches.bind(pointer);
    }
  };

  // The plain product that stands in for a library's. Factors are read as they are stored: floats,
  // or bf16 in that precision. What it writes is rounded once.
  void library_product(const training::detail::StepProduct& p) {
    using training::detail::ProductEnd;
    require(p.left.data.is_bf16() == p.right.data.is_bf16(),
            "a library's product has factors of one kind");
    if (!(p.added.data == nullptr))
      require(!p.out.data.is_bf16(), "a library's product adds to floats");
    if (!(p.bias == nullptr))
      require(p.bias.is_bf16() == p.out.data.is_bf16(),
              "a library's bias has the kind of its output");
    if (!(p.kept == nullptr))
      require(p.kept.is_bf16() == p.out.data.is_bf16(),
              "what gelu has is kept in the kind of the output");
    ++device_.launches_;
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
    const auto of = [&p](const auto& numbers, const auto& m, bool turned, Index b, Index r,
                         Index c) {
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

  EmulatedStepDevice& device_;
  emulated::StepLaunches<EmulatedLaunches> launches_{*this};
};

void EmulatedStepDevice::run(const training::detail::StepOperation& operation) {
  const emulated::Course before = std::exchange(emulated::course(), course_);
  EmulatedLaunches launches(*this);
  std::visit([&launches](const auto& o) { launches.run(o); }, operation);
  course_ = std::exchange(emulated::course(), before);
}

emulated::Array& EmulatedStepDevice::array_of(const void* pointer) {
  auto found = arrays_.upper_bound(static_cast<const std::byte*>(pointer));
  require(found != arrays_.begin(), "a pointer belongs to no array");
  return (--found)->second;
}

}  // namespace headway::testing
