#include <cmath>
#include <nlohmann/json.hpp>

#include "headway/io/json.hpp"
#include "headway/io/study_file.hpp"

namespace headway::io {

namespace {

using Json = nlohmann::ordered_json;
using studies::Spread;
using studies::TrainedRun;

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

std::string line(const Json& object) {
  return object.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// A TOML value as JSON where both write it alike, else its text.
Json setting_value(const std::string& text) {
  Json value = Json::parse(text, nullptr, false);
  return value.is_discarded() ? Json(text) : value;
}

Json settings_object(const std::vector<studies::Setting>& settings) {
  Json out = Json::object();
  for (const studies::Setting& setting : settings) {
    out[setting.key] = setting_value(setting.value);
  }
  return out;
}

Json evaluations_object(const training::TrainSummary& summary) {
  Json out = Json::object();
  for (const auto& [split, evaluation] : summary.evaluations) {
    Json entry;
    entry["examples"] = evaluation.examples;
    entry["loss"] = number(evaluation.loss);
    for (const training::Metric& metric : evaluation.metrics) {
      entry[metric.name] = number(metric.value);
    }
    out[split] = std::move(entry);
  }
  return out;
}

Json ceilings_object(const std::vector<studies::SplitCeiling>& ceilings) {
  Json out;
  for (const auto& [split, best] : ceilings) {
    out[split]["instances"] = best.instances;
    for (const auto& [name, value] : studies::ceiling_numbers(best)) out[split][name] = value;
  }
  return out;
}

Json run_object(std::size_t index, const TrainedRun& run) {
  const training::TrainSummary& summary = run.summary;
  Json out;
  out["run"] = index + 1;
  out["label"] = run.label;
  out["variant"] = run.variant;
  out["seed"] = run.seed;
  out["settings"] = settings_object(run.settings);
  out["outcome"] = studies::to_string(summary.outcome);
  if (!summary.message.empty()) out["message"] = summary.message;
  out["device"] = run.cost.device;
  out["parameters"] = run.cost.parameters;
  out["flops_per_step"] = number(run.cost.flops_per_step);
  out["steps"] = summary.steps;
  out["train_loss"] = number(studies::final_train_loss(run));
  out["best_step"] = summary.best_step;
  out["best_loss"] = summary.best_step >= 0 ? number(summary.best_loss) : Json(nullptr);
  out["best_split"] = summary.best_split;
  out["evaluations"] = evaluations_object(summary);
  if (!run.ceilings.empty()) out["ceilings"] = ceilings_object(run.ceilings);
  out["steps_per_second"] = number(summary.steps_per_second);
  out["training_seconds"] = number(run.training_seconds);
  if (!run.sample.empty()) out["sample"] = run.sample;
  return out;
}

Json spread_object(const Spread& spread) {
  Json out;
  out["mean"] = number(spread.mean);
  out["standard_error"] = number(spread.standard_error);
  out["count"] = spread.count;
  return out;
}

Json group_object(const studies::TrainGroup& group) {
  Json out;
  out["label"] = group.label;
  out["seeds"] = group.seeds;
  out["diverged"] = group.diverged;
  out["parameters"] = group.parameters;
  out["flops_per_step"] = number(group.flops_per_step);
  out["train_loss"] = spread_object(group.train_loss);
  out["splits"] = Json::object();
  for (const studies::SplitSpread& split : group.splits) {
    Json entry;
    entry["metric"] = split.metric.empty() ? "loss" : split.metric;
    entry["last"] = spread_object(split.last);
    entry["best"] = spread_object(split.best);
    out["splits"][split.split] = std::move(entry);
  }
  return out;
}

}  // namespace

std::string train_record_json(std::size_t run, const TrainedRun& trained,
                              const training::TrainRecord& record) {
  Json out;
  out["run"] = run + 1;
  out["variant"] = trained.variant;
  out["seed"] = trained.seed;
  out["step"] = record.step;
  out["split"] = record.split;
  out["loss"] = number(record.loss);
  for (const training::Metric& metric : record.metrics) out[metric.name] = number(metric.value);
  if (record.split == "train") {
    out["learning_rate"] = number(record.learning_rate);
    out["gradient_norm"] = number(record.gradient_norm);
  }
  out["steps_per_second"] = number(record.steps_per_second);
  return line(out);
}

std::string train_summary_json(const studies::Study& study, const studies::TrainResult& result) {
  Json out;
  out["summary"] = true;
  out["study"] = study.name;
  out["study_hash"] = study_hash(study);
  out["partial"] = result.interrupted;
  out["planned_runs"] = result.planned;
  out["runs"] = Json::array();
  for (std::size_t i = 0; i < result.runs.size(); ++i) {
    out["runs"].push_back(run_object(i, result.runs[i]));
  }
  out["table"] = Json::array();
  for (const studies::TrainGroup& group : studies::group_runs(result)) {
    out["table"].push_back(group_object(group));
  }
  out["seconds"] = number(result.seconds);
  out["threads"] = result.threads;
  return line(out);
}

}  // namespace headway::io
