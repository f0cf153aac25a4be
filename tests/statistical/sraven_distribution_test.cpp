// How SRAVEN instances are distributed: each row of each rule against every rule, and 14 counts.
// Each kind of check also notices a broken draw.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <vector>

#include "catch.hpp"
#include "chance.hpp"
#include "chi_squared.hpp"
#include "headway/core/rng.hpp"
#include "headway/tasks/sraven.hpp"
#include "larger.hpp"
#include "sraven_grids.hpp"

using headway::Index;
using headway::Rng;
using headway::StreamPurpose;
using headway::testing::binomial_z;
using headway::testing::grid_follows;
using headway::testing::uniformity_z;
using namespace headway::tasks;

namespace {

const double kZ = headway::testing::largest_z(3.0 * kSravenRules * kSravenRules + 14.0);
constexpr int kDraws = 40000;
constexpr int kValues = 8;

using Row = std::array<int, 3>;

// Grids of one rule, drawn as instances of one feature.
std::vector<SravenGrid> draw_grids(SravenRule rule, std::uint64_t seed) {
  SravenOptions options;
  options.features = 1;
  const std::vector<SravenRuleSet> sets = {{rule}};
  std::vector<SravenGrid> grids;
  SravenInstance instance;
  for (int i = 0; i < kDraws; ++i) {
    Rng rng(seed, StreamPurpose::kTests, static_cast<std::uint64_t>(i));
    draw_sraven_instance(options, sets, rng, instance);
    SravenGrid& grid = grids.emplace_back();
    std::copy_n(instance.symbols.begin(), 8, grid.begin());
    grid[8] = instance.answers[0];
  }
  return grids;
}

// The share of a rule's rows that follow another, by enumeration.
double overlap(SravenRule rule, SravenRule other) {
  double following = 0.0;
  double both = 0.0;
  for (int code = 0; code < kValues * kValues * kValues; ++code) {
    const Row row = {code % 8, code / 8 % 8, code / 64};
    if (!row_follows(rule, kValues, row[0], row[1], row[2])) continue;
    following += 1.0;
    both += row_follows(other, kValues, row[0], row[1], row[2]) ? 1.0 : 0.0;
  }
  return both / following;
}

// Deviates of how often row `row` of the grids follows each rule; certain and impossible ones give
// infinity when they are wrong.
double worst_overlap_z(const std::vector<SravenGrid>& grids, SravenRule rule, std::size_t row) {
  double worst = 0.0;
  for (int number = 0; number < kSravenRules; ++number) {
    const auto other = static_cast<SravenRule>(number);
    double hits = 0.0;
    for (const SravenGrid& grid : grids) {
      const std::size_t at = 3 * row;
      hits += row_follows(other, kValues, grid[at], grid[at + 1], grid[at + 2]) ? 1.0 : 0.0;
    }
    const double p = overlap(rule, other);
    const auto trials = static_cast<double>(grids.size());
    const bool certain = p == 0.0 || p == 1.0;
    const double z = certain ? (hits == p * trials ? 0.0 : INFINITY) : binomial_z(hits, trials, p);
    worst = headway::testing::larger(worst, std::abs(z));
  }
  return worst;
}

// Place of the three symbols' order among the six, from the ranks of the first two.
std::size_t order_of(const SravenGrid& grid, std::size_t row) {
  const int a = grid[3 * row];
  const int b = grid[3 * row + 1];
  const int c = grid[3 * row + 2];
  const std::size_t lower = (b < a ? 1U : 0U) + (c < a ? 1U : 0U);
  return 2 * lower + (c < b ? 1U : 0U);
}

std::size_t place_of(const std::vector<std::uint8_t>& permutation) {
  std::vector<std::uint8_t> other = {0, 1, 2, 3};
  std::size_t place = 0;
  while (other != permutation) {
    std::next_permutation(other.begin(), other.end());
    ++place;
  }
  return place;
}

}  // namespace

TEST_CASE("Rows always follow their own rule, and other rules as often as by chance") {
  for (int number = 0; number < kSravenRules; ++number) {
    const auto rule = static_cast<SravenRule>(number);
    CAPTURE(sraven_rule_name(rule));
    const std::vector<SravenGrid> grids = draw_grids(rule, 50 + static_cast<std::uint64_t>(number));
    for (const SravenGrid& grid : grids) REQUIRE(grid_follows(rule, kValues, grid));
    for (std::size_t row = 0; row < 3; ++row) CHECK(worst_overlap_z(grids, rule, row) < kZ);
  }
}

TEST_CASE("The frequencies above reject rows that avoid a symbol, or that break their rule") {
  std::vector<SravenGrid> grids = draw_grids(SravenRule::kSum, 60);
  std::vector<SravenGrid> without_zero;
  for (const SravenGrid& grid : grids) {
    if (grid[0] != 0) without_zero.push_back(grid);
  }
  CHECK(worst_overlap_z(without_zero, SravenRule::kSum, 0) > kZ);
  grids[0][2] = static_cast<std::uint8_t>((grids[0][2] + 1) % kValues);
  CHECK(worst_overlap_z(grids, SravenRule::kSum, 0) > kZ);
}

