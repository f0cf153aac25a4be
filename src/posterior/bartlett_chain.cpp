#include "headway/posterior/bartlett_chain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "headway/numerics/orthogonal.hpp"
#include "headway/numerics/symmetric.hpp"
#include "posterior/conditional_draws.hpp"

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

/// B = L Q by the QR factors of its transpose, with L_jj > 0.
struct Trapezoidal {
  MatrixXd lower, turn;
};
Trapezoidal lower_trapezoidal(const MatrixXd& b) {
  const Index columns = std::min(b.rows(), b.cols());
  const auto qr = numerics::OrthogonalFactor::factor(b.transpose(), false);
  Trapezoidal result{qr.r().transpose(),
                     qr.rotate_back(MatrixXd::Identity(b.cols(), columns)).transpose()};
  for (Index j = 0; j < columns; ++j) {
    if (result.lower(j, j) >= 0.0) continue;
    result.lower.col(j) *= -1.0;
    result.turn.row(j) *= -1.0;
  }
  return result;
}

/// (I kron Q) B, as many blocks as B has.
MatrixXd turn_rows(const MatrixXd& turn, const MatrixXd& b) {
  const Index heads = b.rows() / turn.cols();
  MatrixXd turned(heads * turn.rows(), b.cols());
  for (Index h = 0; h < heads; ++h) {
    turned.middleRows(h * turn.rows(), turn.rows()).noalias() =
        turn * b.middleRows(h * turn.cols(), turn.cols());
  }
  return turned;
}

/// Rows (h, k) of B as a column for each k, and back.
MatrixXd rows_as_columns(const MatrixXd& b, Index columns) {
  const Index heads = b.rows() / columns;
  MatrixXd result(heads * b.cols(), columns);
  for (Index h = 0; h < heads; ++h) {
    result.middleRows(h * b.cols(), b.cols()) = b.middleRows(h * columns, columns).transpose();
  }
  return result;
}
void columns_as_rows(const MatrixXd& from, MatrixXd& b) {
  const Index columns = from.cols(), heads = b.rows() / columns;
  for (Index h = 0; h < heads; ++h) {
    b.middleRows(h * columns, columns) = from.middleRows(h * b.cols(), b.cols()).transpose();
  }
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
    Trapezoidal turned = lower_trapezoidal(turn.size() > 0 ? turn_rows(turn, b) : b);
    const MatrixXd& lower = turned.lower;
    turn = std::move(turned.turn);
    for (Index j = 0; j < lower.cols(); ++j) {
      const double dof = degrees(layer.width, j);
      out.push_back(std::sqrt(2.0 * dof) * std::log(lower(j, j) / std::sqrt(dof)));
      for (Index i = j + 1; i < lower.rows(); ++i) out.push_back(lower(i, j));
    }
  }
  return Eigen::Map<const VectorXd>(out.data(), static_cast<Index>(out.size()));
}

void BartlettChain::draw_along_orbits(Rng& rng, Eigen::Ref<VectorXd> x, MatrixXd& below) const {
  std::vector<MatrixXd> b = factors(x).bartlett;
  for (int l = static_cast<int>(layers_.size()); l >= 1; --l) {
    const Layer& layer = layers_[l - 1];
    MatrixXd& above = b[static_cast<std::size_t>(l - 1)];
    MatrixXd& next = l > 1 ? b[static_cast<std::size_t>(l - 2)] : below;
    MatrixXd columns = rows_as_columns(next, above.cols());
    const Index width = l > 1 ? layers_[l - 2].width : next.cols();
    draw_along_orbit(rng, above, columns,
                     {.below = static_cast<double>(next.rows() / above.cols() * width),
                      .width = layer.full ? 0 : layer.width});
    columns_as_rows(columns, next);
    if (l > 1 && !layers_[l - 2].full) {  // it has lost its form
      Trapezoidal turned = lower_trapezoidal(next);
      next = std::move(turned.lower);
      MatrixXd& last = l > 2 ? b[static_cast<std::size_t>(l - 3)] : below;
      last = turn_rows(turned.turn, last);
    }
    write(layer, above, x);
  }
}

void BartlettChain::write(const Layer& layer, const MatrixXd& b, Eigen::Ref<VectorXd> x) {
  Index k = layer.offset;
  for (Index j = 0; j < layer.columns; ++j) {
    if (!layer.full) {
      const double dof = degrees(layer.width, j);
      x[k++] = std::sqrt(2.0 * dof) * std::log(b(j, j) / std::sqrt(dof));
    }
    for (Index i = layer.first_normal(j); i < layer.rows; ++i) x[k++] = b(i, j);
  }
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
