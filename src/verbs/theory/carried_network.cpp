#include "verbs/theory/carried_network.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "headway/model/linear_value_network.hpp"
#include "headway/theory_results.hpp"

namespace headway {
namespace {

/// The set of this name, else the training set, which is always the first.
const NetworkExamples& set_or_train(const NetworkProblem& problem, const std::string& name) {
  const auto found = std::find_if(problem.sets.begin(), problem.sets.end(),
                                  [&](const NetworkExamples& set) { return set.name == name; });
  return found != problem.sets.end() ? *found : problem.sets.front();
}

analysis::Rescaling rescaling_of(const PruneOptions& options) {
  return options.rescale ? analysis::Rescaling::kLayer : analysis::Rescaling::kNone;
}

}  // namespace

PrunableNetwork prunable(const NetworkProblem& problem, const PruneOptions& options) {
  const NetworkExamples& measured = set_or_train(problem, "test");
  const NetworkExamples& chosen = set_or_train(problem, tasks::kValidationSet);
  const analysis::Rescaling rescaling = rescaling_of(options);
  return {measured.paths.heads,
          analysis::removal_of(measured.paths, measured.labels, rescaling),
          analysis::removal_of(chosen.paths, chosen.labels, rescaling),
          measured.name,
          chosen.name,
          {},
          false};
}

NetworkPruning prune_carried_network(const NetworkProblem& problem, const Study& study,
                                     const NetworkPruner& pruner, Observer& observer) {
  const NetworkExamples& train = problem.sets.front();
  const std::vector<int>& heads = train.paths.heads;
  const Index outputs = train.paths.outputs;
  NetworkPruning result;
  result.rescaled = study.prune.rescale;
  result.sensitivity_on = train.name;
  for (const NetworkExamples& set : problem.sets) {
    result.sets.push_back(
        {set.name,
         {},
         set.labels.rows(),
         analysis::quality_of(analysis::outputs_without(set.paths, {}), set.labels)});
  }
  result.order_parameter = model::order_parameter(problem.network);
  const MatrixXd& u = result.order_parameter;
  const auto judge = [&](const char* name, std::vector<double> score) {
    result.baselines.push_back(pruner.judge(name, std::move(score)));
  };
  judge("weight_norm", analysis::weight_norms(problem.network.values));
  judge("path_norm", analysis::path_norms(u, heads, outputs));
  std::vector<double> sensitivity = analysis::gradient_sensitivity(train.paths, train.labels);
  if (study.prune.normalise_sensitivity) {
    sensitivity = analysis::normalised_by_layer(sensitivity, heads);
  }
  judge("sensitivity", std::move(sensitivity));
  judge("own_score", analysis::head_scores(u, heads, outputs).score);
  pruner.measure(result, observer);
  return result;
}

}  // namespace headway
