#include <utility>

#include "headway/core/clock.hpp"
#include "headway/core/deal.hpp"
#include "headway/core/parallel.hpp"
#include "headway/model/path_index.hpp"
#include "headway/numerics/blas.hpp"
#include "headway/theory/distributed.hpp"
#include "verbs/theory/problem.hpp"

namespace headway {

SolveResult solve_on_ranks(Ranks& ranks, const Study& study, const tasks::Dataset& dataset,
                           Observer& observer, const SolveHooks& hooks) {
  const Clock::time_point began = Clock::now();
  numerics::prepare_blas();
  theory::RankExamples mine;
  TheoryProblem problem;
  const auto make_ready = [&] {
    check_study_against_dataset(study, dataset);
    mine.place = SharedSquare(dataset.train.size(), ranks.size(), ranks.rank());
  };
  const auto make_features = [&] {
    if (ranks.is_first()) problem = make_evaluation(study, dataset, observer);
    mine.labels = dataset.train.labels;
    mine.rows = scaled_features(dataset.train, study, dataset, observer, mine.place.rows);
    mine.columns = scaled_features(dataset.train, study, dataset, observer, mine.place.columns);
  };
  if (!agree(ranks, make_ready) ||
      !agree(ranks, [&] { theory::require_shared_cholesky(ranks, mine.place); }) ||
      !agree(ranks, make_features)) {
    return {};
  }
  const Index paths = model::path_count(dataset.heads);
  const int threads = resolve_threads(study.threads);
  if (!ranks.is_first()) {
    theory::serve_distributed_kernels(ranks, std::move(mine), paths, threads);
    return {};
  }
  problem.kernels = theory::lead_distributed_kernels(ranks, std::move(mine), paths, threads);
  SolveResult result = solve_problem(study, dataset, problem, observer, hooks);
  result.seconds = seconds_since(began);
  return result;
}

}  // namespace headway
