#pragma once

#include "training/kernels/cuda/step_elements.hpp"

// The ends of products that a library makes without them.
namespace headway::training::HEADWAY_GPU {

/// What of a product is left to a kernel.
enum class LeftOut { kNothing, kEnd, kEndAndBias };

/// What a library makes of a product. What gelu has goes to `kept` at once.
inline detail::StepProduct library_part(detail::StepProduct p, LeftOut left_out) {
  if (left_out == LeftOut::kNothing) return p;
  if (p.end == detail::ProductEnd::kGelu) p.out = {p.kept, p.columns, 0};
  p.end = detail::ProductEnd::kNone;
  p.kept = {};
  if (left_out == LeftOut::kEndAndBias) p.bias = {};
  return p;
}

/// The rest of it. `sums` is what the library wrote; all arrays are dense.
struct ProductEndKernel {
  std::int64_t count;
  int columns;
  detail::ProductEnd end;
  Numbers<const float> bias, sums;
  Numbers<float> kept, out;

  template <typename Memory>
  HEADWAY_DEVICE void operator()(Block& block, Memory&) const {
    for_numbers(block, count, [&](std::int64_t i) {
      float number = get(sums, i);
      if (!(bias == nullptr)) number += get(bias, i % columns);
      put(out, i, ended(end, number, kept, i));
    });
  }
};

/// The same without a bias, of floats: a thread has four numbers. `kept` is what gelu has.
template <detail::ProductEnd end>
struct GeluKernel {
  std::int64_t fours;
  ArrayOfRuns<const float> kept;
  ArrayOfRuns<float> out;

  template <typename Memory>
  HEADWAY_DEVICE void operator()(Block& block, Memory&) const {
    for_numbers(block, fours, [&](std::int64_t i) {
      const Floats4 x = get4(kept.mine(), 4 * i);
      Floats4 y;
      if constexpr (end == detail::ProductEnd::kGeluGradient) y = get4(out.mine(), 4 * i);
      HEADWAY_UNROLL
      for (int j = 0; j < 4; ++j) {
        const ValueAndSlope gelu = apply(Nonlinearity::kGelu, x.value[j]);
        if constexpr (end == detail::ProductEnd::kGelu) {
          y.value[j] = gelu.value;
        } else {
          y.value[j] *= gelu.slope;
        }
      }
      put4(out.mine(), 4 * i, y);
    });
  }
};

}  // namespace headway::training::HEADWAY_GPU
