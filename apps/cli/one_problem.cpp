#include "one_problem.hpp"

#include <memory>
#include <utility>

#include "headway/checkpoints.hpp"
#include "headway/core/deal.hpp"
#include "headway/error.hpp"
#include "headway/solve.hpp"
#include "shared_course.hpp"

namespace headway::cli {

namespace {

using headway::SolveResult;
using SolveCourse = Course<TheoryJob, SolveResult>;

int run_one_problem(const Options& all, const SolveCourse& course) {
  Ranks& ranks = *all.ranks;
  const bool first = ranks.is_first();
  // Only the first rank prints and writes.
  Options options = all;
  options.quiet = all.quiet || !first;
  if (!first) options.output.clear();
  TerminalObserver terminal(options.quiet, options.verbose && first);
  TheoryJob job;
  const auto make_ready = [&] {
    if (!options.shard.empty())
      throw Error(ErrorKind::kUsage,
                  "--shard: cannot be used with solve.kernels = \"distributed\"");
    job = prepare(options, course, terminal);
    job.study.threads = threads_of_rank(job.study, ranks);
  };
  if (!agree(ranks, make_ready)) return kExitOk;
  if (options.dry_run) {
    if (first) write_output(course.plan(options, job));
    return kExitOk;
  }
  Observer silent;
  headway::SolveHooks hooks;
  if (first) hooks = checkpoint_hooks<io::SolveCheckpoints>(options, job);
  SolveResult result = headway::solve_on_ranks(
      ranks, job.study, job.dataset, first ? static_cast<Observer&>(terminal) : silent, hooks);
  if (!first) return kExitOk;
  const Computation done = computation_of(std::make_shared<Finished<TheoryJob, SolveResult>>(
      Finished<TheoryJob, SolveResult>{options, course, std::move(job), std::move(result)}));
  return deliver(options, done, terminal);
}

}  // namespace

int run_solve_on_ranks(const Options& options, const SolveCourse& course) {
  bool one_problem = false;
  const auto look = [&] {
    one_problem = study_of(options).study.solve.kernels == theory::KernelForm::kDistributed;
  };
  if (!agree(*options.ranks, look)) return kExitOk;
  return one_problem ? run_one_problem(options, course) : run_shared(options, course);
}

}  // namespace headway::cli
