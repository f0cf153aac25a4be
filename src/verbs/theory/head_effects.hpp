#pragma once

#include "headway/dataset.hpp"
#include "headway/observer.hpp"
#include "headway/prune_results.hpp"
#include "headway/study.hpp"
#include "headway/theory_results.hpp"
#include "verbs/theory/without_heads.hpp"

/// Private to verbs: what the theory says each head is worth (eqs. 66 to 68).
namespace headway {

/// What heads are weighed on.
struct HeadTrial {
  const Study& study;
  const tasks::Dataset& dataset;
  const WithoutHeads& heads;  ///< at the point
  const PruneSet&
      set;  ///< the examples that errors are measured on; nothing is said of an empty one
};

/// Fills in the changes of squared error and accuracy without each of point.heads, their errors,
/// and the stability of their ranks.
///
/// Changes and their deviations are means and deviations over draws of U_1 (eq. 77): those that a
/// result of sample lends in `solved` (at most 200, evenly spaced), else those of
/// draw_for_removal(). Without draws, or if its chains disagree, the changes are those of the
/// saddle point. Their deviation then comes from the covariance of U_1 to leading order in 1/N (eq.
/// 67), at a converged point. solve.corrections = "auto" computes this covariance if it takes about
/// a second at most, "off" neither this nor draws, "on" both always. Cost beside that: three
/// kernels and factorisations a head, and one a head and draw.
void weigh_heads(const HeadTrial& trial, const SolvePoint& solved, Observer& observer,
                 PrunePoint& point);

}  // namespace headway
