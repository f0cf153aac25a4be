#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "headway/error.hpp"
#include "headway/numerics/statistics.hpp"
#include "headway/results/table.hpp"
#include "headway/train_results.hpp"
#include "results/by_label.hpp"

namespace headway::training {

std::map<std::string, std::vector<CurveRow>> curves_of(const std::vector<TrainRecord>& records) {
  std::map<std::string, std::vector<CurveRow>> curves;
  for (std::size_t i = 0; i < records.size(); ++i) {
    curves[records[i].split].push_back({i, records[i]});
  }
  return curves;
}

std::vector<TrainRecord> records_of(const std::map<std::string, std::vector<CurveRow>>& curves) {
  std::vector<CurveRow> rows;
  for (const auto& [split, of_split] : curves) {
    for (const CurveRow& row : of_split) rows.emplace_back(row).record.split = split;
  }
  std::sort(rows.begin(), rows.end(),
            [](const CurveRow& a, const CurveRow& b) { return a.number < b.number; });
  std::vector<TrainRecord> records;
  for (CurveRow& row : rows) records.push_back(std::move(row.record));
  return records;
}

}  // namespace headway::training

namespace headway {
namespace {

/// "hyla" of "\"hyla\"".
std::string unquoted(const std::string& value) {
  const bool quoted = value.size() >= 2 && value.front() == '"' && value.back() == '"';
  return quoted ? value.substr(1, value.size() - 2) : value;
}

std::string short_setting(const Setting& setting) {
  if (setting.key == "train.attention") return unquoted(setting.value);
  if (setting.value.starts_with('{')) {
    std::string inside = setting.value.substr(1, setting.value.size() - 2);
    inside.erase(std::remove(inside.begin(), inside.end(), '"'), inside.end());
    constexpr std::string_view kVariant = "attention = ";
    if (inside.starts_with(kVariant)) inside.erase(0, kVariant.size());
    return inside;
  }
  const std::size_t dot = setting.key.rfind('.');
  const std::string name = dot == std::string::npos ? setting.key : setting.key.substr(dot + 1);
  return fmt::format("{} = {}", name, unquoted(setting.value));
}

bool is_finished(const TrainedRun& run) {
  return run.summary.outcome == training::TrainOutcome::kFinished;
}

double value_of(const std::vector<training::Metric>& metrics, const std::string& name) {
  for (const training::Metric& m : metrics) {
    if (m.name == name) return m.value;
  }
  return kUndefined;
}

double last_value(const TrainedRun& run, const std::string& split, const std::string& metric) {
  for (const auto& [name, evaluation] : run.summary.evaluations) {
    if (name != split) continue;
    return metric.empty() ? evaluation.loss : value_of(evaluation.metrics, metric);
  }
  return kUndefined;
}

/// At the step of the best checkpoint, from the record of its evaluation.
double best_value(const TrainedRun& run, const std::string& split, const std::string& metric) {
  for (const training::TrainRecord& record : run.records) {
    if (record.step != run.summary.best_step || record.split != split) continue;
    return metric.empty() ? record.loss : value_of(record.metrics, metric);
  }
  return kUndefined;
}

void add_splits(const TrainResult& result, TrainGroup& group) {
  for (const std::size_t i : group.runs) {
    for (const auto& [split, evaluation] : result.runs[i].summary.evaluations) {
      const bool known = std::any_of(group.splits.begin(), group.splits.end(),
                                     [&name = split](const auto& s) { return s.split == name; });
      if (!known) group.splits.push_back({split, main_metric(evaluation), {}, {}});
    }
  }
  for (SplitSpread& split : group.splits) {
    std::vector<double> last, best;
    for (const std::size_t i : group.runs) {
      if (!is_finished(result.runs[i])) continue;
      last.push_back(last_value(result.runs[i], split.split, split.metric));
      best.push_back(best_value(result.runs[i], split.split, split.metric));
    }
    split.last = spread_of(std::move(last));
    split.best = spread_of(std::move(best));
  }
}

}  // namespace

Spread spread_of(std::vector<double> values) {
  std::erase_if(values, [](double x) { return !std::isfinite(x); });
  const numerics::Moments m = numerics::moments(values);
  return {static_cast<Index>(values.size()), m.mean, m.standard_error()};
}

std::string run_variant(const Study& study) {
  if (study.train.model.network == training::NetworkKind::kLinearValue) return "linear_value";
  std::string name = study.train.model.attention;
  if (!study.train.model.nonlinearity.empty()) name += " " + study.train.model.nonlinearity;
  if (study.train.model.feed_forward == training::FeedForward::kMixture) name += " + mixture";
  if (study.train.model.encoder_layers > 0) name += " + encoder";
  return name;
}

std::string run_label(const std::vector<Setting>& settings, const Study& study) {
  const bool seeds_swept = std::any_of(settings.begin(), settings.end(),
                                       [](const Setting& s) { return s.key == "seed"; });
  std::string label;
  for (const Setting& setting : settings) {
    const bool of_task = setting.key == "task.seed";
    if (setting.key == "seed" || (of_task && !seeds_swept)) continue;
    // Crossed seeds are no independent runs: those on the same data are alike.
    const std::string shown = of_task ? "task.seed = " + setting.value : short_setting(setting);
    label += (label.empty() ? "" : ", ") + shown;
  }
  return label.empty() ? run_variant(study) : label;
}

bool TrainedRun::done() const {
  return summary.outcome == training::TrainOutcome::kFinished ||
         summary.outcome == training::TrainOutcome::kDiverged;
}

std::vector<TrainGroup> group_runs(const TrainResult& result) {
  std::vector<TrainGroup> groups;
  for (const std::vector<const TrainedRun*>& runs : by_label(result.runs)) {
    TrainGroup& group = groups.emplace_back();
    group.label = runs.front()->label;
    group.parameters = runs.front()->cost.parameters;
    group.flops_per_step = runs.front()->cost.flops_per_step;
    std::vector<double> loss;
    for (const TrainedRun* run : runs) {
      group.runs.push_back(static_cast<std::size_t>(run - result.runs.data()));
      group.seeds.push_back(run->seed);
      if (is_finished(*run)) loss.push_back(final_train_loss(*run));
      group.diverged += run->summary.outcome == training::TrainOutcome::kDiverged ? 1 : 0;
    }
    group.train_loss = spread_of(std::move(loss));
    add_splits(result, group);
  }
  return groups;
}

double final_train_loss(const TrainedRun& run) {
  for (auto record = run.records.rbegin(); record != run.records.rend(); ++record) {
    if (record->split == "train") return record->loss;
  }
  return run.summary.steps > 0 ? run.summary.last_train_loss : kUndefined;
}

std::string main_metric(const training::Evaluation& evaluation) {
  for (const char* name : {"r2", "bits_per_byte", "accuracy"}) {
    for (const training::Metric& m : evaluation.metrics) {
      if (m.name == name) return name;
    }
  }
  return evaluation.metrics.empty() ? "" : evaluation.metrics.front().name;
}

std::string training_fault(const TrainedRun& run) {
  if (run.summary.outcome == training::TrainOutcome::kDiverged) return run.summary.message;
  if (run.summary.outcome != training::TrainOutcome::kFinished) return "";
  for (const auto& [split, evaluation] : run.summary.evaluations) {
    if (!std::isfinite(evaluation.loss)) {
      return fmt::format("the loss on {} is not finite at the end", split);
    }
  }
  return "";
}

std::string ceilings_text(const std::vector<SplitCeiling>& ceilings) {
  if (ceilings.empty()) return "";
  std::string out = "best possible accuracy of a solver that knows the rule sets:";
  for (const auto& [split, best] : ceilings) {
    out += fmt::format("{} {} {}", split == ceilings.front().split ? "" : ",", split,
                       measured_text(best.accuracy, best.accuracy_error));
  }
  const tasks::SravenCeiling& most = ceilings.back().best;
  out += fmt::format(
      "\n{:.1f} % of the instances have several possible answers; in {:.2f} % wrong rules explain "
      "all features at once\n",
      100.0 * most.several_answers, 100.0 * most.every_feature_wrong);
  return out;
}

}  // namespace headway
