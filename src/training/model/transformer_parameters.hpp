// The parameters of a transformer: names, shapes and first values, without LibTorch.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "headway/training/trainer.hpp"

namespace headway::training::detail {

enum class FirstValues {
  kZero,
  kOne,
  kNormal,    ///< N(0, spread^2)
  kUniform,   ///< uniform, of mean 0 and standard deviation `spread`
  kAsBefore,  ///< those of the parameter before it, which has the same shape
  kLecun,     ///< N(0, 1) cut off at +-2, scaled to standard deviation `spread`
};

struct ParameterShape {
  std::string name;
  std::vector<Index> shape;
  FirstValues first = FirstValues::kZero;
  double spread = 0.0;
  double rate = 1.0;  ///< multiplies the learning rate

  [[nodiscard]] Index count() const;
  /// AdamW's weight decay acts on it: it has more than one dimension.
  [[nodiscard]] bool decayed() const { return shape.size() > 1; }
};

/// In the order of the model, as TrainState documents them.
std::vector<ParameterShape> parameter_shapes(const TransformerOptions& options,
                                             const TaskFormat& format);

/// Parameter i is drawn from the stream (seed, kInitialWeights, i): kernels LeCun normal by their
/// fan-in, biases 0, scales 1, embedding N(0, 1/D) or as TransformerOptions::embedding_start says,
/// position tables N(0, 1/buckets); those of a linear-value network as weights_start says.
std::vector<NamedTensor> initial_parameters(const std::vector<ParameterShape>& shapes,
                                            std::uint64_t seed);

}  // namespace headway::training::detail
