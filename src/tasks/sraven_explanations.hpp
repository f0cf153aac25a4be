// The search over everything that can explain the eight panels of an SRAVEN instance
// (sraven_bayes.hpp has the derivation).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "headway/tasks/sraven.hpp"

namespace headway::tasks::detail {

/// A rule that fits a feature, what it answers, and the probability of the grid under it.
struct Fit {
  SravenRule rule = SravenRule::kConstant;
  std::uint8_t answer = 0;
  double probability = 0.0;
};

/// One choice of the feature at position w of the last column: position u of the first column,
/// position v of the second, and the rules that fit (at least one).
struct Alignment {
  std::size_t first = 0;
  std::size_t second = 0;
  std::array<Fit, kSravenRules> fits{};
  std::size_t fit_count = 0;
};

/// What a rule answers, given the eight symbols of a feature; ninth_symbol() or a variant of it.
using NinthSymbol = std::optional<std::uint8_t> (*)(
    SravenRule rule, int values, std::span<const std::uint8_t, kSravenPanels - 1> first);

/// Position w of the last column -> its alignments. symbols: at least 8 K. Unpermuted data has
/// alignments of u = v = w alone.
std::vector<std::vector<Alignment>> possible_alignments(const SravenOptions& options,
                                                        std::span<const std::uint8_t> symbols,
                                                        NinthSymbol ninth);

/// Visits every explanation: visit(std::span<const Fit> fits) gets one fit for each position, and
/// the probability of the panels given it is the product of theirs.
template <typename Visitor>
class ExplanationSearch {
 public:
  ExplanationSearch(const std::vector<std::vector<Alignment>>& alignments, bool sorted_rules,
                    Visitor visit)
      : alignments_(alignments), sorted_rules_(sorted_rules), visit_(visit) {
    fits_.resize(alignments.size());
    search(0, 0, 0);
  }

 private:
  // The positions of the first and second column in use are the bits of the two masks.
  void search(std::size_t position, unsigned first_used, unsigned second_used) {
    if (position == fits_.size()) {
      visit_(std::span<const Fit>(fits_));
      return;
    }
    for (const Alignment& alignment : alignments_[position]) {
      const unsigned first = 1U << alignment.first;
      const unsigned second = 1U << alignment.second;
      if ((first_used & first) != 0 || (second_used & second) != 0) continue;
      for (std::size_t i = 0; i < alignment.fit_count; ++i) {
        const Fit& fit = alignment.fits[i];
        if (sorted_rules_ && position > 0 && fit.rule < fits_[position - 1].rule) continue;
        fits_[position] = fit;
        search(position + 1, first_used | first, second_used | second);
      }
    }
  }

  const std::vector<std::vector<Alignment>>& alignments_;
  bool sorted_rules_;
  Visitor visit_;
  std::vector<Fit> fits_;
};

template <typename Visitor>
void for_each_explanation(const SravenOptions& options, std::span<const std::uint8_t> symbols,
                          NinthSymbol ninth, Visitor visit) {
  const auto alignments = possible_alignments(options, symbols, ninth);
  for (const auto& list : alignments) {
    if (list.empty()) return;
  }
  ExplanationSearch<Visitor>(alignments, !options.permuted, visit);
}

}  // namespace headway::tasks::detail
