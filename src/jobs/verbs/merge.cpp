#include "headway/error.hpp"
#include "headway/gram.hpp"
#include "headway/io/gram_file.hpp"
#include "headway/schedule.hpp"
#include "jobs/job_for.hpp"
#include "jobs/outcomes.hpp"
#include "jobs/verbs.hpp"

namespace headway::jobs {
namespace {

/// Kind and provenance of the parts, in the order of the command line.
std::vector<PartHeader> read_headers(const Request& request) {
  std::vector<std::string> files = {request.input};
  files.insert(files.end(), request.more_inputs.begin(), request.more_inputs.end());
  std::vector<PartHeader> headers;
  for (const std::string& file : files) {
    headers.push_back({file, io::read_result_kind(file), io::read_result_provenance(file)});
  }
  return headers;
}

/// Joins the parts of a verb whose results are a Result.
template <class Result>
class MergeJob final : public JobFor<Result> {
 public:
  MergeJob(Request asked, const std::vector<PartHeader>& headers, Outcome (*judge)(const Result&))
      : JobFor<Result>(std::move(asked)), headers_(headers), judge_(judge) {}

 private:
  void load() override {
    for (const std::size_t i : headway::order_of_parts(headers_)) parts_.push_back(headers_[i]);
    const PartHeader& first = parts_.front();
    this->study = io::parse_study(first.provenance.study_toml, first.file);
  }
  std::string read_data(Observer& /*observer*/) override {
    return parts_.front().provenance.data_hash;
  }
  [[nodiscard]] std::string plan() const override { return ""; }
  /// The parts are read where the verb itself would compute.
  Result compute(Observer& /*observer*/) override {
    this->provenance = merged_ = headway::merged_provenance(parts_);
    if constexpr (std::is_same_v<Result, GramResult>) {
      std::vector<GramResult> grams;
      for (const PartHeader& part : parts_) grams.push_back(io::read_gram_part(part.file));
      return headway::merge_grams(std::move(grams));
    } else {
      Parts<Result> found;
      for (const PartHeader& part : parts_) {
        found.push_back(io::read_shared_result<Result>(part.file));
      }
      return headway::merge_parts(this->study, std::move(found));
    }
  }
  [[nodiscard]] Outcome outcome_of(const Result& result) const override { return judge_(result); }
  void write_result() const override {
    if constexpr (std::is_same_v<Result, GramResult>) {
      io::write_gram(this->request.output, this->result_, merged_, this->overwrite_);
    } else {
      this->save(merged_, this->request.output, this->overwrite_);
    }
  }

  std::vector<PartHeader> headers_, parts_;  ///< as given, and in the order of their shards
  Outcome (*judge_)(const Result&);
  /// Of the whole, as its file has it. Job::provenance gets the seconds of this call.
  ResultProvenance merged_;
};

Outcome outcome_of_solve(const SolveResult& result) {
  return solve_outcome(result, result.seconds);
}

}  // namespace

std::shared_ptr<Job> merge_job(Request request) {
  const std::vector<PartHeader> headers = read_headers(request);
  const std::string& kind = headers.front().kind;
  const auto merged = [&]<class Result>(Outcome (*judge)(const Result&)) {
    return std::make_shared<MergeJob<Result>>(std::move(request), headers, judge);
  };
  if (kind == SolveResult::kVerb) return merged(&outcome_of_solve);
  if (kind == SampleResult::kVerb) return merged(&sample_outcome);
  if (kind == TrainResult::kVerb) return merged(&train_outcome);
  if (kind == headway::kGramVerb) return merged(&gram_outcome);
  throw Error(ErrorKind::kBadData, headers.front().file + ": is a result of " +
                                       io::verb_of_kind(kind) +
                                       "; allowed: parts of solve, sample, train or gram");
}

}  // namespace headway::jobs
