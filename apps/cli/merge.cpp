#include <utility>
#include <vector>

#include "gram_text.hpp"
#include "headway/error.hpp"
#include "headway/io/gram_file.hpp"
#include "headway/result_file.hpp"
#include "headway/schedule.hpp"
#include "headway/shard.hpp"
#include "outcomes.hpp"
#include "result_tables.hpp"
#include "train_table.hpp"
#include "verbs.hpp"

namespace headway::cli {

namespace {

struct MergeJob : Job {
  std::vector<PartHeader> parts;  ///< in the order of their shards
  /// Of the whole, as its file has it. Job::provenance gets the seconds of this call.
  ResultProvenance merged;
};

/// Kind and provenance of the parts, in the order of the command line.
std::vector<PartHeader> read_headers(const Options& options) {
  std::vector<std::string> files = {options.input};
  files.insert(files.end(), options.more_inputs.begin(), options.more_inputs.end());
  std::vector<PartHeader> headers;
  for (const std::string& file : files) {
    headers.push_back({file, io::read_result_kind(file), io::read_result_provenance(file)});
  }
  return headers;
}

/// How merging differs between verbs: its results, how they become one, and what is made of that.
template <class Result>
using Merging = Course<MergeJob, Result>;

/// The parts are read where the verb itself would compute.
template <class Result>
Computation merge(const Options& options, Observer& observer,
                  const std::vector<PartHeader>& headers, Merging<Result> course) {
  course.load = [&](const Options&) {
    MergeJob job;
    for (const std::size_t i : headway::order_of_parts(headers)) job.parts.push_back(headers[i]);
    const PartHeader& first = job.parts.front();
    job.study = io::parse_study(first.provenance.study_toml, first.file);
    return job;
  };
  course.read_data = [](const Options&, MergeJob& job, Observer&) {
    return job.parts.front().provenance.data_hash;
  };
  course.compute = [join = course.compute](const Options& to, MergeJob& job, Observer& watching) {
    job.merged = headway::merged_provenance(job.parts);
    job.provenance = job.merged;
    return join(to, job, watching);
  };
  return carry_out(options, course, observer);
}

/// Results that lie in result files.
template <class Result>
Merging<Result> merging_of(Outcome (*outcome)(const Result&),
                           std::string (*table)(const Study&, const Result&)) {
  Merging<Result> merging;
  merging.compute = [](const Options&, MergeJob& job, Observer&) {
    Parts<Result> parts;
    for (const PartHeader& part : job.parts) {
      parts.push_back(io::read_shared_result<Result>(part.file));
    }
    return headway::merge_parts(job.study, std::move(parts));
  };
  merging.outcome = outcome;
  merging.write = [](const Options& to, const MergeJob& job, const Result& result) {
    io::write_result(to.output, job.study, result, job.merged, job.overwrite);
  };
  merging.table = table;
  return merging;
}

Merging<GramResult> merging_of_grams() {
  Merging<GramResult> merging;
  merging.compute = [](const Options&, MergeJob& job, Observer&) {
    std::vector<GramResult> parts;
    for (const PartHeader& part : job.parts) parts.push_back(io::read_gram_part(part.file));
    return headway::merge_grams(std::move(parts));
  };
  merging.outcome = &gram_outcome;
  merging.write = [](const Options& to, const MergeJob& job, const GramResult& result) {
    io::write_gram(to.output, result, job.merged, job.overwrite);
  };
  merging.print = [](const Options& to, const MergeJob&, const GramResult& result) {
    return gram_text(to, result);
  };
  return merging;
}

Outcome outcome_of_solve(const SolveResult& result) {
  return solve_outcome(result, result.seconds);
}

Computation compute_merge(const Options& options, Observer& observer) {
  const std::vector<PartHeader> headers = read_headers(options);
  const std::string& kind = headers.front().kind;
  const auto merged = [&](const auto& merging) {
    return merge(options, observer, headers, merging);
  };
  if (kind == SolveResult::kVerb) {
    return merged(merging_of(&outcome_of_solve, &solve_table));
  }
  if (kind == SampleResult::kVerb) {
    return merged(merging_of(&sample_outcome, &sample_table));
  }
  if (kind == TrainResult::kVerb) {
    return merged(merging_of(&train_outcome, &train_table));
  }
  if (kind == headway::kGramVerb) return merged(merging_of_grams());
  throw Error(ErrorKind::kBadData, headers.front().file + ": is a result of " +
                                       io::verb_of_kind(kind) +
                                       "; allowed: parts of solve, sample, train or gram");
}

}  // namespace

Verb merge_verb() {
  return {.name = "merge",
          .summary = "put together the parts that --shard made",
          .about =
              "Joins the results of all parts of a study into the result of the undivided study, "
              "and prints its table. It refuses parts that do not belong together, and names those "
              "that are missing.",
          .examples = {{"headway merge part-*.h5 -o whole.h5", "the parts, in any order"}},
          .more_inputs = "the other parts, in any order",
          .takes = Takes::kParts,
          .compute = &compute_merge};
}

}  // namespace headway::cli
