#include "headway/numerics/normal_products.hpp"

#include <boost/math/quadrature/gauss.hpp>
#include <cmath>
#include <numbers>

#include "catch.hpp"

using namespace headway;
using numerics::Nonlinearity;

namespace {

/// E phi(z) phi(z') by quadrature: z = sqrt(n) a, z' = sqrt(m) (r a + sqrt(1 - r^2) b). In polar
/// coordinates relu needs the angle alone, and its kink is where an angle is a right one.
double by_angles(double c, double n, double m) {
  const double r = std::acos(c / std::sqrt(n * m));
  const auto product = [&](double angle) {
    return std::max(0.0, std::cos(angle)) * std::max(0.0, std::cos(angle - r));
  };
  // phi is positively homogeneous: the mean of the squared radius is 2.
  const double half = std::numbers::pi / 2;
  return std::sqrt(n * m) * 2.0 *
         boost::math::quadrature::gauss<double, 30>::integrate(product, r - half, half) /
         (2.0 * std::numbers::pi);
}
double by_plane(double c, double n, double m) {
  const double r = c / std::sqrt(n * m);
  const auto over_a = [&](double a) {
    const auto over_b = [&](double b) {
      return std::erf(std::sqrt(n) * a) *
             std::erf(std::sqrt(m) * (r * a + std::sqrt(1 - r * r) * b)) *
             std::exp(-0.5 * (a * a + b * b)) / (2.0 * std::numbers::pi);
    };
    return boost::math::quadrature::gauss<double, 160>::integrate(over_b, -9.0, 9.0);
  };
  return boost::math::quadrature::gauss<double, 160>::integrate(over_a, -9.0, 9.0);
}

double product(Nonlinearity phi, double c, double n, double m) {
  MatrixXd value = MatrixXd::Constant(1, 1, c);
  numerics::normal_products(phi, VectorXd::Constant(1, n), VectorXd::Constant(1, m), value);
  return value(0, 0);
}

}  // namespace

TEST_CASE("means of products of two normal variables are integrals over the plane") {
  for (const double r : {-0.99, -0.6, -0.5, -0.2, 0.0, 0.3, 0.5, 0.501, 0.9, 0.999}) {
    for (const auto& [n, m] : {std::pair{0.4, 1.7}, {2.0, 2.0}, {0.01, 0.5}}) {
      const double c = r * std::sqrt(n * m);
      REQUIRE(std::abs(product(Nonlinearity::kRelu, c, n, m) - by_angles(c, n, m)) < 1e-14);
      REQUIRE(std::abs(product(Nonlinearity::kErf, c, n, m) - by_plane(c, n, m)) < 1e-10);
      REQUIRE(product(Nonlinearity::kIdentity, c, n, m) == c);
    }
  }
}

TEST_CASE("at the ends the mean of a product is known") {
  for (const double n : {1e-8, 1.0, 1e8}) {
    REQUIRE(std::abs(product(Nonlinearity::kRelu, n, n, n) - 0.5 * n) < 1e-14 * n);
    REQUIRE(std::abs(product(Nonlinearity::kRelu, -n, n, n)) < 1e-14 * n);
    // Rounding may push a correlation past 1.
    REQUIRE(std::isfinite(product(Nonlinearity::kRelu, n * (1 + 1e-12), n, n)));
  }
  REQUIRE(product(Nonlinearity::kRelu, 0.0, 0.0, 2.0) == 0.0);
  REQUIRE(product(Nonlinearity::kErf, 0.0, 0.0, 2.0) == 0.0);
}

TEST_CASE("slopes of a weighted sum of products are its finite differences") {
  // More rows than one vector has, and a rest.
  const Index rows = 19, columns = 3;
  const VectorXd n = VectorXd::LinSpaced(rows, 0.2, 2.0),
                 m = VectorXd::LinSpaced(columns, 0.3, 1.1);
  MatrixXd c(rows, columns), w(rows, columns);
  for (Index j = 0; j < columns; ++j) {
    for (Index i = 0; i < rows; ++i) {
      const auto k = static_cast<double>(i + 5 * j);
      c(i, j) = 0.95 * std::sin(k) * std::sqrt(n[i] * m[j]);
      w(i, j) = std::cos(3.0 * k);
    }
  }
  for (const Nonlinearity phi :
       {Nonlinearity::kRelu, Nonlinearity::kErf, Nonlinearity::kIdentity}) {
    const auto sum = [&](const MatrixXd& at, const VectorXd& rows_at, const VectorXd& columns_at) {
      MatrixXd value = at;
      numerics::normal_products(phi, rows_at, columns_at, value);
      return value.cwiseProduct(w).sum();
    };
    MatrixXd by_c = c;
    numerics::VarianceSlopes slopes;
    numerics::normal_product_slopes(phi, n, m, w, by_c, slopes);
    const double h = 1e-5;
    const auto close = [&](double slope, double up, double down) {
      return std::abs(slope - (up - down) / (2.0 * h)) < 1e-8;
    };
    for (Index i = 0; i < rows; ++i) {
      VectorXd step = VectorXd::Zero(rows);
      step[i] = h;
      REQUIRE(close(slopes.by_n[i], sum(c, n + step, m), sum(c, n - step, m)));
      for (Index j = 0; j < columns; ++j) {
        MatrixXd move = MatrixXd::Zero(rows, columns);
        move(i, j) = h;
        REQUIRE(close(by_c(i, j), sum(c + move, n, m), sum(c - move, n, m)));
      }
    }
    for (Index j = 0; j < columns; ++j) {
      VectorXd step = VectorXd::Zero(columns);
      step[j] = h;
      REQUIRE(close(slopes.by_m[j], sum(c, n, m + step), sum(c, n, m - step)));
    }
  }
}
