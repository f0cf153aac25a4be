#include "headway/io/json.hpp"
#include "headway/studies/verbs.hpp"
#include "result_tables.hpp"
#include "run.hpp"

namespace headway::cli {

int run_solve(const Options& options) {
  const VerbSteps<studies::SolveResult> steps = {
      "solve",
      {.reuse = false},
      [](const Job& job, Observer& observer) {
        return studies::solve(job.study, job.dataset, observer);
      },
      &io::write_solve_result,
      &io::solve_json,
      &solve_table,
      [](const studies::SolveResult& result) { return solve_outcome(result, result.seconds); }};
  return run_verb(options, steps);
}

}  // namespace headway::cli
