// Parts of a study: together they are the whole, and none has what another has.
#include "headway/shard.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "catch.hpp"
#include "headway/error.hpp"
#include "headway/study.hpp"

using namespace headway;

namespace {

Study swept(std::size_t widths, std::size_t temperatures) {
  Study study;
  study.model.widths.clear();
  study.model.temperatures.clear();
  for (std::size_t w = 0; w < widths; ++w) {
    study.model.widths.push_back({static_cast<Index>(10 * (w + 1))});
  }
  for (std::size_t t = 0; t < temperatures; ++t) {
    study.model.temperatures.push_back(0.1 * static_cast<double>(t + 1));
  }
  return study;
}

}  // namespace

TEST_CASE("a part that is none of its study is refused") {
  CHECK_THROWS_WITH(dealt_units(3, {0, 0}), "shard 0/0: allowed: i/n with 0 <= i < n");
  CHECK_THROWS_WITH(solve_points(swept(2, 1), {5, 2}), "shard 5/2: allowed: i/n with 0 <= i < n");
}

TEST_CASE("a part is written i/n and read again, and nothing else is read") {
  const Shard shard = read_shard("2/5");
  CHECK(shard.index == 2);
  CHECK(shard.count == 5);
  CHECK(shard_text(shard) == "2/5");
  CHECK_FALSE(shard.whole());
  CHECK(read_shard("0/1").whole());
  CHECK(read_shard("0/1000000").count == 1000000);
  for (const char* text : {"5/5", "6/5", "0/0", "0/1000001", "1", "", "/", "1/", "/2", "-1/2",
                           "1/2/3", "a/2", "1/b", " 1/2", "1/2 ", "+1/2"}) {
    INFO(text);
    try {
      read_shard(text);
      FAIL("it was read");
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::kUsage);
      CHECK(std::string(error.what()) ==
            "--shard " + std::string(text) +
                ": must be i/n, part i of n, with 0 <= i < n <= 1000000");
    }
  }
}

TEST_CASE("parts divide all points among them, however many there are") {
  for (const auto& [widths, temperatures] :
       std::vector<std::pair<std::size_t, std::size_t>>{{1, 1}, {3, 2}, {2, 7}, {11, 1}}) {
    const Study study = swept(widths, temperatures);
    for (const auto points_of : {&solve_points, &sample_points}) {
      for (const std::size_t count : {1, 2, 3, 20}) {
        std::vector<std::size_t> all;
        for (std::size_t i = 0; i < count; ++i) {
          const std::vector<std::size_t> part = points_of(study, {i, count});
          CHECK(std::is_sorted(part.begin(), part.end()));
          all.insert(all.end(), part.begin(), part.end());
        }
        std::sort(all.begin(), all.end());
        REQUIRE(all.size() == widths * temperatures);
        for (std::size_t i = 0; i < all.size(); ++i) CHECK(all[i] == i);
      }
    }
  }
}

TEST_CASE("a chain has one temperature, and its widths fall") {
  Study study = swept(4, 2);
  std::reverse(study.model.widths.begin(), study.model.widths.end());
  std::swap(study.model.widths[0], study.model.widths[2]);  // 20, 30, 40, 10
  const std::vector<std::vector<std::size_t>> chains = solve_chains(study);
  for (const std::vector<std::size_t>& chain : chains) {
    for (std::size_t i = 1; i < chain.size(); ++i) {
      CHECK(chain[i] % 2 == chain[0] % 2);
      CHECK(study.model.widths[chain[i] / 2] < study.model.widths[chain[i - 1] / 2]);
    }
  }
  CHECK(chains.front().front() / 2 == 2);  // the widest comes first
  study.solve.warm_start = false;
  CHECK(solve_chains(study).size() == 8);
}

TEST_CASE("units are dealt in turn, and points know their temperatures") {
  CHECK(dealt_units(7, {1, 3}) == std::vector<std::size_t>{1, 4});
  CHECK(dealt_units(7, {0, 3}) == std::vector<std::size_t>{0, 3, 6});
  CHECK(dealt_units(2, {4, 5}).empty());
  CHECK(Shard{1, 3}.has(4));
  CHECK_FALSE(Shard{1, 3}.has(3));
  const Study study = swept(3, 4);
  CHECK(temperatures_of(study, {0, 4, 8}) == std::vector<std::size_t>{0});
  CHECK(temperatures_of(study, {7, 2}) == std::vector<std::size_t>{2, 3});
  CHECK(temperatures_of(study, {}).empty());
}
