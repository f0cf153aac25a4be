#include <fmt/format.h>

#include <utility>

#include "headway/core/error.hpp"
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
    if (prunes_networks(options)) return prune_networks(options, observer);
    if (!options.theory.empty()) {
      throw Error(
          ErrorKind::kUsage,
          fmt::format("--theory {}: must be absent for {}, which is no result of headway train",
                      options.theory, options.input));
    }
    return theory(options, observer);
  };
  return verb;
}

}  // namespace headway::cli
