// Choosing a temperature, rule by rule, on results made by hand.
#include "headway/results/choice.hpp"

#include <map>

#include "catch.hpp"

using namespace headway;  // NOLINT(google-build-using-namespace)
using headway::PredictorReport;
using headway::SolveResult;
using headway::TemperatureChoice;

namespace {

/// Accuracy and squared error on the test set and on a set named `name`.
PredictorReport report(double accuracy, double error, double set_accuracy, double set_error,
                       const char* name = "validation") {
  PredictorReport r;
  r.accuracy = accuracy;
  r.mean_squared_error = error;
  r.sets = {{"other", 1.0 - set_accuracy, 0.1}, {name, set_accuracy, set_error}};
  return r;
}

headway::SolvePoint point(Index width, double temperature, PredictorReport predictor,
                          double laplace, double leading) {
  headway::SolvePoint p;
  p.widths = {width, width};
  p.temperature = temperature;
  p.summary.converged = true;
  p.predictor = std::move(predictor);
  const bool has_laplace = !std::isnan(laplace);
  p.evidence.log_evidence = has_laplace ? laplace : leading;
  p.evidence.leading_order = leading;
  p.evidence.method = has_laplace ? "laplace" : "leading_order";
  return p;
}

/// Width 10: validation says 0.1, evidence 1 (leading order 0.1), test 10. Width 20: all say 10.
SolveResult built() {
  SolveResult result;
  result.points = {point(10, 0.1, report(0.7, 0.5, 0.9, 0.4), -30, -20),
                   point(10, 1, report(0.8, 0.5, 0.8, 0.3), -10, -25),
                   point(10, 10, report(0.9, 0.5, 0.7, 0.2), -20, -30),
                   point(20, 0.1, report(0.7, 0.5, 0.7, 0.4), -30, -20),
                   point(20, 1, report(0.7, 0.5, 0.7, 0.4), -30, -20),
                   point(20, 10, report(0.7, 0.4, 0.7, 0.3), -20, -10)};
  for (const auto& [temperature, evidence] :
       std::map<double, double>{{0.1, -9.0}, {1.0, -8.0}, {10.0, -7.0}}) {
    result.gaussian_process.push_back(
        {temperature, report(0.6, temperature, 0.6, 1 / temperature), evidence});
  }
  return result;
}

/// "10 validation", "gp test", ... -> temperature
std::map<std::string, double> temperatures(const SolveResult& result) {
  std::map<std::string, double> by_name;
  for (const TemperatureChoice& choice : headway::choose_temperatures(result)) {
    const bool theory = choice.model == "theory";
    const std::string name =
        (theory ? std::to_string(choice.widths.at(0)) : std::string("gp")) + " " + choice.by;
    CHECK(by_name.count(name) == 0);
    by_name[name] = choice.temperature;
    CHECK(choice.temperature == (theory ? result.points.at(choice.point).temperature
                                        : result.gaussian_process.at(choice.point).temperature));
    CHECK(choice.widths == (theory ? result.points[choice.point].widths : std::vector<Index>{}));
  }
  return by_name;
}

}  // namespace

TEST_CASE("each rule takes its own best temperature, for every network") {
  CHECK(temperatures(built()) == std::map<std::string, double>{{"10 validation", 0.1},
                                                               {"10 evidence", 1},
                                                               {"10 test", 10},
                                                               {"20 validation", 10},
                                                               {"20 evidence", 10},
                                                               {"20 test", 10},
                                                               {"gp validation", 10},
                                                               {"gp evidence", 10},
                                                               {"gp test", 0.1}});
}

TEST_CASE("evidences are compared as like with like") {
  SolveResult result = built();
  result.points[2] = point(10, 10, report(0.9, 0.5, 0.7, 0.2), headway::kUndefined, -30);
  CHECK(temperatures(result).at("10 evidence") == 0.1);  // by leading orders
  CHECK(temperatures(result).at("20 evidence") == 10);
}

