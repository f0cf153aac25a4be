#include "headway/order_parameters.hpp"

#include <fmt/format.h>

#include "headway/error.hpp"

namespace headway::theory {

OrderParameters gaussian_process_order_parameters(const model::Architecture& architecture) {
  const int layers = architecture.layers();
  const Index c = architecture.outputs;
  OrderParameters u;
  double scale = architecture.variance(layers + 1);
  u.readout = scale * MatrixXd::Identity(c, c);
  u.layers.resize(layers);
  for (int l = layers; l >= 1; --l) {
    scale *= architecture.variance(l);
    const Index size = c * architecture.paths_above(l);
    u.at(l) = scale * MatrixXd::Identity(size, size);
  }
  return u;
}

MatrixXd partial_trace(const MatrixXd& u, Index heads) {
  const Index q = u.rows() / heads;
  MatrixXd trace = MatrixXd::Zero(q, q);
  for (Index h = 0; h < heads; ++h) trace += u.block(h * q, h * q, q, q);
  return trace;
}

MatrixXd repeat_diagonal(const MatrixXd& v, Index heads) {
  const Index q = v.rows();
  MatrixXd result = MatrixXd::Zero(heads * q, heads * q);
  for (Index h = 0; h < heads; ++h) result.block(h * q, h * q, q, q) = v;
  return result;
}

void check_order_parameters(const OrderParameters& u, const model::Architecture& architecture) {
  const int layers = architecture.layers();
  if (static_cast<int>(u.layers.size()) != layers) {
    throw Error(ErrorKind::kBadStudy,
                fmt::format("order parameters: there are {}: must be {} matrices, U_1{} and U_a",
                            u.layers.size() + 1, layers + 1,
                            layers == 1 ? "" : fmt::format(" to U_{}", layers)));
  }
  for (int l = 1; l <= layers + 1; ++l) {
    const Index size = architecture.outputs * architecture.paths_above(l);
    if (u.at(l).rows() != size || u.at(l).cols() != size) {
      throw Error(ErrorKind::kBadStudy,
                  fmt::format("order parameters: U_{} is {} x {}: must be {} x {}",
                              l <= layers ? std::to_string(l) : "a", u.at(l).rows(), u.at(l).cols(),
                              size, size));
    }
  }
}

}  // namespace headway::theory
