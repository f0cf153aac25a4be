#pragma once

#include <string>
#include <vector>

#include "headway/core/observer.hpp"
#include "headway/core/record.hpp"
#include "headway/studies/results.hpp"
#include "headway/studies/sample_results.hpp"
#include "headway/studies/study.hpp"
#include "headway/tasks/dataset.hpp"

namespace headway::studies {

/// What the predictor of one point says on one set of new inputs.
struct PredictedSet {
  std::string name;
  MatrixXd mean, deviation;
  MatrixXd right_sign_probability;  ///< [M, 1]; of several outputs 0 x 0
  std::vector<int> predicted_class;
};
template <class Visitor, RecordOf<PredictedSet> Record>
void fields(Visitor& visit, Record& r) {
  constexpr FieldForm kOutputs = {.layout = FieldLayout::kOutputs};
  visit("name", r.name, "name of the set", {.layout = FieldLayout::kKey});
  visit("mean", r.mean, "mean of the predictor f on each example, [M] or [M, C]", kOutputs);
  visit("sd", r.deviation, "standard deviation of f there, for each output", kOutputs);
  visit("right_sign_probability", r.right_sign_probability,
        "probability that f has the sign of its mean, [M]; of one output alone", kOutputs);
  visit("predicted_class", r.predicted_class,
        "one output: sign of the mean, 0 where it is 0; several: the largest one, counted from 0");
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

struct PredictResult {
  static constexpr const char* kVerb = "predict";
  std::string predicted_from;  ///< the result that predicts
  std::string inputs;          ///< the data set of the new inputs
  Index outputs = 1;
  std::vector<PredictedPoint> points;
  bool interrupted = false;
  double seconds = 0.0;
  int threads = 1;
};

/// New inputs, in the splits of `inputs`, beside the training examples of `data`: what predict()
/// takes. The result has them as further sets, whose labels count for nothing. Error{kBadData}
/// where they are no inputs of the same heads: other features, another form, other heads.
tasks::Dataset with_inputs(const tasks::Dataset& data, const tasks::Dataset& inputs);

/// Names of the sets of with_inputs(), in their order: "train", "test" and further ones.
std::vector<std::string> input_names(const tasks::Dataset& inputs);

/// `headway predict`: mean and standard deviation of the predictor at every point of a result of
/// solve (eqs. 16 and 17), and the probability that the predictor has the sign of its mean.
/// `dataset`: of with_inputs(); `names`: of its sets. Interruption between two points is a value.
PredictResult predict(const Study& study, const tasks::Dataset& dataset,
                      const std::vector<std::string>& names, const SolveResult& solved,
                      Observer& observer);

/// The same from the draws of a result of sample: the mean over draws of U_1, and by the law of
/// total variance E[variance given U_1] + Var[mean given U_1]. As many draws as
/// sample.predictor_draws says, the same ones as `sample` itself predicts with; 0: all.
PredictResult predict(const Study& study, const tasks::Dataset& dataset,
                      const std::vector<std::string>& names, const SampleResult& sampled,
                      Observer& observer);

}  // namespace headway::studies
