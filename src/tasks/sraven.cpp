#include "headway/tasks/sraven.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

#include "headway/core/option_error.hpp"
#include "headway/core/option_table.hpp"
#include "headway/error.hpp"
#include "tasks/set_splits.hpp"

namespace headway::tasks {
namespace {

constexpr int kMostFeatures = 6;
constexpr int kFewestValues = 3;  // distribute-three needs three symbols
constexpr int kMostValues = 254;  // 255 is the blank

// numerics::shuffle() of at most kMostFeatures values: the same draws, with bounds made once.
template <typename Values>
void shuffle_few(Values& values, Rng& rng) {
  static const auto kBelow = [] {
    std::array<UniformIndex, kMostFeatures + 1> below{};
    for (std::size_t n = 1; n < below.size(); ++n) below[n] = UniformIndex(n);
    return below;
  }();
  for (std::size_t left = values.size(); left > 1; --left) {
    std::swap(values[left - 1], values[kBelow[left](rng)]);
  }
}

StreamPurpose purpose_of(SravenSplit split) {
  switch (split) {
    case SravenSplit::kTrain:
      return StreamPurpose::kTrainExamples;
    case SravenSplit::kValidation:
      return StreamPurpose::kValidationExamples;
    case SravenSplit::kTest:
      return StreamPurpose::kTestExamples;
    case SravenSplit::kHeldOut:
      return StreamPurpose::kHeldOutExamples;
  }
  throw Error(ErrorKind::kInternal, "sraven: unknown split");
}

SravenGrid draw_distribute_three(const UniformIndex& symbol, Rng& rng) {
  std::array<std::uint8_t, kSravenSide> row{};
  for (std::size_t drawn = 0; drawn < row.size();) {
    row[drawn] = static_cast<std::uint8_t>(symbol(rng));
    // A symbol that the row has is drawn again.
    if (std::find(row.begin(), row.begin() + drawn, row[drawn]) == row.begin() + drawn) ++drawn;
  }
  SravenGrid grid{};
  for (auto cells = grid.begin(); cells != grid.end(); cells += kSravenSide) {
    shuffle_few(row, rng);
    std::copy(row.begin(), row.end(), cells);
  }
  return grid;
}

// A uniform draw among the grids that follow the rule.
SravenGrid draw_grid(SravenRule rule, const UniformIndex& symbol, Rng& rng) {
  if (rule == SravenRule::kDistributeThree) return draw_distribute_three(symbol, rng);
  const int values = static_cast<int>(symbol.bound());
  const bool two_free = rule == SravenRule::kSum || rule == SravenRule::kDifference;
  // What the free symbols x and y of a row make of it: (x, y, x +- y), or x and two steps.
  const int back = values - 1;  // -1 modulo F
  constexpr std::array<int, 5> kSteps = {0, 1, 2, -1, -2};
  const int step = two_free ? 0 : values + kSteps.at(static_cast<std::size_t>(rule));
  const int sign = rule == SravenRule::kDifference ? back : 1;
  SravenGrid grid{};
  for (std::size_t cell = 0; cell < kSravenPanels; cell += kSravenSide) {
    const int first = static_cast<int>(symbol(rng));
    const int second = two_free ? static_cast<int>(symbol(rng)) : (first + step) % values;
    const int third = two_free ? first + sign * second : second + step;
    grid[cell] = static_cast<std::uint8_t>(first);
    grid[cell + 1] = static_cast<std::uint8_t>(second);
    grid[cell + 2] = static_cast<std::uint8_t>(third % values);
  }
  return grid;
}

}  // namespace

const OptionTable<SravenOptions>& SravenOptions::table() {
  using R = SravenOptions;
  static const OptionTable<R> table = {{
      option("features", &R::features, integer<int>(1, kMostFeatures),
             "features K of a panel, each with a rule of its own"),
      option("values", &R::values, integer<int>(kFewestValues, kMostValues),
             "symbols F of a feature"),
      option("held_out", &R::held_out, real(0.0, 1.0),
             "share of the rule sets that training never sees"),
      option("permuted", &R::permuted, flag(),
             "show the features of each column of the grid in an order of its own"),
      option("reject_uncovered", &R::reject_uncovered, flag(),
             "draw the split again if it leaves a rule in no training set"),
  }};
  return table;
}

void SravenOptions::validate() const {
  check_options(table(), *this, "task");
  const auto sets = static_cast<Index>(detail::binomial(features + kSravenRules - 1, features));
  const Index train = sets - detail::held_out_count(held_out, sets);
  if (train < 1 || train == sets) {
    throw OptionError(
        fmt::format("task.held_out = {}: leaves {} of {} rule sets for training and {} "
                    "held out: each must have at least one",
                    held_out, train, sets, sets - train),
        {"task.held_out", "task.features"});
  }
  const bool too_few = features == 1 || train * features < kSravenRules;
  if (reject_uncovered && too_few) {
    throw OptionError(fmt::format("task.held_out = {}: must be smaller: {} training sets of {} "
                                  "rules cannot have all {} rules. Or set reject_uncovered = false",
                                  held_out, train, features, kSravenRules),
                      {"task.held_out", "task.features"});
  }
}

const std::vector<SravenRuleSet>& SravenRuleSets::of(SravenSplit split) const {
  return split == SravenSplit::kHeldOut ? held_out : train;
}

SravenRuleSets split_sraven_rule_sets(const SravenOptions& options) {
  options.validate();
  const detail::SetSplit split =
      detail::split_sets(detail::multisets(kSravenRules, options.features), kSravenRules,
                         options.held_out, options.reject_uncovered, options.seed);
  const auto to_rules = [](const std::vector<int>& numbers) {
    SravenRuleSet set;
    for (const int number : numbers) set.push_back(static_cast<SravenRule>(number));
    return set;
  };
  SravenRuleSets sets;
  for (const auto& numbers : split.train) sets.train.push_back(to_rules(numbers));
  for (const auto& numbers : split.held_out) sets.held_out.push_back(to_rules(numbers));
  sets.uncovered = to_rules(split.uncovered);
  sets.redraws = split.redraws;
  return sets;
}

void draw_sraven_instance(const SravenOptions& options, std::span<const SravenRuleSet> rule_sets,
                          Rng& rng, SravenInstance& out) {
  const auto features = static_cast<std::size_t>(options.features);
  const std::uint64_t chosen = rng.uniform_index(rule_sets.size());
  out.rule_set = static_cast<Index>(chosen);
  out.rules = rule_sets[chosen];
  const UniformIndex symbol_of(static_cast<std::uint64_t>(options.values));
  std::array<SravenGrid, kMostFeatures> grids{};
  for (std::size_t i = 0; i < features; ++i) grids[i] = draw_grid(out.rules[i], symbol_of, rng);
  for (auto& permutation : out.permutations) {
    permutation.resize(features);
    std::iota(permutation.begin(), permutation.end(), std::uint8_t{0});
    if (options.permuted) shuffle_few(permutation, rng);
  }
  out.symbols.assign(kSravenPanels * features, kSravenBlank);
  out.answers.resize(features);
  for (std::size_t panel = 0; panel < kSravenPanels; ++panel) {
    const auto& shown = out.permutations[panel % kSravenSide];
    for (std::size_t position = 0; position < features; ++position) {
      const std::uint8_t symbol = grids[shown[position]][panel];
      if (panel + 1 < kSravenPanels) {
        out.symbols[panel * features + position] = symbol;
      } else {
        out.answers[position] = symbol;
      }
    }
  }
}

void expand_sraven_one_hot(std::span<const std::uint8_t> symbols, int values,
                           std::span<float> out) {
  const auto width = static_cast<std::size_t>(values);
  if (out.size() != symbols.size() * width) {
    throw Error(ErrorKind::kInternal,
                fmt::format("expand_sraven_one_hot: room for {} numbers, must be {} x {}",
                            out.size(), symbols.size(), width));
  }
  std::fill(out.begin(), out.end(), 0.0F);
  for (std::size_t i = 0; i < symbols.size(); ++i) {
    if (symbols[i] == kSravenBlank) continue;
    if (symbols[i] >= width) {
      throw Error(ErrorKind::kInternal,
                  fmt::format("expand_sraven_one_hot: symbol {} at {}: must be from 0 to {}, or {} "
                              "for a blank",
                              symbols[i], i, width - 1, kSravenBlank));
    }
    out[i * width + symbols[i]] = 1.0F;
  }
}

SravenGenerator::SravenGenerator(const SravenOptions& options)
    : options_(options), rule_sets_(split_sraven_rule_sets(options)) {}

void SravenGenerator::example(SravenSplit split, Index index, SravenInstance& out) const {
  Rng rng(options_.seed, purpose_of(split), static_cast<std::uint64_t>(index));
  draw_sraven_instance(options_, rule_sets_.of(split), rng, out);
}

void SravenGenerator::batch(SravenSplit split, Index first, Index count, SravenBatch& out) const {
  const auto instances = static_cast<std::size_t>(count);
  const auto features = static_cast<std::size_t>(options_.features);
  const auto tokens = static_cast<std::size_t>(options_.tokens());
  out.symbols.resize(instances * tokens);
  out.answers.resize(instances * features);
  out.rules_of_answers.resize(instances * features);
  out.rule_sets.resize(instances);
  SravenInstance instance;
  for (std::size_t i = 0; i < instances; ++i) {
    example(split, first + static_cast<Index>(i), instance);
    std::copy(instance.symbols.begin(), instance.symbols.end(), &out.symbols[i * tokens]);
    std::copy(instance.answers.begin(), instance.answers.end(), &out.answers[i * features]);
    for (std::size_t position = 0; position < features; ++position) {
      out.rules_of_answers[i * features + position] = instance.rule_of_answer(position);
    }
    out.rule_sets[i] = instance.rule_set;
  }
}

}  // namespace headway::tasks
