#include "train_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "headway/studies/study_hash.hpp"
#include "headway/training/backend.hpp"
#include "table.hpp"

namespace headway::cli {

namespace {

using studies::SplitSpread;
using studies::Spread;
using studies::TrainedRun;
using studies::TrainGroup;

std::string spread_text(const Spread& spread) {
  const std::string mean = cell(spread.mean, "{:.4f}");
  return std::isfinite(spread.standard_error) ? mean + "+-" + cell(spread.standard_error, "{:.2g}")
                                              : mean;
}

std::string amount(double value, const char* unit) {
  if (value >= 1e15) return fmt::format("{:.3g} P{}", value / 1e15, unit);
  if (value >= 1e12) return fmt::format("{:.3g} T{}", value / 1e12, unit);
  if (value >= 1e9) return fmt::format("{:.3g} G{}", value / 1e9, unit);
  return fmt::format("{:.3g} M{}", value / 1e6, unit);
}

std::string seeds_text(const std::vector<std::uint64_t>& seeds) {
  std::string out;
  for (const std::uint64_t seed : seeds) out += (out.empty() ? "" : ",") + std::to_string(seed);
  return out;
}

const SplitSpread* find_split(const TrainGroup& group, const std::string& split) {
  for (const SplitSpread& s : group.splits) {
    if (s.split == split) return &s;
  }
  return nullptr;
}

std::string header_text(const studies::Study& study, const studies::TrainResult& result) {
  return fmt::format("{}: {}, {} of {} runs, {} steps of {} examples\n\n", study.name,
                     word_of(study.task.kind), result.runs.size(), result.planned,
                     study.train.run.steps, study.train.run.batch);
}

/// What the examples allow at best.
std::string ceilings_text(const std::vector<studies::SplitCeiling>& ceilings) {
  if (ceilings.empty()) return "";
  std::string out = "best possible accuracy, for one who knows the rule sets:";
  for (const auto& [split, best] : ceilings) {
    out += fmt::format("{} {} {:.4f}+-{:.1g}", split == ceilings.front().split ? "" : ",", split,
                       best.accuracy, best.accuracy_error);
  }
  const tasks::SravenCeiling& most = ceilings.back().best;
  out += fmt::format(
      "\n{:.1f} % of the instances have several answers; in {:.2f} % all features can "
      "be explained wrongly at once\n",
      100.0 * most.several_answers, 100.0 * most.every_feature_wrong);
  return out;
}

/// Bits per byte, perplexity and what the model writes, for texts.
std::string samples_text(const studies::TrainResult& result) {
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

std::string train_table(const studies::Study& study, const studies::TrainResult& result) {
  const std::vector<TrainGroup> groups = studies::group_runs(result);
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
        amount(group.flops_per_step, "flop"), spread_text(group.train_loss)};
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
    row.push_back(cell(seconds, "{:.3g}"));
    row.emplace_back(whole ? "" : "*");
    table.add(std::move(row));
  }
  std::string out = header_text(study, result) + table.text();
  std::string ceilings;
  for (const TrainGroup& group : groups) {
    const std::string more = ceilings_text(result.runs[group.runs.front()].ceilings);
    if (ceilings.find(more) == std::string::npos) ceilings += "\n" + more;
  }
  out += ceilings;
  if (marked) out += "* with runs that were interrupted or diverged; they are in no mean\n";
  return out + samples_text(result);
}

std::string train_plan_text(const studies::Study& study, const std::vector<PlannedRun>& runs,
                            const std::string& output) {
  std::string out = fmt::format("{}: {}, {} run{}{}\n\n", study.name, word_of(study.task.kind),
                                runs.size(), runs.size() == 1 ? "" : "s",
                                output.empty() ? ", without a result file" : ", into " + output);
  Table table({"run", "variant<", "seed", "tokens", "parameters", "flops/step", "attention",
               "steps", "flops", "device"});
  double total = 0.0;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const PlannedRun& run = runs[i];
    const auto steps = static_cast<double>(run.study.train.run.steps);
    total += steps * run.cost.flops_per_step;
    table.add({std::to_string(i + 1), run.label, std::to_string(run.seed),
               std::to_string(run.format.tokens), std::to_string(run.cost.parameters),
               amount(run.cost.flops_per_step, "flop"),
               fmt::format("{:.0f} %",
                           100.0 * run.cost.attention_flops_per_step / run.cost.flops_per_step),
               std::to_string(run.study.train.run.steps),
               amount(steps * run.cost.flops_per_step, "flop"), run.cost.device});
  }
  out += table.text();
  const std::string ceilings = ceilings_text(runs.front().ceilings);
  if (!ceilings.empty()) out += "\n" + ceilings;
  out += fmt::format("\nin all {}\nstudy hash {}\n", amount(total, "flop"),
                     studies::study_hash(study));
  if (!training::training_available()) {
    out += "this build has no LibTorch: it can plan but not train\n";
  }
  return out;
}

std::string train_plan_json(const studies::Study& study, const std::vector<PlannedRun>& runs) {
  const auto add = [](nlohmann::ordered_json& out, const PlannedRun& run) {
    out["variant"] = run.variant;
    out["label"] = run.label;
    out["seed"] = run.seed;
    out["parameters"] = run.cost.parameters;
    out["flops_per_step"] = run.cost.flops_per_step;
    out["attention_flops_per_step"] = run.cost.attention_flops_per_step;
    out["device"] = run.cost.device;
    out["tokens"] = run.format.tokens;
    out["batch"] = run.study.train.run.batch;
    out["steps"] = run.study.train.run.steps;
  };
  nlohmann::ordered_json out;
  out["dry_run"] = true;
  out["verb"] = "train";
  out["study"] = study.name;
  out["study_hash"] = studies::study_hash(study);
  out["task"] = word_of(study.task.kind);
  out["can_train"] = training::training_available();
  add(out, runs.front());
  for (const auto& [split, best] : runs.front().ceilings) {
    for (const auto& [name, value] : studies::ceiling_numbers(best)) {
      out["ceilings"][split][name] = value;
    }
  }
  out["runs"] = nlohmann::ordered_json::array();
  for (const PlannedRun& run : runs) {
    nlohmann::ordered_json one;
    add(one, run);
    out["runs"].push_back(std::move(one));
  }
  return out.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace headway::cli
