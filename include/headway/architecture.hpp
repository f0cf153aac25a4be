#pragma once

#include <vector>

#include "headway/types.hpp"

namespace headway::model {

/// Sizes and prior variances of a deep multi-head attention network (eqs. 1 to 4, [T24]).
struct Architecture {
  std::vector<int> heads;         ///< H_1, ..., H_L
  std::vector<Index> widths;      ///< N_1, ..., N_L, N_a  (L + 1 entries)
  std::vector<double> variances;  ///< s_0^2, s_1^2, ..., s_L^2, s_a^2  (L + 2 entries)
  Index outputs = 1;              ///< C

  /// L.
  [[nodiscard]] int layers() const { return static_cast<int>(heads.size()); }
  /// p = H_1 ... H_L.
  [[nodiscard]] Index paths() const { return paths_above(1); }
  /// p_l = H_l ... H_L for l = 1..L, and p_{L+1} = 1. Multiply by `outputs` for the size of U_l.
  [[nodiscard]] Index paths_above(int layer) const;
  /// N_l for l = 1..L+1 (N_{L+1} = N_a).
  [[nodiscard]] double width(int layer) const { return static_cast<double>(widths.at(layer - 1)); }
  /// s_l^2 for l = 0..L+1 (s_{L+1}^2 = s_a^2).
  [[nodiscard]] double variance(int layer) const { return variances.at(layer); }
  /// max_l N_l, N_a included.
  [[nodiscard]] double largest_width() const;
  /// Throws Error{kBadStudy} naming the field unless every size is consistent, positive and finite.
  void validate() const;
};

/// One architecture with all widths N and all variances s2.
Architecture uniform_architecture(std::vector<int> heads, Index width, double s2 = 1.0,
                                  Index outputs = 1);

}  // namespace headway::model
