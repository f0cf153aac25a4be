#include "headway/io/json.hpp"
#include "headway/studies/verbs.hpp"
#include "result_tables.hpp"
#include "run.hpp"

namespace headway::cli {

int run_prune(const Options& options) {
  const VerbSteps<studies::PruneResult> steps = {
      "prune",
      {.reuse = true},
      [](const Job& job, Observer& observer) {
        return studies::prune(job.study, job.dataset, observer, job.known ? &*job.known : nullptr);
      },
      &io::write_prune_result,
      &io::prune_json,
      &prune_table,
      [](const studies::PruneResult& result) {
        return solve_outcome(result.solve, result.seconds);
      }};
  return run_verb(options, steps);
}

}  // namespace headway::cli
