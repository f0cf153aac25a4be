// Gradients of the fused blocks against finite differences.
#pragma once

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "catch.hpp"
#include "headway/core/rng.hpp"
#include "training/kernels/cpu/row_kernels.hpp"
#include "training/model/transformer_blocks.hpp"

namespace headway::testing {

using training::detail::BlockContext;

using Array = std::vector<float>;

inline void plain_product(bool transpose_a, bool transpose_b, Index m, Index n, Index k,
                          const float* a, Index lda, const float* b, Index ldb, float beta,
                          float* c, Index ldc) {
  for (Index i = 0; i < m; ++i) {
    for (Index j = 0; j < n; ++j) {
      double sum = beta == 0.0F ? 0.0 : beta * c[i * ldc + j];
      for (Index l = 0; l < k; ++l) {
        sum += static_cast<double>(transpose_a ? a[l * lda + i] : a[i * lda + l]) *
               (transpose_b ? b[j * ldb + l] : b[l * ldb + j]);
      }
      c[i * ldc + j] = static_cast<float>(sum);
    }
  }
}

inline BlockContext context(int threads) {
  return {plain_product, &training::detail::row_kernels(), threads};
}

inline Array draw(Index count, std::uint64_t stream, double scale) {
  Array x(static_cast<std::size_t>(count));
  Rng rng(5, StreamPurpose::kTests, stream);
  for (float& value : x) value = static_cast<float>(scale * rng.normal());
  return x;
}

// A block as a function of named arrays; the gradient of sum(dy * y) has the same layout.
struct Block {
  std::vector<std::string> names;
  std::vector<Array> arrays;
  std::function<Array(const std::vector<Array>&, int threads)> forward;
  std::function<std::vector<Array>(const std::vector<Array>&, const Array& dy, int threads)>
      backward;

  void add(const std::string& name, Index count, double scale = 0.5) {
    names.push_back(name);
    arrays.push_back(draw(count, names.size(), scale));
  }
};

inline double dot(const Array& a, const Array& b) {
  double sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += static_cast<double>(a[i]) * b[i];
  return sum;
}

// Compares the slope along a random direction of each array with central differences. Checks that
// one and three threads give the same bits.
inline void check_gradients(const Block& block) {
  const Array y = block.forward(block.arrays, 1);
  CHECK(block.forward(block.arrays, 3) == y);
  const Array dy = draw(static_cast<Index>(y.size()), 99, 1.0);
  const std::vector<Array> gradients = block.backward(block.arrays, dy, 1);
  CHECK(block.backward(block.arrays, dy, 3) == gradients);
  for (std::size_t a = 0; a < block.arrays.size(); ++a) {
    INFO(block.names[a]);
    const Array direction = draw(static_cast<Index>(block.arrays[a].size()), 50 + a, 1.0);
    const double length = std::sqrt(dot(direction, direction));
    const double epsilon = 0.02 / length;
    double values[2];
    for (const int sign : {0, 1}) {
      std::vector<Array> moved = block.arrays;
      for (std::size_t i = 0; i < direction.size(); ++i) {
        moved[a][i] += static_cast<float>((sign == 0 ? -1 : 1) * epsilon * direction[i]);
      }
      values[sign] = dot(block.forward(moved, 1), dy);
    }
    const double slope = (values[1] - values[0]) / (2 * epsilon);
    const double exact = dot(gradients[a], direction);
    const double size = std::sqrt(dot(gradients[a], gradients[a])) * length;
    CHECK(std::abs(slope - exact) < 4e-3 * size + 1e-4);
    CHECK(size > 0.0);
  }
}

inline std::vector<Array> like(const std::vector<Array>& arrays) {
  std::vector<Array> result;
  for (const Array& x : arrays) result.emplace_back(x.size(), 7.0F);
  return result;
}

}  // namespace headway::testing
