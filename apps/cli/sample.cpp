#include <fmt/format.h>

#include <optional>

#include "headway/io/checkpoints.hpp"
#include "headway/io/json.hpp"
#include "headway/studies/lookup.hpp"
#include "headway/studies/verbs.hpp"
#include "result_tables.hpp"
#include "run.hpp"
#include "table.hpp"

namespace headway::cli {

namespace {

/// A sampled point must have mixed chains. The theory beside it is a comparison: where it did not
/// converge the table says so.
Outcome sample_outcome(const studies::SampleResult& result) {
  Outcome outcome{
      result.points.size(), result.interrupted, result.seconds, result.solve.threads, {}};
  for (const studies::SamplePoint& point : result.points) {
    const std::string fault = studies::sampling_fault(point);
    if (fault.empty()) continue;
    outcome.faults.push_back(fmt::format("widths {}, temperature {:g}: not usable: {}",
                                         widths_text(point.widths), point.temperature, fault));
  }
  return outcome;
}

}  // namespace

int run_sample(const Options& options) {
  std::optional<io::SampleCheckpoints> checkpoints;
  const VerbSteps<studies::SampleResult> steps = {
      "sample",
      {.reuse = true, .samples = true},
      [&](const Job& job, Observer& observer) {
        studies::SampleHooks hooks;
        if (!options.output.empty()) {
          checkpoints.emplace(options.output, job.study, job.dataset.content_hash, options.force);
          hooks = checkpoints->hooks();
          if (checkpoints->resumable() > 0 && !options.quiet) {
            write_message(fmt::format("headway: resuming {} of the points from {}",
                                      checkpoints->resumable(), checkpoints->folder()));
          }
        }
        return studies::sample(job.study, job.dataset, observer, hooks,
                               job.known ? &*job.known : nullptr);
      },
      &io::write_sample_result,
      &io::sample_json,
      &sample_table,
      &sample_outcome};
  const int code = run_verb(options, steps);
  const bool finished = code == kExitOk || code == kExitNotUsable;
  if (checkpoints && finished) checkpoints->remove();
  return code;
}

}  // namespace headway::cli
