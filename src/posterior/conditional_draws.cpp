#include "posterior/conditional_draws.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>

namespace headway::posterior {
namespace {

constexpr int kMostShrinking = 200;        // then the bracket is empty to working precision
constexpr Index kMostPartners = 33;        // hidden units that are mixed with one
constexpr double kWantedDrop = 1.0;        // of the log density where the tangents touch
constexpr double kLargestLogarithm = 300;  // of a hyperbolic function's argument

}  // namespace

bool elliptical_slice(Rng& rng, Eigen::Ref<VectorXd> x,
                      const std::function<double(const VectorXd&)>& log_factor) {
  const VectorXd here = x;
  VectorXd other(x.size());
  rng.fill_normal({other.data(), static_cast<std::size_t>(other.size())});
  const double least = log_factor(here) + std::log(rng.uniform());
  double angle = 2.0 * std::numbers::pi * rng.uniform();
  double low = angle - 2.0 * std::numbers::pi;
  double high = angle;
  for (int i = 0; i < kMostShrinking; ++i) {
    const VectorXd there = std::cos(angle) * here + std::sin(angle) * other;
    if (log_factor(there) > least) {
      x = there;
      return true;
    }
    (angle < 0.0 ? low : high) = angle;
    angle = low + (high - low) * rng.uniform();
  }
  return false;
}

double log_inverse_gaussian(Rng& rng, double shape, double a, double b) {
  // With v = sqrt(b / a) exp(mode + w), log density(w) - log density(0) = drop(w).
  const double size = std::sqrt(a * b);
  const double mode = std::asinh(shape / size);
  const auto drop = [&](double w) {
    const double half = std::clamp(0.5 * w, -kLargestLogarithm, kLargestLogarithm);
    return shape * w - 2.0 * size * std::sinh(mode + half) * std::sinh(half);
  };
  const auto slope = [&](double w) { return shape - size * std::sinh(mode + w); };
  // Any distances > 0 are right. These are near the best.
  const auto distance = [&](double sign) {
    double w = std::sqrt(2.0 / std::hypot(size, shape));
    while (drop(sign * w) < -2.0 * kWantedDrop) w *= 0.7;
    while (drop(sign * w) > -0.5 * kWantedDrop) w *= 1.4;
    return w;
  };
  const double right = distance(1.0), left = distance(-1.0);
  const double right_drop = drop(right), left_drop = drop(-left);
  const double right_slope = -slope(right), left_slope = slope(-left);
  // The tangents reach 0, the largest value, at these.
  const double right_end = right + right_drop / right_slope;
  const double left_end = left + left_drop / left_slope;
  const double middle = right_end + left_end;
  const double total = middle + 1.0 / right_slope + 1.0 / left_slope;
  for (;;) {
    const double side = total * rng.uniform();
    double w = 0.0, hat = 0.0;
    if (side < middle) {
      w = side - left_end;
    } else if (side < middle + 1.0 / right_slope) {
      hat = std::log(rng.uniform());
      w = right_end - hat / right_slope;
    } else {
      hat = std::log(rng.uniform());
      w = -left_end + hat / left_slope;
    }
    if (hat + std::log(rng.uniform()) <= drop(w)) return 0.5 * std::log(b / a) + mode + w;
  }
}

void draw_along_orbit(Rng& rng, MatrixXd& above, MatrixXd& below, const Orbit& orbit) {
  const Index units = below.cols();
  const double count = orbit.below > 0.0 ? orbit.below : static_cast<double>(below.rows());
  const bool triangular = orbit.width > 0;
  for (Index i = 0; i < units; ++i) {
    const double z = below.col(i).squaredNorm(), b = above.col(i).squaredNorm();
    if (z > 0.0 && b > 0.0) {
      // Powers of 1 / c in the density of b_i / c: a chi of width - i, and the normals below it.
      const Index powers = triangular ? orbit.width - i + above.rows() - 1 - i : above.rows();
      const double shape = 0.5 * (count - static_cast<double>(powers));
      const double c = std::exp(0.5 * log_inverse_gaussian(rng, shape, z, b));
      below.col(i) *= c;
      above.col(i) /= c;
    }
    for (Index step = 1; step < std::min(units, kMostPartners); ++step) {
      // In a triangle b_i would reach above the diagonal of a later b_j.
      const Index j = triangular ? i - step : (i + step) % units;
      if (j < 0) break;
      const double precision = below.col(j).squaredNorm() + above.col(i).squaredNorm();
      const double mean =
          (above.col(i).dot(above.col(j)) - below.col(i).dot(below.col(j))) / precision;
      const double shear = mean + rng.normal() / std::sqrt(precision);
      below.col(i) += shear * below.col(j);
      above.col(j) -= shear * above.col(i);
    }
  }
}

}  // namespace headway::posterior
