// The scores of the theory that networks are compared with: from results of prune, by network.
#include "headway/io/theory_scores.hpp"

#include "catch.hpp"
#include "dataset_builder.hpp"
#include "headway/core/option_error.hpp"
#include "headway/error.hpp"
#include "headway/prune_results.hpp"
#include "headway/result_file.hpp"
#include "headway/study_file.hpp"
#include "result_builder.hpp"

using namespace headway;
using Catch::Matchers::ContainsSubstring;

namespace {

/// A data set as `extract` writes it. `network`: its weights_sha256, "" for none.
void write_data(const std::string& file, const std::string& network) {
  testing::write_dataset_file(file, {});
  if (network.empty()) return;
  testing::Surgery(file).set_attribute("/", "weights_sha256", network);
}

PruneResult built_prune() {
  PruneResult result;
  result.solve = testing::built_result(1);
  result.path_norms = VectorXd::Ones(6);
  for (const SolvePoint& solved : result.solve.points) {
    PrunePoint& point = result.points.emplace_back();
    point.widths = solved.widths;
    point.temperature = solved.temperature;
    for (int head = 1; head <= 2; ++head) {
      HeadReport& report = point.heads.emplace_back();
      report.head = head;
      report.name = head == 1 ? "L1H1" : "L1H2";
      report.score = 0.5 * head;
      report.mean_squared_error_without = 10.0 * head + solved.temperature;
      report.squared_error_rise_without_theory = 0.25 * head;
    }
  }
  return result;
}

void write_prune(const std::string& file, const std::string& data, const PruneResult& result) {
  const Study study =
      io::parse_study("[task]\nkind = \"dataset\"\nfile = \"" + data + "\"\n", "study.toml");
  io::write_result(file, study, result, make_provenance(study, "data", {}), true);
}

std::string fault(const std::vector<std::string>& files) {
  try {
    io::read_theory_scores(files);
  } catch (const std::exception& error) {
    return error.what();
  }
  return "none";
}

}  // namespace

TEST_CASE("scores of every point have the network, the rises and the label of their file") {
  const testing::ScratchDirectory folder;
  write_data(folder.file("data.h5"), "abc");
  PruneResult result = built_prune();
  result.solve.points[1].widths = {7, 7, 8};
  result.points[1].widths = {7, 7, 8};
  write_prune(folder.file("one.h5"), folder.file("data.h5"), result);
  const std::vector<TheoryScores> scores = io::read_theory_scores({folder.file("one.h5")});
  REQUIRE(scores.size() == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(scores[i].weights_sha256 == "abc");
    CHECK(scores[i].names == std::vector<std::string>{"L1H1", "L1H2"});
    CHECK(scores[i].score == std::vector<double>{0.5, 1.0});
    CHECK(scores[i].without_theory == std::vector<double>{0.25, 0.5});
    const SolvePoint& solved = result.solve.points[i];
    for (std::size_t head = 0; head < 2; ++head) {
      CHECK(scores[i].error_rise[head] == result.points[i].heads[head].mean_squared_error_without -
                                              solved.predictor.mean_squared_error);
    }
  }
  CHECK(scores[1].label == "one N = 7,7,8 T = 0.1");
}

TEST_CASE("the control without theory of version 0.2 is read") {
  const testing::ScratchDirectory folder;
  write_data(folder.file("data.h5"), "abc");
  write_prune(folder.file("one.h5"), folder.file("data.h5"), built_prune());
  for (const std::string point : {"points/0/pruning/", "points/1/pruning/"}) {
    testing::Surgery(folder.file("one.h5"))
        .move(point + "squared_error_rise_without_theory",
              point + "squared_error_change_without_theory");
  }
  const std::vector<TheoryScores> scores = io::read_theory_scores({folder.file("one.h5")});
  CHECK(scores.at(1).without_theory == std::vector<double>{0.25, 0.5});
}

TEST_CASE("files of one name are told apart by their paths") {
  const testing::ScratchDirectory folder;
  write_data(folder.file("data.h5"), "abc");
  const std::string other = folder.file("other");
  std::filesystem::create_directory(other);
  write_prune(folder.file("a.h5"), folder.file("data.h5"), built_prune());
  write_prune(other + "/a.h5", folder.file("data.h5"), built_prune());
  write_prune(folder.file("b.h5"), folder.file("data.h5"), built_prune());
  const std::vector<TheoryScores> scores =
      io::read_theory_scores({folder.file("a.h5"), other + "/a.h5", folder.file("b.h5")});
  REQUIRE(scores.size() == 6);
  std::string first = folder.file("a.h5");
  std::replace(first.begin(), first.end(), '/', ':');
  CHECK(scores[0].label.starts_with(first + " N = "));
  CHECK(scores[2].label != scores[0].label);
  CHECK(scores[4].label.starts_with("b N = "));
}

TEST_CASE("a result that does not tell its network is refused with what is wrong") {
  const testing::ScratchDirectory folder;
  const std::string data = folder.file("data.h5"), file = folder.file("one.h5");
  write_data(data, "abc");
  write_prune(file, data, built_prune());
  CHECK(fault({file, file}) ==
        "prune.theory[2] = \"" + file + "\": is the same file as entry 1: must be given once");
  CHECK_THAT(fault({data}), ContainsSubstring(data));
  const std::string solved = folder.file("solved.h5");
  io::write_result(solved, Study{}, testing::built_result(1), testing::built_provenance(), true);
  CHECK(fault({solved}) ==
        solved + ": is a result of headway solve: must be a result of headway prune");
  PruneResult none = built_prune();
  none.points.clear();
  none.solve.points.clear();
  write_prune(file, data, none);
  CHECK_THAT(fault({file}),
             ContainsSubstring("holds no points: must be a result of headway prune"));
  write_prune(file, data, built_prune());
  std::filesystem::remove(data);
  CHECK(fault({file}) == file + ": its data set \"" + data +
                             "\" is missing: must be there, as headway extract wrote it; it says "
                             "which network the parts belong to");
  write_data(data, "");
  CHECK_THAT(fault({file}), ContainsSubstring("root attribute weights_sha256 is missing: must be a "
                                              "data set of headway extract"));
}