TEST_CASE("Rows of a grid are uniform and independent") {
  for (const SravenRule rule : {SravenRule::kPlusTwo, SravenRule::kDifference}) {
    const std::vector<SravenGrid> grids = draw_grids(rule, 70);
    std::vector<double> corners(64);
    std::vector<double> diagonals(64);
    for (const SravenGrid& grid : grids) {
      corners[grid[0] + 8U * grid[3]] += 1.0;
      diagonals[grid[1] + 8U * grid[8]] += 1.0;
    }
    CHECK(uniformity_z(corners) < kZ);
    CHECK(uniformity_z(diagonals) < kZ);
  }
  // Cells of one row of a progression are not independent, and the check notices it.
  std::vector<double> one_row(64);
  for (const SravenGrid& grid : draw_grids(SravenRule::kPlusTwo, 70)) {
    one_row[grid[0] + 8U * grid[1]] += 1.0;
  }
  CHECK(uniformity_z(one_row) > kZ);
}

TEST_CASE("Distribute-three has uniform symbols and an order of its own in each row") {
  std::vector<double> symbols(8);
  std::vector<double> sets(56);
  std::vector<double> orders(216);
  std::vector<double> shared_orders(216);
  std::vector<std::size_t> set_place(256);
  for (unsigned mask = 0, place = 0; mask < 256; ++mask) {
    if (std::popcount(mask) == 3) set_place[mask] = place++;
  }
  for (const SravenGrid& grid : draw_grids(SravenRule::kDistributeThree, 80)) {
    symbols[grid[0]] += 1.0;
    sets[set_place[(1U << grid[0]) | (1U << grid[1]) | (1U << grid[2])]] += 1.0;
    orders[order_of(grid, 0) + 6 * order_of(grid, 1) + 36 * order_of(grid, 2)] += 1.0;
    shared_orders[43 * order_of(grid, 0)] += 1.0;  // all rows in the first one's order
  }
  CHECK(uniformity_z(symbols) < kZ);
  CHECK(uniformity_z(sets) < kZ);
  CHECK(uniformity_z(orders) < kZ);
  CHECK(uniformity_z(shared_orders) > kZ);
}

TEST_CASE("Rule sets and the columns' permutations are uniform and independent") {
  const SravenGenerator generator{SravenOptions{}};
  std::vector<double> sets(248);
  std::vector<double> first_and_second(576);
  std::vector<double> second_and_third(576);
  std::vector<double> same_column(576);
  SravenInstance instance;
  for (Index index = 0; index < kDraws; ++index) {
    generator.example(SravenSplit::kTest, index, instance);
    sets[static_cast<std::size_t>(instance.rule_set)] += 1.0;
    const std::size_t first = place_of(instance.permutations[0]);
    const std::size_t second = place_of(instance.permutations[1]);
    const std::size_t third = place_of(instance.permutations[2]);
    first_and_second[first + 24 * second] += 1.0;
    second_and_third[second + 24 * third] += 1.0;
    same_column[25 * first] += 1.0;  // one permutation for both columns
  }
  CHECK(uniformity_z(sets) < kZ);
  CHECK(uniformity_z(first_and_second) < kZ);
  CHECK(uniformity_z(second_and_third) < kZ);
  CHECK(uniformity_z(same_column) > kZ);
}

TEST_CASE("Training, test and held-out instances of equal index are independent") {
  const SravenGenerator generator{SravenOptions{}};
  const auto symbols_of = [&generator](SravenSplit split) {
    SravenBatch batch;
    generator.batch(split, 0, kDraws, batch);
    std::vector<std::uint8_t> first;
    for (std::size_t i = 0; i < kDraws; ++i) first.push_back(batch.symbols[36 * i]);
    return first;
  };
  const auto pairs_z = [](const std::vector<std::uint8_t>& a, const std::vector<std::uint8_t>& b) {
    std::vector<double> pairs(64);
    for (std::size_t i = 0; i < a.size(); ++i) pairs[a[i] + 8U * b[i]] += 1.0;
    return uniformity_z(pairs);
  };
  const auto train = symbols_of(SravenSplit::kTrain);
  const auto test = symbols_of(SravenSplit::kTest);
  const auto held_out = symbols_of(SravenSplit::kHeldOut);
  CHECK(pairs_z(train, test) < kZ);
  CHECK(pairs_z(train, held_out) < kZ);
  CHECK(pairs_z(test, held_out) < kZ);
  std::vector<std::uint8_t> repeats = test;  // one test instance in ten is a training instance
  for (std::size_t i = 0; i < repeats.size(); i += 10) repeats[i] = train[i];
  CHECK(pairs_z(train, repeats) > kZ);
}
