#pragma once

#include <string>
#include <vector>

#include "headway/core/record.hpp"
#include "headway/types.hpp"

namespace headway {

/// What the predictor of one point says on one set of new inputs.
struct PredictedSet {
  std::string name;
  MatrixXd mean, deviation;
  MatrixXd right_sign_probability;   ///< [M, 1]; of several outputs, or real targets, 0 x 0
  std::vector<int> predicted_class;  ///< empty for real targets
};
template <class Visitor, RecordOf<PredictedSet> Record>
void fields(Visitor& visit, Record& r) {
  constexpr FieldForm kOutputs = {.layout = FieldLayout::kOutputs, .axes = "example output"};
  visit("name", r.name, "name of the set", {.layout = FieldLayout::kKey});
  visit("mean", r.mean, "mean of the predictor f on each example, [M] or [M, C]", kOutputs);
  visit("sd", r.deviation, "standard deviation of f there, for each output", kOutputs);
  const bool classes = shows(visit, !r.predicted_class.empty());
  const FieldPlace of_classes = classes ? FieldPlace::kEverywhere : FieldPlace::kFile;
  visit("right_sign_probability", r.right_sign_probability,
        "probability that f has the sign of its mean, [M]; of two classes alone",
        {.place = of_classes, .layout = FieldLayout::kOutputs, .axes = "example"});
  visit("predicted_class", r.predicted_class,
        "one output: sign of the mean, 0 where it is 0; several: the largest one, counted from 0; "
        "absent for real targets",
        {.place = of_classes, .optional = true, .axes = "example"});
}

/// One sweep point on all sets.
struct PredictedPoint {
  std::vector<Index> widths;
  double temperature = 0.0;
  std::string method;  ///< "saddle_point", or the sampler
  Index draws = 0;     ///< draws that the prediction is a mean over; 0: the saddle point
  std::vector<PredictedSet> sets;
  double seconds = 0.0;
};
template <class Visitor, RecordOf<PredictedPoint> Record>
void fields(Visitor& visit, Record& r) {
  visit("widths", r.widths, "widths N_1, ..., N_L, N_a",
        {.layout = FieldLayout::kAttribute, .least = 1});
  visit("temperature", r.temperature, "temperature T");
  visit("method", r.method, "\"saddle_point\", or the sampler whose draws are used");
  visit("draws", r.draws, "draws of U_1 that the prediction is a mean over; 0: the saddle point");
  visit("sets", r.sets, "sets of new inputs", {.layout = FieldLayout::kByName});
  visit("seconds", r.seconds, "time of the point");
}

/// What `predict` returns: means and standard deviations on new inputs, at every point of the
/// result that predicts.
struct PredictResult {
  static constexpr const char* kVerb = "predict";
  std::string predicted_from;  ///< the result that predicts
  std::string inputs;          ///< the data set of the new inputs
  Index outputs = 1;
  std::vector<PredictedPoint> points;
  std::vector<std::string> source_faults;  ///< why points of that result are not usable; in no file
  bool interrupted = false;
  double seconds = 0.0;
  int threads = 1;
};

}  // namespace headway
