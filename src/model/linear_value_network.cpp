#include "headway/model/linear_value_network.hpp"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "headway/error.hpp"

namespace headway::model {
namespace {

MatrixXd draw_matrix(Index rows, Index cols, double variance, Rng& rng) {
  MatrixXd m(rows, cols);
  rng.fill_normal({m.data(), static_cast<std::size_t>(m.size())});
  return std::sqrt(variance) * m;
}

double root(Index n) { return std::sqrt(static_cast<double>(n)); }

}  // namespace

LinearValueNetwork draw_from_prior(const Architecture& architecture, Index features, Rng& rng) {
  architecture.validate();
  const std::vector<Index>& n = architecture.widths;
  LinearValueNetwork network;
  network.input = draw_matrix(n[0], features, architecture.variance(0), rng);
  for (std::size_t l = 0; l < architecture.heads.size(); ++l) {
    const double variance = architecture.variance(static_cast<int>(l) + 1);
    std::vector<MatrixXd> layer;
    layer.reserve(static_cast<std::size_t>(architecture.heads[l]));
    for (int h = 0; h < architecture.heads[l]; ++h) {
      layer.push_back(draw_matrix(n[l + 1], n[l], variance, rng));
    }
    network.values.push_back(std::move(layer));
  }
  network.readout = draw_matrix(architecture.outputs, n.back(), architecture.variances.back(), rng);
  return network;
}

VectorXd readout_vector(Readout readout, Index tokens, const std::vector<std::uint8_t>& mask) {
  if (!mask.empty() && static_cast<Index>(mask.size()) != tokens) {
    throw Error(ErrorKind::kBadData,
                fmt::format("mask has {} entries: must have one for each of the {} tokens",
                            mask.size(), tokens));
  }
  VectorXd real = VectorXd::Ones(tokens);
  for (std::size_t t = 0; t < mask.size(); ++t) {
    real(static_cast<Index>(t)) = static_cast<double>(mask[t] != 0);
  }
  const double count = real.sum();
  if (count == 0.0) {
    throw Error(ErrorKind::kBadData, "mask: the example must have at least one real token");
  }
  if (readout == Readout::kMean) return real / count;
  const bool last = readout == Readout::kLastToken;
  Index chosen = last ? tokens - 1 : 0;
  while (real(chosen) == 0.0) chosen += last ? -1 : 1;
  return VectorXd::Unit(tokens, chosen);
}

VectorXd network_output(const LinearValueNetwork& network,
                        const Eigen::Ref<const RowMatrixXd>& inputs,
                        const std::vector<std::vector<MatrixXd>>& attention,
                        const VectorXd& readout) {
  MatrixXd z = network.input * inputs.transpose() / root(inputs.cols());  // N_1 x S
  for (std::size_t l = 0; l < network.values.size(); ++l) {
    const std::vector<MatrixXd>& heads = network.values[l];
    MatrixXd next = MatrixXd::Zero(heads[0].rows(), z.cols());
    for (std::size_t h = 0; h < heads.size(); ++h) {
      next += heads[h] * (z * attention.at(l).at(h).transpose());
    }
    z = next / (root(static_cast<Index>(heads.size())) * root(heads[0].cols()));
  }
  return network.readout * (z * readout) / root(network.readout.cols());
}

MatrixXd effective_weights(const LinearValueNetwork& network) {
  MatrixXd v = network.readout;  // rows: (h_{l+1}, ..., h_L, c)
  for (std::size_t l = network.values.size(); l-- > 0;) {
    const std::vector<MatrixXd>& heads = network.values[l];
    MatrixXd below(static_cast<Index>(heads.size()) * v.rows(), heads[0].cols());
    for (std::size_t h = 0; h < heads.size(); ++h) {
      below.middleRows(static_cast<Index>(h) * v.rows(), v.rows()) =
          v * heads[h] / root(heads[h].rows());
    }
    v = std::move(below);
  }
  return v;
}

MatrixXd order_parameter(const LinearValueNetwork& network) {
  const MatrixXd v = effective_weights(network);
  return v * v.transpose() / static_cast<double>(v.cols());
}

MatrixXd path_outputs(const LinearValueNetwork& network,
                      const Eigen::Ref<const RowMatrixXd>& features) {
  const Index outputs = network.readout.rows();
  const Index inputs = network.input.cols();
  const MatrixXd v = effective_weights(network);
  const Index paths = v.rows() / outputs;
  if (features.cols() != paths * inputs) {
    throw Error(ErrorKind::kBadData,
                fmt::format("path features have {} columns: a network of {} paths and {} features "
                            "needs {}",
                            features.cols(), paths, inputs, paths * inputs));
  }
  const MatrixXd weights =
      v * network.input / (root(network.input.rows()) * root(paths) * root(inputs));
  MatrixXd result(features.rows(), v.rows());
  for (Index path = 0; path < paths; ++path) {
    result.middleCols(path * outputs, outputs) =
        features.middleCols(path * inputs, inputs) *
        weights.middleRows(path * outputs, outputs).transpose();
  }
  return result;
}

}  // namespace headway::model
