#pragma once

#include <string>
#include <vector>

#include "headway/analysis/head_scores.hpp"
#include "headway/analysis/network_pruning.hpp"
#include "headway/core/observer.hpp"
#include "headway/studies/network_results.hpp"
#include "headway/studies/study.hpp"
#include "problem.hpp"

/// Private to studies: pruning of the trained network that a data set carries.
namespace headway::studies {

/// Prunes one network in many orders. The theory's orders come point by point; the rest is done
/// once.
class NetworkPruner {
 public:
  NetworkPruner(const NetworkProblem& problem, const Study& study);

  /// Everything that is the same for all points. Stops between curves when interrupted.
  [[nodiscard]] NetworkPruning prune(Observer& observer) const;
  /// A score of all heads: how it agrees with the drops and, where asked for, its curves.
  [[nodiscard]] NetworkScore judge(std::string name, std::vector<double> score) const;

 private:
  [[nodiscard]] analysis::QualityCurve curve(const std::vector<int>& order) const;
  [[nodiscard]] RankCorrelation correlate(const std::vector<double>& score, const MatrixXd& effects,
                                          const MatrixXd& resampled) const;
  void add_baselines(NetworkPruning& result) const;
  void add_random(NetworkPruning& result, Observer& observer) const;

  const NetworkProblem& problem_;
  const Study& study_;
  const NetworkExamples& train_;
  const NetworkExamples& measured_;  // test, or train where there is none
  const NetworkExamples& chosen_;    // validation, or train
  analysis::Rescaling rescaling_;
  analysis::HeadDrops drops_;
  MatrixXd resampled_accuracy_, resampled_error_;
};

}  // namespace headway::studies
