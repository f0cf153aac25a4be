#include <fmt/format.h>

#include "headway/io/checkpoints.hpp"
#include "headway/studies/lookup.hpp"
#include "headway/studies/verbs.hpp"
#include "result_tables.hpp"
#include "table.hpp"
#include "theory_course.hpp"
#include "verbs.hpp"

namespace headway::cli {

namespace {

studies::SampleResult compute(const Options& options, TheoryJob& job, Observer& observer) {
  return studies::sample(job.study, job.dataset, observer,
                         checkpoint_hooks<io::SampleCheckpoints>(options, job), job.reused());
}

/// A sampled point must have mixed chains. The theory beside it is a comparison: where it did not
/// converge the table says so.
Outcome sample_outcome(const studies::SampleResult& result) {
  Outcome outcome{fmt::format("{} points", result.points.size()), result.interrupted,
                  result.seconds, result.solve.threads};
  for (const studies::SamplePoint& point : result.points) {
    const std::string fault = studies::sampling_fault(point);
    if (fault.empty()) continue;
    outcome.faults.push_back(fmt::format("widths {}, temperature {:g}: not usable: {}",
                                         widths_text(point.widths), point.temperature, fault));
  }
  return outcome;
}

}  // namespace

Verb sample_verb() {
  return make_theory_verb<studies::SampleResult>(
      {"sample",
       "posterior draws with error bars, exact at every width, beside the theory",
       {"sample"}},
      {.goes_on = true,
       .kind = studies::TheoryVerb::kSamples,
       .compute = &compute,
       .table = &sample_table,
       .outcome = &sample_outcome});
}

}  // namespace headway::cli
