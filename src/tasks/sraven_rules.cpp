#include "headway/tasks/sraven_rules.hpp"

#include <algorithm>
#include <cmath>

#include "headway/error.hpp"
#include "tasks/set_splits.hpp"

namespace headway::tasks {
namespace {

constexpr double kOrdersOfThree = 6.0;

[[noreturn]] void throw_unknown_rule() {
  throw Error(ErrorKind::kInternal, "sraven: unknown rule");
}

constexpr std::array kStepRules = {SravenRule::kConstant, SravenRule::kPlusOne,
                                   SravenRule::kPlusTwo, SravenRule::kMinusOne,
                                   SravenRule::kMinusTwo};

// Step from a column to the next.
int step_of(SravenRule rule) {
  switch (rule) {
    case SravenRule::kConstant:
      return 0;
    case SravenRule::kPlusOne:
      return 1;
    case SravenRule::kPlusTwo:
      return 2;
    case SravenRule::kMinusOne:
      return -1;
    case SravenRule::kMinusTwo:
      return -2;
    default:
      throw_unknown_rule();
  }
}

// Without a division, for what sums, differences and steps can be: -values <= x < 2 values.
int modulo(int x, int values) {
  if (x < 0) return x + values;
  return x < values ? x : x - values;
}

bool same_symbols(std::span<const std::uint8_t> row, std::span<const std::uint8_t> other) {
  return std::is_permutation(row.begin(), row.end(), other.begin(), other.end());
}

// The symbol of `first_row` that is neither a nor b. None unless a and b are two different symbols
// of it. The symbols of `first_row` are distinct.
std::optional<std::uint8_t> left_over(std::span<const std::uint8_t> first_row, std::uint8_t a,
                                      std::uint8_t b) {
  int found = 0;
  std::uint8_t rest = 0;
  for (const std::uint8_t symbol : first_row) {
    if (symbol == a || symbol == b) {
      ++found;
    } else {
      rest = symbol;
    }
  }
  if (found != 2) return std::nullopt;
  return rest;
}

}  // namespace

std::string_view sraven_rule_name(SravenRule rule) {
  constexpr std::array<std::string_view, kSravenRules> kNames = {
      "constant",  "plus one", "plus two",   "minus one",
      "minus two", "sum",      "difference", "distribute three"};
  const auto number = static_cast<std::size_t>(rule);
  if (number >= kNames.size()) throw_unknown_rule();
  return kNames.at(number);
}

unsigned rules_of_row(int values, int a, int b, int c) {
  const auto bit = [](SravenRule rule, bool follows) {
    return follows ? 1U << static_cast<unsigned>(rule) : 0U;
  };
  unsigned rules = bit(SravenRule::kSum, c == modulo(a + b, values)) |
                   bit(SravenRule::kDifference, c == modulo(a - b, values)) |
                   bit(SravenRule::kDistributeThree, a != b && b != c && a != c);
  const int step = modulo(b - a, values);
  if (modulo(c - b, values) != step) return rules;
  for (const SravenRule rule : kStepRules)
    rules |= bit(rule, step == modulo(step_of(rule), values));
  return rules;
}

bool row_follows(SravenRule rule, int values, int a, int b, int c) {
  const auto number = static_cast<unsigned>(rule);
  if (number >= kSravenRules) throw_unknown_rule();
  return ((rules_of_row(values, a, b, c) >> number) & 1U) != 0;
}

double grid_probability(SravenRule rule, int values) {
  switch (rule) {
    case SravenRule::kSum:
    case SravenRule::kDifference:
      return std::pow(values, -2 * kSravenSide);
    case SravenRule::kDistributeThree:
      return 1.0 / (detail::binomial(values, 3) * std::pow(kOrdersOfThree, kSravenSide));
    default:
      return std::pow(values, -kSravenSide);
  }
}

std::optional<std::uint8_t> ninth_symbol(SravenRule rule, int values,
                                         std::span<const std::uint8_t, kSravenPanels - 1> first) {
  const std::span<const std::uint8_t> cells(first);
  const auto row = cells.first(kSravenSide);
  const auto second = cells.subspan(kSravenSide, kSravenSide);
  const std::uint8_t a = first[6];
  const std::uint8_t b = first[7];
  if (!row_follows(rule, values, row[0], row[1], row[2]) ||
      !row_follows(rule, values, second[0], second[1], second[2])) {
    return std::nullopt;
  }
  switch (rule) {
    case SravenRule::kSum:
      return static_cast<std::uint8_t>(modulo(a + b, values));
    case SravenRule::kDifference:
      return static_cast<std::uint8_t>(modulo(a - b, values));
    case SravenRule::kDistributeThree:
      if (!same_symbols(row, second)) return std::nullopt;
      return left_over(row, a, b);
    default:
      if (b != modulo(a + step_of(rule), values)) return std::nullopt;
      return static_cast<std::uint8_t>(modulo(b + step_of(rule), values));
  }
}

std::vector<SravenRuleSet> all_sraven_rule_sets(int features) {
  std::vector<SravenRuleSet> sets;
  for (const auto& numbers : detail::multisets(kSravenRules, features)) {
    SravenRuleSet& set = sets.emplace_back();
    for (const int number : numbers) set.push_back(static_cast<SravenRule>(number));
  }
  return sets;
}

}  // namespace headway::tasks
