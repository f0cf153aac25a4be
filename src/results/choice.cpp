#include "headway/results/choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <set>
#include <utility>

#include "headway/dataset.hpp"

namespace headway {
namespace {

constexpr double kLowest = -std::numeric_limits<double>::infinity();

/// One point that may be chosen, of one network.
struct Candidate {
  std::size_t point = 0;
  double temperature = 0.0;
  const PredictorReport* predictor = nullptr;
  double laplace = kUndefined, leading_order = kUndefined;
};

/// Larger is better, the first number first; none for a candidate that the rule cannot judge.
using Score = std::optional<std::pair<double, double>>;

Score score_of(double accuracy, double mean_squared_error) {
  if (std::isnan(mean_squared_error)) return std::nullopt;
  return std::pair(std::isnan(accuracy) ? kLowest : accuracy, -mean_squared_error);
}

Score validation_score(const Candidate& candidate) {
  for (const SetReport& set : candidate.predictor->sets) {
    if (set.name == tasks::kValidationSet) return score_of(set.accuracy, set.mean_squared_error);
  }
  return std::nullopt;
}

Score test_score(const Candidate& candidate) {
  return score_of(candidate.predictor->accuracy, candidate.predictor->mean_squared_error);
}

std::function<Score(const Candidate&)> evidence_score(const std::vector<Candidate>& candidates) {
  const bool laplace = std::all_of(candidates.begin(), candidates.end(),
                                   [](const Candidate& c) { return !std::isnan(c.laplace); });
  return [laplace](const Candidate& c) -> Score {
    const double value = laplace ? c.laplace : c.leading_order;
    return std::isnan(value) ? Score() : std::pair(value, 0.0);
  };
}

/// How many temperatures a result has. Where attention is learned there is no Gaussian process.
std::size_t swept_temperatures(const SolveResult& result) {
  std::set<double> temperatures;
  for (const GaussianProcessPoint& point : result.gaussian_process) {
    temperatures.insert(point.temperature);
  }
  for (const SolvePoint& point : result.points) temperatures.insert(point.temperature);
  return temperatures.size();
}

/// A point of the theory as a candidate.
Candidate candidate_of(const SolveResult& result, std::size_t i) {
  const SolvePoint& point = result.points[i];
  if (!point.minima.empty()) {  // its evidence is that of U for one attention
    return {i, point.temperature, &point.predictor, kUndefined, kUndefined};
  }
  const theory::SaddleEvidence& evidence = point.evidence;
  return {i, point.temperature, &point.predictor,
          evidence.is_laplace() ? evidence.log_evidence : kUndefined, evidence.leading_order};
}

/// The best one by a rule; null if it can judge none.
const Candidate* best_of(const std::vector<Candidate>& candidates,
                         const std::function<Score(const Candidate&)>& rule) {
  const Candidate* best = nullptr;
  for (const Candidate& candidate : candidates) {
    const Score score = rule(candidate);
    if (score && (best == nullptr || *score > *rule(*best))) best = &candidate;
  }
  return best;
}

/// "the smallest width": where `value` is the first or the last of several; "" inside.
template <class Value>
std::string edge_among(const std::set<Value>& all, const Value& value, const char* what) {
  if (all.size() < 2) return "";
  if (value == *all.begin()) return fmt::format("the smallest {}", what);
  return value == *all.rbegin() ? fmt::format("the largest {}", what) : "";
}

/// Adds the choice of each rule among the candidates, which are those of one network.
void choose(const std::vector<Candidate>& candidates, const TemperatureChoice& network,
            std::vector<TemperatureChoice>& choices) {
  const std::pair<const char*, std::function<Score(const Candidate&)>> rules[] = {
      {"validation", validation_score},
      {"evidence", evidence_score(candidates)},
      {"test", test_score}};
  for (const auto& [name, rule] : rules) {
    const Candidate* best = best_of(candidates, rule);
    if (best == nullptr) continue;
    choices.push_back(network);
    choices.back().by = name;
    choices.back().point = best->point;
    choices.back().temperature = best->temperature;
  }
}

}  // namespace

std::vector<TemperatureChoice> choose_temperatures(const SolveResult& result) {
  std::vector<TemperatureChoice> choices;
  if (swept_temperatures(result) < 2) return choices;
  std::vector<std::vector<Index>> widths;
  for (const SolvePoint& point : result.points) {
    if (std::find(widths.begin(), widths.end(), point.widths) == widths.end()) {
      widths.push_back(point.widths);
    }
  }
  for (const std::vector<Index>& network : widths) {
    std::vector<Candidate> candidates;
    for (std::size_t i = 0; i < result.points.size(); ++i) {
      const SolvePoint& point = result.points[i];
      if (point.widths != network || !point.summary.converged) continue;
      candidates.push_back(candidate_of(result, i));
    }
    choose(candidates, {"theory", network, "", 0, 0.0}, choices);
  }
  std::vector<Candidate> candidates;
  for (std::size_t i = 0; i < result.gaussian_process.size(); ++i) {
    const GaussianProcessPoint& point = result.gaussian_process[i];
    candidates.push_back(
        {i, point.temperature, &point.predictor, point.log_evidence, point.log_evidence});
  }
  choose(candidates, {"gaussian_process", {}, "", 0, 0.0}, choices);
  return choices;
}

const SolvePoint* best_by_evidence(const SolveResult& result) {
  std::vector<Candidate> candidates;
  for (std::size_t i = 0; i < result.points.size(); ++i) {
    if (result.points[i].summary.converged) candidates.push_back(candidate_of(result, i));
  }
  const Candidate* best = best_of(candidates, evidence_score(candidates));
  return best == nullptr ? nullptr : &result.points[best->point];
}

const SamplePoint* best_by_evidence(const SampleResult& result) {
  const SamplePoint* best = nullptr;
  for (const SamplePoint& point : result.points) {
    if (std::isnan(point.log_evidence)) continue;
    if (best == nullptr || point.log_evidence > best->log_evidence) best = &point;
  }
  return best;
}

std::string edge_of_sweep(const SolveResult& result, const std::vector<Index>& widths,
                          double temperature) {
  // Widths of several layers are in order of their largest.
  const auto place = [](const std::vector<Index>& all) {
    return std::pair(all.empty() ? 0 : *std::max_element(all.begin(), all.end()), all);
  };
  std::set<std::pair<Index, std::vector<Index>>> all_widths;
  std::set<double> temperatures;
  for (const SolvePoint& point : result.points) {
    all_widths.insert(place(point.widths));
    temperatures.insert(point.temperature);
  }
  const std::string width = edge_among(all_widths, place(widths), "width");
  const std::string heat = edge_among(temperatures, temperature, "temperature");
  if (width.empty() && heat.empty()) return "";
  return fmt::format("{}{}{} of the sweep", width, width.empty() || heat.empty() ? "" : " and ",
                     heat);
}

const PredictorReport& predictor_at(const SolveResult& result, const TemperatureChoice& choice) {
  return choice.model == "theory" ? result.points.at(choice.point).predictor
                                  : result.gaussian_process.at(choice.point).predictor;
}

double log_evidence_at(const SolveResult& result, const TemperatureChoice& choice) {
  return choice.model == "theory" ? result.points.at(choice.point).evidence.log_evidence
                                  : result.gaussian_process.at(choice.point).log_evidence;
}

}  // namespace headway
