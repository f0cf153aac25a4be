#include "headway/io/checkpoints.hpp"
#include "headway/studies/verbs.hpp"
#include "one_problem.hpp"
#include "result_tables.hpp"
#include "theory_course.hpp"
#include "verbs.hpp"

namespace headway::cli {

namespace {

using studies::SolveResult;

SolveResult compute_solve(const Options& options, TheoryJob& job, Observer& observer) {
  return studies::solve(job.study, job.dataset, observer,
                        checkpoint_hooks<io::SolveCheckpoints>(options, job), job.shard);
}

PartSolver<SolveResult> prepare_solve_parts(const Options& options, TheoryJob& job,
                                            Observer& observer) {
  return {studies::prepare_solve(job.study, job.dataset, observer,
                                 checkpoint_hooks<io::SolveCheckpoints>(options, job))};
}

}  // namespace

Verb solve_verb() {
  return make_theory_verb<SolveResult>(
      {"solve",
       "saddle point of the theory: order parameters, predictor, accuracy per sweep point",
       {"", "task", "model", "solve"},
       {kShardOption}},
      {.reuses = false,
       .goes_on = true,
       .compute = &compute_solve,
       .table = &solve_table,
       .outcome = [](const SolveResult& result) { return solve_outcome(result, result.seconds); },
       .sharing = {&run_solve_on_ranks, "chains of points",
                   [](const TheoryJob& job) { return studies::solve_chains(job.study).size(); },
                   &prepare_solve_parts,
                   [](const std::string& file, std::string_view bytes) {
                     return io::read_solve_result(file, nullptr, bytes);
                   }}});
}

}  // namespace headway::cli
