#pragma once

#include <string>
#include <vector>

#include "headway/analysis/head_scores.hpp"
#include "headway/analysis/removal.hpp"
#include "headway/observer.hpp"
#include "headway/results/network_results.hpp"
#include "headway/study.hpp"

/// Private to verbs: pruning of a network, whatever gives its heads.
namespace headway {

/// A network whose heads can be removed.
struct PrunableNetwork {
  std::vector<int> heads;      ///< H_1, ..., H_L
  analysis::Removal measured;  ///< on the examples that drops and curves are reported on
  analysis::Removal chosen;    ///< on those of the greedy search
  std::string measured_on, greedy_on;
  analysis::QualityNames names;
  bool only_heads = false;  ///< its layers do without heads: they have a residual stream
};

/// Prunes one network in many orders. The theory's orders come point by point; the rest is done
/// once.
class NetworkPruner {
 public:
  /// Removes each head alone.
  NetworkPruner(PrunableNetwork network, const Study& study);

  [[nodiscard]] const analysis::HeadDrops& drops() const { return drops_; }
  /// A score of all heads: how it agrees with the drops and, where asked for, its curves. Heads
  /// whose score is NaN have no place in it.
  [[nodiscard]] NetworkScore judge(std::string name, std::vector<double> score) const;
  /// Drops, and the curves of random orders and of the greedy search. Stops between curves when
  /// interrupted.
  void measure(NetworkPruning& result, Observer& observer) const;

 private:
  [[nodiscard]] analysis::QualityCurve curve(const std::vector<int>& order) const;
  [[nodiscard]] RankCorrelation correlate(const std::vector<double>& score, const MatrixXd& effects,
                                          const MatrixXd& resampled) const;
  void add_random(NetworkPruning& result, Observer& observer) const;

  PrunableNetwork network_;
  const Study& study_;
  analysis::HeadDrops drops_;
  MatrixXd resampled_score_, resampled_error_;
};

}  // namespace headway
