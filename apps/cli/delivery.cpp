#include "delivery.hpp"

#include <fmt/format.h>

#include "headway/core/deal.hpp"
#include "headway/core/ranks.hpp"
#include "headway/error.hpp"
#include "headway/result_file.hpp"
#include "headway/results/table.hpp"
#include "terminal.hpp"
#include "train_progress.hpp"

namespace headway::cli {

namespace {

int deliver(const Verb& verb, const Options& options, jobs::Job& job, Observer& observer) {
  if (options.dry_run) {
    write_output(job.planned());
    return kExitOk;
  }
  try {
    job.write_files();
  } catch (const Error& error) {  // hours of work must not end without their numbers
    if (error.kind() == ErrorKind::kCannotWrite) write_output(verb.print(options, job));
    throw;
  }
  write_output(verb.print(options, job));
  const jobs::Outcome& outcome = job.outcome();
  for (const std::string& fault : outcome.faults) observer.warning(fault);
  const auto closing = verb.closing == nullptr ? &closing_line : verb.closing;
  const std::string line = closing(options, outcome);
  if (!options.quiet && !line.empty()) write_message("headway: " + line);
  if (!job.unwritten.empty()) throw Error(ErrorKind::kCannotWrite, job.unwritten);
  if (outcome.interrupted) return static_cast<int>(ErrorKind::kInterrupted);
  job.remove_checkpoints();
  return outcome.faults.empty() ? kExitOk : kExitNotUsable;
}

}  // namespace

std::string closing_line(const Options& options, const jobs::Outcome& outcome) {
  return fmt::format("{}, {} s{}{}{}", outcome.done,
                     cell(outcome.seconds, outcome.seconds < 999.5 ? "{:.3g}" : "{:.0f}"),
                     options.output.empty() ? "" : ", result in " + options.output,
                     outcome.interrupted ? "; interrupted: the result is partial" : "",
                     !outcome.goes_on ? ""
                     : options.force  ? ", and the same command without --force goes on"
                                      : ", and the same command goes on");
}

int run_job(const Verb& verb, Options options) {
  Ranks* ranks = options.ranks;
  if (ranks != nullptr && !jobs::ranks_share(verb.name)) {
    agree(*ranks, [] {
      throw Error(
          ErrorKind::kUsage,
          "several ranks (mpirun) can share the work of solve, sample, train and gram only");
    });
    return kExitOk;
  }
  TerminalObserver observer(options.quiet, options.verbose);
  TrainProgress progress;
  if (!options.quiet) options.watch = &progress;
  if (options.json && verb.name == TrainResult::kVerb) {
    options.record = [](std::size_t run, const TrainedRun& trained,
                        const training::TrainRecord& record) {
      write_output(io::train_record_json(run, trained, record) + "\n");
    };
  }
  const std::shared_ptr<jobs::Job> job = jobs::make_job(verb.name, options);
  job->carry_out(observer);
  const bool first = ranks == nullptr || ranks->is_first();
  return job->is_done() && first ? deliver(verb, options, *job, observer) : kExitOk;
}

}  // namespace headway::cli
