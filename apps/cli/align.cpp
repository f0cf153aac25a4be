#include "headway/io/json.hpp"
#include "headway/studies/verbs.hpp"
#include "result_tables.hpp"
#include "run.hpp"

namespace headway::cli {

int run_align(const Options& options) {
  const VerbSteps<studies::AlignResult> steps = {
      "align",
      {.reuse = true},
      [](const Job& job, Observer& observer) {
        return studies::align(job.study, job.dataset, observer, job.known ? &*job.known : nullptr);
      },
      &io::write_align_result,
      &io::align_json,
      &align_table,
      [](const studies::AlignResult& result) {
        return solve_outcome(result.solve, result.seconds);
      }};
  return run_verb(options, steps);
}

}  // namespace headway::cli
