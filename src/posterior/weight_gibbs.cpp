#include "posterior/weight_gibbs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <utility>

#include "headway/error.hpp"
#include "headway/numerics/symmetric.hpp"

namespace headway::posterior {

using numerics::multiply;
using numerics::SpdFactor;
using numerics::Transpose;

namespace {

// Weights are drawn, used and changed in groups of columns that stay in the second-level cache. A
// matrix product takes the same depth at a time, so these groups cost it nothing.
constexpr Index kTileColumns = 256;
// Up to this size the kernels of all pairs of paths are kept, for the draws of V_0.
constexpr double kLargestInputGramBytes = 32.0 * 1024 * 1024;

std::span<double> entries(Eigen::Ref<MatrixXd> contiguous) {
  return {contiguous.data(), static_cast<std::size_t>(contiguous.size())};
}

}  // namespace

WeightGibbs::WeightGibbs(std::shared_ptr<const WeightNetwork> network,
                         std::shared_ptr<const theory::PathKernels> kernels, double temperature)
    : network_(std::move(network)), kernels_(std::move(kernels)), temperature_(temperature) {
  const Index examples = kernels_->examples();
  const Index n = network_->width(0);
  const Index columns = network_->paths(0) * examples;
  MatrixXd inputs(n, columns);
  for (Index path = 0; path < network_->paths(0); ++path) {
    inputs.middleCols(path * examples, examples) =
        kernels_->features().middleCols(path * n, n).transpose();
  }
  inputs_ = std::make_shared<const MatrixXd>(std::move(inputs));
  if (8.0 * static_cast<double>(columns) * static_cast<double>(columns) <= kLargestInputGramBytes) {
    input_gram_ = std::make_shared<const MatrixXd>(pair_gram(0));
  }
  activation_.resize(static_cast<std::size_t>(network_->top()));
}

// NOLINTNEXTLINE(performance-unnecessary-value-param): a Ref is a view, passed on by value
double WeightGibbs::sweep(const MatrixXd& labels, Rng& rng, Eigen::Ref<VectorXd> position) {
  prepare(position, 0);
  double squares = 0.0;
  for (int l = 0; l <= network_->top(); ++l) squares += draw_block(l, labels, rng, position);
  effective_[network_->top()] =
      network_->scale(network_->top()) * network_->weights(position, network_->top());
  const double misfit = (labels - output_above(network_->top() - 1)).squaredNorm();
  return -0.5 * squares - 0.5 * misfit / temperature_;
}

void WeightGibbs::prepare(const Eigen::Ref<const VectorXd>& position, int block) {
  network_->effective_weights(position, 1, effective_);
  for (int l = 0; l < block; ++l) {
    MatrixXd& above = activation_[l];
    above.setZero(network_->rows(l), network_->paths(l + 1) * kernels_->examples());
    for (Index h = 0; h < network_->heads(l); ++h) {
      multiply(network_->scale(l), network_->weights(position, l, h), Transpose::kNo,
               below(l).middleCols(h * above.cols(), above.cols()), Transpose::kNo, 1.0, above);
    }
  }
}

double WeightGibbs::draw_block(int l, const MatrixXd& labels, Rng& rng,
                               // NOLINTNEXTLINE(performance-unnecessary-value-param): a view
                               Eigen::Ref<VectorXd> position) {
  if (l == network_->top()) return draw_readout(labels, rng, position);
  const SpdFactor system = factor(gram(l), l);
  draw_prior(l, rng, position);
  return shift(l, dual(system, labels - output_above(l), rng), position);
}

MatrixXd WeightGibbs::output_above(int l) const {
  const MatrixXd& above = activation_[l];
  const MatrixXd& effective = effective_[l + 1];
  const Index examples = kernels_->examples();
  const Index outputs = network_->outputs();
  MatrixXd f = MatrixXd::Zero(examples, outputs);
  for (Index g = 0; g * examples < above.cols(); ++g) {
    multiply(1.0, above.middleCols(g * examples, examples), Transpose::kYes,
             effective.middleRows(g * outputs, outputs), Transpose::kYes, 1.0, f);
  }
  return f;
}

MatrixXd WeightGibbs::gram(int l) const {
  const Index size = kernels_->examples() * network_->outputs();
  MatrixXd k = MatrixXd::Zero(size, size);
  if (l == 0 && input_gram_) {
    add_pairs(l, *input_gram_, k);
  } else if (network_->outputs() == 1 && network_->paths(l + 1) > 1) {
    add_mixed_gram(l, k);
  } else if (l == 0) {
    k = kernels_->kernel(effective_[1] * effective_[1].transpose());
  } else {
    add_pairs(l, pair_gram(l), k);
  }
  return k;
}

// Eq. 49 for one output. With U_{l+1} = R R^T it is scale^2 sum_h sum_k M_hk M_hk^T, where
// M_hk = sum_g R[g, k] Xi_{hg}.
void WeightGibbs::add_mixed_gram(int l, MatrixXd& k) const {
  const MatrixXd& effective = effective_[l + 1];
  const MatrixXd root = numerics::symmetric_square_root(effective * effective.transpose());
  const Index examples = kernels_->examples();
  const double scale = network_->scale(l);
  MatrixXd mixed(network_->width(l), examples);
  for (Index h = 0; h < network_->heads(l); ++h) {
    const auto part = below(l).middleCols(h * root.rows() * examples, root.rows() * examples);
    for (Index column = 0; column < root.cols(); ++column) {
      mixed = root(0, column) * part.leftCols(examples);
      for (Index g = 1; g < root.rows(); ++g) {
        mixed += root(g, column) * part.middleCols(g * examples, examples);
      }
      numerics::rank_update_lower(scale * scale, mixed, Transpose::kYes, 1.0, k);
    }
  }
}

// G[g, g'] = scale^2 sum_h Xi_{hg} Xi_{hg'}^T for all pairs.
MatrixXd WeightGibbs::pair_gram(int l) const {
  const Index size = network_->paths(l + 1) * kernels_->examples();
  const double square = network_->scale(l) * network_->scale(l);
  MatrixXd pairs = MatrixXd::Zero(size, size);
  for (Index h = 0; h < network_->heads(l); ++h) {
    numerics::rank_update_lower(square, below(l).middleCols(h * size, size), Transpose::kYes, 1.0,
                                pairs);
  }
  numerics::mirror_lower(pairs);
  return pairs;
}

// Adds sum_{g,g'} U_{l+1}[(g,c), (g',c')] G[g, g'] to the blocks c >= c' of k.
void WeightGibbs::add_pairs(int l, const MatrixXd& pairs, MatrixXd& k) const {
  const MatrixXd u = effective_[l + 1] * effective_[l + 1].transpose();
  const Index examples = kernels_->examples();
  const Index outputs = network_->outputs();
  const Index paths = network_->paths(l + 1);
  for (Index c = 0; c < outputs; ++c) {
    for (Index d = 0; d <= c; ++d) {
      auto block = k.block(c * examples, d * examples, examples, examples);
      for (Index g = 0; g < paths; ++g) {
        for (Index e = 0; e < paths; ++e) {
          block += u(g * outputs + c, e * outputs + d) *
                   pairs.block(g * examples, e * examples, examples, examples);
        }
      }
    }
  }
}

SpdFactor WeightGibbs::factor(MatrixXd gram, int l) const {
  gram.diagonal().array() += temperature_;
  std::optional<SpdFactor> result = SpdFactor::factor(std::move(gram));
  if (!result) {
    throw Error(
        ErrorKind::kBadStudy,
        fmt::format(
            "model.temperature = {}: must be larger: block Gibbs cannot draw the weights of {}, "
            "because its Phi Phi^T + T I is not positive definite to working precision",
            temperature_,
            l == 0                 ? "V_0"
            : l == network_->top() ? "the readout"
                                   : fmt::format("layer {}", l)));
  }
  return std::move(*result);
}

void WeightGibbs::draw_prior(int l, Rng& rng, Eigen::Ref<VectorXd> position) {
  MatrixXd& above = activation_[l];
  above.setZero(network_->rows(l), network_->paths(l + 1) * kernels_->examples());
  const Index width = network_->width(l);
  for (Index h = 0; h < network_->heads(l); ++h) {
    const auto part = below(l).middleCols(h * above.cols(), above.cols());
    Eigen::Map<MatrixXd> z = network_->mutable_weights(position, l, h);
    for (Index j = 0; j < width; j += kTileColumns) {
      const Index count = std::min(kTileColumns, width - j);
      rng.fill_normal(entries(z.middleCols(j, count)));
      multiply(network_->scale(l), z.middleCols(j, count), Transpose::kNo,
               part.middleRows(j, count), Transpose::kNo, 1.0, above);
    }
  }
}

MatrixXd WeightGibbs::dual(const SpdFactor& system, MatrixXd residual, Rng& rng) const {
  MatrixXd noise(residual.rows(), residual.cols());
  rng.fill_normal(entries(noise));
  residual -= std::sqrt(temperature_) * noise;
  const Index columns = residual.size() / system.size();  // the readout's outputs are independent
  const MatrixXd solved = system.solve(residual.reshaped(system.size(), columns));
  return solved.reshaped(residual.rows(), residual.cols());
}

// Z_l^h += scale E_{l+1}^T D_h with D_h[(g, c), .] = dual_c^T Xi_{hg}, and Xi_{l+1} with it.
double WeightGibbs::shift(int l, const MatrixXd& dual, Eigen::Ref<VectorXd> position) {
  MatrixXd& above = activation_[l];
  const MatrixXd& effective = effective_[l + 1];
  const Index examples = kernels_->examples();
  const Index outputs = network_->outputs();
  const Index width = network_->width(l);
  const double scale = network_->scale(l);
  MatrixXd direction(effective.rows(), width);
  MatrixXd response = MatrixXd::Zero(above.cols(), effective.rows());
  double squares = 0.0;
  for (Index h = 0; h < network_->heads(l); ++h) {
    const auto part = below(l).middleCols(h * above.cols(), above.cols());
    for (Index g = 0; g < network_->paths(l + 1); ++g) {
      multiply(1.0, dual, Transpose::kYes, part.middleCols(g * examples, examples), Transpose::kYes,
               0.0, direction.middleRows(g * outputs, outputs));
    }
    multiply(1.0, part, Transpose::kYes, direction, Transpose::kYes, 1.0, response);
    Eigen::Map<MatrixXd> z = network_->mutable_weights(position, l, h);
    for (Index j = 0; j < width; j += kTileColumns) {
      const Index count = std::min(kTileColumns, width - j);
      multiply(scale, effective, Transpose::kYes, direction.middleCols(j, count), Transpose::kNo,
               1.0, z.middleCols(j, count));
      squares += z.middleCols(j, count).squaredNorm();
    }
  }
  multiply(scale * scale, effective, Transpose::kYes, response, Transpose::kYes, 1.0, above);
  return squares;
}

// f_c = scale Xi_{L+1} z_c: the outputs are independent, with one P x P system.
double WeightGibbs::draw_readout(const MatrixXd& labels, Rng& rng, Eigen::Ref<VectorXd> position) {
  const int top = network_->top();
  const MatrixXd& activation = activation_[top - 1];
  const double scale = network_->scale(top);
  MatrixXd k(activation.cols(), activation.cols());
  numerics::rank_update_lower(scale * scale, activation, Transpose::kYes, 0.0, k);
  const SpdFactor system = factor(std::move(k), top);
  Eigen::Map<MatrixXd> z = network_->mutable_weights(position, top);
  rng.fill_normal(entries(z));
  MatrixXd residual = labels;
  multiply(-scale, activation, Transpose::kYes, z, Transpose::kYes, 1.0, residual);
  const MatrixXd solved = dual(system, std::move(residual), rng);
  multiply(scale, solved, Transpose::kYes, activation, Transpose::kYes, 1.0, z);
  return z.squaredNorm();
}

}  // namespace headway::posterior
