#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "headway/core/text.hpp"
#include "headway/results/table.hpp"
#include "headway/study/sweep.hpp"
#include "result_tables.hpp"
#include "trained_network_tables.hpp"

namespace headway::cli {

namespace {

/// A split and the metric that is shown of it. Groups of other tasks may have others.
using Column = std::pair<std::string, std::string>;

Column column_of(const SplitSpread& spread) { return {spread.split, spread.metric}; }

/// All that some group has, each once.
std::vector<Column> columns_of(const std::vector<TrainGroup>& groups) {
  std::vector<Column> columns;
  for (const TrainGroup& group : groups) {
    for (const SplitSpread& spread : group.splits) {
      const Column column = column_of(spread);
      if (std::find(columns.begin(), columns.end(), column) == columns.end()) {
        columns.push_back(column);
      }
    }
  }
  return columns;
}

std::string cell_of(const TrainGroup& group, const Column& column) {
  const auto spread =
      std::find_if(group.splits.begin(), group.splits.end(),
                   [&](const SplitSpread& one) { return column_of(one) == column; });
  return spread == group.splits.end() ? "-" : spread_text(spread->last);
}

/// "12", or "5 to 10" where the runs differ.
std::string range_text(const std::vector<TrainRun>& runs, Index training::TrainOptions::*number) {
  const auto [least, most] =
      std::minmax_element(runs.begin(), runs.end(), [number](const TrainRun& a, const TrainRun& b) {
        return a.study.train.run.*number < b.study.train.run.*number;
      });
  const Index low = least->study.train.run.*number;
  const Index high = most->study.train.run.*number;
  return low == high ? std::to_string(low) : fmt::format("{} to {}", low, high);
}

std::string header_text(const Study& study, const TrainResult& result) {
  const std::vector<TrainRun> runs = headway::train_runs(study);
  std::vector<std::string> kinds;
  for (const TrainRun& run : runs) {
    const std::string kind(word_of(run.study.task.kind()));
    if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) kinds.push_back(kind);
  }
  return wrapped(fmt::format("{}: {}, {} of {}, {} steps of {} examples\n\n", study.name,
                             join(kinds), result.runs.size(), count_text(result.planned, "run"),
                             range_text(runs, &training::TrainOptions::steps),
                             range_text(runs, &training::TrainOptions::batch)));
}

/// For texts: bits per byte, perplexity and what the model writes.
std::string samples_text(const TrainResult& result) {
  std::string out;
  for (const TrainedRun& run : result.runs) {
    if (run.sample.empty()) continue;
    out += fmt::format("\n{}, seed {}", run.label, run.seed);
    for (const auto& [split, evaluation] : run.summary.evaluations) {
      out += fmt::format("; {}: {} bits per byte, perplexity {}", split,
                         cell(evaluation.metric("bits_per_byte"), "{:.4f}"),
                         cell(evaluation.metric("perplexity"), "{:.3f}"));
    }
    out += fmt::format("; it writes:\n{}\n", printable_lines(run.sample));
  }
  return out;
}

}  // namespace

std::string train_table(const Study& study, const TrainResult& result) {
  const std::vector<TrainGroup> groups = headway::group_runs(result);
  const std::vector<Column> columns = columns_of(groups);
  const bool of_text = std::ranges::any_of(
      columns, [](const Column& column) { return column.second == "bits_per_byte"; });
  std::vector<std::string> header = {"variant<", "seeds<", "parameters", "flops/step",
                                     of_text ? "train loss (nats)" : "train loss"};
  for (const auto& [split, metric] : columns) {
    header.push_back(split + " " + (metric.empty() ? "loss" : metric));
  }
  header.insert(header.end(), {"steps/s", "seconds", ""});
  Table table(header);
  bool marked = false;
  for (const TrainGroup& group : groups) {
    std::vector<std::string> row = {
        group.label, seeds_text(group.seeds), std::to_string(group.parameters),
        amount_text(group.flops_per_step, "flop"), spread_text(group.train_loss)};
    for (const Column& column : columns) row.push_back(cell_of(group, column));
    double seconds = 0.0;
    double steps = 0.0;
    bool whole = true;
    for (const std::size_t i : group.runs) {
      seconds += result.runs[i].training_seconds;
      steps += static_cast<double>(result.runs[i].summary.steps);
      whole = whole && result.runs[i].summary.outcome == training::TrainOutcome::kFinished;
    }
    marked = marked || !whole;
    row.push_back(seconds > 0.0 ? cell(steps / seconds, "{:.3g}") : "-");
    row.push_back(seconds_cell(seconds));
    row.emplace_back(whole ? "" : "*");
    table.add(std::move(row));
  }
  std::string out = header_text(study, result) + table.text();
  std::string ceilings;
  for (const TrainGroup& group : groups) {
    const std::string more = ceilings_text(result.runs[group.runs.front()].ceilings);
    if (ceilings.find(more) == std::string::npos) ceilings += "\n" + more;
  }
  out += wrapped(ceilings);
  if (marked) out += "* some runs were interrupted or diverged; no mean includes them\n";
  return out + samples_text(result);
}

}  // namespace headway::cli
