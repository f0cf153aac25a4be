#include "headway/tasks/sraven.hpp"

#include <algorithm>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "catch.hpp"
#include "headway/core/parallel.hpp"
#include "headway/error.hpp"
#include "sraven_grids.hpp"

using Catch::Matchers::ContainsSubstring;
using headway::Error;
using headway::ErrorKind;
using headway::Index;
using headway::testing::grid_follows;
using namespace headway::tasks;

namespace {

SravenOptions with_size(int features, int values, double held_out = 0.25) {
  SravenOptions options;
  options.features = features;
  options.values = values;
  options.held_out = held_out;
  return options;
}

std::vector<SravenSplit> all_splits() {
  return {SravenSplit::kTrain, SravenSplit::kValidation, SravenSplit::kTest, SravenSplit::kHeldOut};
}

SravenInstance instance_of(const SravenGenerator& generator, SravenSplit split, Index index) {
  SravenInstance instance;
  generator.example(split, index, instance);
  return instance;
}

// All nine panels: the symbols with the answers in the last one.
std::vector<std::uint8_t> completed(const SravenInstance& instance) {
  std::vector<std::uint8_t> symbols = instance.symbols;
  std::copy(instance.answers.begin(), instance.answers.end(),
            symbols.end() - static_cast<Index>(instance.answers.size()));
  return symbols;
}

// The grid of each feature, with the permutations of the columns undone.
std::vector<SravenGrid> features_of(const SravenInstance& instance) {
  const std::vector<std::uint8_t> symbols = completed(instance);
  const std::size_t features = instance.answers.size();
  std::vector<SravenGrid> grids(features);
  for (std::size_t panel = 0; panel < kSravenPanels; ++panel) {
    for (std::size_t position = 0; position < features; ++position) {
      const std::uint8_t feature = instance.permutations[panel % kSravenSide][position];
      grids[feature][panel] = symbols[panel * features + position];
    }
  }
  return grids;
}

}  // namespace

TEST_CASE("The rule sets split into 248 for training and 82 held out, disjoint and complete") {
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    SravenOptions options;
    options.seed = seed;
    const SravenRuleSets sets = split_sraven_rule_sets(options);
    CHECK(sets.train.size() == 248);
    CHECK(sets.held_out.size() == 82);
    CHECK(std::is_sorted(sets.train.begin(), sets.train.end()));
    CHECK(std::is_sorted(sets.held_out.begin(), sets.held_out.end()));
    std::vector<SravenRuleSet> all = sets.train;
    all.insert(all.end(), sets.held_out.begin(), sets.held_out.end());
    std::sort(all.begin(), all.end());
    CHECK(all == all_sraven_rule_sets(4));
    CHECK(sets.uncovered.empty());
    options.seed = seed + 1;
    CHECK(split_sraven_rule_sets(options).held_out != sets.held_out);
  }
}

TEST_CASE("Rule sets that leave a rule out of training are redrawn, and say so") {
  SravenOptions options = with_size(2, 8, 0.8);
  int redrawn = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    options.seed = seed;
    options.reject_uncovered = false;
    const SravenRuleSets as_drawn = split_sraven_rule_sets(options);
    options.reject_uncovered = true;
    const SravenRuleSets covered = split_sraven_rule_sets(options);
    CHECK(covered.uncovered.empty());
    CHECK((covered.redraws > 0) == !as_drawn.uncovered.empty());
    redrawn += covered.redraws > 0 ? 1 : 0;
    std::set<SravenRule> trained;
    for (const SravenRuleSet& set : as_drawn.train) trained.insert(set.begin(), set.end());
    CHECK(trained.size() + as_drawn.uncovered.size() == kSravenRules);
  }
  CHECK(redrawn > 0);
}

TEST_CASE("Every feature obeys its rule once the columns' permutations are undone") {
  for (const auto& options : {SravenOptions{}, with_size(3, 3), with_size(6, 200)}) {
    const SravenGenerator generator(options);
    for (const SravenSplit split : all_splits()) {
      for (Index index = 0; index < 100; ++index) {
        const SravenInstance instance = instance_of(generator, split, index);
        const auto set = static_cast<std::size_t>(instance.rule_set);
        CHECK(instance.rules == generator.rule_sets().of(split).at(set));
        const std::vector<SravenGrid> grids = features_of(instance);
        for (std::size_t i = 0; i < grids.size(); ++i) {
          REQUIRE(grid_follows(instance.rules[i], options.values, grids[i]));
        }
      }
    }
  }
}

