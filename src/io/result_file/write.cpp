#include "io/result_file/write.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "headway/core/error.hpp"
#include "headway/model/path_index.hpp"
#include "headway/studies/choice.hpp"

namespace headway::io {
namespace {

using studies::PredictorReport;
using studies::SolvePoint;
using studies::SolveResult;

std::vector<std::int64_t> integers(const std::vector<int>& values) {
  return {values.begin(), values.end()};
}

}  // namespace

void write_result_header(const std::string& kind, const studies::Study& study,
                         const ResultProvenance& provenance, Hdf5OutputFile& out) {
  out.set("/", "schema_name", std::string("headway-result"));
  out.set("/", "schema_version", std::vector<std::int64_t>{kResultSchemaMajor, kResultSchemaMinor});
  out.set("/", "kind", kind);
  out.set("/", "study", study.name);
  out.set("/", "study_toml", provenance.study_toml);
  out.set("/", "study_hash", provenance.study_hash);
  out.set("/", "data_hash", provenance.data_hash);
  out.set("/", "headway_version", provenance.headway_version);
  out.set("/", "git_commit", provenance.git_commit);
  out.set("/", "compiler", provenance.compiler);
  out.set("/", "blas", provenance.blas);
  out.set("/", "command", provenance.command);
  out.set("/", "started", provenance.started);
  out.set_unsigned("/", "seed", provenance.seed);
  out.set("/", "threads", std::int64_t{provenance.threads});
  out.set("/", "seconds", provenance.seconds);
  out.set("/", "partial", std::int64_t{provenance.partial ? 1 : 0});
}

namespace {

void write_sizes(const SolveResult& result, Hdf5OutputFile& out) {
  out.set("/", "heads", integers(result.heads));
  out.set("/", "variances", result.variances);
  out.set("/", "outputs", std::int64_t{result.outputs});
  out.set("/", "train_examples", std::int64_t{result.train_examples});
  out.set("/", "test_examples", std::int64_t{result.test_examples});
  out.set("/", "features", std::int64_t{result.features});
  if (result.set_names.empty()) return;
  out.write_strings("sets", result.set_names);
  out.set("sets", "examples",
          std::vector<std::int64_t>(result.set_examples.begin(), result.set_examples.end()));
}

void write_names(const SolveResult& result, Hdf5OutputFile& out) {
  for (std::size_t l = 0; l < result.head_names.size(); ++l) {
    out.write_strings(fmt::format("names/layer_{}", l + 1), result.head_names[l]);
  }
  out.write_strings("paths", model::path_names(result.heads));
}

void write_path_kernels(const std::vector<MatrixXd>& kernels, Hdf5OutputFile& out) {
  if (kernels.empty()) return;
  const Index rows = kernels.front().rows(), columns = kernels.front().cols();
  RowMatrixXd stacked(static_cast<Index>(kernels.size()) * rows, columns);
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    stacked.middleRows(static_cast<Index>(i) * rows, rows) = kernels[i];
  }
  out.write("path_kernels", {static_cast<Index>(kernels.size()), rows, columns}, stacked.data());
}

void write_layers(const std::string& group, const std::vector<MatrixXd>& layers,
                  Hdf5OutputFile& out) {
  for (std::size_t l = 0; l < layers.size(); ++l) {
    if (layers[l].size() > 0) out.write(fmt::format("{}/layer_{}", group, l + 1), layers[l]);
  }
}

void write_history(const std::string& path, const std::vector<studies::IterationRecord>& history,
                   Hdf5OutputFile& out) {
  RowMatrixXd rows(static_cast<Index>(history.size()), 4);
  for (std::size_t i = 0; i < history.size(); ++i) {
    rows.row(static_cast<Index>(i)) << history[i].iteration, history[i].action,
        history[i].gradient_norm, history[i].step_norm;
  }
  out.write(path, {rows.rows(), 4}, rows.data());
  out.set(path, "columns", std::string("iteration,action,gradient_norm,step_norm"));
}

void write_corrected(const std::string& group, const studies::CorrectedPoint& corrected,
                     Hdf5OutputFile& out) {
  out.set(group, "defined", std::int64_t{corrected.defined ? 1 : 0});
  out.set(group, "reason", corrected.reason);
  if (!corrected.defined) return;
  write_readout(group + "/U_a", corrected.readout_order_parameter, out);
  write_readout(group + "/U_a_sd", corrected.readout_deviation, out);
  write_layers(group + "/order_parameters", corrected.order_parameters, out);
  write_layers(group + "/order_parameters_sd", corrected.order_parameter_deviations, out);
  write_predictor(group, group + "/predictor", corrected.predictor, out);
}

/// chosen/<k>: for each rule of choosing a temperature, which point of what it took.
void write_chosen(const SolveResult& result, Hdf5OutputFile& out) {
  const std::vector<studies::TemperatureChoice> choices = studies::choose_temperatures(result);
  for (std::size_t k = 0; k < choices.size(); ++k) {
    const studies::TemperatureChoice& choice = choices[k];
    const std::string group = fmt::format("chosen/{}", k);
    out.set(group, "model", choice.model);
    if (!choice.widths.empty()) {
      out.set(group, "widths",
              std::vector<std::int64_t>(choice.widths.begin(), choice.widths.end()));
    }
    out.set(group, "by", choice.by);
    out.set(group, "temperature", choice.temperature);
    out.set(group, "point", static_cast<std::int64_t>(choice.point));
  }
}

void write_point_numbers(const std::string& group, const SolvePoint& point, Hdf5OutputFile& out) {
  out.set(group, "widths", std::vector<std::int64_t>(point.widths.begin(), point.widths.end()));
  out.set(group, "temperature", point.temperature);
  out.set(group, "method", point.method);
  out.set(group, "converged", std::int64_t{point.converged ? 1 : 0});
  out.set(group, "message", point.message);
  out.set(group, "iterations", std::int64_t{point.iterations});
  out.set(group, "gradient_norm", point.gradient_norm);
  out.set(group, "gradient_rounding", point.gradient_rounding);
  out.set(group, "action", point.action);
  out.set(group, "action_over_max_width", point.action);
  out.set(group, "energy", point.energy);
  out.set(group, "entropy", point.entropy);
  out.set(group, "smallest_hessian_eigenvalue", point.smallest_hessian_eigenvalue);
  out.set(group, "log_evidence", point.log_evidence);
  out.set(group, "log_evidence_leading_order", point.log_evidence_leading_order);
  out.set(group, "evidence_method", point.evidence_method);
  out.set(group, "kernels", point.kernels);
  out.set(group, "start_spread", point.start_spread);
  out.set(group, "seconds", point.seconds);
}

}  // namespace

