// The posterior of SRAVEN answers straight from its definition, for small K and F.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <numeric>
#include <vector>

#include "headway/tasks/sraven.hpp"
#include "sraven_grids.hpp"

namespace headway::testing {

// P(x, y) of every answer y, by summing over rule sets, answers and the permutations of the three
// columns. A grid's probability under a rule is one over the number of all grids that follow it.
class SravenBruteForce {
 public:
  SravenBruteForce(const tasks::SravenOptions& options, std::vector<tasks::SravenRuleSet> sets)
      : options_(options), sets_(std::move(sets)) {
    for (int number = 0; number < tasks::kSravenRules; ++number) {
      double following = 0.0;
      for (int code = 0; code < std::pow(options.values, tasks::kSravenPanels); ++code) {
        tasks::SravenGrid grid{};
        for (int rest = code; std::uint8_t & cell : grid) {
          cell = static_cast<std::uint8_t>(rest % options.values);
          rest /= options.values;
        }
        following += follows(number, grid) ? 1.0 : 0.0;
      }
      probabilities_.push_back(1.0 / following);
    }
    std::vector<std::size_t> order(static_cast<std::size_t>(options.features));
    std::iota(order.begin(), order.end(), 0);
    do {
      orders_.push_back(order);
    } while (options.permuted && std::next_permutation(order.begin(), order.end()));
  }

  // `symbols`: of eight panels or more.
  std::map<std::vector<int>, double> joint(const std::vector<std::uint8_t>& symbols) const {
    const auto features = static_cast<std::size_t>(options_.features);
    std::map<std::vector<int>, double> sums;
    std::vector<std::uint8_t> all(symbols.begin(),
                                  symbols.begin() + static_cast<std::ptrdiff_t>(8 * features));
    all.resize(9 * features);
    for (int code = 0; code < std::pow(options_.values, features); ++code) {
      int rest = code;
      for (std::size_t k = 0; k < features; ++k) {
        all[8 * features + k] = static_cast<std::uint8_t>(rest % options_.values);
        rest /= options_.values;
      }
      const double probability = sum_over_columns(all);
      if (probability > 0.0) {
        sums[{all.end() - static_cast<std::ptrdiff_t>(features), all.end()}] = probability;
      }
    }
    return sums;
  }

 private:
  bool follows(int rule, const tasks::SravenGrid& grid) const {
    return grid_follows(static_cast<tasks::SravenRule>(rule), options_.values, grid);
  }

  double sum_over_columns(const std::vector<std::uint8_t>& all) const {
    const double orders = std::pow(orders_.size(), 3);
    double sum = 0.0;
    for (const auto& first : orders_) {
      for (const auto& second : orders_) {
        for (const auto& third : orders_) sum += sum_over_sets(all, {first, second, third});
      }
    }
    return sum / orders / static_cast<double>(sets_.size());
  }

  // where[c][i]: the position in column c at which feature i is shown.
  double sum_over_sets(const std::vector<std::uint8_t>& all,
                       const std::vector<std::vector<std::size_t>>& where) const {
    const auto features = static_cast<std::size_t>(options_.features);
    std::vector<std::vector<double>> factors(features);  // [feature][rule]
    for (std::size_t i = 0; i < features; ++i) {
      tasks::SravenGrid grid{};
      for (std::size_t panel = 0; panel < 9; ++panel) {
        grid[panel] = all[panel * features + where[panel % 3][i]];
      }
      for (int rule = 0; rule < tasks::kSravenRules; ++rule) {
        factors[i].push_back(follows(rule, grid) ? probabilities_[static_cast<std::size_t>(rule)]
                                                 : 0.0);
      }
    }
    double sum = 0.0;
    for (const tasks::SravenRuleSet& set : sets_) {
      double product = 1.0;
      for (std::size_t i = 0; i < features; ++i) {
        product *= factors[i][static_cast<std::size_t>(set[i])];
      }
      sum += product;
    }
    return sum;
  }

  tasks::SravenOptions options_;
  std::vector<tasks::SravenRuleSet> sets_;
  std::vector<double> probabilities_;             // by rule
  std::vector<std::vector<std::size_t>> orders_;  // of the features
};

}  // namespace headway::testing
