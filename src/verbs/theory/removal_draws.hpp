#pragma once

#include <string>

#include "headway/observer.hpp"
#include "headway/study.hpp"
#include "headway/theory_results.hpp"
#include "verbs/theory/problem.hpp"

/// Private to verbs: draws of U_1 where a result of solve has none, for what heads are worth.
namespace headway {

/// Draws from the exact posterior (eq. 34), or why there are none.
struct RemovalDraws {
  Tensor first_layer;  ///< U_1, [chain, draw, n, n]; empty without draws
  std::string missing;
};

/// Of a solved point: 4 chains of 50 draws, each from its own start, after a warm-up of 150. Their
/// random streams are the same at every point, so that a point alone has the numbers that it has in
/// a sweep. There are none at T = 0 and over ranks. With solve.corrections = "auto" there are also
/// none where the leading order in 1/N is good to some per cent, or the draws would take more than
/// some seconds. `removals`: predictors that will be made at each draw, for that cost.
RemovalDraws draw_for_removal(const Study& study, const model::Architecture& architecture,
                              const TheoryProblem& problem, const SolvePoint& solved,
                              Index removals, const Observer& observer);

}  // namespace headway
