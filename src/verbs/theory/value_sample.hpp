#pragma once

#include <memory>
#include <vector>

#include "headway/posterior/value_chain.hpp"
#include "headway/results/sample_state.hpp"
#include "headway/sample_results.hpp"
#include "headway/sampling/sample.hpp"
#include "verbs/theory/problem.hpp"

/// Private to the verbs of the theory: exact samples of value networks.
namespace headway {

/// Error{kBadStudy} for a value network in data of several layers.
void check_value_sampling(const Study& study, const tasks::Dataset& dataset);

/// The sampling target at a point, of the sites of `problem` with these labels.
std::unique_ptr<posterior::ValueChain> value_target(const Study& study,
                                                    const tasks::Dataset& dataset,
                                                    const TheoryProblem& problem,
                                                    std::shared_ptr<const MatrixXd> labels,
                                                    const SweepPoint& sweep);

/// Adds the covariance S of a draw to what a chain keeps: its trace, and sums over consecutive
/// draws. `draw`: its number, from 0, of `draws` of the chain.
void record_features(const MatrixXd& s, Index draw, Index draws, ChainRecord& chain);

/// Fills `point.features` from the records: means of S, with errors from the spread of sums over
/// consecutive draws. R-hat and effective draws of tr S join the extremes. `draws`: of each chain,
/// as planned.
void summarize_features(const std::vector<ChainRecord>& chains, Index draws, SamplePoint& point);

/// The evidence from the replicas of every chain; without replicas the reason why there is none.
void summarize_value_evidence(const sampling::SamplingResult& result, int replicas, Index labels,
                              SamplePoint& point);

}  // namespace headway
