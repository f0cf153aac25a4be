#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace headway::tasks {

/// The rule that the three symbols (a, b, c) of a row of one feature obey. Symbols are 0, ..., F -
/// 1 and all arithmetic is modulo F (src/tasks/README.md, eq. 5). The numbers of the rules order
/// rule sets.
enum class SravenRule : std::uint8_t {
  kConstant = 0,         ///< a = b = c
  kPlusOne = 1,          ///< b = a + 1, c = b + 1
  kPlusTwo = 2,          ///< b = a + 2, c = b + 2
  kMinusOne = 3,         ///< b = a - 1, c = b - 1
  kMinusTwo = 4,         ///< b = a - 2, c = b - 2
  kSum = 5,              ///< c = a + b
  kDifference = 6,       ///< c = a - b
  kDistributeThree = 7,  ///< each row has the same three distinct symbols, in an order of its own
};

inline constexpr int kSravenRules = 8;
inline constexpr int kSravenSide = 3;    ///< rows and columns of the grid
inline constexpr int kSravenPanels = 9;  ///< the last one is the question

/// K rules in non-decreasing order: a multiset.
using SravenRuleSet = std::vector<SravenRule>;

/// One feature over the grid, row by row.
using SravenGrid = std::array<std::uint8_t, kSravenPanels>;

std::string_view sraven_rule_name(SravenRule rule);  ///< "constant", "plus one", ...

/// The rules that a row obeys among `values` = F symbols, of 0 to F - 1: bit i is rule i. For
/// distribute-three one row only needs distinct symbols; whether the rows share them, it cannot
/// say.
unsigned rules_of_row(int values, int a, int b, int c);

/// Whether a row obeys the rule: one bit of rules_of_row().
bool row_follows(SravenRule rule, int values, int a, int b, int c);

/// Probability of each grid that follows the rule; all of them are equally probable:
/// F^-3 (constant, progressions), F^-6 (sum, difference), 1 / (C(F, 3) 6^3) (distribute-three).
double grid_probability(SravenRule rule, int values);

/// The ninth symbol of the only grid that follows the rule and starts with these eight; none when
/// no grid does.
std::optional<std::uint8_t> ninth_symbol(SravenRule rule, int values,
                                         std::span<const std::uint8_t, kSravenPanels - 1> first);

/// All C(K + 7, K) rule sets of K features in lexicographic order (330 for K = 4).
std::vector<SravenRuleSet> all_sraven_rule_sets(int features);

}  // namespace headway::tasks
