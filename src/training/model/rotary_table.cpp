#include <cmath>

#include "training/model/transformer_blocks.hpp"

namespace headway::training::detail {

RotaryTable::RotaryTable(Index places, Index dim) : half_(dim / 2) {
  for (Index t = 0; t < places; ++t) {
    for (Index i = 0; i < half_; ++i) {
      const double exponent = -2.0 * static_cast<double>(i) / static_cast<double>(dim);
      const double angle = static_cast<double>(t) * std::pow(10000.0, exponent);
      cosines_.push_back(static_cast<float>(std::cos(angle)));
      sines_.push_back(static_cast<float>(std::sin(angle)));
    }
  }
}

void RotaryTable::turn(Index count, Index heads, Index first_place, bool inverse,
                       float* rows) const {
  for (Index row = 0; row < count; ++row) {
    const float* c = cosines_.data() + (first_place + row) * half_;
    const float* s = sines_.data() + (first_place + row) * half_;
    for (Index h = 0; h < heads; ++h) {
      float* a = rows + (row * heads + h) * 2 * half_;
      float* b = a + half_;
      for (Index i = 0; i < half_; ++i) {
        const float sine = inverse ? -s[i] : s[i];
        const float turned = c[i] * a[i] - sine * b[i];
        b[i] = sine * a[i] + c[i] * b[i];
        a[i] = turned;
      }
    }
  }
}

}  // namespace headway::training::detail
