#pragma once

#include <algorithm>

#include "headway/types.hpp"

namespace headway::numerics {

/// Mean and spread, entry by entry, of matrices of one shape that come one after another. No large
/// mean hides a small spread: squared deviations are summed, not squares.
struct MatrixMoments {
  Index count = 0;
  MatrixXd mean;     ///< empty before the first
  MatrixXd squares;  ///< sum of (x - mean)^2

  /// One matrix more (Welford 1962).
  void add(const MatrixXd& x) {
    if (count == 0) mean = squares = MatrixXd::Zero(x.rows(), x.cols());
    ++count;
    const MatrixXd from_old = x - mean;
    mean += from_old / static_cast<double>(count);
    squares += from_old.cwiseProduct(x - mean);
  }
  /// All of others (Chan, Golub, LeVeque 1983).
  void add(const MatrixMoments& others) {
    if (others.count == 0) return;
    if (count == 0) {
      *this = others;
      return;
    }
    const auto here = static_cast<double>(count);
    const auto there = static_cast<double>(others.count);
    const MatrixXd apart = others.mean - mean;
    count += others.count;
    mean += there / (here + there) * apart;
    squares += others.squares + here * there / (here + there) * apart.cwiseAbs2();
  }
  /// squares / (n - 1): unbiased for independent matrices. 0 for a single one.
  [[nodiscard]] MatrixXd variance() const {
    return squares / static_cast<double>(std::max<Index>(count - 1, 1));
  }
};

}  // namespace headway::numerics
