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

studies::PartSampler prepare_sample_parts(const Options& options, TheoryJob& job,
                                          Observer& observer) {
  return studies::prepare_sample(job.study, job.dataset, observer,
                                 checkpoint_hooks<io::SampleCheckpoints>(options, job),
                                 job.reused());
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
           &run_shared<TheoryJob, studies::SampleResult>, "points",
           [](const TheoryJob& job) { return studies::sample_points(job.study, {}).size(); },
           &prepare_sample_parts, &io::read_sample_result}});
}

}  // namespace headway::cli
