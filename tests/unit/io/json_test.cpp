#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "catch.hpp"
#include "headway/result_file.hpp"

using headway::AlignPoint;
using headway::AlignResult;
using headway::HeadReport;
using headway::MatrixXd;
using headway::PrunePoint;
using headway::PruneResult;
using headway::SolvePoint;
using headway::SolveResult;
using headway::Study;
using headway::VectorXd;
using Json = nlohmann::json;

namespace {

SolvePoint point(double temperature) {
  SolvePoint p;
  p.widths = {10, 20};
  p.temperature = temperature;
  p.summary.converged = true;
  p.summary.message = "gradient below tolerance";
  p.summary.iterations = 12;
  p.summary.gradient_norm = 1e-12;
  p.action = 0.1 + 0.2;  // needs all 17 digits
  p.order_parameters = {{MatrixXd{{1.0, 0.25}, {0.25, 3.0}}}, MatrixXd{{1.0 / 3.0}}};
  p.predictor.train_accuracy = 1.0;
  p.predictor.accuracy = 0.911;
  p.seconds = 0.5;
  p.corrected.reason = "not asked for";
  return p;
}

SolveResult result() {
  SolveResult r;
  r.heads = {2};
  r.variances = {1.0, 1.0, 1.0};
  r.train_examples = 100;
  r.points = {point(0.01), point(1.0)};
  headway::GaussianProcessPoint gp;
  gp.temperature = 0.01;
  gp.predictor.accuracy = 0.826;
  r.gaussian_process = {gp};
  r.seconds = 1.5;
  r.threads = 2;
  return r;
}

Study study() {
  Study s;
  s.name = "s \"x\"";
  return s;
}

}  // namespace

TEST_CASE("solve JSON has the documented fields") {
  const Json j = Json::parse(headway::io::result_json(study(), result()));
  CHECK(j["study"] == "s \"x\"");
  CHECK(j["seconds"] == 1.5);
  CHECK(j["threads"] == 2);
  CHECK(j["partial"] == false);
  REQUIRE(j["points"].size() == 2);
  const Json& p = j["points"][0];
  CHECK(p["widths"] == Json({10, 20}));
  CHECK(p["temperature"] == 0.01);
  CHECK(p["method"] == "saddle_point");
  CHECK(p["converged"] == true);
  CHECK(p["iterations"] == 12);
  CHECK(p["gradient_norm"] == 1e-12);
  CHECK(p["U"] == Json::parse("[[[1.0, 0.25], [0.25, 3.0]]]"));
  CHECK(p["train_accuracy"] == 1.0);
  CHECK(p["accuracy"] == 0.911);
  CHECK(p["seconds"] == 0.5);
  CHECK(j["gaussian_process"][0]["temperature"] == 0.01);
  CHECK(j["gaussian_process"][0]["accuracy"] == 0.826);
}

TEST_CASE("further sets stand inside every predictor, and nowhere without any") {
  const Json without = Json::parse(headway::io::result_json(study(), result()));
  CHECK_FALSE(without.contains("set_examples"));
  CHECK_FALSE(without["points"][0].contains("sets"));
  SolveResult r = result();
  r.set_names = {"validation", "mnist"};
  r.set_examples = {200, 300};
  r.points[0].predictor.sets = {{"validation", 0.75, 0.5}, {"mnist", std::nan(""), 1.5}};
  r.points[0].corrected.defined = true;
  r.points[0].corrected.predictor.sets = {{"validation", 0.625, 0.25}};
  r.gaussian_process[0].predictor.sets = {{"validation", 0.5, 0.875}};
  const Json j = Json::parse(headway::io::result_json(study(), r));
  CHECK(j["set_examples"] == Json::parse(R"({"validation": 200, "mnist": 300})"));
  CHECK(j["points"][0]["sets"] ==
        Json::parse(R"({"validation": {"accuracy": 0.75, "mean_squared_error": 0.5},
                        "mnist": {"accuracy": null, "mean_squared_error": 1.5}})"));
  CHECK(j["points"][0]["corrected"]["sets"]["validation"]["accuracy"] == 0.625);
  CHECK(j["gaussian_process"][0]["sets"]["validation"]["mean_squared_error"] == 0.875);
}

