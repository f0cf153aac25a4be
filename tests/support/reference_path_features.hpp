// Attention and path features from the definitions (eqs. 5 to 8): one example, one path and one
// entry at a time, without code of the library.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "headway/core/examples.hpp"
#include "headway/types.hpp"

namespace headway::reference {

struct Example {
  RowMatrixXd inputs;              // S x N_0
  std::vector<std::uint8_t> mask;  // S entries

  [[nodiscard]] bool real(Index t) const { return mask[static_cast<std::size_t>(t)] != 0; }
};

inline double logit(const LayerHeads& layer, std::size_t h, const VectorXd& query,
                    const VectorXd& key) {
  double sum = 0.0;
  if (!layer.weights.empty()) {
    for (Index i = 0; i < query.size(); ++i) {
      for (Index j = 0; j < key.size(); ++j) sum += query(i) * layer.weights[h](i, j) * key(j);
    }
    return sum;
  }
  const Index dimension = layer.query[h].rows();
  for (Index g = 0; g < dimension; ++g) {
    double q = 0.0;
    double k = 0.0;
    for (Index i = 0; i < query.size(); ++i) {
      q += layer.query[h](g, i) * query(i);
      k += layer.key[h](g, i) * key(i);
    }
    sum += q * k;
  }
  return sum / std::sqrt(static_cast<double>(dimension));
}

// Omega[query, key] of one head; zero rows and columns at padded tokens.
inline MatrixXd attention(const Example& example, const LayerHeads& layer, std::size_t h,
                          AttentionKind kind) {
  const Index tokens = example.inputs.rows();
  MatrixXd omega = MatrixXd::Zero(tokens, tokens);
  for (Index s = 0; s < tokens; ++s) {
    if (!example.real(s)) continue;
    std::vector<double> logits(static_cast<std::size_t>(tokens));
    double largest = -std::numeric_limits<double>::infinity();
    for (Index t = 0; t < tokens; ++t) {
      if (!example.real(t)) continue;
      const double l = logit(layer, h, example.inputs.row(s), example.inputs.row(t));
      logits[static_cast<std::size_t>(t)] = l;
      largest = std::max(largest, l);
    }
    double sum = 0.0;
    for (Index t = 0; t < tokens; ++t) {
      if (!example.real(t)) continue;
      const double below = logits[static_cast<std::size_t>(t)] - largest;
      omega(s, t) = kind == AttentionKind::kSoftmax ? std::exp(below) : (below > -1e-9 ? 1.0 : 0.0);
      sum += omega(s, t);
    }
    for (Index t = 0; t < tokens; ++t) omega(s, t) /= sum;
  }
  return omega;
}

// The same of all heads of a layer by softmax, with products of matrices. An empty mask: all tokens
// are real.
inline std::vector<MatrixXd> softmax_attention(const RowMatrixXd& inputs, const LayerHeads& layer,
                                               const std::vector<std::uint8_t>& mask = {}) {
  std::vector<MatrixXd> heads;
  for (std::size_t h = 0; h < std::max(layer.weights.size(), layer.query.size()); ++h) {
    MatrixXd omega;
    if (!layer.weights.empty()) {
      omega = inputs * layer.weights[h] * inputs.transpose();
    } else {
      omega = (inputs * layer.query[h].transpose()) *
              (inputs * layer.key[h].transpose()).transpose() /
              std::sqrt(static_cast<double>(layer.query[h].rows()));
    }
    const auto padded = [&](Index t) {
      return !mask.empty() && mask[static_cast<std::size_t>(t)] == 0;
    };
    for (Index t = 0; t < omega.cols(); ++t) {
      if (padded(t)) omega.col(t).setConstant(-std::numeric_limits<double>::infinity());
    }
    omega = (omega.colwise() - omega.rowwise().maxCoeff().eval()).array().exp().matrix().eval();
    omega.array().colwise() /= omega.rowwise().sum().array().eval();
    for (Index s = 0; s < omega.rows(); ++s) {
      if (padded(s)) omega.row(s).setZero();
    }
    heads.push_back(std::move(omega));
  }
  return heads;
}

inline VectorXd readout(const Example& example, Readout kind) {
  const Index tokens = example.inputs.rows();
  VectorXd r = VectorXd::Zero(tokens);
  Index first = -1;
  Index last = -1;
  double count = 0.0;
  for (Index t = 0; t < tokens; ++t) {
    if (!example.real(t)) continue;
    if (first < 0) first = t;
    last = t;
    count += 1.0;
    r(t) = 1.0;
  }
  if (kind == Readout::kMean) return r / count;
  return VectorXd::Unit(tokens, kind == Readout::kLastToken ? last : first);
}

// Path features of a whole source: w = r Omega_L ... Omega_1 for each path, then sum_t w_t x_t.
inline RowMatrixXd path_features(const ExampleSource& source, const std::vector<int>& heads,
                                 const std::vector<LayerHeads>& layers, Readout readout_kind,
                                 AttentionKind kind) {
  const Index tokens = source.tokens();
  const Index features = source.features();
  Index paths = 1;
  for (const int h : heads) paths *= h;
  RowMatrixXd result(source.size(), paths * features);
  for (Index mu = 0; mu < source.size(); ++mu) {
    Example example{RowMatrixXd(tokens, features),
                    std::vector<std::uint8_t>(static_cast<std::size_t>(tokens), 1)};
    source.read_inputs(mu, 1, example.inputs.data());
    if (source.has_mask()) source.read_mask(mu, 1, example.mask.data());
    for (Index path = 0; path < paths; ++path) {
      VectorXd w = readout(example, readout_kind);
      Index rest = path;  // the last layer's head is the fastest index
      for (std::size_t l = heads.size(); l-- > 0;) {
        const auto h = static_cast<std::size_t>(rest % heads[l]);
        rest /= heads[l];
        MatrixXd omega;
        if (layers.empty()) {
          std::vector<double> all(static_cast<std::size_t>(heads[l] * tokens * tokens));
          source.read_attention(static_cast<int>(l) + 1, mu, 1, all.data());
          omega = Eigen::Map<RowMatrixXd>(all.data() + static_cast<Index>(h) * tokens * tokens,
                                          tokens, tokens);
        } else {
          omega = attention(example, layers[l], h, kind);
        }
        VectorXd below = VectorXd::Zero(tokens);
        for (Index s = 0; s < tokens; ++s) {
          for (Index t = 0; t < tokens; ++t) {
            if (example.real(s) && example.real(t)) below(t) += w(s) * omega(s, t);
          }
        }
        w = below;
      }
      for (Index i = 0; i < features; ++i) {
        double sum = 0.0;
        for (Index t = 0; t < tokens; ++t) {
          if (example.real(t)) sum += w(t) * example.inputs(t, i);
        }
        result(mu, path * features + i) = sum;
      }
    }
  }
  return result;
}

}  // namespace headway::reference
