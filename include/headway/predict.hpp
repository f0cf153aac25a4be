#pragma once

#include <string>
#include <vector>

#include "headway/dataset.hpp"
#include "headway/observer.hpp"
#include "headway/predict_results.hpp"
#include "headway/sample_results.hpp"
#include "headway/study.hpp"
#include "headway/theory_results.hpp"

namespace headway {

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

}  // namespace headway
