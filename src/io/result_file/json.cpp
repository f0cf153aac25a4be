#include "headway/io/json.hpp"

#include <utility>
#include <vector>

#include "headway/studies/choice.hpp"
#include "headway/studies/lookup.hpp"
#include "headway/studies/study_hash.hpp"
#include "io/result_file/json_writer.hpp"

namespace headway::io {

Json json_value(const VectorXd& values) {
  return json_value(std::vector<double>(values.begin(), values.end()));
}

Json json_value(const MatrixXd& values) {
  Json out = Json::array();
  for (Index i = 0; i < values.rows(); ++i) out.push_back(json_value(VectorXd(values.row(i))));
  return out;
}

Json json_value(const std::vector<MatrixXd>& values) {
  Json out = Json::array();
  for (const MatrixXd& value : values) out.push_back(json_value(value));
  return out;
}

namespace {

using studies::SolvePoint;
using studies::SolveResult;
using studies::Study;

/// The object that every verb shares; `points` grows by what the verb adds.
Json solve_object(const Study& study, const SolveResult& result, double seconds) {
  Json out;
  out["study"] = study.name;
  out["study_hash"] = studies::study_hash(study);
  JsonWriter write(out);
  fields(write, result);
  for (std::size_t i = 0; i < result.set_names.size(); ++i) {
    out["set_examples"][result.set_names[i]] = result.set_examples[i];
  }
  out["partial"] = result.interrupted;
  write("points", result.points, "sweep points");
  write("gaussian_process", result.gaussian_process, "the limit at each temperature");
  out["seconds"] = json_value(seconds);
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
    Json one = JsonWriter::object_of(choice);
    const Json predictor = JsonWriter::object_of(studies::predictor_at(result, choice));
    one["log_evidence"] = json_value(studies::log_evidence_at(result, choice));
    for (const char* name : {"accuracy", "test_mean_squared_error", "sets"}) {
      if (predictor.contains(name)) one[name] = predictor[name];
    }
    out.push_back(std::move(one));
  }
  return out;
}

/// What removing each head costs the trained network, and its scores.
Json network_heads(const studies::NetworkPruning& network,
                   const std::vector<studies::HeadReport>& heads) {
  Json out = Json::array();
  for (std::size_t h = 0; h < heads.size(); ++h) {
    Json one;
    for (const char* name : {"layer", "head", "name"}) {
      one[name] = JsonWriter::object_of(heads[h])[name];
    }
    JsonWriter write(one);
    fields(write, network.accuracy_drop[h], "accuracy_drop", "of the head removed alone");
    fields(write, network.error_rise[h], "error_rise", "of the mean squared error");
    for (const studies::NetworkScore& score : network.baselines) {
      one[score.name] = json_value(score.score[h]);
    }
    out.push_back(std::move(one));
  }
  return out;
}

std::string dump(const Json& object) {
  return object.dump(1, ' ', false, Json::error_handler_t::replace);
}

/// The theory at a sampled point, for comparison.
Json theory_object(const SolvePoint& point, double gaussian_process_accuracy) {
  Json out = JsonWriter::object_of(point);
  out["gp_accuracy"] = json_value(gaussian_process_accuracy);
  const auto add_first_layer = [](Json& part) {
    const Json layers = part.value("U", Json::array());
    if (!layers.empty()) part["U_1"] = layers[0];
  };
  add_first_layer(out["corrected"]);
  add_first_layer(out);
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
    JsonWriter write(*out);
    fields(write, point);
  }
  return dump(object);
}

std::string prune_json(const Study& study, const studies::PruneResult& result) {
  Json object = solve_object(study, result.solve, result.seconds);
  for (const studies::PrunePoint& point : result.points) {
    Json* out = find_point(object, result.solve, point.widths, point.temperature);
    if (out == nullptr) continue;
    JsonWriter write(*out);
    fields(write, point);
    network_fields(write, point);
  }
  if (result.network && !result.points.empty()) {
    object["network"] = JsonWriter::object_of(*result.network);
    object["network"]["heads"] = network_heads(*result.network, result.points.front().heads);
  }
  return dump(object);
}

std::string sample_json(const Study& study, const studies::SampleResult& result) {
  Json object = solve_object(study, result.solve, result.seconds);
  object["partial"] = result.interrupted;
  Json points = Json::array();
  for (const studies::SamplePoint& point : result.points) {
    Json out = JsonWriter::object_of(point);
    out.erase("train_accuracy");  // the samples are compared on the test set alone
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
