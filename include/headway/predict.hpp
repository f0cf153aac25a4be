#pragma once

#include <string>
#include <vector>

#include "headway/dataset.hpp"
#include "headway/observer.hpp"
#include "headway/predict_results.hpp"
#include "headway/sample_results.hpp"
#include "headway/theory_results.hpp"

namespace headway {

struct Study;

/// The data set that predict() takes: the training examples of `data`, with the new inputs in all
/// splits of `inputs` as further sets. Labels of new inputs are ignored. Error{kBadData} where the
/// two differ in heads, in the number of features, or in the form of the attention, or where
/// `inputs` name another readout than that of the training. Cost: a copy of what the data sets hold
/// in memory.
tasks::Dataset with_inputs(const Study& study, const tasks::Dataset& data,
                           const tasks::Dataset& inputs);

/// Names of the sets of with_inputs(), in their order: "train", "test" and further ones.
std::vector<std::string> input_names(const tasks::Dataset& inputs);

/// `headway predict`: mean and standard deviation of the predictor at every point of a result of
/// solve (eqs. 16 and 17), and the probability that the predictor has the sign of its mean.
/// `dataset`: of with_inputs(); `names`: of its sets. After an interruption the result has the
/// points that are finished. Errors: as solve(); kBadStudy for learned attention; kBadData where
/// K(U_1) + T I is not positive definite, because U_1 is that of other data. Cost: the path
/// features of all inputs, then one evaluation of the kernels and one prediction a point.
PredictResult predict(const Study& study, const tasks::Dataset& dataset,
                      const std::vector<std::string>& names, const SolveResult& solved,
                      Observer& observer = no_observer());

/// The same from the draws of a result of sample: the mean over draws of U_1, and by the law of
/// total variance E[variance given U_1] + Var[mean given U_1]. As many draws as
/// sample.predictor_draws says, the same ones as `sample` itself predicts with; 0: all. Errors: the
/// same; kBadData for a point without draws. A point that was stopped within is left out. Cost: the
/// same for each draw.
PredictResult predict(const Study& study, const tasks::Dataset& dataset,
                      const std::vector<std::string>& names, const SampleResult& sampled,
                      Observer& observer = no_observer());

}  // namespace headway