TEST_CASE("points that did not converge are not chosen") {
  SolveResult result = built();
  result.points[0].summary.converged = false;
  CHECK(temperatures(result).at("10 validation") == 1);
  for (std::size_t i = 1; i < 3; ++i) result.points[i].summary.converged = false;
  CHECK(temperatures(result).count("10 evidence") == 0);
}

TEST_CASE("rules without what they need are left out") {
  SolveResult result = built();
  for (auto& p : result.points) p.predictor.sets.clear();
  for (auto& p : result.gaussian_process) {
    p.predictor.accuracy = p.predictor.mean_squared_error = headway::kUndefined;
  }
  const auto chosen = temperatures(result);
  CHECK(chosen.count("10 validation") == 0);
  CHECK(chosen.count("gp validation") == 1);
  CHECK(chosen.count("gp test") == 0);
  CHECK(chosen.size() == 6);
}

TEST_CASE("where labels are no classes the smaller squared error is better") {
  SolveResult result = built();
  for (std::size_t i = 0; i < 3; ++i) {
    result.points[i].predictor = report(headway::kUndefined, 3.0 - static_cast<double>(i % 2),
                                        headway::kUndefined, 1.0 + static_cast<double>(i));
  }
  CHECK(temperatures(result).at("10 test") == 1);
  CHECK(temperatures(result).at("10 validation") == 0.1);
}

TEST_CASE("one temperature is no choice") {
  SolveResult result = built();
  result.gaussian_process.resize(1);
  result.points = {result.points[0], result.points[3]};
  CHECK(headway::choose_temperatures(result).empty());
}

TEST_CASE("learned attention has no Gaussian process, and no evidence that compares temperatures") {
  SolveResult result = built();
  result.gaussian_process.clear();
  for (auto& p : result.points) p.minima.resize(1);
  CHECK(temperatures(result) ==
        std::map<std::string, double>{
            {"10 validation", 0.1}, {"10 test", 10}, {"20 validation", 10}, {"20 test", 10}});
}

TEST_CASE("what was chosen can be looked up") {
  const SolveResult result = built();
  for (const TemperatureChoice& choice : headway::choose_temperatures(result)) {
    if (choice.by != "test") continue;
    const double accuracy = headway::predictor_at(result, choice).accuracy;
    const double evidence = headway::log_evidence_at(result, choice);
    if (choice.model == "gaussian_process") {
      CHECK(accuracy == 0.6);
      CHECK(evidence == -9.0);
    } else if (choice.widths.front() == 10) {
      CHECK(accuracy == 0.9);
      CHECK(evidence == -20);
    }
  }
}

TEST_CASE("the best point is that of largest evidence over widths and temperatures") {
  SolveResult result = built();
  const SolvePoint* best = best_by_evidence(result);
  REQUIRE(best == &result.points[1]);
  CHECK(edge_of_sweep(result, best->widths, best->temperature) ==
        "the smallest width of the sweep");
  CHECK(edge_of_sweep(result, {20, 20}, 10) ==
        "the largest width and the largest temperature of the sweep");
  result.points[1].summary.converged = false;
  CHECK(best_by_evidence(result) == &result.points[2]);
  result.points[2].evidence.method = "leading_order";  // then all are compared by that
  CHECK(best_by_evidence(result) == &result.points[5]);
  result.points.resize(1);
  CHECK(edge_of_sweep(result, {10, 10}, 0.1).empty());  // one value has no edge
  result.points.clear();
  CHECK(best_by_evidence(result) == nullptr);
}

TEST_CASE("of samples the evidence of the draws counts") {
  headway::SampleResult result;
  result.points.resize(3);
  CHECK(best_by_evidence(result) == nullptr);
  result.points[0].log_evidence = -3.0;
  result.points[2].log_evidence = -2.0;
  CHECK(best_by_evidence(result) == &result.points[2]);
}
