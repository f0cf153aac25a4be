// Arrays of examples in memory, for the tests of training on them.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "headway/tasks/example_arrays.hpp"

namespace headway::testing {

class MemoryNumbers final : public tasks::ArraySource {
 public:
  MemoryNumbers(std::vector<Index> shape, std::vector<double> values)
      : shape_(std::move(shape)), values_(std::move(values)) {}
  const std::vector<Index>& shape() const override { return shape_; }
  void read(Index begin, Index count, double* out) const override {
    const Index row = static_cast<Index>(values_.size()) / shape_[0];
    std::copy_n(values_.begin() + begin * row, count * row, out);
  }

 private:
  std::vector<Index> shape_;
  std::vector<double> values_;
};

inline tasks::ExampleArray integers(const std::string& place, std::vector<Index> shape,
                                    std::vector<double> values) {
  return {std::make_shared<MemoryNumbers>(std::move(shape), std::move(values)), place, true};
}
inline tasks::ExampleArray reals(const std::string& place, std::vector<Index> shape,
                                 std::vector<double> values) {
  return {std::make_shared<MemoryNumbers>(std::move(shape), std::move(values)), place, false};
}

/// "own" with these sets.
inline std::shared_ptr<tasks::ExampleArrays> arrays_of(std::vector<tasks::ArraySet> sets) {
  auto out = std::make_shared<tasks::ExampleArrays>();
  out->name = "own";
  out->sets = std::move(sets);
  return out;
}

}  // namespace headway::testing
