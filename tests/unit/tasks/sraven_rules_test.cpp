#include "headway/tasks/sraven_rules.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "catch.hpp"
#include "headway/error.hpp"
#include "sraven_grids.hpp"

using Catch::Matchers::WithinRel;
using headway::testing::grid_follows;
using namespace headway::tasks;

namespace {

std::vector<SravenRule> all_rules() {
  std::vector<SravenRule> rules(kSravenRules);
  for (std::size_t number = 0; number < rules.size(); ++number) {
    rules[number] = static_cast<SravenRule>(number);
  }
  return rules;
}

// Grid `number` in base F, all of them for number < F^9.
SravenGrid grid_of(int number, int values) {
  SravenGrid grid{};
  for (std::uint8_t& cell : grid) {
    cell = static_cast<std::uint8_t>(number % values);
    number /= values;
  }
  return grid;
}

std::span<const std::uint8_t, 8> first_eight(const SravenGrid& grid) {
  return std::span(grid).first<8>();
}

}  // namespace

TEST_CASE("Rows of each rule, by hand, among 8 symbols") {
  CHECK(row_follows(SravenRule::kConstant, 8, 5, 5, 5));
  CHECK(row_follows(SravenRule::kPlusOne, 8, 6, 7, 0));
  CHECK(row_follows(SravenRule::kPlusTwo, 8, 5, 7, 1));
  CHECK(row_follows(SravenRule::kMinusOne, 8, 1, 0, 7));
  CHECK(row_follows(SravenRule::kMinusTwo, 8, 1, 7, 5));
  CHECK(row_follows(SravenRule::kSum, 8, 5, 6, 3));
  CHECK(row_follows(SravenRule::kDifference, 8, 2, 5, 5));
  CHECK(row_follows(SravenRule::kDistributeThree, 8, 0, 7, 3));
  CHECK_FALSE(row_follows(SravenRule::kConstant, 8, 5, 5, 4));
  CHECK_FALSE(row_follows(SravenRule::kPlusOne, 8, 6, 7, 1));
  CHECK_FALSE(row_follows(SravenRule::kPlusTwo, 8, 5, 7, 0));
  CHECK_FALSE(row_follows(SravenRule::kMinusOne, 8, 7, 0, 1));
  CHECK_FALSE(row_follows(SravenRule::kMinusTwo, 8, 5, 7, 1));
  CHECK_FALSE(row_follows(SravenRule::kSum, 8, 5, 6, 11));
  CHECK_FALSE(row_follows(SravenRule::kDifference, 8, 5, 2, 5));
  CHECK_FALSE(row_follows(SravenRule::kDistributeThree, 8, 0, 7, 0));
}

TEST_CASE("The rows of distribute-three share their symbols, the others' are independent") {
  CHECK(grid_follows(SravenRule::kDistributeThree, 8, {1, 4, 6, 6, 1, 4, 1, 6, 4}));
  CHECK_FALSE(grid_follows(SravenRule::kDistributeThree, 8, {1, 4, 6, 6, 1, 4, 1, 6, 5}));
  CHECK_FALSE(grid_follows(SravenRule::kDistributeThree, 8, {1, 4, 4, 4, 1, 4, 1, 4, 4}));
  CHECK(grid_follows(SravenRule::kConstant, 8, {1, 1, 1, 7, 7, 7, 0, 0, 0}));
  CHECK_FALSE(grid_follows(SravenRule::kConstant, 8, {1, 1, 1, 7, 7, 7, 0, 0, 1}));
  CHECK(grid_follows(SravenRule::kSum, 8, {1, 2, 3, 7, 7, 6, 0, 0, 0}));
}

TEST_CASE("Every rule's grids are as many as their probability says, and end in one symbol") {
  for (const int values : {3, 4}) {
    const int grids = static_cast<int>(std::pow(values, 9));
    for (const SravenRule rule : all_rules()) {
      CAPTURE(values, sraven_rule_name(rule));
      int following = 0;
      int wrong_symbols = 0;
      for (int number = 0; number < grids; ++number) {
        const SravenGrid grid = grid_of(number, values);
        const auto ninth = ninth_symbol(rule, values, first_eight(grid));
        const bool follows = grid_follows(rule, values, grid);
        following += follows ? 1 : 0;
        wrong_symbols += follows != (ninth.has_value() && *ninth == grid[8]) ? 1 : 0;
      }
      CHECK(wrong_symbols == 0);
      CHECK_THAT(following * grid_probability(rule, values), WithinRel(1.0, 1e-13));
    }
  }
}

TEST_CASE("The rule sets are the multisets, sorted, in order") {
  const std::vector<SravenRuleSet> sets = all_sraven_rule_sets(4);
  CHECK(sets.size() == 330);
  CHECK(std::is_sorted(sets.begin(), sets.end()));
  CHECK(std::set<SravenRuleSet>(sets.begin(), sets.end()).size() == 330);
  for (const SravenRuleSet& set : sets) {
    CHECK(set.size() == 4);
    CHECK(std::is_sorted(set.begin(), set.end()));
  }
  CHECK(all_sraven_rule_sets(1).size() == 8);
  CHECK(all_sraven_rule_sets(2).size() == 36);
}

TEST_CASE("Rules have names of their own; what is no rule is an error") {
  std::set<std::string_view> names;
  for (const SravenRule rule : all_rules()) names.insert(sraven_rule_name(rule));
  CHECK(names.size() == kSravenRules);
  CHECK_THROWS_AS(sraven_rule_name(static_cast<SravenRule>(8)), headway::Error);
  CHECK_THROWS_AS(row_follows(static_cast<SravenRule>(8), 8, 0, 0, 0), headway::Error);
}