TEST_CASE("JSON has the evidence and the chosen temperatures") {
  SolveResult r = result();
  CHECK_FALSE(Json::parse(headway::io::result_json(study(), r)).contains("chosen"));
  r.points[0].evidence.log_evidence = -12.5;
  r.points[0].evidence.leading_order = -13.5;
  r.points[0].evidence.method = "laplace";
  r.points[0].predictor.mean_squared_error = 0.25;
  headway::GaussianProcessPoint gp;
  gp.temperature = 1.0;
  gp.log_evidence = -20.0;
  r.gaussian_process.push_back(gp);
  const Json j = Json::parse(headway::io::result_json(study(), r));
  CHECK(j["points"][0]["log_evidence"] == -12.5);
  CHECK(j["points"][0]["log_evidence_leading_order"] == -13.5);
  CHECK(j["points"][0]["evidence_method"] == "laplace");
  CHECK(j["points"][1]["log_evidence"].is_null());
  REQUIRE(j["chosen"].size() == 3);
  CHECK(j["chosen"][0] == Json::parse(R"({"model": "theory", "widths": [10, 20], "by": "evidence",
      "temperature": 0.01, "point": 0, "log_evidence": -12.5, "accuracy": 0.911,
      "test_mean_squared_error": 0.25})"));
  CHECK(j["chosen"][1]["by"] == "test");
  CHECK(j["chosen"][2]["model"] == "gaussian_process");
  CHECK_FALSE(j["chosen"][2].contains("widths"));
}

TEST_CASE("doubles keep every bit, and what is undefined or not finite is null") {
  SolveResult r = result();
  r.points[0].energy = std::numeric_limits<double>::infinity();
  r.points[0].order_parameters.layers[0](0, 1) = std::nan("");
  const Json j = Json::parse(headway::io::result_json(study(), r));
  const Json& p = j["points"][0];
  CHECK(p["action"].get<double>() == 0.1 + 0.2);
  CHECK(p["U_a"].get<double>() == 1.0 / 3.0);
  CHECK(p["energy"].is_null());
  CHECK(p["U"][0][0][1].is_null());
  CHECK(p["test_mean_squared_error"].is_null());
  CHECK(p["smallest_hessian_eigenvalue"].is_null());
  CHECK(j["gaussian_process"][0]["log_evidence"].is_null());
}

TEST_CASE("U_a is a number for one output and a matrix for several") {
  SolveResult r = result();
  r.points[0].order_parameters.readout =
      MatrixXd{{1.0, 0.5, 0.0}, {0.5, 2.0, 0.0}, {0.0, 0.0, 3.0}};
  const Json j = Json::parse(headway::io::result_json(study(), r));
  CHECK(j["points"][0]["U_a"] == Json::parse("[[1.0,0.5,0.0],[0.5,2.0,0.0],[0.0,0.0,3.0]]"));
  CHECK(j["points"][1]["U_a"].is_number());
}

TEST_CASE("corrected means stand inside their point") {
  SolveResult r = result();
  auto& c = r.points[1].corrected;
  c.defined = true;
  c.mean = {{MatrixXd{{2.0, 0.0}, {0.0, 4.0}}}, MatrixXd{{1.25}}};
  c.deviation = {{MatrixXd{{0.5, 0.1}, {0.1, 0.7}}}, MatrixXd{{0.125}}};
  c.predictor.accuracy = 0.9;
  const Json j = Json::parse(headway::io::result_json(study(), r));
  const Json& without = j["points"][0]["corrected"];
  CHECK(without["defined"] == false);
  CHECK(without["reason"] == "not asked for");
  const Json& with = j["points"][1]["corrected"];
  CHECK(with["defined"] == true);
  CHECK(with["U_a"] == 1.25);
  CHECK(with["U_a_sd"] == 0.125);
  CHECK(with["U"][0][1][1] == 4.0);
  CHECK(with["U_sd"][0][0][1] == 0.1);
  CHECK(with["accuracy"] == 0.9);
  CHECK(with["test_mean_squared_error"].is_null());
}

