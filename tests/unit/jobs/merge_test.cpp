// Parts of a study: joined in order, and refused where their points are not those of their shard.
#include <string>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "headway/error.hpp"
#include "headway/schedule.hpp"
#include "headway/shard.hpp"

using namespace headway;  // NOLINT: a test
using Catch::Matchers::ContainsSubstring;

namespace {

Study four_points() {
  Study study;
  study.task.set_kind(TaskKind::kDataset);
  study.model.widths = {{5}, {10}};
  study.model.temperatures = {0.1, 0.2};
  return study;
}

/// What `solve` leaves of a shard, without numbers.
SolveResult solved(const Study& study, const std::vector<std::size_t>& points) {
  SolveResult part;
  const std::size_t temperatures = study.model.temperatures.size();
  for (const std::size_t point : points) {
    SolvePoint& found = part.points.emplace_back();
    found.widths = study.model.widths[point / temperatures];
    found.temperature = study.model.temperatures[point % temperatures];
    found.action = static_cast<double>(point);
  }
  for (const std::size_t t : temperatures_of(study, points)) {
    part.gaussian_process.emplace_back().temperature = study.model.temperatures[t];
  }
  return part;
}

Parts<SolveResult> two_parts(const Study& study) {
  Parts<SolveResult> parts;
  for (std::size_t i = 0; i < 2; ++i) {
    SolveResult& part = parts.emplace_back(solved(study, solve_points(study, {i, 2}))).value();
    part.seconds = 1.0 + static_cast<double>(i);
    part.threads = 3 - static_cast<int>(i);
  }
  return parts;
}

}  // namespace

TEST_CASE("parts are joined in the order of the sweep") {
  const Study study = four_points();
  const SolveResult whole = merge_parts(study, two_parts(study));
  REQUIRE(whole.points.size() == 4);
  for (std::size_t i = 0; i < 4; ++i) CHECK(whole.points[i].action == static_cast<double>(i));
  REQUIRE(whole.gaussian_process.size() == 2);
  CHECK(whole.gaussian_process[0].temperature == 0.1);
  CHECK(whole.gaussian_process[1].temperature == 0.2);
  CHECK_FALSE(whole.interrupted);
  CHECK(whole.seconds == 3.0);
  CHECK(whole.threads == 3);
  Parts<SolveResult> one = two_parts(study);
  one.front().reset();
  const SolveResult half = merge_parts(study, one);
  CHECK(half.points.size() == 2);
  CHECK(half.seconds == 2.0);
  CHECK(half.threads == 2);
  CHECK(half.interrupted);
}

TEST_CASE("a part with points of other widths or temperatures, or too few, is refused by name") {
  const Study study = four_points();
  const auto refused = [&](const auto& change, const std::string& why) {
    Parts<SolveResult> parts = two_parts(study);
    change(*parts[1]);
    CHECK_THROWS_WITH(merge_parts(study, parts), "part 1/2: " + why);
    try {
      merge_parts(study, std::move(parts));
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::kBadData);
    }
  };
  refused([](SolveResult& part) { part.points[1].temperature = 0.3; },
          "point 1 has width 10 and temperature 0.3; allowed: 10 and 0.2");
  refused([](SolveResult& part) { part.points[0].widths = {6}; },
          "point 0 has width 6 and temperature 0.2; allowed: 5 and 0.2");
  refused([](SolveResult& part) { std::swap(part.points[0], part.points[1]); },
          "point 0 has width 10 and temperature 0.2; allowed: 5 and 0.2");
  refused([](SolveResult& part) { part.points.pop_back(); }, "holds 1 points or runs; allowed: 2");
  refused([](SolveResult& part) { part.gaussian_process.clear(); },
          "holds 0 points or runs; allowed: 1");
}

TEST_CASE(
    "parts come in the order of their shards; a whole, an unfinished or a second one is refused") {
  const auto part = [](const std::string& shard) {
    PartHeader header;
    header.file = "part-" + shard.substr(0, 1) + ".h5";
    header.kind = "solve";
    header.provenance.shard = shard;
    header.provenance.command = "headway solve s --shard " + shard;
    return header;
  };
  CHECK(order_of_parts({part("1/2"), part("0/2")}) == std::vector<std::size_t>{1, 0});
  const auto refused = [](const std::vector<PartHeader>& parts, const std::string& why) {
    CHECK_THROWS_WITH(order_of_parts(parts), ContainsSubstring(why));
  };
  PartHeader unfinished = part("1/2"), whole = part("1/2");
  unfinished.provenance.partial = true;
  whole.provenance.shard.clear();
  refused({part("0/2"), unfinished},
          "part-1.h5: part 1/2 is not finished; this command finishes it:\n  headway solve s");
  refused({part("0/2"), whole}, "part-1.h5: is a whole result");
  refused({part("0/2"), part("0/2")}, "part-0.h5");
  refused({part("0/3"), part("1/3")}, "of 3 parts one is missing:\n  headway solve s --shard 2/3");
  refused({part("0/2"), part("1/3")}, "not of 2");
}

