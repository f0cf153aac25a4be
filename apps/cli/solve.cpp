#include "headway/io/checkpoints.hpp"
#include "headway/studies/verbs.hpp"
#include "result_tables.hpp"
#include "theory_course.hpp"
#include "verbs.hpp"

namespace headway::cli {

Verb solve_verb() {
  return make_theory_verb<studies::SolveResult>(
      {"solve",
       "saddle point of the theory: order parameters, predictor, accuracy per sweep point",
       {"", "task", "model", "solve"},
       {kShardOption}},
      {.reuses = false,
       .goes_on = true,
       .compute =
           [](const Options& options, TheoryJob& job, Observer& observer) {
             return studies::solve(job.study, job.dataset, observer,
                                   checkpoint_hooks<io::SolveCheckpoints>(options, job), job.shard);
           },
       .table = &solve_table,
       .outcome =
           [](const studies::SolveResult& result) {
             return solve_outcome(result, result.seconds);
           }});
}

}  // namespace headway::cli
