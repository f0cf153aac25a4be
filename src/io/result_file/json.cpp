#include "headway/io/json.hpp"

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "headway/io/study_file.hpp"
#include "headway/studies/choice.hpp"
#include "headway/studies/lookup.hpp"
#include "io/result_file/json_network.hpp"

namespace headway::io {

namespace {

using Json = nlohmann::ordered_json;
using studies::PredictorReport;
using studies::SolvePoint;
using studies::SolveResult;
using studies::Study;

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json numbers(const std::vector<double>& values) {
  Json out = Json::array();
  for (const double value : values) out.push_back(number(value));
  return out;
}

Json numbers(const VectorXd& values) {
  Json out = Json::array();
  for (Index i = 0; i < values.size(); ++i) out.push_back(number(values[i]));
  return out;
}

Json matrix(const MatrixXd& values) {
  Json out = Json::array();
  for (Index i = 0; i < values.rows(); ++i) {
    Json row = Json::array();
    for (Index j = 0; j < values.cols(); ++j) row.push_back(number(values(i, j)));
    out.push_back(std::move(row));
  }
  return out;
}

/// U_a: a number for one output, null when there is none.
Json readout_matrix(const MatrixXd& values) {
  if (values.size() == 0) return nullptr;
  return values.size() == 1 ? number(values(0, 0)) : matrix(values);
}

Json matrices(const std::vector<MatrixXd>& layers) {
  Json out = Json::array();
  for (const MatrixXd& layer : layers) out.push_back(matrix(layer));
  return out;
}

void add_sets(Json& out, const PredictorReport& predictor) {
  for (const studies::SetReport& set : predictor.sets) {
    out["sets"][set.name] = {{"accuracy", number(set.accuracy)},
                             {"mean_squared_error", number(set.mean_squared_error)}};
  }
}

void add_predictor(Json& out, const PredictorReport& predictor) {
  out["train_accuracy"] = number(predictor.train_accuracy);
  out["accuracy"] = number(predictor.accuracy);
  out["test_mean_squared_error"] = number(predictor.mean_squared_error);
  out["right_sign_probability"] = number(predictor.right_sign_probability);
  out["squared_bias"] = number(predictor.squared_bias);
  out["predictor_variance"] = number(predictor.predictor_variance);
  add_sets(out, predictor);
}

Json corrected_object(const studies::CorrectedPoint& corrected) {
  Json out;
  out["defined"] = corrected.defined;
  out["reason"] = corrected.reason;
  if (!corrected.defined) return out;
  out["U_a"] = readout_matrix(corrected.readout_order_parameter);
  out["U"] = matrices(corrected.order_parameters);
  out["U_a_sd"] = readout_matrix(corrected.readout_deviation);
  out["U_sd"] = matrices(corrected.order_parameter_deviations);
  add_predictor(out, corrected.predictor);
  return out;
}

Json solve_point(const SolvePoint& point) {
  Json out;
  out["widths"] = point.widths;
  out["temperature"] = number(point.temperature);
  out["method"] = point.method;
  out["converged"] = point.converged;
  out["message"] = point.message;
  out["iterations"] = point.iterations;
  out["gradient_norm"] = number(point.gradient_norm);
  out["gradient_rounding"] = number(point.gradient_rounding);
  out["action"] = number(point.action);
  out["energy"] = number(point.energy);
  out["entropy"] = number(point.entropy);
  out["U_a"] = readout_matrix(point.readout_order_parameter);
  out["U"] = matrices(point.order_parameters);
  add_predictor(out, point.predictor);
  out["smallest_hessian_eigenvalue"] = number(point.smallest_hessian_eigenvalue);
  out["log_evidence"] = number(point.log_evidence);
  out["log_evidence_leading_order"] = number(point.log_evidence_leading_order);
  out["evidence_method"] = point.evidence_method;
  out["kernels"] = point.kernels;
  out["start_spread"] = number(point.start_spread);
  out["corrected"] = corrected_object(point.corrected);
  out["seconds"] = number(point.seconds);
  return out;
}

Json gaussian_process(const std::vector<studies::GaussianProcessPoint>& points) {
  Json out = Json::array();
  for (const studies::GaussianProcessPoint& point : points) {
    Json one;
    one["temperature"] = number(point.temperature);
    add_predictor(one, point.predictor);
    one["log_evidence"] = number(point.log_evidence);
    out.push_back(std::move(one));
  }
  return out;
}

/// The object that every verb shares; `points` grows by what the verb adds.
Json solve_object(const Study& study, const SolveResult& result, double seconds) {
  Json out;
  out["study"] = study.name;
  out["study_hash"] = study_hash(study);
  out["heads_per_layer"] = result.heads;
  out["variances"] = numbers(result.variances);
  out["outputs"] = result.outputs;
  out["train_examples"] = result.train_examples;
  out["test_examples"] = result.test_examples;
  for (std::size_t i = 0; i < result.set_names.size(); ++i) {
    out["set_examples"][result.set_names[i]] = result.set_examples[i];
  }
  out["features"] = result.features;
  out["partial"] = result.interrupted;
  out["points"] = Json::array();
  for (const SolvePoint& point : result.points) out["points"].push_back(solve_point(point));
  out["gaussian_process"] = gaussian_process(result.gaussian_process);
  out["seconds"] = number(seconds);
  out["threads"] = result.threads;
  return out;
}

/// The JSON of the sweep point with these widths and this temperature; null when an interrupted
/// solve has none.
Json* find_point(Json& object, const SolveResult& solve, const std::vector<Index>& widths,
                 double temperature) {
  for (std::size_t i = 0; i < solve.points.size(); ++i) {
    const SolvePoint& point = solve.points[i];
    if (point.widths == widths && point.temperature == temperature) return &object["points"][i];
  }
  return nullptr;
}

/// What each rule of choosing a temperature chose, and how good it is.
Json chosen_list(const SolveResult& result) {
  Json out = Json::array();
  for (const studies::TemperatureChoice& choice : studies::choose_temperatures(result)) {
    const PredictorReport& predictor = studies::predictor_at(result, choice);
    Json one;
    one["model"] = choice.model;
    if (choice.model == "theory") one["widths"] = choice.widths;
    one["by"] = choice.by;
    one["temperature"] = number(choice.temperature);
    one["point"] = choice.point;
    one["log_evidence"] = number(studies::log_evidence_at(result, choice));
    one["accuracy"] = number(predictor.accuracy);
    one["test_mean_squared_error"] = number(predictor.mean_squared_error);
    add_sets(one, predictor);
    out.push_back(std::move(one));
  }
  return out;
}

Json head_object(const studies::HeadReport& head) {
  Json out;
  out["layer"] = head.layer;
  out["head"] = head.head;
  out["name"] = head.name;
  out["score"] = number(head.score);
  out["score_weighted"] = number(head.score_weighted);
  out["accuracy_without"] = number(head.accuracy_without);
  out["mean_squared_error_without"] = number(head.mean_squared_error_without);
  return out;
}

Json pruning_object(const studies::PrunePoint& point) {
  Json random;
  random["mean"] = numbers(point.random_mean);
  random["sd"] = numbers(point.random_sd);
  Json out;
  out["score"] = numbers(point.by_score.accuracy);
  out["score_order"] = point.by_score.order;
  out["random"] = std::move(random);
  out["greedy"] = numbers(point.greedy.accuracy);
  out["greedy_order"] = point.greedy.order;
  if (!point.greedy_on.empty()) out["greedy_on"] = point.greedy_on;
  return out;
}

std::string dump(const Json& object) {
  return object.dump(1, ' ', false, Json::error_handler_t::replace);
}

/// Posterior summaries of one matrix under the names <name>_mean, _mcse, _sd.
void add_sampled(Json& out, const std::string& name, const studies::SampledMatrix& sampled) {
  const auto form = [&](const MatrixXd& m) {
    return name == "U_a" ? readout_matrix(m) : matrix(m);
  };
  out[name + "_mean"] = form(sampled.mean);
  out[name + "_mcse"] = form(sampled.mcse);
  out[name + "_sd"] = form(sampled.sd);
}

/// The theory at a sampled point, for comparison.
Json theory_object(const SolvePoint& point, double gaussian_process_accuracy) {
  Json out;
  out["converged"] = point.converged;
  out["U_a"] = readout_matrix(point.readout_order_parameter);
  out["U_1"] = point.order_parameters.empty() ? Json(nullptr) : matrix(point.order_parameters[0]);
  out["U"] = matrices(point.order_parameters);
  out["accuracy"] = number(point.predictor.accuracy);
  out["gp_accuracy"] = number(gaussian_process_accuracy);
  out["log_evidence"] = number(point.log_evidence);
  out["evidence_method"] = point.evidence_method;
  out["corrected"] = corrected_object(point.corrected);
  if (point.corrected.defined)
    out["corrected"]["U_1"] = matrix(point.corrected.order_parameters[0]);
  return out;
}

void add_diagnostics(Json& out, const studies::SamplePoint& point) {
  out["rhat_max"] = number(point.rhat_max);
  out["ess_bulk_min"] = number(point.ess_bulk_min);
  out["ess_tail_min"] = number(point.ess_tail_min);
  out["ess_bulk_min_per_second"] = number(studies::effective_draws_per_second(point));
  out["ebfmi_min"] = number(point.ebfmi_min);
  out["divergences"] = point.divergences;
  out["mean_acceptance"] = number(point.mean_acceptance);
  out["step_size"] = number(point.step_size);
  out["log_evidence"] = number(point.log_evidence);
  out["log_evidence_error"] = number(point.log_evidence_error);
  out["evidence_reason"] = point.evidence_reason;
  out["biased"] = point.biased;
  out["complete"] = point.complete;
  out["warnings"] = point.warnings;
  out["sampling_seconds"] = number(point.sampling_seconds);
  out["seconds"] = number(point.seconds);
}

Json sample_point(const studies::SamplePoint& point) {
  Json out;
  out["widths"] = point.widths;
  out["temperature"] = number(point.temperature);
  out["sampler"] = point.sampler;
  out["chains"] = point.chains;
  out["draws"] = point.draws;
  add_sampled(out, "U_a", point.readout_order_parameter);
  for (std::size_t l = 0; l < point.order_parameters.size(); ++l) {
    add_sampled(out, "U_" + std::to_string(l + 1), point.order_parameters[l]);
  }
  add_predictor(out, point.predictor);
  out.erase("train_accuracy");  // the samples are compared on the test set alone
  out["accuracy_mcse"] = number(point.accuracy_mcse);
  out["accuracy_mean"] = number(point.accuracy_mean);
  out["accuracy_sd"] = number(point.accuracy_sd);
  add_diagnostics(out, point);
  return out;
}

}  // namespace

std::string solve_json(const Study& study, const SolveResult& result) {
  Json object = solve_object(study, result, result.seconds);
  Json chosen = chosen_list(result);
  if (!chosen.empty()) object["chosen"] = std::move(chosen);
  return dump(object);
}

std::string align_json(const Study& study, const studies::AlignResult& result) {
  Json object = solve_object(study, result.solve, result.seconds);
  for (const studies::AlignPoint& point : result.points) {
    Json* out = find_point(object, result.solve, point.widths, point.temperature);
    if (out == nullptr) continue;
    (*out)["overlaps"] = numbers(point.overlaps);
    (*out)["gaussian_process_overlaps"] = numbers(point.gaussian_process_overlaps);
    (*out)["cumulative_overlaps"] = numbers(point.cumulative);
    (*out)["gaussian_process_cumulative_overlaps"] = numbers(point.gaussian_process_cumulative);
    (*out)["eigenvalues"] = numbers(point.eigenvalues);
    (*out)["gaussian_process_eigenvalues"] = numbers(point.gaussian_process_eigenvalues);
  }
  return dump(object);
}

std::string prune_json(const Study& study, const studies::PruneResult& result) {
  Json object = solve_object(study, result.solve, result.seconds);
  for (const studies::PrunePoint& point : result.points) {
    Json* out = find_point(object, result.solve, point.widths, point.temperature);
    if (out == nullptr) continue;
    (*out)["heads"] = Json::array();
    for (const studies::HeadReport& head : point.heads) {
      (*out)["heads"].push_back(head_object(head));
    }
    (*out)["cumulative"] = pruning_object(point);
    if (result.network) (*out)["network"] = network_scores_object(point.network);
  }
  if (result.network && !result.points.empty()) {
    object["network"] = network_object(*result.network, result.points.front().heads);
  }
  return dump(object);
}

std::string sample_json(const Study& study, const studies::SampleResult& result) {
  Json object = solve_object(study, result.solve, result.seconds);
  object["partial"] = result.interrupted;
  Json points = Json::array();
  for (const studies::SamplePoint& point : result.points) {
    Json out = sample_point(point);
    const SolvePoint* theory = studies::theory_at(result.solve, point.widths, point.temperature);
    if (theory != nullptr) {
      out["theory"] = theory_object(
          *theory, studies::gaussian_process_accuracy(result.solve, point.temperature));
    }
    points.push_back(std::move(out));
  }
  object["points"] = std::move(points);
  return dump(object);
}

}  // namespace headway::io
