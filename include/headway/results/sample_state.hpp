#pragma once

#include <vector>

#include "headway/core/record.hpp"
#include "headway/numerics/matrix_moments.hpp"
#include "headway/results/sampling_fields.hpp"
#include "headway/sampling/checkpoint.hpp"
#include "headway/types.hpp"

namespace headway {

/// What is kept of one chain's draws: the order parameters of every draw and running sums of the
/// predictor. `fields` says what the members are.
struct ChainRecord {
  std::vector<double> entries, positions, accuracies;
  std::vector<double> attention;
  std::vector<double> feature_traces;  ///< value network: tr S of every draw
  MatrixXd feature_sums;               ///< svec(S) summed over consecutive draws, a column each
  Index draws = 0;
  numerics::MatrixMoments predictors;  ///< of the draws that the predictor was computed for
  MatrixXd variance_sum;
};

template <class Visitor, RecordOf<ChainRecord> Record>
void fields(Visitor& visit, Record& r) {
  visit("draws", r.draws, "kept so far");
  visit("entries", r.entries, "lower triangles of U_1, ..., U_L, U_a, one draw after another");
  visit("positions", r.positions, "unconstrained states, where kept, one draw after another");
  visit("attention", r.attention,
        "entropy, largest weight and log likelihood of learned attention, draw after draw",
        {.optional = true});
  visit("feature_traces", r.feature_traces, "tr S of a value network, draw after draw",
        {.optional = true});
  visit("feature_sums", r.feature_sums, "its svec(S), summed over consecutive draws, a column each",
        {.optional = true});
  visit("predictions", r.predictors.count, "draws that the predictor was computed for");
  visit("accuracies", r.accuracies, "of their mean predictors");
  visit("predictor_mean", r.predictors.mean, "mean of their mean predictors, [test examples, C]");
  visit("predictor_squares", r.predictors.squares, "sum of squared deviations from it");
  visit("variance_sum", r.variance_sum, "sum of the predictors' variances");
}

/// Where the sampling of one sweep point stands, between two transitions: a run that goes on from
/// here gives the same bits as one that never stopped.
struct SampleState {
  sampling::Checkpoint run;
  std::vector<ChainRecord> records;  ///< one for each chain
  double seconds = 0.0;              ///< of the chains so far, all calls together
  MatrixXd calibration;              ///< a row for each network of the calibration that is done
};

template <class Visitor, RecordOf<SampleState> Record>
void fields(Visitor& visit, Record& r) {
  visit("run", r.run, "the chains");
  visit("records", r.records, "what is kept of each chain's draws");
  visit("seconds", r.seconds, "of the chains so far");
  visit("calibration", r.calibration,
        "a row for each network of the calibration: effective draws; then those below it and those "
        "equal to it, for each number of draws and each statistic",
        {.optional = true});
}

}  // namespace headway
