// Result files and JSON of every verb: two visitors of headway::result_fields().
#include <cmath>
#include <nlohmann/json.hpp>

#include "headway/core/output_path.hpp"
#include "headway/result_file.hpp"
#include "headway/results/field_tables.hpp"
#include "headway/results/result_fields.hpp"
#include "headway/study/study_hash.hpp"
#include "io/hdf5/file_seal.hpp"
#include "io/hdf5/record.hpp"

namespace headway::io {
namespace {

using Json = nlohmann::ordered_json;

/// Null where it is undefined or not finite.
Json json_value(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }
Json json_value(const VectorXd& values);
Json json_value(const MatrixXd& values);
Json json_value(const Tensor& values);
/// An object; a TOML value is JSON where both write it alike, else its text.
Json json_value(const std::vector<Setting>& settings);

template <class T>
requires(std::is_integral_v<T> || std::is_same_v<T, std::string>) Json json_value(const T& value) {
  return value;
}
template <class T>
requires requires(const T& value) { json_value(value); }
Json json_value(const std::vector<T>& values) {
  Json out = Json::array();
  for (const T& value : values) out.push_back(json_value(value));
  return out;
}

Json json_value(const VectorXd& values) {
  return json_value(std::vector<double>(values.begin(), values.end()));
}

Json json_value(const MatrixXd& values) {
  Json out = Json::array();
  for (Index i = 0; i < values.rows(); ++i) out.push_back(json_value(VectorXd(values.row(i))));
  return out;
}

Json rows_of(const std::vector<Index>& shape, std::size_t level, const double*& next) {
  if (level == shape.size()) return json_value(*next++);
  Json out = Json::array();
  for (Index i = 0; i < shape[level]; ++i) out.push_back(rows_of(shape, level + 1, next));
  return out;
}

Json json_value(const Tensor& values) {
  if (values.empty()) return Json::array();
  const double* next = values.values.data();
  return rows_of(values.shape, 0, next);
}

Json json_value(const std::vector<Setting>& settings) {
  Json out = Json::object();
  for (const Setting& setting : settings) {
    Json value = Json::parse(setting.value, nullptr, false);
    out[setting.key] = value.is_discarded() ? Json(setting.value) : value;
  }
  return out;
}

/// Writes the fields of a record into a JSON object. A slash in a name leads into an object inside.
class JsonWriter {
 public:
  explicit JsonWriter(Json& out) : out_(out) {}

  template <class T>
  void operator()(const std::string& name, const T& value, const char* /*meaning*/,
                  const FieldForm& form = {}) {
    if (form.place == FieldPlace::kFile || form.layout == FieldLayout::kKey) return;
    const std::string_view key = form.json.empty() ? std::string_view(name) : form.json;
    if constexpr (IsRecord<T>) {
      if (form.layout == FieldLayout::kMerged) return fields(*this, value);
      at(key) = object_of(value);
    } else if constexpr (IsRecords<T>) {
      write_records(key, value, form);
    } else if constexpr (std::is_same_v<T, MatrixXd>) {
      const bool scalar = form.layout == FieldLayout::kReadout && value.size() < 2;
      at(key) = !scalar            ? json_value(value)
                : value.size() > 0 ? json_value(value(0, 0))
                                   : Json(nullptr);
      if (form.layout == FieldLayout::kOutputs && value.cols() < 2) {
        at(key) = value.size() > 0 ? json_value(VectorXd(value.col(0))) : Json(nullptr);
      }
    } else if constexpr (std::is_enum_v<T>) {
      at(key) = word_of(value);
    } else if constexpr (requires { json_value(value); }) {  // others are only in files
      at(key) = json_value(value);
    }
  }

 private:
  template <class T>
  static Json object_of(const T& record) {
    Json out = Json::object();
    JsonWriter nested(out);
    fields(nested, record);
    return out;
  }

  Json& at(std::string_view key) {
    Json* place = &out_;
    for (std::size_t slash = key.find('/'); slash != std::string_view::npos;
         slash = key.find('/')) {
      place = &(*place)[std::string(key.substr(0, slash))];
      key.remove_prefix(slash + 1);
    }
    return (*place)[std::string(key)];
  }

  template <class T>
  void write_records(std::string_view key, const std::vector<T>& records, const FieldForm& form) {
    if (form.layout == FieldLayout::kByName) {
      if (form.optional && records.empty()) return;
      Json& object = at(key) = Json::object();
      for (const T& record : records) object[record_key(record)] = object_of(record);
    } else if (form.layout == FieldLayout::kLists) {
      for (const T& record : records) {
        const Json one = object_of(record);
        for (const auto& [name, value] : one.items()) at(key)[name].push_back(value);
      }
    } else {
      Json& list = at(key) = Json::array();
      for (const T& record : records) list.push_back(object_of(record));
    }
  }

  Json& out_;
};

std::string dump(const Json& object, bool one_line) {
  return object.dump(one_line ? -1 : 1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

template <class Result>
std::string ResultOutput<Result>::bytes(const Study& study, const Result& result,
                                        const ResultProvenance& provenance) {
  const Hdf5Lock lock;
  Hdf5OutputFile out;
  out.set("/", "schema_name", kResultSchema);
  out.set("/", "schema_version", std::vector<std::int64_t>{kResultSchemaMajor, kResultSchemaMinor});
  show(study, result, provenance, out);
  const Documentation about = documentation_of(Result::kVerb);
  out.write_strings("documentation/field", about.field, "documented");
  out.write_strings("documentation/meaning", about.meaning, "documented");
  out.seal();
  return std::string(out.close());
}

template <class Result>
void ResultOutput<Result>::show(const Study& study, const Result& result,
                                const ResultProvenance& provenance, FieldSink& sink) {
  sink.set("/", "kind", std::string(Result::kVerb));
  sink.set("/", "study", study.name);
  RecordWriter root(sink, "");
  fields(root, provenance);
  result_fields(root, study, result);
}

template <class Result>
std::string ResultOutput<Result>::json(const Study& study, const Result& result) {
  Json object;
  object["study"] = study.name;
  object["study_hash"] = headway::study_hash(study);
  JsonWriter root(object);
  result_fields(root, study, result);
  return dump(object, std::is_same_v<Result, TrainResult>);
}

// Every verb that writes a result is named here.
template struct ResultOutput<SolveResult>;
template struct ResultOutput<AlignResult>;
template struct ResultOutput<PruneResult>;
template struct ResultOutput<SampleResult>;
template struct ResultOutput<TrainResult>;
template struct ResultOutput<NetworkPruneResult>;
template struct ResultOutput<LatentsResult>;
template struct ResultOutput<PredictResult>;
template struct ResultOutput<NetworkPredictResult>;
template struct ResultOutput<EvaluateResult>;
template struct ResultOutput<RankResult>;

void write_result_bytes(const std::string& file_path, std::string_view bytes, bool force) {
  check_output_path(file_path, force);
  write_sealed_file(file_path, bytes, force);
}

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
  return dump(out, true);
}

}  // namespace headway::io
