// Arrays of every number of dimensions in JSON: lists in lists, row by row.
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "catch.hpp"
#include "headway/network_predict_results.hpp"
#include "headway/result_file.hpp"

using namespace headway;  // NOLINT(google-build-using-namespace)
using Json = nlohmann::json;

namespace {

/// 1.5, 2.5, ... in a shape.
Tensor counted(const std::vector<Index>& shape) {
  Tensor out(shape);
  double next = 0.5;
  for (double& x : out.values) x = next += 1.0;
  return out;
}

/// The set of new inputs as JSON has it: of a run, and of the group of that run alone.
Json set_of(const NetworkAnswers& answers) {
  NetworkPredictResult result;
  PredictingRun& run = result.runs.emplace_back();
  run.label = "softmax";
  run.seed = 3;
  run.sets = {answers};
  result.planned = 1;
  const Json j = Json::parse(io::result_json(Study(), result));
  REQUIRE(j.at("runs").size() == 1);
  REQUIRE(j.at("table").size() == 1);
  const Json& sets = j["runs"][0].at("sets");
  CHECK(j["table"][0].at("sets") == sets);
  REQUIRE(sets.size() == 1);
  return sets.at(answers.name);
}

NetworkAnswers answers_with(const Tensor& mean) {
  NetworkAnswers answers;
  answers.name = "later";
  answers.mean = mean;
  return answers;
}

/// The entry at a place, counted in all dimensions.
Json entry(Json lists, const std::vector<Index>& place) {
  for (const Index i : place) lists = Json(lists.at(static_cast<std::size_t>(i)));
  return lists;
}

void check_array(const Json& found, const Tensor& wanted) {
  std::vector<Index> place(wanted.shape.size(), 0);
  for (std::size_t i = 0; i < wanted.values.size(); ++i) {
    CHECK(entry(found, place) == wanted.values[i]);
    for (std::size_t d = place.size(); d-- > 0;) {
      if (++place[d] < wanted.shape[d]) break;
      place[d] = 0;
    }
  }
  Json level = found;
  for (const Index size : wanted.shape) {
    REQUIRE(level.is_array());
    REQUIRE(level.size() == static_cast<std::size_t>(size));
    level = Json(level.at(0));
  }
  CHECK(level.is_number());
}

}  // namespace

TEST_CASE("arrays of one to four dimensions are lists in lists") {
  CHECK(set_of(answers_with(counted({3}))) == Json::parse(R"({"mean": [1.5, 2.5, 3.5]})"));
  CHECK(set_of(answers_with(counted({2, 3})))["mean"] ==
        Json::parse("[[1.5, 2.5, 3.5], [4.5, 5.5, 6.5]]"));
  CHECK(set_of(answers_with(counted({2, 1, 2})))["mean"] ==
        Json::parse("[[[1.5, 2.5]], [[3.5, 4.5]]]"));
  for (const std::vector<Index>& shape : std::vector<std::vector<Index>>{
           {1}, {7}, {1, 5}, {5, 1}, {4, 3}, {2, 3, 4}, {3, 1, 1}, {2, 3, 2, 5}}) {
    const Tensor wanted = counted(shape);
    check_array(set_of(answers_with(wanted)).at("mean"), wanted);
  }
}

TEST_CASE("what is not finite in an array is null, and its neighbours stay") {
  Tensor mean = counted({2, 2});
  mean.values[1] = std::nan("");
  mean.values[2] = HUGE_VAL;
  CHECK(set_of(answers_with(mean))["mean"] == Json::parse("[[1.5, null], [null, 4.5]]"));
}

TEST_CASE("each array of an answer has its own key, and those that are empty have none") {
  NetworkAnswers answers = answers_with(counted({2, 3}));
  answers.deviation = Tensor({2, 3});
  answers.deviation.values = {0.5, 0.25, 0.125, 0.0, 1.0, 2.0};
  answers.right_sign_probability = MatrixXd{{0.75}, {1.0}};
  answers.predicted_class = Tensor({2});
  answers.predicted_class.values = {2.0, 0.0};
  CHECK(set_of(answers) == Json::parse(R"({"mean": [[1.5, 2.5, 3.5], [4.5, 5.5, 6.5]],
                                           "sd": [[0.5, 0.25, 0.125], [0.0, 1.0, 2.0]],
                                           "right_sign_probability": [0.75, 1.0],
                                           "predicted_class": [2.0, 0.0]})"));
  CHECK(set_of(answers_with({})) == Json::object());
}

TEST_CASE("a text has lists of bits and probabilities, and a list of its likeliest tokens") {
  NetworkAnswers answers;
  answers.name = "text";
  answers.bits = {std::nan(""), 1.5, 0.25};
  answers.bits_per_byte = 0.875;
  answers.next = {0.125, 0.75, 0.125};
  answers.likeliest = {{1, "b", 0.75}, {0, "a", 0.125}};
  CHECK(set_of(answers) == Json::parse(R"({"bits": [null, 1.5, 0.25], "bits_per_byte": 0.875,
                        "next": [0.125, 0.75, 0.125],
                        "likeliest": [{"token": 1, "text": "b", "probability": 0.75},
                                      {"token": 0, "text": "a", "probability": 0.125}]})"));
}

TEST_CASE("matrices, vectors and lists of them keep their rows") {
  AlignResult r;
  r.solve.heads = {1, 1};
  r.solve.variances = {0.5, 1.0, 2.0, 4.0};
  SolvePoint point;
  point.widths = {10, 20, 30};
  point.temperature = 0.5;
  point.order_parameters = {{MatrixXd{{1.0, 2.0, 3.0}, {4.0, 5.0, 6.0}}, MatrixXd{{7.0}}},
                            MatrixXd{{8.0, 9.0}, {10.0, 11.0}}};
  r.solve.points = {point};
  AlignPoint align;
  align.widths = point.widths;
  align.temperature = point.temperature;
  align.overlaps = VectorXd{{0.5, 0.25, 0.125}};
  align.cumulative = VectorXd{{0.5, 0.75, 0.875}};
  r.points = {align};
  const Json j = Json::parse(io::result_json(Study(), r));
  CHECK(j.at("heads_per_layer") == Json({1, 1}));
  CHECK(j.at("variances") == Json({0.5, 1.0, 2.0, 4.0}));
  const Json& p = j.at("points").at(0);
  CHECK(p.at("widths") == Json({10, 20, 30}));
  CHECK(p.at("U") == Json::parse("[[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], [[7.0]]]"));
  CHECK(p.at("U_a") == Json::parse("[[8.0, 9.0], [10.0, 11.0]]"));
  CHECK(p.at("overlaps") == Json({0.5, 0.25, 0.125}));
  CHECK(p.at("cumulative_overlaps") == Json({0.5, 0.75, 0.875}));
}
