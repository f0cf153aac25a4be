#include "tasks/sraven_explanations.hpp"

#include <fmt/format.h>

#include <optional>

#include "headway/error.hpp"

namespace headway::tasks::detail {
namespace {

using EightSymbols = std::array<std::uint8_t, kSravenPanels - 1>;

void require_symbols(const SravenOptions& options, std::span<const std::uint8_t> symbols) {
  const auto needed =
      static_cast<std::size_t>(kSravenPanels - 1) * static_cast<std::size_t>(options.features);
  if (symbols.size() < needed) {
    throw Error(ErrorKind::kInternal,
                fmt::format("sraven: {} symbols: must be the {} of eight panels of {} features",
                            symbols.size(), needed, options.features));
  }
  for (std::size_t i = 0; i < needed; ++i) {
    if (symbols[i] >= options.values) {
      throw Error(ErrorKind::kInternal, fmt::format("sraven: symbol {} at {}: must be from 0 to {}",
                                                    symbols[i], i, options.values - 1));
    }
  }
}

// The rules that may fit the feature made of one position of each column, by its first two rows: a
// bit each. Of distribute-three, whose variants differ, it only says whether both rows can have the
// same symbols.
unsigned rules_of_rows(const SravenOptions& options, std::span<const std::uint8_t> symbols,
                       const std::array<std::size_t, kSravenSide>& positions) {
  constexpr unsigned kDistributeThree = 1U << static_cast<unsigned>(SravenRule::kDistributeThree);
  const auto features = static_cast<std::size_t>(options.features);
  unsigned rules = ~kDistributeThree;
  std::array<int, 2> sums{};
  for (std::size_t row = 0; row < sums.size(); ++row) {
    const std::uint8_t* panel = symbols.data() + row * kSravenSide * features;
    const int a = panel[positions[0]];
    const int b = panel[features + positions[1]];
    const int c = panel[2 * features + positions[2]];
    rules &= rules_of_row(options.values, a, b, c);
    sums[row] = a + b + c;
  }
  return sums[0] == sums[1] ? rules | kDistributeThree : rules;
}

// The rules that fit, of those whose bits are set.
Alignment fit_rules(const SravenOptions& options, std::span<const std::uint8_t> symbols,
                    const std::array<std::size_t, kSravenSide>& positions, unsigned rules,
                    NinthSymbol ninth, const std::array<double, kSravenRules>& probabilities) {
  EightSymbols feature{};
  for (std::size_t panel = 0; panel < feature.size(); ++panel) {
    feature[panel] = symbols[panel * static_cast<std::size_t>(options.features) +
                             positions[panel % kSravenSide]];
  }
  Alignment alignment;
  alignment.first = positions[0];
  alignment.second = positions[1];
  for (std::size_t number = 0; number < kSravenRules; ++number) {
    if (((rules >> number) & 1U) == 0) continue;
    const auto rule = static_cast<SravenRule>(number);
    const std::optional<std::uint8_t> answer = ninth(rule, options.values, feature);
    if (!answer) continue;
    alignment.fits[alignment.fit_count++] = {rule, *answer, probabilities[number]};
  }
  return alignment;
}

}  // namespace

std::vector<std::vector<Alignment>> possible_alignments(const SravenOptions& options,
                                                        std::span<const std::uint8_t> symbols,
                                                        NinthSymbol ninth) {
  require_symbols(options, symbols);
  std::array<double, kSravenRules> probabilities{};
  for (std::size_t number = 0; number < kSravenRules; ++number) {
    probabilities[number] = grid_probability(static_cast<SravenRule>(number), options.values);
  }
  const auto features = static_cast<std::size_t>(options.features);
  std::vector<std::vector<Alignment>> alignments(features);
  for (std::size_t last = 0; last < features; ++last) {
    for (std::size_t first = 0; first < features; ++first) {
      for (std::size_t second = 0; second < features; ++second) {
        if (!options.permuted && (first != last || second != last)) continue;
        const std::array positions = {first, second, last};
        const unsigned rules = rules_of_rows(options, symbols, positions);
        if (rules == 0) continue;  // most alignments
        const Alignment alignment =
            fit_rules(options, symbols, positions, rules, ninth, probabilities);
        if (alignment.fit_count > 0) alignments[last].push_back(alignment);
      }
    }
  }
  return alignments;
}

}  // namespace headway::tasks::detail
