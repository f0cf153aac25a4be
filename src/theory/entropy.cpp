#include "headway/theory/entropy.hpp"

#include <algorithm>
#include <cmath>

#include "headway/error.hpp"
#include "headway/numerics/dense.hpp"
#include "headway/numerics/symmetric.hpp"

namespace headway::theory {
namespace {

using numerics::SpdFactor;
using numerics::symmetric_index;
using numerics::symmetric_kronecker;
using numerics::symmetric_size;

struct Inverses {
  std::vector<MatrixXd> inverse;        // U_l^{-1}, l = 1..L+1 at [l - 1]
  std::vector<double> log_determinant;  // logdet U_l
};

std::optional<Inverses> invert_all(const OrderParameters& u) {
  Inverses result;
  const int top = static_cast<int>(u.layers.size()) + 1;
  for (int l = 1; l <= top; ++l) {
    const std::optional<SpdFactor> factor = SpdFactor::factor(u.at(l));
    if (!factor) return std::nullopt;
    result.inverse.push_back(factor->inverse());
    result.log_determinant.push_back(factor->log_determinant());
  }
  return result;
}

Inverses invert_or_throw(const OrderParameters& u, const char* where) {
  std::optional<Inverses> inverses = invert_all(u);
  if (!inverses)
    throw Error(ErrorKind::kInternal,
                std::string(where) + ": an order parameter is not positive definite");
  return std::move(*inverses);
}

double trace_of_product(const MatrixXd& a, const MatrixXd& b) { return a.cwiseProduct(b).sum(); }

}  // namespace

std::optional<Entropy> evaluate_entropy(const model::Architecture& architecture,
                                        const OrderParameters& u) {
  const std::optional<Inverses> inv = invert_all(u);
  if (!inv) return std::nullopt;
  const int layers = architecture.layers();
  const double na = architecture.width(layers + 1);
  const double sa2 = architecture.variance(layers + 1);
  Entropy s;
  s.gradient.resize(layers + 1);
  // eq. 20: N_a (tr U_a / s_a^2 - logdet U_a)
  s.value = na * (u.readout.trace() / sa2 - inv->log_determinant[layers]);
  s.gradient[layers] = -na * inv->inverse[layers];
  s.gradient[layers].diagonal().array() += na / sa2;
  for (int l = layers; l >= 1; --l) {
    const double n = architecture.width(l);
    const double s2 = architecture.variance(l);
    const Index h = architecture.heads[l - 1];
    const MatrixXd partial = partial_trace(u.at(l), h);  // u_l
    const MatrixXd& upper = inv->inverse[l];             // U_{l+1}^{-1}
    s.value += n * (trace_of_product(upper, partial) / s2 - inv->log_determinant[l - 1] +
                    static_cast<double>(h) * inv->log_determinant[l]);
    // eq. 23: dS/dU_l += N_l (I kron U_{l+1}^{-1} / s_l^2 - U_l^{-1})
    s.gradient[l - 1] = n * (repeat_diagonal(upper, h) / s2 - inv->inverse[l - 1]);
    // dS/dU_{l+1} += N_l (-U_{l+1}^{-1} u_l U_{l+1}^{-1} / s_l^2 + H_l U_{l+1}^{-1})
    s.gradient[l] += n * (static_cast<double>(h) * upper - upper * partial * upper / s2);
  }
  return s;
}

MatrixXd entropy_hessian(const model::Architecture& architecture, const OrderParameters& u) {
  const Inverses inv = invert_or_throw(u, "entropy_hessian");
  const int layers = architecture.layers();
  std::vector<Index> offset(layers + 2, 0);
  for (int l = 1; l <= layers + 1; ++l) offset[l] = offset[l - 1] + symmetric_size(u.at(l).rows());
  MatrixXd hessian = MatrixXd::Zero(offset[layers + 1], offset[layers + 1]);
  for (int l = 1; l <= layers + 1; ++l) {  // -N_l logdet U_l
    const Index size = offset[l] - offset[l - 1];
    hessian.block(offset[l - 1], offset[l - 1], size, size) +=
        architecture.width(l) * symmetric_kronecker(inv.inverse[l - 1], inv.inverse[l - 1]);
  }
  for (int l = 1; l <= layers; ++l) {  // N_l (tr[U_{l+1}^{-1} u_l] / s_l^2 + H_l logdet U_{l+1})
    const double n = architecture.width(l);
    const double s2 = architecture.variance(l);
    const Index h = architecture.heads[l - 1];
    const MatrixXd& v = inv.inverse[l];
    const MatrixXd vuv = v * partial_trace(u.at(l), h) * v;
    const MatrixXd vv = symmetric_kronecker(v, v);
    const Index upper_size = vv.rows();
    hessian.block(offset[l], offset[l], upper_size, upper_size) +=
        (2.0 * n / s2) * symmetric_kronecker(v, vuv) - n * static_cast<double>(h) * vv;
    // Cross terms: only entries of U_l inside one head's diagonal block have a partial trace.
    const Index q = v.rows();
    for (Index block = 0; block < h; ++block) {
      for (Index i = 0; i < q; ++i) {
        for (Index j = 0; j <= i; ++j) {
          const Index lower_index = offset[l - 1] + symmetric_index(block * q + i, block * q + j);
          const VectorXd column = (-n / s2) * vv.col(symmetric_index(i, j));
          hessian.block(offset[l], lower_index, upper_size, 1) += column;
          hessian.block(lower_index, offset[l], 1, upper_size) += column.transpose();
        }
      }
    }
  }
  return hessian;
}

std::vector<MatrixXd> entropy_gradient_second_derivative(const model::Architecture& architecture,
                                                         const OrderParameters& u,
                                                         const OrderParameters& direction) {
  const Inverses inv = invert_or_throw(u, "entropy_gradient_second_derivative");
  const int layers = architecture.layers();
  std::vector<MatrixXd> first(layers + 1);   // d U_l^{-1} = -V D V
  std::vector<MatrixXd> second(layers + 1);  // d^2 U_l^{-1} = 2 V D V D V
  std::vector<MatrixXd> result(layers + 1);
  for (int l = 1; l <= layers + 1; ++l) {
    const MatrixXd& v = inv.inverse[l - 1];
    const MatrixXd vd = v * direction.at(l);
    first[l - 1] = -vd * v;
    second[l - 1] = 2.0 * vd * vd * v;
    result[l - 1] = -architecture.width(l) * second[l - 1];
  }
  for (int l = 1; l <= layers; ++l) {
    const double n = architecture.width(l);
    const double s2 = architecture.variance(l);
    const Index h = architecture.heads[l - 1];
    const MatrixXd partial = partial_trace(u.at(l), h);
    const MatrixXd partial_direction = partial_trace(direction.at(l), h);
    const MatrixXd& v = inv.inverse[l];
    result[l - 1] += (n / s2) * repeat_diagonal(second[l], h);
    // d^2 of -V u V / s^2 + H V, with u linear in the direction
    const MatrixXd one_sided = second[l] * partial * v + 2.0 * first[l] * partial_direction * v;
    const MatrixXd vuv = one_sided + one_sided.transpose() + 2.0 * first[l] * partial * first[l];
    result[l] += n * (static_cast<double>(h) * second[l] - vuv / s2);
  }
  return result;
}

int eliminate_upper_layers(const model::Architecture& architecture, OrderParameters& u,
                           double tolerance, int max_sweeps) {
  const int layers = architecture.layers();
  int sweep = 0;
  for (double change = INFINITY; change > tolerance && sweep < max_sweeps; ++sweep) {
    change = 0.0;
    for (int l = 2; l <= layers + 1; ++l) {
      const double n = architecture.width(l);
      const double n_below = architecture.width(l - 1);
      const Index h_below = architecture.heads[l - 2];
      // Eq. 25, N_l U a U + c U - N_{l-1} q = 0, with a, q, c for its Lambda, Theta, kappa.
      MatrixXd a;
      if (l == layers + 1) {
        a = MatrixXd::Identity(u.readout.rows(), u.readout.rows()) / architecture.variance(l);
      } else {
        const std::optional<SpdFactor> above = SpdFactor::factor(u.at(l + 1));
        if (!above)
          throw Error(ErrorKind::kInternal, "eliminate_upper_layers: U is not positive definite");
        a = repeat_diagonal(above->inverse(), architecture.heads[l - 1]) / architecture.variance(l);
      }
      const MatrixXd q = partial_trace(u.at(l - 1), h_below) / architecture.variance(l - 1);
      const double c = n_below * static_cast<double>(h_below) - n;
      const MatrixXd root = numerics::symmetric_square_root(a);
      const MatrixXd inverse_root = numerics::symmetric_inverse_square_root(a);
      MatrixXd inside = (4.0 * n * n_below) * root * q * root;
      inside = 0.5 * (inside + inside.transpose()).eval();
      inside.diagonal().array() += c * c;
      MatrixXd middle = numerics::symmetric_square_root(inside);
      middle.diagonal().array() -= c;
      MatrixXd next = inverse_root * middle * inverse_root / (2.0 * n);
      next = 0.5 * (next + next.transpose()).eval();
      change =
          std::max(change, (next - u.at(l)).cwiseAbs().maxCoeff() / next.cwiseAbs().maxCoeff());
      u.at(l) = std::move(next);
    }
  }
  return sweep;
}

}  // namespace headway::theory