TEST_CASE("a missing part is named with the command and the file that it would have") {
  const auto missing = [](const std::string& command) {
    PartHeader part;
    part.file = "p.h5";
    part.kind = "solve";
    part.provenance.shard = "1/3";
    part.provenance.command = command;
    PartHeader other = part;
    other.provenance.shard = "0/3";
    try {
      order_of_parts({part, other});
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::kMissingFile);
      return std::string(error.what());
    }
    return std::string("none");
  };
  const std::string begin = "of 3 parts one is missing:\n  ";
  CHECK(missing("headway solve s --shard=1/3 -o parts/hmm-1.h5 -q") ==
        begin + "headway solve s --shard 2/3 -o parts/hmm-2.h5 -q");
  CHECK(missing("headway solve s --shard 1/3 --output=11-1.h5") ==
        begin + "headway solve s --shard 2/3 -o 11-2.h5");
  CHECK(missing("headway solve s --shard 1/3 -o 'my parts/it'\\''s-1.h5'") ==
        begin + "headway solve s --shard 2/3 -o 'my parts/it'\\''s-2.h5'");
  CHECK(missing("headway solve s --shard 1/3 -o hmm.h5") ==
        begin + "headway solve s --shard 2/3 -o hmm-2.h5");
  CHECK(missing("'headway.solve(study, shard=(1, 3))'") ==
        begin + "headway.solve(study, shard=(2, 3))");
}

TEST_CASE("of many missing parts ten have their command, the others are counted") {
  PartHeader part;
  part.provenance.shard = "0/13";
  part.provenance.command = "headway solve s --shard 0/13";
  try {
    order_of_parts({part});
    FAIL("twelve parts are missing");
  } catch (const Error& error) {
    const std::string text = error.what();
    CHECK(text.starts_with("of 13 parts 12 are missing:\n  headway solve s --shard 1/13\n"));
    CHECK(text.ends_with("\n  headway solve s --shard 10/13\n  ... and 2 more"));
  }
}

TEST_CASE("a part of another verb, study, data or version says what differs") {
  PartHeader first;
  first.file = "first.h5";
  first.kind = "solve";
  first.provenance.shard = "0/2";
  first.provenance.study_hash = "a";
  first.provenance.study_toml = "[model]\nwidths = [1]\n";
  first.provenance.data_hash = "b";
  first.provenance.headway_version = "1.2.3";
  first.provenance.git_commit = "abc";
  const auto told = [&](const auto& change) {
    PartHeader second = first;
    second.file = "second.h5";
    second.provenance.shard = "1/2";
    change(second);
    try {
      order_of_parts({first, second});
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::kBadData);
      return std::string(error.what());
    }
    return std::string("none");
  };
  const std::string begin = "second.h5: does not belong to first.h5: it ";
  CHECK(told([](PartHeader& /*same*/) {}) == "none");
  CHECK(told([](PartHeader& part) { part.kind = "sample"; }) ==
        begin + "is of headway sample, not of headway solve");
  CHECK(told([](PartHeader& part) { part.provenance.study_hash = "c"; }) ==
        begin + "belongs to another study: its hash differs");
  const std::string differs = told([](PartHeader& part) {
    part.provenance.study_hash = "c";
    part.provenance.study_toml = "[model]\nwidths = [2]\n";
  });
  CHECK(differs.starts_with(begin + "belongs to another study: "));
  CHECK(differs.find("model.widths") != std::string::npos);
  CHECK(told([](PartHeader& part) { part.provenance.data_hash = "c"; }) ==
        begin + "was computed from other data");
  const std::string version = "was made by version 1.2.3 (commit ";
  CHECK(told([](PartHeader& part) { part.provenance.git_commit = "def"; }) ==
        begin + version + "def), not 1.2.3 (commit abc)");
  CHECK(told([](PartHeader& part) { part.provenance.headway_version = "2.0.0"; }) ==
        begin + "was made by version 2.0.0 (commit abc), not 1.2.3 (commit abc)");
}