TEST_CASE("Permuting back gives the unpermuted instance, whose features stay in place") {
  SravenOptions options;
  const SravenGenerator permuted(options);
  options.permuted = false;
  const SravenGenerator unpermuted(options);
  int moved = 0;
  for (Index index = 0; index < 50; ++index) {
    const SravenInstance there = instance_of(permuted, SravenSplit::kTest, index);
    const SravenInstance here = instance_of(unpermuted, SravenSplit::kTest, index);
    CHECK(features_of(there) == features_of(here));
    CHECK(there.rules == here.rules);
    moved += there.symbols != here.symbols ? 1 : 0;
    const std::vector<std::uint8_t> symbols = completed(here);
    for (std::size_t i = 0; i < 4; ++i) {
      CHECK(here.rule_of_answer(i) == here.rules[i]);
      SravenGrid grid{};
      for (std::size_t panel = 0; panel < kSravenPanels; ++panel)
        grid[panel] = symbols[4 * panel + i];
      CHECK(grid_follows(here.rules[i], 8, grid));
    }
  }
  CHECK(moved > 45);
}

TEST_CASE("The last panel is blank and the answers are its symbols") {
  const SravenGenerator generator{SravenOptions{}};
  CHECK(generator.options().tokens() == 36);
  const SravenInstance instance = instance_of(generator, SravenSplit::kTrain, 0);
  REQUIRE(instance.symbols.size() == 36);
  REQUIRE(instance.answers.size() == 4);
  for (std::size_t i = 0; i < 36; ++i) {
    CHECK((instance.symbols[i] == kSravenBlank) == (i >= 32));
    if (i < 32) CHECK(instance.symbols[i] < 8);
  }
  const std::vector<SravenGrid> grids = features_of(instance);
  for (std::size_t position = 0; position < 4; ++position) {
    CHECK(instance.answers[position] == grids[instance.permutations[2][position]][8]);
    CHECK(grid_follows(instance.rule_of_answer(position), 8,
                       grids[instance.permutations[2][position]]));
  }
}

TEST_CASE("One-hot tokens have a 1 at the symbol, and none in the last panel") {
  const SravenGenerator generator{SravenOptions{}};
  const SravenInstance instance = instance_of(generator, SravenSplit::kTrain, 1);
  std::vector<float> tokens(std::size_t{36} * 8, 7.0F);
  expand_sraven_one_hot(instance.symbols, 8, tokens);
  for (std::size_t s = 0; s < 36; ++s) {
    for (std::size_t f = 0; f < 8; ++f) {
      CHECK(tokens[8 * s + f] == (instance.symbols[s] == f ? 1.0F : 0.0F));
    }
  }
  CHECK_THROWS_WITH(expand_sraven_one_hot(instance.symbols, 9, tokens),
                    "expand_sraven_one_hot: room for 288 numbers, must be 36 x 9");
  const auto of_two = [&](std::uint8_t second) {
    expand_sraven_one_hot(std::vector<std::uint8_t>{7, second}, 8, std::span(tokens).first(16));
  };
  CHECK_NOTHROW(of_two(7));
  CHECK_THROWS_WITH(of_two(8), "expand_sraven_one_hot: symbol 8 at 1: must be from 0 to 7, or " +
                                   std::to_string(kSravenBlank) + " for a blank");
}

