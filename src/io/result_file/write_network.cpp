#include "io/result_file/write_network.hpp"

#include <fmt/core.h>

#include <cstdint>

namespace headway::io {
namespace {

using analysis::Estimate;
using analysis::Quality;
using analysis::QualityCurve;

void write_numbers(const std::string& path, const std::vector<double>& values,
                   Hdf5OutputFile& out) {
  out.write(path, {static_cast<Index>(values.size())}, values.data());
}

void write_estimates(const std::string& path, const std::vector<Estimate>& estimates,
                     Hdf5OutputFile& out) {
  std::vector<double> means;
  std::vector<double> errors;
  for (const Estimate& estimate : estimates) {
    means.push_back(estimate.mean);
    errors.push_back(estimate.error);
  }
  write_numbers(path, means, out);
  write_numbers(path + "_error", errors, out);
}

void write_qualities(const std::string& group, const std::vector<Quality>& qualities,
                     Hdf5OutputFile& out) {
  std::vector<Estimate> accuracy;
  std::vector<Estimate> squared_error;
  for (const Quality& quality : qualities) {
    accuracy.push_back(quality.accuracy);
    squared_error.push_back(quality.squared_error);
  }
  write_estimates(group + "/accuracy", accuracy, out);
  write_estimates(group + "/mean_squared_error", squared_error, out);
}

void write_curve(const std::string& group, const QualityCurve& curve, Hdf5OutputFile& out) {
  if (curve.quality.empty()) return;
  out.write_integers(group + "/order", {static_cast<Index>(curve.order.size())},
                     {curve.order.begin(), curve.order.end()});
  write_qualities(group, curve.quality, out);
}

void write_correlation(const std::string& group, const std::string& name,
                       const studies::RankCorrelation& correlation, Hdf5OutputFile& out) {
  out.set(group, name + "_spearman", correlation.spearman);
  out.set(group, name + "_kendall", correlation.kendall);
  out.set(group, name + "_p_value", correlation.p_value);
  out.set(group, name + "_sd", correlation.bootstrap.sd);
  out.set(group, name + "_lower", correlation.bootstrap.lower);
  out.set(group, name + "_upper", correlation.bootstrap.upper);
}

void write_random(const std::string& group, const studies::NetworkPruning& network,
                  Hdf5OutputFile& out) {
  if (network.random.empty()) return;
  std::vector<double> accuracy;
  std::vector<std::int64_t> order;
  for (const QualityCurve& curve : network.random) {
    for (const Quality& quality : curve.quality) accuracy.push_back(quality.accuracy.mean);
    order.insert(order.end(), curve.order.begin(), curve.order.end());
  }
  // Every order removes the same number of heads: all but one of each layer.
  const auto rows = static_cast<Index>(network.random.size());
  const auto removals = static_cast<Index>(network.random.front().order.size());
  out.write(group + "/accuracy", {rows, removals + 1}, accuracy.data());
  out.write_integers(group + "/order", {rows, removals}, order);
  write_numbers(group + "/mean", network.random_mean, out);
  write_numbers(group + "/sd", network.random_sd, out);
  write_numbers(group + "/error", network.random_error, out);
}

}  // namespace

void write_network_scores(const std::string& group,
                          const std::vector<studies::NetworkScore>& scores, Hdf5OutputFile& out) {
  for (const studies::NetworkScore& score : scores) {
    const std::string place = fmt::format("{}/{}", group, score.name);
    out.make_group(place);
    write_correlation(place, "accuracy_drop", score.accuracy_drop, out);
    write_correlation(place, "error_rise", score.error_rise, out);
    write_numbers(place + "/score", score.score, out);
    write_curve(place + "/rising", score.rising, out);
    write_curve(place + "/falling", score.falling, out);
  }
}

void write_network(const std::string& group, const studies::NetworkPruning& network,
                   Hdf5OutputFile& out) {
  out.make_group(group);
  out.set(group, "rescaled", std::int64_t{network.rescaled ? 1 : 0});
  out.set(group, "measured_on", network.measured_on);
  out.set(group, "greedy_on", network.greedy_on);
  out.set(group, "sensitivity_on", network.sensitivity_on);
  out.write(group + "/U_1", network.order_parameter);
  write_estimates(group + "/accuracy_drop", network.accuracy_drop, out);
  write_estimates(group + "/error_rise", network.error_rise, out);
  std::vector<std::string> names;
  std::vector<std::int64_t> examples;
  std::vector<Quality> qualities;
  for (const studies::NetworkSet& set : network.sets) {
    names.push_back(set.name);
    examples.push_back(set.examples);
    qualities.push_back(set.quality);
  }
  out.write_strings(group + "/sets/name", names);
  out.write_integers(group + "/sets/examples", {static_cast<Index>(examples.size())}, examples);
  write_qualities(group + "/sets", qualities, out);
  write_network_scores(group + "/scores", network.baselines, out);
  write_curve(group + "/greedy", network.greedy, out);
  write_random(group + "/random", network, out);
}

}  // namespace headway::io
