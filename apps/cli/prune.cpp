#include "headway/studies/verbs.hpp"
#include "result_tables.hpp"
#include "theory_course.hpp"
#include "verbs.hpp"

namespace headway::cli {

Verb prune_verb() {
  return make_theory_verb<studies::PruneResult>(
      {"prune",
       "head scores, accuracy without each head, cumulative pruning; also of a trained network",
       {"prune"}},
      {.compute =
           [](const Options&, TheoryJob& job, Observer& observer) {
             return studies::prune(job.study, job.dataset, observer, job.reused());
           },
       .table = &prune_table,
       .outcome =
           [](const studies::PruneResult& result) {
             return solve_outcome(result.solve, result.seconds);
           }});
}

}  // namespace headway::cli
