#include "headway/studies/action.hpp"

#include "problem.hpp"

namespace headway::studies {

theory::Action make_action(const Study& study, const tasks::Dataset& dataset, Observer& observer) {
  const TheoryProblem problem = make_problem(study, dataset, observer);
  const SweepPoint point = sweep_points(study, dataset).front();
  return {architecture_of(study, dataset, point.widths), point.temperature, problem.kernels};
}

}  // namespace headway::studies
