#include "headway/io/json.hpp"
#include "headway/studies/study_hash.hpp"
#include "io/result_file/json_writer.hpp"

namespace headway::io {
namespace {

using studies::TrainedRun;

std::string line(const Json& object) {
  return object.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// A TOML value as JSON where both write it alike, else its text.
Json setting_value(const std::string& text) {
  Json value = Json::parse(text, nullptr, false);
  return value.is_discarded() ? Json(text) : value;
}

Json run_object(std::size_t index, const TrainedRun& run) {
  Json out;
  out["run"] = index + 1;
  out["settings"] = Json::object();
  for (const studies::Setting& setting : run.settings) {
    out["settings"][setting.key] = setting_value(setting.value);
  }
  out["evaluations"] = Json::object();  // also where nothing was evaluated
  JsonWriter write(out);
  fields(write, run);
  for (const char* text : {"message", "sample"}) {
    if (out[text] == "") out.erase(text);
  }
  return out;
}

Json group_object(const studies::TrainGroup& group) {
  Json out;
  out["splits"] = Json::object();
  JsonWriter write(out);
  fields(write, group);
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
  out["loss"] = json_value(record.loss);
  for (const training::Metric& metric : record.metrics) out[metric.name] = json_value(metric.value);
  if (record.split == "train") {
    out["learning_rate"] = json_value(record.learning_rate);
    out["gradient_norm"] = json_value(record.gradient_norm);
  }
  out["steps_per_second"] = json_value(record.steps_per_second);
  return line(out);
}

std::string train_summary_json(const studies::Study& study, const studies::TrainResult& result) {
  Json out;
  out["summary"] = true;
  out["study"] = study.name;
  out["study_hash"] = studies::study_hash(study);
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
  out["seconds"] = json_value(result.seconds);
  out["threads"] = result.threads;
  return line(out);
}

}  // namespace headway::io
