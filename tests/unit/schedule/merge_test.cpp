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
  for (std::size_t i = 0; i < 2; ++i)
    parts.emplace_back(solved(study, solve_points(study, {i, 2})));
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
  Parts<SolveResult> one = two_parts(study);
  one.front().reset();
  const SolveResult half = merge_parts(study, one);
  CHECK(half.points.size() == 2);
  CHECK(half.interrupted);
}

TEST_CASE("a part with points of other widths or temperatures, or too few, is refused by name") {
  const Study study = four_points();
  const auto refused = [&](const auto& change, const std::string& why) {
    Parts<SolveResult> parts = two_parts(study);
    change(*parts[1]);
    CHECK_THROWS_WITH(merge_parts(study, parts),
                      ContainsSubstring("part 1/2") && ContainsSubstring(why));
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
