#include "io/result_file/json_network.hpp"

#include <cmath>
#include <string>
#include <utility>

namespace headway::io {
namespace {

using Json = nlohmann::ordered_json;
using analysis::Estimate;
using analysis::Quality;
using analysis::QualityCurve;

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json numbers(const std::vector<double>& values) {
  Json out = Json::array();
  for (const double value : values) out.push_back(number(value));
  return out;
}

void add_estimate(Json& out, const std::string& name, const Estimate& estimate) {
  out[name] = number(estimate.mean);
  out[name + "_error"] = number(estimate.error);
}

Json set_object(const studies::NetworkSet& set) {
  Json out;
  out["name"] = set.name;
  out["examples"] = set.examples;
  add_estimate(out, "accuracy", set.quality.accuracy);
  add_estimate(out, "mean_squared_error", set.quality.squared_error);
  return out;
}

Json curve_object(const QualityCurve& curve) {
  if (curve.quality.empty()) return nullptr;
  Json out;
  out["order"] = curve.order;
  Json accuracy = Json::array();
  Json accuracy_error = Json::array();
  Json squared_error = Json::array();
  for (const Quality& quality : curve.quality) {
    accuracy.push_back(number(quality.accuracy.mean));
    accuracy_error.push_back(number(quality.accuracy.error));
    squared_error.push_back(number(quality.squared_error.mean));
  }
  out["accuracy"] = std::move(accuracy);
  out["accuracy_error"] = std::move(accuracy_error);
  out["mean_squared_error"] = std::move(squared_error);
  return out;
}

Json correlation_object(const studies::RankCorrelation& correlation) {
  Json out;
  out["spearman"] = number(correlation.spearman);
  out["kendall"] = number(correlation.kendall);
  out["p_value"] = number(correlation.p_value);
  out["sd"] = number(correlation.bootstrap.sd);
  out["lower"] = number(correlation.bootstrap.lower);
  out["upper"] = number(correlation.bootstrap.upper);
  return out;
}

Json head_object(const studies::NetworkPruning& network, const studies::HeadReport& head,
                 std::size_t index) {
  Json out;
  out["layer"] = head.layer;
  out["head"] = head.head;
  out["name"] = head.name;
  add_estimate(out, "accuracy_drop", network.accuracy_drop[index]);
  add_estimate(out, "error_rise", network.error_rise[index]);
  for (const studies::NetworkScore& score : network.baselines) {
    out[score.name] = number(score.score[index]);
  }
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

}  // namespace

Json network_scores_object(const std::vector<studies::NetworkScore>& scores) {
  Json out = Json::object();
  for (const studies::NetworkScore& score : scores) {
    Json& one = out[score.name];
    one["score"] = numbers(score.score);
    one["accuracy_drop"] = correlation_object(score.accuracy_drop);
    one["error_rise"] = correlation_object(score.error_rise);
    one["rising"] = curve_object(score.rising);
    one["falling"] = curve_object(score.falling);
  }
  return out;
}

Json network_object(const studies::NetworkPruning& network,
                    const std::vector<studies::HeadReport>& heads) {
  Json out;
  out["rescaled"] = network.rescaled;
  out["measured_on"] = network.measured_on;
  out["greedy_on"] = network.greedy_on;
  out["sensitivity_on"] = network.sensitivity_on;
  out["sets"] = Json::array();
  for (const studies::NetworkSet& set : network.sets) out["sets"].push_back(set_object(set));
  out["U_1"] = matrix(network.order_parameter);
  out["heads"] = Json::array();
  for (std::size_t h = 0; h < heads.size(); ++h) {
    out["heads"].push_back(head_object(network, heads[h], h));
  }
  out["scores"] = network_scores_object(network.baselines);
  out["greedy"] = curve_object(network.greedy);
  Json random;
  random["mean"] = numbers(network.random_mean);
  random["sd"] = numbers(network.random_sd);
  random["error"] = numbers(network.random_error);
  out["random"] = std::move(random);
  return out;
}

}  // namespace headway::io
