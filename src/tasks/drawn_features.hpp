#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "headway/dataset.hpp"

namespace headway::tasks {

/// Path features [P, p, N_0] that are drawn anew on every read, each example from a stream of its
/// own.
class DrawnFeatures : public ArraySource {
 public:
  explicit DrawnFeatures(std::vector<Index> shape) : shape_(std::move(shape)) {}

  [[nodiscard]] const std::vector<Index>& shape() const final { return shape_; }
  void read(Index begin, Index count, double* out) const final {
    for (Index i = 0; i < count; ++i) draw(begin + i, out + i * shape_[1] * shape_[2]);
  }
  /// Writes the p x N_0 features of an example, and gives its label.
  virtual double draw(Index example, double* features) const = 0;

 private:
  std::vector<Index> shape_;
};

/// A split of such features, with the labels of all.
inline Split drawn_split(const std::shared_ptr<const DrawnFeatures>& source) {
  Split split;
  const std::vector<Index>& shape = source->shape();
  VectorXd features(shape[1] * shape[2]);
  split.labels.resize(shape[0], 1);
  for (Index i = 0; i < shape[0]; ++i) split.labels(i, 0) = source->draw(i, features.data());
  split.feature_source = source;
  return split;
}

}  // namespace headway::tasks