TEST_CASE("align adds overlaps to the point of the same widths and temperature") {
  AlignResult r;
  r.solve = result();
  r.seconds = 2.0;
  AlignPoint a;
  a.widths = {10, 20};
  a.temperature = 1.0;
  a.overlaps = VectorXd{{0.75, 0.25}};
  a.gaussian_process_overlaps = VectorXd{{0.5, 0.125}};
  a.eigenvalues = VectorXd{{3.0, 1.0}};
  r.points = {a};
  const Json j = Json::parse(headway::io::result_json(study(), r));
  CHECK_FALSE(j["points"][0].contains("overlaps"));
  CHECK(j["points"][1]["overlaps"] == Json({0.75, 0.25}));
  CHECK(j["points"][1]["gaussian_process_overlaps"] == Json({0.5, 0.125}));
  CHECK(j["points"][1]["eigenvalues"] == Json({3.0, 1.0}));
  CHECK(j["points"][1]["accuracy"] == 0.911);
  CHECK(j["seconds"] == 2.0);
}

TEST_CASE("prune adds heads and cumulative curves") {
  PruneResult r;
  r.solve = result();
  PrunePoint p;
  p.widths = {10, 20};
  p.temperature = 0.01;
  HeadReport head;
  head.layer = 1;
  head.head = 2;
  head.name = "random";
  head.score = 1.0;
  head.set = "validation";
  head.squared_error_rise = 0.25;
  head.squared_error_rise_sd = 0.125;
  head.accuracy_drop = 0.5;
  p.heads = {head};
  p.posterior_errors = "leading order";
  p.rank_stability = {0.75, 0.5, 2};
  p.by_squared_error = {{0, 1}, {0.9, 0.7, 0.6}};
  p.by_score = {{1, 0}, {0.9, 0.8, 0.5}};
  p.greedy = {{0, 1}, {0.9, 0.85, 0.5}};
  p.random_mean = {0.9, 0.7};
  p.random_sd = {0.0, 0.1};
  r.points = {p};
  const Json j = Json::parse(headway::io::result_json(study(), r));
  const Json& out = j["points"][0];
  CHECK(out["heads"][0]["layer"] == 1);
  CHECK(out["heads"][0]["head"] == 2);
  CHECK(out["heads"][0]["name"] == "random");
  CHECK(out["heads"][0]["score"] == 1.0);
  CHECK(out["heads"][0]["score_weighted"].is_null());
  CHECK(out["heads"][0]["set"] == "validation");
  CHECK(out["heads"][0]["squared_error_rise"] == 0.25);
  CHECK(out["heads"][0]["squared_error_rise_sd"] == 0.125);
  CHECK(out["heads"][0]["accuracy_drop"] == 0.5);
  // Names of version 0.2, with their signs.
  CHECK(out["heads"][0]["squared_error_change"] == 0.25);
  CHECK(out["heads"][0]["squared_error_change_sd"] == 0.125);
  CHECK(out["heads"][0]["accuracy_change"] == -0.5);
  CHECK(out["posterior_errors"] == "leading order");
  CHECK(out["rank_stability"] == Json({{"kendall_tau", 0.75}, {"top_k_overlap", 0.5}, {"k", 2}}));
  CHECK(out["cumulative"]["squared_error"] == Json({0.9, 0.7, 0.6}));
  CHECK(out["cumulative"]["score"] == Json({0.9, 0.8, 0.5}));
  CHECK(out["cumulative"]["greedy"] == Json({0.9, 0.85, 0.5}));
  CHECK(out["cumulative"]["random"]["mean"] == Json({0.9, 0.7}));
  CHECK(out["cumulative"]["random"]["sd"] == Json({0.0, 0.1}));
  CHECK(out["accuracy"] == 0.911);
}

TEST_CASE("text that is not UTF-8 does not break the JSON") {
  SolveResult r = result();
  r.points[0].summary.message = "\xff\xfe";
  CHECK_NOTHROW(Json::parse(headway::io::result_json(study(), r)));
}
