#pragma once

#include "training/kernels/cpu/lane_nonlinearity.hpp"
#include "training/kernels/cpu/row_kernels.hpp"

namespace headway::training::HEADWAY_KERNELS {

/// A vector from p + i of an array of `count` numbers; past its end 0. So the numbers at the end of
/// an array see the same arithmetic as the others.
HEADWAY_INLINE Vec load_at(const float* p, Index i, Index count) {
  if (count - i >= kLanes) return load(p + i);
  Vec x = {};
  for (Index l = 0; l < count - i; ++l) x[l] = p[i + l];
  return x;
}
HEADWAY_INLINE void store_at(float* p, Index i, Index count, Vec x) {
  if (count - i >= kLanes) return store(p + i, x);
  for (Index l = 0; l < count - i; ++l) p[i + l] = x[l];
}
template <int s>
HEADWAY_INLINE Vec add_lanes_apart(Vec x) {
  return x + exchange<s, s, s>(x, x, AllLanes{});
}
/// In halves: adding lane to lane would cost as much as the rest of a short row.
HEADWAY_INLINE float lane_sum(Vec x) {
  if constexpr (kLanes > 8) x = add_lanes_apart<8>(x);
  if constexpr (kLanes > 4) x = add_lanes_apart<4>(x);
  x = add_lanes_apart<2>(x);
  return x[0] + x[1];
}

constexpr float kNormEpsilon = 1e-6F;

inline void norm_row(const detail::NormRows& n, const float* x, float* y, float* stats) {
  const Index dim = n.dim;
  const float share = 1.0F / static_cast<float>(dim);
  Vec sum = {};
  if (n.centred) {
    for (Index i = 0; i < dim; i += kLanes) sum += load_at(x, i, dim);
  }
  const float mean = share * lane_sum(sum);
  Vec squares = {};
  for (Index i = 0; i + kLanes <= dim; i += kLanes) {
    const Vec c = load(x + i) - mean;
    squares += c * c;
  }
  float rest = 0.0F;
  for (Index i = dim / kLanes * kLanes; i < dim; ++i) rest += (x[i] - mean) * (x[i] - mean);
  const float r = 1.0F / __builtin_sqrtf(share * (lane_sum(squares) + rest) + kNormEpsilon);
  for (Index i = 0; i < dim; i += kLanes) {
    Vec out = (load_at(x, i, dim) - mean) * r * load_at(n.scale, i, dim);
    if (n.bias != nullptr) out += load_at(n.bias, i, dim);
    store_at(y, i, dim, out);
  }
  if (stats != nullptr) {
    stats[0] = mean;
    stats[1] = r;
  }
}

inline void norm(const detail::NormRows& n, const float* x, float* y, float* stats) {
  for (Index row = 0; row < n.rows; ++row) {
    norm_row(n, x + row * n.dim, y + row * n.dim, stats == nullptr ? nullptr : stats + 2 * row);
  }
}

// With z = (x - mean) r and g = dy scale: dx = r (g - mean g - z mean(g z)); RMSNorm: no mean g.
// NOLINTNEXTLINE(readability-function-size): a kernel takes bare rows
inline void norm_backward(const detail::NormRows& n, const float* x, const float* stats,
                          const float* dy, const float* base, float* dx, float* d_scale,
                          float* d_bias) {
  const Index dim = n.dim;
  const float share = 1.0F / static_cast<float>(dim);
  for (Index row = 0; row < n.rows; ++row, x += dim, dy += dim, dx += dim, stats += 2) {
    const float mean = stats[0];
    const float r = stats[1];
    Vec sum = {};
    Vec products = {};
    for (Index i = 0; i < dim; i += kLanes) {
      const Vec d = load_at(dy, i, dim);
      const Vec z = (load_at(x, i, dim) - mean) * r;
      const Vec g = d * load_at(n.scale, i, dim);  // 0 past the end
      sum += g;
      products += g * z;
      store_at(d_scale, i, dim, load_at(d_scale, i, dim) + d * z);
      if (d_bias != nullptr) store_at(d_bias, i, dim, load_at(d_bias, i, dim) + d);
    }
    const float mean_g = n.centred ? share * lane_sum(sum) : 0.0F;
    const float mean_gz = share * lane_sum(products);
    for (Index i = 0; i < dim; i += kLanes) {
      const Vec z = (load_at(x, i, dim) - mean) * r;
      const Vec g = load_at(dy, i, dim) * load_at(n.scale, i, dim);
      const Vec own = r * (g - mean_g - z * mean_gz);
      store_at(dx, i, dim, base == nullptr ? own : own + load_at(base, i, dim));
    }
    if (base != nullptr) base += dim;
  }
}

inline void gelu(Index rows, Index dim, const float* bias, const float* x, float* y) {
  for (Index row = 0; row < rows; ++row, x += dim, y += dim) {
    for (Index i = 0; i < dim; i += kLanes) {
      store_at(y, i, dim, Gelu::at(load_at(x, i, dim) + load_at(bias, i, dim)).value);
    }
  }
}

inline void gelu_backward(Index rows, Index dim, const float* bias, const float* x, float* y,
                          float* d) {
  for (Index row = 0; row < rows; ++row, x += dim, y += dim, d += dim) {
    for (Index i = 0; i < dim; i += kLanes) {
      const ValueAndSlope phi = Gelu::at(load_at(x, i, dim) + load_at(bias, i, dim));
      store_at(y, i, dim, phi.value);
      store_at(d, i, dim, load_at(d, i, dim) * phi.slope);
    }
  }
}

inline void swiglu(Index count, const float* g, const float* u, float* y) {
  for (Index i = 0; i < count; i += kLanes) {
    store_at(y, i, count, Silu::at(load_at(g, i, count)).value * load_at(u, i, count));
  }
}

// NOLINTNEXTLINE(readability-function-size): a kernel takes bare rows
inline void swiglu_backward(Index count, const float* g, const float* u, const float* d, float* y,
                            float* dg, float* du) {
  for (Index i = 0; i < count; i += kLanes) {
    const ValueAndSlope phi = Silu::at(load_at(g, i, count));
    const Vec up = load_at(u, i, count);
    const Vec dy = load_at(d, i, count);
    store_at(y, i, count, phi.value * up);
    store_at(dg, i, count, dy * up * phi.slope);
    store_at(du, i, count, dy * phi.value);
  }
}

inline void fill_rows(Index rows, Index dim, const float* bias, float* y) {
  for (Index row = 0; row < rows; ++row, y += dim) {
    for (Index i = 0; i < dim; i += kLanes) store_at(y, i, dim, load_at(bias, i, dim));
  }
}

inline void add_rows(Index rows, Index dim, const float* x, const float* bias, float* y) {
  for (Index row = 0; row < rows; ++row, x += dim, y += dim) {
    for (Index i = 0; i < dim; i += kLanes) {
      store_at(y, i, dim, load_at(x, i, dim) + load_at(bias, i, dim));
    }
  }
}

inline void add(Index count, const float* x, float* y) {
  for (Index i = 0; i < count; i += kLanes) {
    store_at(y, i, count, load_at(y, i, count) + load_at(x, i, count));
  }
}

// Four vectors of columns at a time stay in registers over all rows.
inline void column_sums(Index rows, Index dim, const float* x, float* sums) {
  constexpr Index kColumns = Index{4} * kLanes;
  Index i = 0;
  for (; i + kColumns <= dim; i += kColumns) {
    Vec sum[4];
    for (Index j = 0; j < 4; ++j) sum[j] = load(sums + i + j * kLanes);
    for (Index row = 0; row < rows; ++row) {
      for (Index j = 0; j < 4; ++j) sum[j] += load(x + row * dim + i + j * kLanes);
    }
    for (Index j = 0; j < 4; ++j) store(sums + i + j * kLanes, sum[j]);
  }
  for (; i < dim; i += kLanes) {
    Vec sum = load_at(sums, i, dim);
    for (Index row = 0; row < rows; ++row) sum += load_at(x + row * dim, i, dim);
    store_at(sums, i, dim, sum);
  }
}

inline void softmax(Index rows, Index dim, float scale, float* x) {
  for (Index row = 0; row < rows; ++row, x += dim) {
    Vec most = broadcast(x[0]);
    for (Index i = 0; i + kLanes <= dim; i += kLanes) most = maximum(most, load(x + i));
    float largest = most[0];
    for (int l = 1; l < kLanes; ++l) largest = most[l] > largest ? most[l] : largest;
    for (Index i = dim / kLanes * kLanes; i < dim; ++i) largest = x[i] > largest ? x[i] : largest;
    Vec sums = {};
    for (Index i = 0; i < dim; i += kLanes) {
      const Vec e = exponential(scale * (load_at(x, i, dim) - largest));
      sums += i + kLanes <= dim ? e : e * leading_ones(dim - i);
      store_at(x, i, dim, e);
    }
    const Vec share = broadcast(1.0F / lane_sum(sums));
    for (Index i = 0; i < dim; i += kLanes) store_at(x, i, dim, load_at(x, i, dim) * share);
  }
}

inline void softmax_backward(Index rows, Index dim, float scale, const float* y, float* d) {
  for (Index row = 0; row < rows; ++row, y += dim, d += dim) {
    Vec products = {};
    for (Index i = 0; i < dim; i += kLanes) products += load_at(y, i, dim) * load_at(d, i, dim);
    const Vec mean = broadcast(lane_sum(products));
    for (Index i = 0; i < dim; i += kLanes) {
      const Vec out = scale * load_at(y, i, dim) * (load_at(d, i, dim) - mean);
      store_at(d, i, dim, out);
    }
  }
}

inline void adamw(Index count, const detail::AdamWRates& r, const float* gradient, float* m,
                  float* v, float* parameters) {
  for (Index i = 0; i < count; i += kLanes) {
    const Vec g = r.clip * load_at(gradient, i, count);
    const Vec first = r.beta_1 * load_at(m, i, count) + r.rest_1 * g;
    const Vec second = r.beta_2 * load_at(v, i, count) + r.rest_2 * g * g;
    store_at(m, i, count, first);
    store_at(v, i, count, second);
    const Vec step = r.first * first / (square_root(r.second * second) + r.epsilon);
    store_at(parameters, i, count, r.shrink * load_at(parameters, i, count) - step);
  }
}

inline detail::RowKernels row_kernel_set(const char* name) {
  return {
      name,      norm,     norm_backward, gelu, gelu_backward, swiglu,           swiglu_backward,
      fill_rows, add_rows, column_sums,   add,  softmax,       softmax_backward, adamw};
}

}  // namespace headway::training::HEADWAY_KERNELS
