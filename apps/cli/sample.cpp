#include <fmt/format.h>

#include "headway/io/checkpoints.hpp"
#include "headway/studies/lookup.hpp"
#include "headway/studies/verbs.hpp"
#include "result_tables.hpp"
#include "shared_course.hpp"
#include "table.hpp"
#include "theory_course.hpp"
#include "verbs.hpp"

namespace headway::cli {

namespace {

studies::SampleResult compute_sample(const Options& options, TheoryJob& job, Observer& observer) {
  return studies::sample(job.study, job.dataset, observer,
                         checkpoint_hooks<io::SampleCheckpoints>(options, job), job.reused(),
                         job.shard);
}

PartSolver<studies::SampleResult> prepare_sample_parts(const Options& options, TheoryJob& job,
                                                       Observer& observer) {
  studies::SampleParts parts =
      studies::prepare_sample(job.study, job.dataset, observer,
                              checkpoint_hooks<io::SampleCheckpoints>(options, job), job.reused());
  return {std::move(parts.part), std::move(parts.chains)};
}

/// Of the chains of a point as many together as a rank has threads. Without an output there are no
/// checkpoints, through which they would come to the rank that finishes the point.
std::size_t pieces_of_point(const Options& options, const TheoryJob& job, int threads) {
  if (options.output.empty()) return 0;
  const int pieces = (job.study.sample.chains + threads - 1) / threads;
  return pieces > 1 ? static_cast<std::size_t>(pieces) : 0;
}

}  // namespace

Verb sample_verb() {
  return make_theory_verb<studies::SampleResult>(
      {"sample",
       "posterior draws with error bars, exact at every width, beside the theory",
       {"sample"},
       {kShardOption}},
      {.goes_on = true,
       .kind = studies::TheoryVerb::kSamples,
       .compute = &compute_sample,
       .table = &sample_table,
       .outcome = &sample_outcome,
       .sharing = {
           .run = &run_shared<TheoryJob, studies::SampleResult>,
           .unit_name = "points",
           .units =
               [](const TheoryJob& job) { return studies::sample_points(job.study, {}).size(); },
           .prepare = &prepare_sample_parts,
           .read = &io::read_sample_result,
           .pieces = &pieces_of_point}});
}

}  // namespace headway::cli
