#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "headway/model/value_network.hpp"
#include "verbs/theory/problem.hpp"

/// Private to the verbs of the theory: a study with a value network (src/theory/value-networks.md,
/// "Value networks").
namespace headway {

/// Where the nonlinearity acts, on all examples.
struct ValueData {
  model::ValueSites train;
  model::ValueSites evaluated;  ///< test examples, then those of each further set
};

/// Whether the theory of this study chooses the covariance S of the hidden weights by the data.
bool adapts_features(const Study& study);

/// H_1, ..., H_L of the chain of order parameters: those of the data, or 1 where the readout sees
/// all heads together.
std::vector<int> readout_heads(const Study& study, const tasks::Dataset& dataset);

/// Errors: kBadData for data without inputs and attention, kBadStudy for layers that the form does
/// not have, or a covariance S that does not fit into solve.memory_limit_gib.
void check_value_network(const Study& study, const tasks::Dataset& dataset);

/// The problem at S = s_0^2 I.
TheoryProblem make_value_problem(const Study& study, const tasks::Dataset& dataset,
                                 Observer& observer);

/// The same problem at another S. `s` may be singular.
TheoryProblem with_features(const TheoryProblem& problem, const Study& study, const MatrixXd& s);

/// The problem of a solved point: `problem`, or with adapted features that at its S.
std::shared_ptr<const TheoryProblem> problem_of_point(
    const std::shared_ptr<const TheoryProblem>& problem, const Study& study,
    const SolvePoint& point);

/// Adds what a point with fixed features says of S, and the entropy of S to its action.
void describe_fixed_features(const Study& study, const tasks::Dataset& dataset,
                             const TheoryProblem& problem, SolvePoint& point);

/// A point of the sweep, and the solved one beside it, or null.
struct AdaptedStart {
  const SweepPoint& sweep;
  std::size_t index;
  const SolvePoint* neighbour;
};
/// A point over U, U_a and S. Nothing if it was interrupted.
std::optional<theory::OrderParameters> solve_adapted_point(const Study& study,
                                                           const tasks::Dataset& dataset,
                                                           const TheoryProblem& problem,
                                                           const AdaptedStart& start,
                                                           Observer& observer, SolvePoint& point);

}  // namespace headway