TEST_CASE("SRAVEN instances are the same in any order, on any thread, and in batches") {
  const SravenGenerator generator{SravenOptions{}};
  constexpr Index kCount = 40;
  for (const SravenSplit split : all_splits()) {
    SravenBatch batch;
    generator.batch(split, 500, kCount, batch);
    REQUIRE(batch.symbols.size() == kCount * 36);
    REQUIRE(batch.answers.size() == kCount * 4);
    std::vector<SravenInstance> backwards(kCount);
    headway::parallel_for(kCount, 2, [&](Index i) {
      generator.example(split, 500 + kCount - 1 - i,
                        backwards[static_cast<std::size_t>(kCount - 1 - i)]);
    });
    for (std::size_t i = 0; i < kCount; ++i) {
      const SravenInstance& one = backwards[i];
      CHECK(std::equal(one.symbols.begin(), one.symbols.end(), &batch.symbols[36 * i]));
      CHECK(std::equal(one.answers.begin(), one.answers.end(), &batch.answers[4 * i]));
      CHECK(one.rule_set == batch.rule_sets[i]);
      for (std::size_t k = 0; k < 4; ++k) {
        CHECK(one.rule_of_answer(k) == batch.rules_of_answers[4 * i + k]);
      }
    }
  }
}

// The hash (FNV-1a, of 64 bits) is that of the first generator, which drew one word at a time.
TEST_CASE("SRAVEN batches keep their bits") {
  std::uint64_t hash = 1469598103934665603U;
  const auto mix = [&hash](std::uint64_t x) { hash = (hash ^ x) * 1099511628211U; };
  for (const int features : {1, 2, 3, 4, 6}) {
    for (const int values : {3, 5, 8, 254}) {
      for (const bool permuted : {true, false}) {
        SravenOptions options = with_size(features, values);
        options.permuted = permuted;
        options.seed = 7;
        options.reject_uncovered = features > 2;
        const SravenGenerator generator(options);
        SravenBatch batch;
        for (const SravenSplit split : all_splits()) {
          generator.batch(split, 1000, 256, batch);
          for (const std::uint8_t symbol : batch.symbols) mix(symbol);
          for (const std::uint8_t answer : batch.answers) mix(answer);
          for (const Index set : batch.rule_sets) mix(static_cast<std::uint64_t>(set));
          for (const SravenRule rule : batch.rules_of_answers) {
            mix(static_cast<std::uint64_t>(rule));
          }
        }
      }
    }
  }
  CHECK(hash == 0xd8b5c7291bb9fb2fU);
}

TEST_CASE("No two SRAVEN splits, instances or seeds share their symbols") {
  std::set<std::string> seen;
  for (const std::uint64_t seed : {0, 1}) {
    SravenOptions options;
    options.seed = seed;
    const SravenGenerator generator(options);
    for (const SravenSplit split : all_splits()) {
      for (Index index = 0; index < 50; ++index) {
        const SravenInstance instance = instance_of(generator, split, index);
        seen.emplace(instance.symbols.begin(), instance.symbols.end());
      }
    }
  }
  CHECK(seen.size() == 400);  // 2 seeds, 4 splits, 50 instances
}

TEST_CASE("Bad SRAVEN options name the field, its value and what is allowed") {
  struct Case {
    SravenOptions options;
    std::string field;
    std::string allowed;
  };
  const std::vector<Case> cases = {
      {with_size(0, 8), "task.features = 0", "from 1 to 6"},
      {with_size(7, 8), "task.features = 7", "from 1 to 6"},
      {with_size(4, 2), "task.values = 2", "from 3 to 254"},
      {with_size(4, 255), "task.values = 255", "from 3 to 254"},
      {with_size(4, 8, -0.5), "task.held_out = -0.5", ">= 0 and <= 1"},
      {with_size(4, 8, std::numeric_limits<double>::quiet_NaN()), "task.held_out = nan",
       ">= 0 and <= 1"},
      {with_size(4, 8, 0.0), "task.held_out = 0", "at least one"},
      {with_size(4, 8, 1.0), "task.held_out = 1", "at least one"},
      {with_size(1, 8), "task.held_out = 0.25", "reject_uncovered = false"},
      {with_size(2, 8, 0.95), "task.held_out = 0.95", "reject_uncovered = false"},
  };
  for (const Case& bad : cases) {
    CAPTURE(bad.field);
    try {
      const SravenGenerator generator(bad.options);
      FAIL("accepted");
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::kBadStudy);
      CHECK_THAT(error.what(), ContainsSubstring(bad.field));
      CHECK_THAT(error.what(), ContainsSubstring(bad.allowed));
    }
  }
}
