#include <utility>

#include "headway/studies/verbs.hpp"
#include "prune_trained.hpp"
#include "result_tables.hpp"
#include "theory_course.hpp"
#include "verbs.hpp"

namespace headway::cli {

Verb prune_verb() {
  Verb verb = make_theory_verb<studies::PruneResult>(
      {"prune",
       "head scores, accuracy without each head, cumulative pruning; also of trained networks",
       {"prune"},
       {{"--theory", "FILE,...",
         "of a train result: results of headway prune on data extracted from its runs",
         &Options::theory}}},
      {.compute =
           [](const Options&, TheoryJob& job, Observer& observer) {
             return studies::prune(job.study, job.dataset, observer, job.reused());
           },
       .table = &prune_table,
       .outcome =
           [](const studies::PruneResult& result) {
             return solve_outcome(result.solve, result.seconds);
           }});
  verb.compute = [theory = std::move(verb.compute)](const Options& options, Observer& observer) {
    return prunes_networks(options) ? prune_networks(options, observer) : theory(options, observer);
  };
  return verb;
}

}  // namespace headway::cli
