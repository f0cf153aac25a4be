// Jobs as program and Python carry them out.
#include "headway/jobs/job.hpp"

#include <filesystem>
#include <memory>
#include <string>

#include "catch.hpp"
#include "headway/error.hpp"
#include "headway/result_file.hpp"
#include "random_examples.hpp"
#include "scratch_directory.hpp"

using namespace headway;           // NOLINT(google-build-using-namespace)
using namespace headway::testing;  // NOLINT(google-build-using-namespace)
using Catch::Matchers::ContainsSubstring;

namespace {

jobs::Request small_request() {
  Rng rng(5, StreamPurpose::kTests);
  jobs::Request request;
  request.input = "arrays";
  request.study_text = "schema = 1\n[task]\nkind = \"dataset\"\nfile = \"arrays\"\n";
  request.overlays = {"model.widths=[[10]]", "model.temperature=[0.5]", "threads=1"};
  auto dataset = random_dataset({2}, {8, 4, 3}, rng);
  dataset.name = "arrays";
  dataset.content_hash = "hash of the arrays";
  request.dataset = std::make_shared<const tasks::Dataset>(std::move(dataset));
  return request;
}

std::shared_ptr<jobs::Job> carried_out(const char* verb, jobs::Request request) {
  std::shared_ptr<jobs::Job> job = jobs::make_job(verb, std::move(request));
  job->carry_out(no_observer());
  return job;
}

}  // namespace

TEST_CASE("a job has the result of its verb, and the file when it is asked for") {
  const ScratchDirectory folder;
  jobs::Request request = small_request();
  request.output = folder.file("solved.h5");
  const auto job = carried_out("solve", request);
  REQUIRE(job->is_done());
  REQUIRE(job->result<SolveResult>() != nullptr);
  CHECK(job->result<AlignResult>() == nullptr);
  CHECK(job->kind() == "solve");
  CHECK(job->outcome().done == "1 point");
  CHECK(job->outcome().faults.empty());
  CHECK(job->unwritten.empty());
  CHECK_FALSE(std::filesystem::exists(request.output));
  CHECK(std::filesystem::exists(request.output + ".checkpoint/lock"));
  job->write_files();
  job->remove_checkpoints();
  const SolveResult read = io::read_solve_result(request.output);
  CHECK(read.points.at(0).action == job->result<SolveResult>()->points.at(0).action);
  CHECK_FALSE(std::filesystem::exists(request.output + ".checkpoint"));
}

TEST_CASE("a job lends its solution to another, which solves nothing again") {
  const auto solved = carried_out("solve", small_request());
  jobs::Request request = small_request();
  request.reusable = solved->reusable();
  REQUIRE(request.reusable != nullptr);
  const auto aligned = carried_out("align", request);
  const AlignResult* result = aligned->result<AlignResult>();
  REQUIRE(result != nullptr);
  CHECK(result->solve.points.at(0).summary.evaluations ==
        solved->result<SolveResult>()->points.at(0).summary.evaluations);
  CHECK(result->solve.points.at(0).seconds == solved->result<SolveResult>()->points.at(0).seconds);
}

TEST_CASE("a dry run computes nothing") {
  jobs::Request request = small_request();
  request.dry_run = request.json = true;
  const auto job = carried_out("solve", request);
  CHECK(job->is_done());
  CHECK(job->result<SolveResult>() == nullptr);
  CHECK(job->reusable() == nullptr);
  CHECK(job->outcome().done.empty());
  CHECK_THAT(job->planned(), ContainsSubstring("\"verb\": \"solve\""));
}

TEST_CASE("a verb without a job is refused by name") {
  CHECK_THROWS_WITH(jobs::make_job("inspect", {}), ContainsSubstring("inspect: no verb"));
  CHECK(jobs::ranks_share("solve"));
  CHECK_FALSE(jobs::ranks_share("align"));
  CHECK_FALSE(jobs::ranks_share("inspect"));
}
