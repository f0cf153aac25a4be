#include "jobs/named_point.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <optional>

#include "headway/core/text.hpp"
#include "headway/error.hpp"
#include "headway/result_file.hpp"
#include "headway/results/choice.hpp"
#include "headway/results/table.hpp"
#include "jobs/request_keys.hpp"

namespace headway::jobs {

namespace {

constexpr const char* kBest = "best";
constexpr double kSameTemperature = 1e-6;  // relative, as in Python
constexpr std::size_t kMostShown = 12;     // points that a message lists

[[noreturn]] void refuse_point(const Request& request, const SolveResult& solved) {
  std::vector<std::string> known;
  for (const SolvePoint& point : solved.points) {
    known.push_back(fmt::format("{},{:g}", widths_text(point.widths), point.temperature));
  }
  if (known.size() > kMostShown) {
    known.resize(kMostShown);
    known.emplace_back("...");
  }
  throw Error(ErrorKind::kUsage, fmt::format("--point {}: must be best, or a point of {}: {}",
                                             request.point, request.input, join(known, "  ")));
}

/// The numbers of "10,0.3"; nothing if one is no number.
std::optional<std::vector<double>> numbers_of(const std::string& text) {
  std::vector<double> numbers;
  for (const std::string& word : split(text, ',')) {
    double number = 0.0;
    const char* const end = word.data() + word.size();
    const auto [stopped, failure] = std::from_chars(word.data(), end, number);
    if (failure != std::errc() || stopped != end) return std::nullopt;
    numbers.push_back(number);
  }
  return numbers;
}

bool is_named(const SolvePoint& point, const std::vector<double>& numbers) {
  const double temperature = numbers.back();
  if (std::abs(point.temperature - temperature) > kSameTemperature * std::abs(temperature)) {
    return false;
  }
  for (std::size_t l = 0; l < point.widths.size(); ++l) {
    const double given = numbers.size() == 2 ? numbers.front() : numbers[l];
    if (static_cast<double>(point.widths[l]) != given) return false;
  }
  return numbers.size() == 2 || numbers.size() == point.widths.size() + 1;
}

}  // namespace

PointName point_named(const Request& request, const SolveResult& solved,
                      const SampleResult* sampled) {
  if (request.point == kBest) {
    if (sampled != nullptr) {
      if (const SamplePoint* best = best_by_evidence(*sampled)) {
        return {best->widths, best->temperature};
      }
    }
    if (const SolvePoint* best = best_by_evidence(solved)) return {best->widths, best->temperature};
    throw Error(ErrorKind::kBadData,
                fmt::format("{}: no point has a log evidence, so none is the best; allowed: "
                            "--point WIDTH,T",
                            request.input));
  }
  const std::optional<std::vector<double>> numbers = numbers_of(request.point);
  if (numbers && numbers->size() > 1) {
    for (const SolvePoint& point : solved.points) {
      if (is_named(point, *numbers)) return {point.widths, point.temperature};
    }
  }
  refuse_point(request, solved);
}

void refuse_point_of_networks(const Request& request) {
  if (request.point.empty()) return;
  throw Error(ErrorKind::kUsage,
              fmt::format("--point {}: must not be given with {}, a result of headway train, which "
                          "has no points",
                          request.point, request.input));
}

Request at_named_point(const Request& request) {
  if (request.point.empty()) return request;
  if (request.study_text || !io::is_result_file(request.input)) {
    throw Error(ErrorKind::kUsage,
                fmt::format("--point {}: needs a result of headway solve or sample; {} is none",
                            request.point, request.input));
  }
  for (const char* key : {"model.widths", "model.temperature"}) {
    if (!is_set(request, key)) continue;
    throw Error(ErrorKind::kUsage, fmt::format("--point: must not be given with --set {}", key));
  }
  std::optional<SampleResult> sampled;
  if (io::read_result_kind(request.input) == SampleResult::kVerb) {
    sampled = io::read_sample_result(request.input);
  }
  const SolveResult solved = sampled ? sampled->solve : io::read_solve_result(request.input);
  const PointName point = point_named(request, solved, sampled ? &*sampled : nullptr);
  Request named = request;
  named.overlays.push_back(fmt::format("model.widths=[[{}]]", join(point.widths, ",")));
  named.overlays.push_back(fmt::format("model.temperature={:.17g}", point.temperature));
  return named;
}

void warn_of_edge(const Request& request, const SolveResult& solved, const PointName& best,
                  Observer& observer) {
  if (request.point != kBest) return;
  const std::string edge = edge_of_sweep(solved, best.widths, best.temperature);
  if (edge.empty()) return;
  observer.warning(fmt::format("{}: the best point has {}; a wider sweep may have a better one",
                               request.input, edge));
}

}  // namespace headway::jobs
