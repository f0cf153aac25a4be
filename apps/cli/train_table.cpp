#include "train_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "table.hpp"
#include "train_plan.hpp"
#include "trained_network_tables.hpp"

namespace headway::cli {

namespace {

const SplitSpread* find_split(const TrainGroup& group, const std::string& split) {
  for (const SplitSpread& s : group.splits) {
    if (s.split == split) return &s;
  }
  return nullptr;
}

std::string header_text(const Study& study, const TrainResult& result) {
  return wrapped(fmt::format("{}: {}, {} of {} runs, {} steps of {} examples\n\n", study.name,
                             word_of(study.task.kind()), result.runs.size(), result.planned,
                             study.train.run.steps, study.train.run.batch));
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
    out += fmt::format("; it writes:\n{}\n", run.sample);
  }
  return out;
}

}  // namespace

std::string train_table(const Study& study, const TrainResult& result) {
  const std::vector<TrainGroup> groups = headway::group_runs(result);
  std::vector<std::string> splits;
  std::vector<std::string> header = {"variant<", "seeds<", "parameters", "flops/step",
                                     "train loss"};
  const auto evaluated = std::find_if(
      groups.begin(), groups.end(), [](const TrainGroup& group) { return !group.splits.empty(); });
  if (evaluated != groups.end()) {
    for (const SplitSpread& split : evaluated->splits) {
      splits.push_back(split.split);
      header.push_back(split.split + " " + (split.metric.empty() ? "loss" : split.metric));
    }
  }
  header.insert(header.end(), {"steps/s", "seconds", ""});
  Table table(header);
  bool marked = false;
  for (const TrainGroup& group : groups) {
    std::vector<std::string> row = {
        group.label, seeds_text(group.seeds), std::to_string(group.parameters),
        amount_text(group.flops_per_step, "flop"), spread_text(group.train_loss)};
    for (const std::string& split : splits) {
      const SplitSpread* spread = find_split(group, split);
      row.push_back(spread == nullptr ? "-" : spread_text(spread->last));
    }
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
