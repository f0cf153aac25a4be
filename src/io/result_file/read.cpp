#include <algorithm>
#include <span>
#include <tuple>

#include "core/fail.hpp"
#include "headway/io/gram_file.hpp"
#include "headway/model/path_index.hpp"
#include "headway/result_file.hpp"
#include "headway/results/result_fields.hpp"
#include "io/first_reading.hpp"
#include "io/hdf5/record.hpp"
#include "io/result_file/trained_run.hpp"

namespace headway::io {
namespace {

RecordShapes shapes_of(const SolveResult& result) {
  RecordShapes shapes{result.test_examples, result.outputs, {}, result.set_names};
  for (std::size_t l = 0; l < result.heads.size(); ++l) {
    const std::span above = std::span(result.heads).subspan(l);
    shapes.layers.push_back(result.outputs * (result.joined_heads ? 1 : model::path_count(above)));
  }
  return shapes;
}

ResultProvenance read_provenance(const Hdf5InputFile& file) {
  return read_record<ResultProvenance>(file, "");
}

template <class Result>
void take_outcome(const Hdf5InputFile& file, Result& result) {
  const ResultProvenance from = read_provenance(file);
  result.interrupted = from.partial;
  result.seconds = from.seconds;
  result.threads = from.threads;
}

template <class... Results>
std::vector<std::string> verbs_of(const std::tuple<Results...>& /*any*/) {
  return {Results::kVerb...};
}

std::string require_kind(const Hdf5InputFile& file, const std::vector<std::string>& known) {
  std::string kind = file.text_attribute("/", "kind").value_or("");
  if (std::find(known.begin(), known.end(), kind) != known.end()) return kind;
  bad_data("root attribute kind: is \"{}\"; allowed here: {}", kind, join(known));
}

/// The draws of U_1, where the point is usable.
void read_draws(const Hdf5InputFile& file, const std::string& group, const RecordShapes& shapes,
                SolvePoint& point) {
  SamplePoint drawn;
  RecordReader reader(file, group, shapes);
  reader("draws", drawn.draws, "draws of each chain after warm-up");
  reader("rhat_max", drawn.rhat_max, "largest R-hat of all entries of all U");
  point.draws_fault = headway::sampling_fault(drawn);
  if (point.draws_fault.empty()) {
    point.first_layer_draws = file.read_array(group + "/draws/layer_1");
  }
}

SolveResult read_solved(const Hdf5InputFile& file) {
  const std::string kind = require_kind(file, verbs_of(TheoryResults()));
  auto result = read_record<SolveResult>(file, "");
  const std::string fault = headway::solve_fault(result);
  if (!fault.empty()) bad_data("{}", fault);
  result.head_names.resize(result.heads.size());
  const RecordShapes shapes = shapes_of(result);
  RecordReader root(file, "", shapes);
  root("gaussian_process", result.gaussian_process, "Gaussian-process limits", {.optional = true});
  const std::size_t points = file.members("points").size();
  for (std::size_t i = 0; i < points; ++i) {
    const std::string group = fmt::format("points/{}", i);
    if (file.kind(group) != NodeKind::kGroup) bad_data("{}: is missing", group);
    const bool apart = kind == SampleResult::kVerb;
    const std::string theory = apart ? group + "/theory" : group;
    result.points.push_back(read_record<SolvePoint>(file, theory, shapes));
    if (apart) read_draws(file, group, shapes, result.points.back());
    const std::size_t widths = result.points.back().widths.size();
    if (widths != result.heads.size() + 1) {
      bad_data("{}, attribute widths: has {} entries; allowed: L + 1 = {}", theory, widths,
               result.heads.size() + 1);
    }
  }
  take_outcome(file, result);
  return result;
}

}  // namespace

bool is_result_file(const std::string& file_path) {
  return schema_name(file_path) == kResultSchema;
}

SolveResult read_solve_result(const std::string& file_path, ResultProvenance* provenance,
                              std::string_view bytes) {
  const auto read = [&](const Hdf5InputFile& file) {
    if (provenance != nullptr) *provenance = read_provenance(file);
    return read_solved(file);
  };
  return read_hdf5(file_path, kResultSchema, read, bytes);
}

SampleResult read_sample_result(const std::string& file_path, std::string_view bytes) {
  const auto read = [](const Hdf5InputFile& file) {
    require_kind(file, {SampleResult::kVerb});
    SampleResult result;
    result.solve = read_solved(file);
    const RecordShapes shapes = shapes_of(result.solve);
    for (std::size_t i = 0; i < result.solve.points.size(); ++i) {
      const std::string group = fmt::format("points/{}", i);
      SamplePoint& point = result.points.emplace_back();
      point.order_parameters.resize(result.solve.heads.size());
      RecordReader reader(file, group, shapes);
      fields(reader, point);
      Tensor weights;
      reader("draws/weights", weights, "[chain, draw, weight]", {.optional = true});
      if (weights.shape.size() != 3) continue;
      point.weights = Eigen::Map<const MatrixXd>(weights.values.data(), weights.shape[2],
                                                 weights.shape[0] * weights.shape[1]);
    }
    result.interrupted = result.solve.interrupted;
    result.seconds = result.solve.seconds;
    return result;
  };
  return read_hdf5(file_path, kResultSchema, read, bytes);
}

TrainResult read_train_result(const std::string& file_path, std::string_view bytes) {
  const auto read = [](const Hdf5InputFile& file) {
    require_kind(file, {TrainResult::kVerb});
    TrainResult result;
    RecordReader(file, "")("planned_runs", result.planned, "runs of the sweep", {.least = 1});
    for (std::size_t i = 0; i < file.members("runs").size(); ++i) {
      const std::string group = fmt::format("runs/{}", i);
      result.runs.push_back(read_trained_run(file, group));
      read_kept_weights(file, group, result.runs.back());
    }
    take_outcome(file, result);
    return result;
  };
  return read_hdf5(file_path, kResultSchema, read, bytes);
}

std::string read_result_kind(const std::string& file_path) {
  if (schema_name(file_path) == kGramSchema) return headway::kGramVerb;
  return read_hdf5(file_path, kResultSchema, [](const Hdf5InputFile& file) {
    return file.text_attribute("/", "kind").value_or("");
  });
}

std::string verb_of_kind(const std::string& kind) {
  if (kind == NetworkPredictResult::kVerb) return PredictResult::kVerb;
  return kind == NetworkPruneResult::kVerb ? "prune-network" : kind;
}

ResultProvenance read_result_provenance(const std::string& file_path) {
  const bool gram = schema_name(file_path) == kGramSchema;
  return read_hdf5(file_path, gram ? kGramSchema : kResultSchema,
                   [](const Hdf5InputFile& file) { return read_provenance(file); });
}

ResultProvenance read_result_provenance_of(std::string_view bytes) {
  return read_hdf5(
      "", kResultSchema, [](const Hdf5InputFile& file) { return read_provenance(file); }, bytes);
}

}  // namespace headway::io
