#pragma once

#include "headway/training/attention_variant.hpp"
#include "training/kernels/cpu/lane_vector.hpp"

namespace headway::training::HEADWAY_KERNELS {

struct ValueAndSlope {
  Vec value, slope;
};

struct Identity {
  static HEADWAY_INLINE ValueAndSlope at(Vec x) { return {x, broadcast(1.0F)}; }
};
struct Relu {
  static HEADWAY_INLINE ValueAndSlope at(Vec x) {
    return {maximum(x, Vec{}), select(x > Vec{}, broadcast(1.0F), Vec{})};
  }
};
// The tanh form.
struct Gelu {
  static HEADWAY_INLINE ValueAndSlope at(Vec x) {
    // (1 + tanh u) / 2 = 1 / (1 + e^{-2 u}), u = sqrt(2 / pi) (x + 0.044715 x^3)
    const Vec square = x * x;
    const Vec power = exponential(-1.595769122F * x * (square * 0.044715F + 1.0F));
    const Vec share = reciprocal(1.0F + power);
    const Vec inner = 1.595769122F * (square * 0.134145F + 1.0F);
    return {x * share, share + x * (share * (1.0F - share)) * inner};
  }
};
struct Silu {
  static HEADWAY_INLINE ValueAndSlope at(Vec x) {
    const Vec sigmoid = reciprocal(1.0F + exponential(-x));
    return {x * sigmoid, sigmoid * (1.0F + x * (1.0F - sigmoid))};
  }
};
struct Tanh {
  static HEADWAY_INLINE ValueAndSlope at(Vec x) {
    const Vec t = hyperbolic_tangent(x);
    return {t, 1.0F - t * t};
  }
};
struct SquaredRelu {
  static HEADWAY_INLINE ValueAndSlope at(Vec x) {
    const Vec positive = maximum(x, Vec{});
    return {positive * positive, 2.0F * positive};
  }
};

template <typename Phi>
void apply_as(Index count, const Vec* x, Vec* value, Vec* slope) {
  if (slope == nullptr) {
    for (Index i = 0; i < count; ++i) value[i] = Phi::at(x[i]).value;
    return;
  }
  for (Index i = 0; i < count; ++i) {
    const ValueAndSlope y = Phi::at(x[i]);
    value[i] = y.value;
    slope[i] = y.slope;
  }
}

/// value = phi(x) and, where asked for, slope = phi'(x), of `count` vectors. value or slope may be
/// x.
inline void apply(Nonlinearity phi, Index count, const Vec* x, Vec* value, Vec* slope = nullptr) {
  switch (phi) {
    case Nonlinearity::kIdentity:
      return apply_as<Identity>(count, x, value, slope);
    case Nonlinearity::kRelu:
      return apply_as<Relu>(count, x, value, slope);
    case Nonlinearity::kGelu:
      return apply_as<Gelu>(count, x, value, slope);
    case Nonlinearity::kSilu:
      return apply_as<Silu>(count, x, value, slope);
    case Nonlinearity::kTanh:
      return apply_as<Tanh>(count, x, value, slope);
    case Nonlinearity::kSquaredRelu:
      return apply_as<SquaredRelu>(count, x, value, slope);
  }
}

/// The same for numbers that are not on a vector's boundary.
inline void apply_to_floats(Nonlinearity phi, Index count, const float* x, float* value,
                            float* slope = nullptr) {
  for (Index i = 0; i < count; i += kLanes) {
    const Index n = count - i < kLanes ? count - i : kLanes;
    Vec argument = {};
    for (Index l = 0; l < n; ++l) argument[l] = x[i + l];
    Vec y;
    Vec dy;
    apply(phi, 1, &argument, &y, slope == nullptr ? nullptr : &dy);
    for (Index l = 0; l < n; ++l) value[i + l] = y[l];
    for (Index l = 0; l < n && slope != nullptr; ++l) slope[i + l] = dy[l];
  }
}

}  // namespace headway::training::HEADWAY_KERNELS
