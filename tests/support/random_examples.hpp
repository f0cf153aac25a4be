// Small random examples and heads for tests, from the tests' own streams.
#pragma once

#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "headway/core/examples.hpp"
#include "headway/core/rng.hpp"
#include "headway/dataset.hpp"
#include "headway/types.hpp"

namespace headway::testing {

struct Shape {
  Index examples = 5;
  Index tokens = 4;
  Index features = 6;
};

inline Tensor random_tensor(std::vector<Index> dimensions, Rng& rng) {
  Tensor tensor(std::move(dimensions));
  rng.fill_normal(tensor.values);
  return tensor;
}

inline MatrixXd random_matrix(Index rows, Index cols, Rng& rng) {
  MatrixXd matrix(rows, cols);
  rng.fill_normal({matrix.data(), static_cast<std::size_t>(matrix.size())});
  return matrix;
}

// Layers of heads given by weights, with logits of order 1.
inline std::vector<LayerHeads> random_weight_layers(const std::vector<int>& heads, Index features,
                                                    Rng& rng) {
  std::vector<LayerHeads> layers;
  for (const int count : heads) {
    LayerHeads layer;
    for (int h = 0; h < count; ++h) {
      layer.weights.push_back(random_matrix(features, features, rng) /
                              static_cast<double>(features));
    }
    layers.push_back(std::move(layer));
  }
  return layers;
}

inline std::vector<LayerHeads> random_query_key_layers(const std::vector<int>& heads,
                                                       Index features, Index dimension, Rng& rng) {
  std::vector<LayerHeads> layers;
  for (const int count : heads) {
    LayerHeads layer;
    for (int h = 0; h < count; ++h) {
      const double scale = 1.0 / std::sqrt(static_cast<double>(features));
      layer.query.push_back(scale * random_matrix(dimension, features, rng));
      layer.key.push_back(scale * random_matrix(dimension, features, rng));
    }
    layers.push_back(std::move(layer));
  }
  return layers;
}

// At least one real token an example; which one is random.
inline std::vector<std::uint8_t> random_mask(const Shape& shape, Rng& rng) {
  std::vector<std::uint8_t> mask(static_cast<std::size_t>(shape.examples * shape.tokens));
  for (auto& m : mask) m = static_cast<std::uint8_t>(rng.uniform() < 0.6);
  for (Index mu = 0; mu < shape.examples; ++mu) {
    const auto chosen =
        static_cast<Index>(rng.uniform_index(static_cast<std::uint64_t>(shape.tokens)));
    mask[static_cast<std::size_t>(mu * shape.tokens + chosen)] = 1;
  }
  return mask;
}

// Examples with labels +-1; with more outputs, the one of a class.
inline tasks::Split random_split(const Shape& shape, Rng& rng, Index outputs = 1) {
  tasks::Split split;
  split.examples = std::make_shared<tasks::MemoryExamples>(
      random_tensor({shape.examples, shape.tokens, shape.features}, rng));
  split.labels = MatrixXd::Zero(shape.examples, outputs);
  for (Index i = 0; i < shape.examples; ++i) {
    if (outputs == 1) {
      split.labels(i, 0) = rng.uniform() < 0.5 ? -1.0 : 1.0;
    } else {
      split.labels(i, static_cast<Index>(rng.uniform_index(outputs))) = 1.0;
    }
  }
  return split;
}

// A data set of heads given by weights, without a test set.
inline tasks::Dataset random_dataset(std::vector<int> heads, const Shape& train, Rng& rng,
                                     Index outputs = 1) {
  tasks::Dataset data;
  data.name = "random";
  data.heads = std::move(heads);
  data.layers = random_weight_layers(data.heads, train.features, rng);
  data.features = train.features;
  data.train = random_split(train, rng, outputs);
  data.content_hash = "none";
  return data;
}

}  // namespace headway::testing
