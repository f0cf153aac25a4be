#include "headway/posterior/bartlett_chain.hpp"

#include <fmt/format.h>

#include <Eigen/QR>
#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "headway/numerics/symmetric.hpp"

namespace headway::posterior {
namespace {

/// Degrees of freedom of diagonal entry i (from 0): N - i.
double degrees(Index width, Index i) { return static_cast<double>(width - i); }

/// log Gamma(x) of x > 0. std::lgamma would write the sign where all threads write it.
double log_gamma(double x) {
  int sign = 1;
  return lgamma_r(x, &sign);
}

/// log density of x where sqrt(k) exp(x / sqrt(2k)) ~ chi_k.
double log_chi_density(double k, double x, double& derivative) {
  // chi_k (eqs. 37 and 38): log f(b) = (k-1) log b - b^2/2 - (k/2-1) log 2 - lgamma(k/2), and
  // db/dx = b / sqrt(2k).
  const double scaled = x / std::sqrt(2.0 * k);
  const double square = k * std::exp(2.0 * scaled);  // b^2
  derivative = (k - square) / std::sqrt(2.0 * k);
  return k * (0.5 * std::log(k) + scaled) - 0.5 * square - 0.5 * std::log(2.0 * k) -
         (0.5 * k - 1.0) * std::numbers::ln2 - log_gamma(0.5 * k);
}

}  // namespace

BartlettChain::BartlettChain(model::Architecture architecture, Coordinates coordinates)
    : architecture_(std::move(architecture)) {
  build(coordinates);
}

BartlettChain BartlettChain::above(const model::Architecture& architecture, int lowest) {
  BartlettChain chain;
  chain.architecture_ = architecture;
  chain.lowest_ = lowest;
  chain.build(Coordinates::kSampling);
  return chain;
}

void BartlettChain::build(Coordinates coordinates) {
  architecture_.validate();
  const int top = architecture_.layers() + 1;
  layers_.resize(top - lowest_ + 1);
  Index below_columns = architecture_.outputs;  // columns of F_{l+1}; F_{L+2} = I_C
  for (int l = top; l >= lowest_; --l) {
    Layer& layer = layers_[l - lowest_];
    layer.heads = l == top ? 1 : architecture_.heads[l - 1];
    layer.width = architecture_.widths[l - 1];
    layer.rows = layer.heads * below_columns;
    layer.full =
        coordinates == Coordinates::kSampling && layer.rows > 1 && layer.width <= layer.rows + 1;
    layer.columns = layer.full ? layer.width : std::min(layer.rows, layer.width);
    layer.scale = std::sqrt(architecture_.variance(l) / architecture_.width(l));
    layer.offset = dimension_;
    for (Index j = 0; j < layer.columns; ++j) dimension_ += layer.rows - layer.first_row(j);
    below_columns = layer.columns;
  }
}

std::vector<std::string> BartlettChain::coordinate_names() const {
  std::vector<std::string> names;
  const int top = static_cast<int>(layers_.size());
  for (int l = top; l >= 1; --l) {
    const std::string layer = l == top ? "a" : std::to_string(l + lowest_ - 1);
    for (Index j = 0; j < layers_[l - 1].columns; ++j) {
      for (Index i = layers_[l - 1].first_row(j); i < layers_[l - 1].rows; ++i)
        names.push_back(fmt::format("B_{}[{},{}]", layer, i + 1, j + 1));
    }
  }
  return names;
}

std::vector<BartlettChain::Block> BartlettChain::blocks() const {
  std::vector<Block> blocks;
  Index end = dimension_;
  for (const Layer& layer : layers_) {
    blocks.insert(blocks.begin(), Block{layer.offset, end - layer.offset});
    end = layer.offset;
  }
  return blocks;
}

BartlettChain::Factors BartlettChain::factors(const Eigen::Ref<const VectorXd>& x) const {
  Factors result;
  const int top = static_cast<int>(layers_.size());
  result.factor.resize(top);
  result.bartlett.resize(top);
  for (int l = top; l >= 1; --l) {
    const Layer& layer = layers_[l - 1];
    MatrixXd b = MatrixXd::Zero(layer.rows, layer.columns);
    Index k = layer.offset;
    for (Index j = 0; j < layer.columns; ++j) {
      if (!layer.full) {
        const double dof = degrees(layer.width, j);
        b(j, j) = std::sqrt(dof) * std::exp(x[k++] / std::sqrt(2.0 * dof));
      }
      for (Index i = layer.first_normal(j); i < layer.rows; ++i) b(i, j) = x[k++];
    }
    if (l == top) {
      result.factor[l - 1] = layer.scale * b;
    } else {
      const MatrixXd& above = result.factor[l];
      MatrixXd& f = result.factor[l - 1];
      f.resize(layer.heads * above.rows(), layer.columns);
      for (Index h = 0; h < layer.heads; ++h) {
        f.middleRows(h * above.rows(), above.rows()).noalias() =
            layer.scale * above * b.middleRows(h * above.cols(), above.cols());
      }
    }
    result.bartlett[l - 1] = std::move(b);
  }
  return result;
}

VectorXd BartlettChain::trapezoidal(const Eigen::Ref<const VectorXd>& x) const {
  const bool any_full =
      std::any_of(layers_.begin(), layers_.end(), [](const Layer& layer) { return layer.full; });
  if (!any_full) return x;
  const Factors all = factors(x);
  std::vector<double> out;
  MatrixXd turn;  // Q of the layer above: F_{l+1} is (trapezoidal factor) Q
  for (int l = static_cast<int>(layers_.size()); l >= 1; --l) {
    const Layer& layer = layers_[l - 1];
    const MatrixXd& b = all.bartlett[l - 1];
    MatrixXd turned = b;
    if (turn.size() > 0) {
      turned.resize(layer.heads * turn.rows(), b.cols());
      for (Index h = 0; h < layer.heads; ++h) {
        turned.middleRows(h * turn.rows(), turn.rows()).noalias() =
            turn * b.middleRows(h * turn.cols(), turn.cols());
      }
    }
    // turned = L Q by the QR factors of its transpose, with L_jj > 0.
    const Index columns = std::min(turned.rows(), turned.cols());
    const Eigen::HouseholderQR<MatrixXd> qr(turned.transpose());
    MatrixXd lower = qr.matrixQR().topRows(columns).triangularView<Eigen::Upper>().transpose();
    turn = (qr.householderQ() * MatrixXd::Identity(turned.cols(), columns)).transpose();
    for (Index j = 0; j < columns; ++j) {
      if (lower(j, j) < 0.0) {
        lower.col(j) *= -1.0;
        turn.row(j) *= -1.0;
      }
      const double dof = degrees(layer.width, j);
      out.push_back(std::sqrt(2.0 * dof) * std::log(lower(j, j) / std::sqrt(dof)));
      for (Index i = j + 1; i < lower.rows(); ++i) out.push_back(lower(i, j));
    }
  }
  return Eigen::Map<const VectorXd>(out.data(), static_cast<Index>(out.size()));
}

theory::OrderParameters BartlettChain::order_parameters(const Factors& factors) {
  theory::OrderParameters u;
  for (std::size_t l = 0; l + 1 < factors.factor.size(); ++l) {
    u.layers.emplace_back(factors.factor[l] * factors.factor[l].transpose());
  }
  u.readout = factors.factor.back() * factors.factor.back().transpose();
  return u;
}

double BartlettChain::log_prior(const Eigen::Ref<const VectorXd>& x,
                                Eigen::Ref<VectorXd> gradient) const {
  double sum = 0.0;
  Index normals = 0;
  for (const Layer& layer : layers_) {
    Index k = layer.offset;
    for (Index j = 0; j < layer.columns; ++j) {
      if (!layer.full) {
        sum += log_chi_density(degrees(layer.width, j), x[k], gradient[k]);
        ++k;
      }
      for (Index i = layer.first_normal(j); i < layer.rows; ++i, ++k) {
        sum -= 0.5 * x[k] * x[k];
        gradient[k] = -x[k];
        ++normals;
      }
    }
  }
  return sum - 0.5 * static_cast<double>(normals) * std::log(2.0 * std::numbers::pi);
}

void BartlettChain::draw_prior(Rng& rng, Eigen::Ref<VectorXd> x) const {
  for (const Layer& layer : layers_) {
    Index k = layer.offset;
    for (Index j = 0; j < layer.columns; ++j) {
      if (!layer.full) {
        const double dof = degrees(layer.width, j);
        x[k++] = std::sqrt(2.0 * dof) * 0.5 * std::log(rng.chi_squared(dof) / dof);
      }
      for (Index i = layer.first_normal(j); i < layer.rows; ++i) x[k++] = rng.normal();
    }
  }
}

MatrixXd BartlettChain::first_layer_jacobian(const Factors& factors) const {
  const MatrixXd& f = factors.factor.front();
  const Index unknowns = numerics::symmetric_size(f.rows());
  MatrixXd transposed = MatrixXd::Zero(dimension_, unknowns);
  for (Index k = 0; k < unknowns; ++k) {
    // svec(U)_k = <E_k, U>, so its gradient to F is 2 E_k F.
    const MatrixXd e = numerics::vector_to_symmetric(VectorXd::Unit(unknowns, k), f.rows());
    pull_back(factors, 2.0 * e * f, transposed.col(k));
  }
  return transposed;
}

void BartlettChain::pull_back(const Factors& factors, const MatrixXd& first_factor_gradient,
                              Eigen::Ref<VectorXd> gradient) const {
  const int top = static_cast<int>(layers_.size());
  MatrixXd df = first_factor_gradient;
  for (int l = 1; l <= top; ++l) {
    const Layer& layer = layers_[l - 1];
    const MatrixXd& b = factors.bartlett[l - 1];
    MatrixXd db(layer.rows, layer.columns);
    MatrixXd above_gradient;
    if (l == top) {
      db = layer.scale * df;
    } else {
      const MatrixXd& above = factors.factor[l];
      above_gradient = MatrixXd::Zero(above.rows(), above.cols());
      for (Index h = 0; h < layer.heads; ++h) {
        const MatrixXd part = layer.scale * df.middleRows(h * above.rows(), above.rows());
        db.middleRows(h * above.cols(), above.cols()).noalias() = above.transpose() * part;
        above_gradient.noalias() += part * b.middleRows(h * above.cols(), above.cols()).transpose();
      }
    }
    Index k = layer.offset;
    for (Index j = 0; j < layer.columns; ++j) {
      if (!layer.full) {
        gradient[k++] += db(j, j) * b(j, j) / std::sqrt(2.0 * degrees(layer.width, j));
      }
      for (Index i = layer.first_normal(j); i < layer.rows; ++i) gradient[k++] += db(i, j);
    }
    df = std::move(above_gradient);
  }
}

}  // namespace headway::posterior
