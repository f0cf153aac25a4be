#include "headway/numerics/symmetric.hpp"

#include <algorithm>
#include <limits>

#include "headway/numerics/dense.hpp"

namespace headway::numerics {
namespace {

template <class Function>
MatrixXd apply_to_spectrum(const MatrixXd& a, Function f) {
  if (!a.allFinite())
    return MatrixXd::Constant(a.rows(), a.cols(), std::numeric_limits<double>::quiet_NaN());
  const SymmetricEigen eigen = symmetric_eigen(a, true);
  const VectorXd values = eigen.values.unaryExpr(f);
  return eigen.vectors * values.asDiagonal() * eigen.vectors.transpose();
}

}  // namespace

VectorXd symmetric_to_vector(const Eigen::Ref<const MatrixXd>& a) {
  const Index n = a.rows();
  VectorXd v(symmetric_size(n));
  const double half_weight = 0.5 * std::sqrt(2.0);
  for (Index i = 0, k = 0; i < n; ++i) {
    for (Index j = 0; j < i; ++j) v[k++] = half_weight * (a(i, j) + a(j, i));
    v[k++] = a(i, i);
  }
  return v;
}

MatrixXd vector_to_symmetric(const Eigen::Ref<const VectorXd>& v, Index n) {
  MatrixXd a(n, n);
  const double scale = 1.0 / std::sqrt(2.0);
  for (Index i = 0, k = 0; i < n; ++i) {
    for (Index j = 0; j < i; ++j) a(i, j) = a(j, i) = scale * v[k++];
    a(i, i) = v[k++];
  }
  return a;
}

MatrixXd symmetric_kronecker(const MatrixXd& a, const MatrixXd& b) {
  const Index n = a.rows();
  const Index m = symmetric_size(n);
  MatrixXd result(m, m);
  for (Index i = 0, row = 0; i < n; ++i) {
    for (Index j = 0; j <= i; ++j, ++row) {
      const double wij = 0.25 * symmetric_weight(i, j);
      for (Index k = 0, col = 0; col <= row; ++k) {
        for (Index l = 0; l <= k && col <= row; ++l, ++col) {
          const double sum =
              a(i, k) * b(j, l) + a(i, l) * b(j, k) + a(j, k) * b(i, l) + a(j, l) * b(i, k);
          result(row, col) = result(col, row) = wij * symmetric_weight(k, l) * sum;
        }
      }
    }
  }
  return result;
}

MatrixXd symmetric_congruence(const MatrixXd& f) {
  const Index n = f.rows();
  const Index m = symmetric_size(n);
  MatrixXd result(m, m);
  for (Index k = 0, col = 0; k < n; ++k) {
    for (Index l = 0; l <= k; ++l, ++col) {
      const double wkl = 0.5 * symmetric_weight(k, l);
      for (Index i = 0, row = 0; i < n; ++i) {
        for (Index j = 0; j <= i; ++j, ++row) {
          const double sum = f(i, k) * f(j, l) + f(i, l) * f(j, k);
          result(row, col) = wkl * symmetric_weight(i, j) * sum;
        }
      }
    }
  }
  return result;
}

MatrixXd symmetric_exponential(const MatrixXd& a) {
  return apply_to_spectrum(a, [](double x) { return std::exp(x); });
}

MatrixXd symmetric_square_root(const MatrixXd& a) {
  return apply_to_spectrum(a, [](double x) { return std::sqrt(std::max(x, 0.0)); });
}

MatrixXd symmetric_inverse_square_root(const MatrixXd& a) {
  return apply_to_spectrum(a, [](double x) { return 1.0 / std::sqrt(x); });
}

}  // namespace headway::numerics
