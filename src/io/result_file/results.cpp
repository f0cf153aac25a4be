// Result files and JSON of every verb: two visitors of studies::result_fields().
#include "headway/io/hdf5_file.hpp"
#include "headway/io/result_file.hpp"
#include "headway/studies/result_fields.hpp"
#include "headway/studies/study_hash.hpp"
#include "io/hdf5/record.hpp"
#include "io/result_file/json_writer.hpp"

namespace headway::io {

using studies::Study;

Json json_value(const VectorXd& values) {
  return json_value(std::vector<double>(values.begin(), values.end()));
}

Json json_value(const MatrixXd& values) {
  Json out = Json::array();
  for (Index i = 0; i < values.rows(); ++i) out.push_back(json_value(VectorXd(values.row(i))));
  return out;
}

Json json_value(const std::vector<studies::Setting>& settings) {
  Json out = Json::object();
  for (const studies::Setting& setting : settings) {
    Json value = Json::parse(setting.value, nullptr, false);
    out[setting.key] = value.is_discarded() ? Json(setting.value) : value;
  }
  return out;
}

namespace {

std::string dump(const Json& object, bool one_line) {
  return object.dump(one_line ? -1 : 1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

template <class Result>
void ResultOutput<Result>::write(const std::string& file_path, const Study& study,
                                 const Result& result, const studies::ResultProvenance& provenance,
                                 bool force) {
  check_output_path(file_path, force);
  const Hdf5Lock lock;
  Hdf5OutputFile out;
  out.set("/", "schema_name", kResultSchema);
  out.set("/", "schema_version", std::vector<std::int64_t>{kResultSchemaMajor, kResultSchemaMinor});
  out.set("/", "kind", Result::kVerb);
  out.set("/", "study", study.name);
  RecordWriter root(out, "");
  fields(root, provenance);
  result_fields(root, study, result);
  out.seal();
  out.write_to(file_path, force);
}

template <class Result>
std::string ResultOutput<Result>::json(const Study& study, const Result& result) {
  Json object;
  object["study"] = study.name;
  object["study_hash"] = studies::study_hash(study);
  JsonWriter root(object);
  result_fields(root, study, result);
  return dump(object, std::is_same_v<Result, studies::TrainResult>);
}

// Every verb that writes a result is named here.
template struct ResultOutput<studies::SolveResult>;
template struct ResultOutput<studies::AlignResult>;
template struct ResultOutput<studies::PruneResult>;
template struct ResultOutput<studies::SampleResult>;
template struct ResultOutput<studies::TrainResult>;
template struct ResultOutput<studies::TrainedPruneResult>;
template struct ResultOutput<studies::LatentsResult>;
template struct ResultOutput<studies::EvaluateResult>;

std::string train_record_json(std::size_t run, const studies::TrainedRun& trained,
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
  return dump(out, true);
}

}  // namespace headway::io