void write_predictor(const std::string& group, const std::string& arrays,
                     const PredictorReport& report, Hdf5OutputFile& out) {
  out.set(group, "train_accuracy", report.train_accuracy);
  out.set(group, "accuracy", report.accuracy);
  out.set(group, "test_mean_squared_error", report.mean_squared_error);
  out.set(group, "right_sign_probability", report.right_sign_probability);
  out.set(group, "squared_bias", report.squared_bias);
  out.set(group, "predictor_variance", report.predictor_variance);
  out.write_outputs(arrays + "/mean", report.mean);
  out.write_outputs(arrays + "/variance", report.variance);
  for (const studies::SetReport& set : report.sets) {
    const std::string path = fmt::format("{}/sets/{}", group, set.name);
    out.set(path, "accuracy", set.accuracy);
    out.set(path, "mean_squared_error", set.mean_squared_error);
  }
}

void write_readout(const std::string& path, const MatrixXd& value, Hdf5OutputFile& out) {
  if (value.size() == 0) return;
  if (value.size() == 1) {
    out.write(path, std::vector<Index>{}, value.data());
  } else {
    out.write(path, value);
  }
}

void write_solve_point(const std::string& group, const SolvePoint& point, const SolveResult& result,
                       Hdf5OutputFile& out) {
  write_point_numbers(group, point, out);
  write_readout(group + "/U_a", point.readout_order_parameter, out);
  write_layers(group + "/order_parameters", point.order_parameters, out);
  write_predictor(group, group + "/predictor", point.predictor, out);
  write_history(group + "/history", point.history, out);
  write_corrected(group + "/corrected", point.corrected, out);
  const auto limit =
      std::find_if(result.gaussian_process.begin(), result.gaussian_process.end(),
                   [&](const auto& gaussian) { return gaussian.temperature == point.temperature; });
  if (limit == result.gaussian_process.end()) {
    out.set(group, "gp_accuracy", studies::kUndefined);
    return;
  }
  out.set(group, "gp_accuracy", limit->predictor.accuracy);
  out.write_outputs(group + "/gaussian_process/mean", limit->predictor.mean);
  out.write_outputs(group + "/gaussian_process/variance", limit->predictor.variance);
}

void write_root_part(const std::string& kind, const studies::Study& study,
                     const SolveResult& result, const ResultProvenance& provenance,
                     Hdf5OutputFile& out) {
  write_result_header(kind, study, provenance, out);
  write_sizes(result, out);
  write_names(result, out);
  out.write_outputs("labels/train", result.train_labels);
  out.write_outputs("labels/test", result.test_labels);
  write_path_kernels(result.path_kernels, out);
  for (std::size_t j = 0; j < result.gaussian_process.size(); ++j) {
    const std::string group = fmt::format("gaussian_process/{}", j);
    out.set(group, "temperature", result.gaussian_process[j].temperature);
    out.set(group, "log_evidence", result.gaussian_process[j].log_evidence);
    write_predictor(group, group, result.gaussian_process[j].predictor, out);
  }
  out.make_group("points");
}

void write_solve_part(const std::string& kind, const studies::Study& study,
                      const SolveResult& result, const ResultProvenance& provenance,
                      Hdf5OutputFile& out) {
  write_root_part(kind, study, result, provenance, out);
  write_chosen(result, out);
  for (std::size_t i = 0; i < result.points.size(); ++i) {
    write_solve_point(fmt::format("points/{}", i), result.points[i], result, out);
  }
}

}  // namespace headway::io
