#include <cmath>

#include "training/attention/attention_reference.hpp"

namespace headway::training::reference {

template <typename Scalar>
Scalar nonlinearity(Nonlinearity phi, Scalar x) {
  const auto c = static_cast<Scalar>(0.79788456080286535588);  // sqrt(2 / pi)
  const auto cubic = static_cast<Scalar>(0.044715);
  switch (phi) {
    case Nonlinearity::kIdentity:
      return x;
    case Nonlinearity::kRelu:
      return x > 0 ? x : 0;
    case Nonlinearity::kGelu:
      return x / 2 * (1 + std::tanh(c * (x + cubic * x * x * x)));
    case Nonlinearity::kSilu:
      return x / (1 + std::exp(-x));
    case Nonlinearity::kTanh:
      return std::tanh(x);
    case Nonlinearity::kSquaredRelu:
      break;
  }
  return x > 0 ? x * x : 0;
}

template <typename Scalar>
Scalar nonlinearity_derivative(Nonlinearity phi, Scalar x) {
  const auto c = static_cast<Scalar>(0.79788456080286535588);
  const auto cubic = static_cast<Scalar>(0.044715);
  switch (phi) {
    case Nonlinearity::kIdentity:
      return 1;
    case Nonlinearity::kRelu:
      return x > 0 ? 1 : 0;
    case Nonlinearity::kGelu: {
      const Scalar t = std::tanh(c * (x + cubic * x * x * x));
      return (1 + t) / 2 + x / 2 * (1 - t * t) * c * (1 + 3 * cubic * x * x);
    }
    case Nonlinearity::kSilu: {
      const Scalar sigmoid = 1 / (1 + std::exp(-x));
      return sigmoid * (1 + x * (1 - sigmoid));
    }
    case Nonlinearity::kTanh: {
      const Scalar t = std::tanh(x);
      return 1 - t * t;
    }
    case Nonlinearity::kSquaredRelu:
      break;
  }
  return x > 0 ? 2 * x : 0;
}

template float nonlinearity(Nonlinearity, float);
template double nonlinearity(Nonlinearity, double);
template float nonlinearity_derivative(Nonlinearity, float);
template double nonlinearity_derivative(Nonlinearity, double);

}  // namespace headway::training::reference
