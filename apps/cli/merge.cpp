#include <algorithm>
#include <utility>
#include <vector>

#include "headway/core/error.hpp"
#include "headway/io/result_file.hpp"
#include "headway/studies/shards.hpp"
#include "outcomes.hpp"
#include "result_tables.hpp"
#include "train_table.hpp"
#include "verbs.hpp"

namespace headway::cli {

namespace {

struct MergeJob : Job {
  std::vector<studies::PartHeader> parts;  ///< in the order of their shards
};

/// What the parts say of themselves, in the order of the command line.
std::vector<studies::PartHeader> read_headers(const Options& options) {
  std::vector<std::string> files = {options.input};
  files.insert(files.end(), options.more_inputs.begin(), options.more_inputs.end());
  std::vector<studies::PartHeader> headers;
  for (const std::string& file : files) {
    headers.push_back({file, io::read_result_kind(file), io::read_result_provenance(file)});
  }
  return headers;
}

/// The course of merging results of one verb: what is computed is read, all else is that of the
/// verb itself.
template <class Result>
Computation merge(const Options& options, Observer& observer,
                  const std::vector<studies::PartHeader>& headers,
                  Result (*read)(const std::string&), Outcome (*outcome)(const Result&),
                  std::string (*table)(const studies::Study&, const Result&)) {
  Course<MergeJob, Result> course;
  course.load = [&](const Options&) {
    MergeJob job;
    for (const std::size_t i : studies::order_of_parts(headers)) job.parts.push_back(headers[i]);
    const studies::PartHeader& first = job.parts.front();
    job.study = io::parse_study(first.provenance.study_toml, first.file);
    return job;
  };
  course.read_data = [](const Options&, MergeJob& job, Observer&) {
    return job.parts.front().provenance.data_hash;
  };
  course.compute = [read](const Options&, MergeJob& job, Observer&) {
    studies::Parts<Result> results;
    for (const studies::PartHeader& part : job.parts) results.push_back(read(part.file));
    return studies::merge_parts(job.study, std::move(results));
  };
  course.outcome = outcome;
  course.write = [](const Options& to, const MergeJob& job, const Result& result) {
    io::write_result(to.output, job.study, result, studies::merged_provenance(job.parts),
                     job.overwrite);
  };
  course.print = [table](const Options& to, const MergeJob& job, const Result& result) {
    return to.json ? io::result_json(job.study, result) + "\n" : table(job.study, result);
  };
  return carry_out(options, course, observer);
}

studies::SolveResult read_solved(const std::string& file) { return io::read_solve_result(file); }

Outcome outcome_of_solve(const studies::SolveResult& result) {
  return solve_outcome(result, result.seconds);
}

Computation compute_merge(const Options& options, Observer& observer) {
  const std::vector<studies::PartHeader> headers = read_headers(options);
  const std::string& kind = headers.front().kind;
  if (kind == studies::SolveResult::kVerb) {
    return merge(options, observer, headers, &read_solved, &outcome_of_solve, &solve_table);
  }
  if (kind == studies::SampleResult::kVerb) {
    return merge(options, observer, headers, &io::read_sample_result, &sample_outcome,
                 &sample_table);
  }
  if (kind == studies::TrainResult::kVerb) {
    return merge(options, observer, headers, &io::read_train_result, &train_outcome, &train_table);
  }
  throw Error(ErrorKind::kBadData, headers.front().file + ": is a result of " + kind +
                                       "; allowed: parts of solve, sample or train");
}

}  // namespace

Verb merge_verb() {
  return {.name = "merge",
          .summary = "parts that --shard made, put together: the result of the undivided study",
          .sections = {},
          .more_inputs = "the other parts, in any order",
          .takes = Takes::kParts,
          .compute = &compute_merge};
}

}  // namespace headway::cli
