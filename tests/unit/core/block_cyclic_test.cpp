#include "headway/core/block_cyclic.hpp"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "catch.hpp"

using namespace headway;

TEST_CASE("every entry of a dimension is in one part, in rising order") {
  for (const Index size : {0, 1, 7, 24, 100}) {
    for (const Index block : {1, 3, 8}) {
      for (const int parts : {1, 2, 3, 5}) {
        std::vector<int> owners(static_cast<std::size_t>(size), -1);
        for (int part = 0; part < parts; ++part) {
          const BlockCyclic own{size, block, parts, part};
          Index last = -1;
          for (Index local = 0; local < own.count(); ++local) {
            const Index global = own.global(local);
            REQUIRE(global > last);
            REQUIRE(global / block % parts == part);
            REQUIRE(own.count_below(global) == local);
            REQUIRE(own.count_below(global + 1) == local + 1);
            REQUIRE(std::exchange(owners.at(static_cast<std::size_t>(global)), part) == -1);
            last = global;
          }
          Index seen = 0;
          own.for_each_run([&](Index first, Index count, Index at) {
            REQUIRE(at == seen);
            REQUIRE(own.global(at) == first);
            REQUIRE(own.global(at + count - 1) == first + count - 1);
            seen += count;
          });
          REQUIRE(seen == own.count());
        }
        REQUIRE(std::count(owners.begin(), owners.end(), -1) == 0);
      }
    }
  }
  REQUIRE(BlockCyclic{10, 2, 2, -1}.count() == 0);
}

TEST_CASE("the grid of ranks is as square as can be, and leaves out less than a row") {
  for (int ranks = 1; ranks <= 70; ++ranks) {
    std::set<std::pair<int, int>> places;
    int left_out = 0;
    for (int rank = 0; rank < ranks; ++rank) {
      const RankGrid grid(ranks, rank);
      REQUIRE(grid.rows <= grid.columns);
      REQUIRE(grid.columns <= grid.rows + 2);
      if (grid.has_place()) {
        REQUIRE(places.emplace(grid.row, grid.column).second);
        REQUIRE((grid.row < grid.rows && grid.column >= 0 && grid.column < grid.columns));
      } else {
        ++left_out;
      }
    }
    REQUIRE(left_out < RankGrid(ranks, 0).rows);
    REQUIRE(RankGrid(ranks, 0).has_place());
  }
}

TEST_CASE("strips hold the lower triangle, each entry once") {
  for (const Index size : {1, 5, 37, 150}) {
    for (const int ranks : {1, 2, 3, 4, 6, 7, 12}) {
      Index entries = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        const SharedSquare place(size, ranks, rank);
        Index next = 0;
        const std::vector<SharedSquare::Strip> strips = place.strips(10);
        REQUIRE(strips.size() == SharedSquare(size, ranks, 0).strips(10).size());
        for (const SharedSquare::Strip& strip : strips) {
          if (strip.rows == 0) continue;
          REQUIRE(strip.row == next);
          next = strip.row + strip.rows;
          for (Index i = strip.row; i < next; ++i) {
            for (Index j = 0; j < place.columns.count(); ++j) {
              const bool lower = place.rows.global(i) >= place.columns.global(j);
              if (lower) REQUIRE(j < strip.columns);
              if (lower) ++entries;
            }
          }
        }
        REQUIRE(next == place.rows.count());
      }
      REQUIRE(entries == size * (size + 1) / 2);
    }
  }
}
