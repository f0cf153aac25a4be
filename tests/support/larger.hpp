// The larger of two errors.
#pragma once

#include <cmath>

namespace headway::testing {

/// The larger of two numbers, NaN where one is. std::max(x, NaN) is x, so an error that is NaN
/// would keep every bound.
inline double larger(double x, double y) { return std::isnan(x) || x >= y ? x : y; }

}  // namespace headway::testing