TEST_CASE("the undivided result was made when its first part began, on all machines, in all time") {
  PartHeader one, two;
  one.provenance.shard = "0/2";
  one.provenance.command = "headway train t --shard 0/2 -q";
  one.provenance.started = "2026-01-02T00:00:00Z";
  one.provenance.seconds = 1.5;
  one.provenance.threads = 2;
  one.provenance.machine = "large";
  one.provenance.gpu = "H100";
  two = one;
  two.provenance.started = "2026-01-01T00:00:00Z";
  two.provenance.seconds = 2.0;
  two.provenance.threads = 8;
  two.provenance.machine = "else";
  two.provenance.gpu.clear();
  const ResultProvenance whole = merged_provenance({one, two});
  CHECK(whole.shard.empty());
  CHECK(whole.command == "headway train t -q");
  CHECK(whole.started == two.provenance.started);
  CHECK(merged_provenance({two, one}).started == two.provenance.started);
  CHECK(whole.seconds == 3.5);
  CHECK(whole.threads == 8);
  CHECK(whole.machine == "else; large");
  CHECK(whole.gpu == "H100");
  two.provenance.gpu = "A100";
  two.provenance.command = "'headway.train(study, shard=(1, 2))'";
  CHECK(merged_provenance({two, one}).command == "'headway.train(study)'");
  CHECK(merged_provenance({two, one}).gpu == "A100 | H100");
}

TEST_CASE("samples of shards are joined with the theory of their points") {
  const Study study = four_points();
  const auto parts = [&] {
    Parts<SampleResult> found;
    for (std::size_t i = 0; i < 2; ++i) {
      const std::vector<std::size_t> points = sample_points(study, {i, 2});
      SampleResult& part = found.emplace_back(SampleResult()).value();
      part.solve = solved(study, points);
      part.seconds = 1.0 + static_cast<double>(i);
      for (const std::size_t point : points) {
        SamplePoint& sampled = part.points.emplace_back();
        sampled.widths = study.model.widths[point / 2];
        sampled.temperature = study.model.temperatures[point % 2];
        sampled.draws = static_cast<Index>(point);
      }
    }
    return found;
  };
  const SampleResult whole = merge_parts(study, parts());
  REQUIRE(whole.points.size() == 4);
  REQUIRE(whole.solve.points.size() == 4);
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(whole.points[i].draws == static_cast<Index>(i));
    CHECK(whole.solve.points[i].action == static_cast<double>(i));
  }
  CHECK(whole.seconds == 3.0);
  CHECK_FALSE(whole.interrupted);
  Parts<SampleResult> half = parts();
  half.back().reset();
  CHECK(merge_parts(study, half).points.size() == 2);
  CHECK(merge_parts(study, std::move(half)).interrupted);
  Parts<SampleResult> strange = parts();
  strange[0]->points[1].temperature = 0.7;
  CHECK_THROWS_WITH(merge_parts(study, std::move(strange)),
                    ContainsSubstring("part 0/2: point 1 has width 10 and temperature 0.7"));
}

TEST_CASE("runs of shards are joined in the order of the sweep") {
  Study study;
  study.task.set_kind(TaskKind::kFuzzyLogic);
  OptionValue::Array seeds;
  for (const std::int64_t seed : {5, 6, 7}) seeds.push_back({seed, {}});
  study.sweep.push_back({"seed", std::move(seeds)});
  const auto parts = [] {
    Parts<TrainResult> found;
    for (std::size_t i = 0; i < 2; ++i) {
      TrainResult& part = found.emplace_back(TrainResult()).value();
      part.seconds = 1.0 + static_cast<double>(i);
      part.threads = 1 + static_cast<int>(i);
      for (std::size_t run = i; run < 3; run += 2) part.runs.emplace_back().seed = 5 + run;
    }
    return found;
  };
  const TrainResult whole = merge_parts(study, parts());
  CHECK(whole.planned == 3);
  REQUIRE(whole.runs.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) CHECK(whole.runs[i].seed == 5 + i);
  CHECK(whole.seconds == 3.0);
  CHECK(whole.threads == 2);
  CHECK_FALSE(whole.interrupted);
  Parts<TrainResult> half = parts();
  half.front().reset();
  const TrainResult second = merge_parts(study, std::move(half));
  CHECK(second.runs.size() == 1);
  CHECK(second.planned == 3);
  CHECK(second.interrupted);
  Parts<TrainResult> strange = parts();
  strange[1]->runs.emplace_back();
  CHECK_THROWS_WITH(merge_parts(study, std::move(strange)),
                    ContainsSubstring("part 1/2: holds 2 points or runs; allowed: 1"));
}
