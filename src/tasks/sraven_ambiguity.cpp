#include "tasks/sraven_ambiguity.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "tasks/sraven_explanations.hpp"

namespace headway::tasks {
namespace {

// Of the first row's symbols that occur least often among a and b, the smallest. None if a or b is
// not in the first row.
std::optional<std::uint8_t> least_used(std::array<std::uint8_t, kSravenSide> first_row,
                                       std::uint8_t a, std::uint8_t b) {
  const auto has = [&first_row](std::uint8_t symbol) {
    return std::find(first_row.begin(), first_row.end(), symbol) != first_row.end();
  };
  if (!has(a) || !has(b)) return std::nullopt;
  std::sort(first_row.begin(), first_row.end());
  return *std::min_element(first_row.begin(), first_row.end(), [=](std::uint8_t x, std::uint8_t y) {
    return (x == a) + (x == b) < (y == a) + (y == b);
  });
}

// ninth_symbol() as the checker of [S25] has it (SravenExplanations::kPublished).
std::optional<std::uint8_t> published_ninth_symbol(
    SravenRule rule, int values, std::span<const std::uint8_t, kSravenPanels - 1> first) {
  if (rule != SravenRule::kDistributeThree) return ninth_symbol(rule, values, first);
  const std::array<std::uint8_t, kSravenSide> row = {first[0], first[1], first[2]};
  if (!std::is_permutation(row.begin(), row.end(), first.begin() + kSravenSide)) {
    return std::nullopt;
  }
  return least_used(row, first[6], first[7]);
}

}  // namespace

SravenAmbiguity check_sraven_ambiguity(const SravenOptions& options, const SravenInstance& instance,
                                       SravenExplanations explanations) {
  const bool possible = explanations == SravenExplanations::kPossible;
  SravenAmbiguity ambiguity;
  detail::for_each_explanation(
      options, instance.symbols, possible ? ninth_symbol : published_ninth_symbol,
      [&](std::span<const detail::Fit> explanation) {
        std::size_t wrong = 0;
        for (std::size_t position = 0; position < explanation.size(); ++position) {
          if (explanation[position].answer != instance.answers[position]) ++wrong;
        }
        ambiguity.some_feature_wrong |= wrong > 0;
        ambiguity.every_feature_wrong |= wrong == explanation.size();
      });
  return ambiguity;
}

}  // namespace headway::tasks
