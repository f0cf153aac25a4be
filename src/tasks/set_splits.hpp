// Splits of sets of elements (fuzzy terms, SRAVEN rules) into training and held-out sets.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "headway/types.hpp"

namespace headway::tasks::detail {

/// All increasing lists of `size` elements of {first, ..., first + elements - 1}, lexicographic:
/// C(elements, size) of them.
std::vector<std::vector<int>> subsets(int first, int elements, int size);

/// All non-decreasing lists of `size` elements of {0, ..., elements - 1}, lexicographic:
/// C(elements + size - 1, size) of them.
std::vector<std::vector<int>> multisets(int elements, int size);

/// C(n, k) as a number that may be large; 0 for k > n.
double binomial(int n, int k);

struct SetSplit {
  std::vector<std::vector<int>> train;     ///< sorted
  std::vector<std::vector<int>> held_out;  ///< sorted
  std::vector<int> uncovered;              ///< elements in no training set
  int redraws = 0;                         ///< rejected splits before this one
};

/// floor(share * sets), exact where share * sets is a whole number but for rounding.
Index held_out_count(double share, Index sets);

/// Holds out held_out_count(share, sets.size()) of `sets`, uniformly at random: attempt a shuffles
/// the sets with the stream (seed, kSplits, a), a = 0, 1, .... With `reject_uncovered` a split that
/// leaves an element of {0, ..., elements - 1} out of all training sets is drawn again.
/// Error{kBadStudy} about `held_out` when no split covers all elements, or none of 10,000 did.
SetSplit split_sets(const std::vector<std::vector<int>>& sets, int elements, double share,
                    bool reject_uncovered, std::uint64_t seed);

}  // namespace headway::tasks::detail
