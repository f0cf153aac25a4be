// Pieces of work with checkpoints of their own: their names, and why one is not another.
#include "headway/jobs/parts.hpp"

#include <set>
#include <string>
#include <vector>

#include "catch.hpp"
#include "headway/core/sha256.hpp"
#include "headway/study/sections.hpp"
#include "headway/study/study_hash.hpp"

using namespace headway;  // NOLINT: a test

namespace {

Study four_points() {
  Study study;
  study.task.set_kind(TaskKind::kDataset);
  study.model.widths = {{5}, {10}};
  study.model.temperatures = {0.1, 0.2};
  return study;
}

std::vector<std::string> names_of(const std::vector<ComputationPart>& parts) {
  std::vector<std::string> names;
  for (const ComputationPart& part : parts) names.push_back(part.name);
  return names;
}

}  // namespace

TEST_CASE("points come first, then the chains of each, all with the study and its data") {
  const Study study = four_points();
  using Names = std::vector<std::string>;
  CHECK(names_of(point_parts(study, "hash", "data", 0)) ==
        Names{"point_0", "point_1", "point_2", "point_3"});
  const std::vector<ComputationPart> parts = point_parts(study, "hash", "data", 2);
  CHECK(names_of(parts) == Names{"point_0", "point_1", "point_2", "point_3", "point_0_chain_0",
                                 "point_0_chain_1", "point_1_chain_0", "point_1_chain_1",
                                 "point_2_chain_0", "point_2_chain_1", "point_3_chain_0",
                                 "point_3_chain_1"});
  for (const ComputationPart& part : parts) {
    CHECK(is_part_name(part.name));
    CHECK(part.study_hash == "hash");
    CHECK(part.study_toml == study_text(study));
    CHECK(part.data_hash == "data");
  }
}

TEST_CASE("runs are named by what they compute and on what, and by threads where these are swept") {
  std::vector<TrainRun> runs(5);
  for (TrainRun& run : runs) run.study.task.set_kind(TaskKind::kFuzzyLogic);
  runs[1].study.seed = 7;
  runs[2].settings = {{"threads", "2"}};
  runs[3].settings = {{"seed", "1"}};  // is in the hash already
  runs[4].study.name = "another";      // computes the same
  const std::vector<ComputationPart> parts = train_parts(runs, {"a", "a", "a", "a", "a"});
  REQUIRE(parts.size() == 5);
  const auto name = [](const std::string& identity) {
    return "run_" + sha256_hex(identity).substr(0, 16);
  };
  for (std::size_t i = 0; i < 5; ++i) {
    CHECK(parts[i].study_hash == train_hash(runs[i].study));
    CHECK(parts[i].study_toml == study_text(runs[i].study));
    CHECK(parts[i].data_hash == "a");
    CHECK(is_part_name(parts[i].name));
    CHECK(parts[i].name == name(parts[i].study_hash + "\na" + (i == 2 ? "\n2" : "")));
  }
  const std::vector<std::string> names = names_of(parts);
  CHECK(std::set<std::string>(names.begin(), names.end()).size() == 3);
  CHECK(train_parts({runs[0]}, {"b"})[0].name != parts[0].name);
  CHECK_FALSE(is_part_name("mine.txt"));
  CHECK_FALSE(is_part_name("a point_0"));
}

TEST_CASE("of another study the keys are told that differ, else the data") {
  const Study study = four_points();
  const ComputationPart wanted = point_parts(study, "hash", "data", 0).front();
  CHECK(part_differences(wanted, wanted).empty());
  Study other = study;
  other.seed = 5;
  ComputationPart found = point_parts(other, "else", "others", 0).front();
  using Lines = std::vector<std::string>;
  CHECK(part_differences(found, wanted) == Lines{"seed = 5, here 1"});
  found.study_toml = wanted.study_toml;
  CHECK(part_differences(found, wanted) == Lines{"another study"});
  found.study_hash = wanted.study_hash;
  CHECK(part_differences(found, wanted) == Lines{"the data"});
}
