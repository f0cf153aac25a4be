#include "headway/studies/verbs.hpp"
#include "result_tables.hpp"
#include "theory_course.hpp"
#include "verbs.hpp"

namespace headway::cli {

Verb align_verb() {
  return make_theory_verb<studies::AlignResult>(
      {"align",
       "overlap of the eigenvectors of the renormalised kernel with the labels",
       {"align"}},
      {.compute =
           [](const Options&, TheoryJob& job, Observer& observer) {
             return studies::align(job.study, job.dataset, observer, job.reused());
           },
       .table = &align_table,
       .outcome =
           [](const studies::AlignResult& result) {
             return solve_outcome(result.solve, result.seconds);
           }});
}

}  // namespace headway::cli
