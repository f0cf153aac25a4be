#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "headway/rank_results.hpp"
#include "headway/results/table.hpp"
#include "result_tables.hpp"

namespace headway::cli {

namespace {

const RankColumn* column_named(const HeadRanking& ranking, const std::string& name) {
  const auto at = std::ranges::find(ranking.columns, name, &RankColumn::name);
  return at == ranking.columns.end() ? nullptr : &*at;
}

/// So many decimals that the median error has two digits; at least 4, at most 9.
int decimals_of(std::vector<double> errors) {
  constexpr int kFewest = 4, kMost = 9;
  std::ranges::sort(errors);
  const std::size_t half = errors.size() / 2;
  const double middle =
      errors.size() % 2 == 1 ? errors[half] : 0.5 * (errors[half - 1] + errors[half]);
  if (!(middle > 0.0)) return kFewest;
  return std::clamp(1 + static_cast<int>(std::ceil(-std::log10(middle))), kFewest, kMost);
}

/// What orders on two halves of the examples say of this one.
std::string trust_text(const HeadRanking& ranking) {
  const bool frozen = ranking.is_of_frozen_cuts();
  if (ranking.names.size() == 1)
    return frozen ? "One part has no order.\n" : "One head has no order.\n";
  if (std::isnan(ranking.ceiling)) {
    return frozen ? "All cuts are the same, so parts have no order.\n"
                  : "All heads cost the same, so they have no order.\n";
  }
  return fmt::format(
      "Orders on two halves of the examples agree by {:.2f} +- {:.2f}. No order {}can be expected "
      "to "
      "agree with this one by more than {:.2f}. {} of the same rank cannot be told apart.\n",
      ranking.halves, ranking.halves_sd, frozen ? "of such cuts " : "", ranking.ceiling,
      frozen ? "Parts" : "Heads");
}

constexpr const char* kFrozen =
    "A frozen cut takes a part off and keeps everything else as it was, also what the part feeds. "
    "It does not tell what removing a head costs, nor which head is cheapest. headway rank of the "
    "trained network, or headway.rank_heads, removes it.\n";

std::string heads_table(const HeadRanking& ranking) {
  const bool frozen = ranking.is_of_frozen_cuts();
  const char* what = frozen ? "smallest cuts" : "cheapest";
  const std::string among = fmt::format("among {} {}", ranking.cheapest, what);
  std::vector<std::string> header = {"rank", frozen ? "part<" : "head<", "estimate", "90 %<",
                                     among};
  std::vector<const RankColumn*> shown;
  for (const std::string& name : {ranking.target, std::string("cut_without_theory"),
                                  std::string("cut_of_theory"), std::string("gradient")}) {
    const RankColumn* column = column_named(ranking, name);
    if (column == nullptr) continue;
    shown.push_back(column);
    header.push_back(name == "cut_without_theory" ? "frozen cut, U = 1"
                     : name == "cut_of_theory"    ? "frozen cut, theory's U"
                     : name == "gradient"         ? "gradient"
                     : frozen                     ? "frozen cut"
                                                  : "removal");
  }
  std::vector<std::size_t> order(ranking.names.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t h) { return ranking.estimate[h]; });
  Table table(header);
  const int decimals = decimals_of(ranking.error);
  for (const std::size_t h : order) {
    std::vector<std::string> row = {
        std::to_string(ranking.ranks[h]), ranking.names[h],
        fmt::format("{:+.{}f}", ranking.estimate[h], decimals),
        fmt::format("{:+.{}f} to {:+.{}f}", ranking.low[h], decimals, ranking.high[h], decimals),
        cell(ranking.among_cheapest[h], "{:.2f}")};
    for (const RankColumn* column : shown) {
      row.push_back(measured_text(column->value[h], column->error[h], "{:+.4f}"));
    }
    table.add(std::move(row));
  }
  return table.text();
}

std::string ranking_text(const HeadRanking& ranking) {
  std::string title =
      ranking.variant.empty()
          ? ranking.label
          : fmt::format("run {}: {}, seed {}", ranking.run,
                        ranking.label.empty() ? ranking.variant : ranking.label, ranking.seed);
  title += fmt::format(": {} on {} {} examples; squared error {} with all", ranking.target,
                       ranking.examples, ranking.split, cell(ranking.loss, "{:.4f}"));
  if (!std::isnan(ranking.accuracy)) {
    title += fmt::format(", accuracy {}", cell(ranking.accuracy, "{:.3f}"));
  }
  std::string costs;
  for (const RankColumn& column : ranking.columns) {
    if (column.passes <= 0.0 || column.name.starts_with("expected")) continue;
    costs += fmt::format("{}{} {:g}", costs.empty() ? "" : ", ", column.name, column.passes);
  }
  std::string below = trust_text(ranking);
  if (ranking.is_of_frozen_cuts()) below += kFrozen;
  if (!costs.empty()) below += fmt::format("Costs in forward passes: {}\n", costs);
  return wrapped(title) + "\n" + heads_table(ranking) + wrapped(below);
}

}  // namespace

std::string rank_table(const Study& /*study*/, const RankResult& result) {
  std::string out;
  for (const HeadRanking& ranking : result.runs) {
    if (!out.empty()) out += "\n";
    out += ranking_text(ranking);
  }
  return out;
}

}  // namespace headway::cli
