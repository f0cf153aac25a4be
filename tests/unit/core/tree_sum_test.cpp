// Sums in a fixed tree have the same bits, however the leaves are dealt.
#include "headway/core/tree_sum.hpp"

#include <cmath>
#include <vector>

#include "catch.hpp"
#include "thread_ranks.hpp"

using namespace headway;
using testing::on_ranks;

namespace {

/// Numbers of sizes so different that almost every order of adding gives other bits.
std::vector<double> leaf(std::size_t i) {
  const double x = std::sin(static_cast<double>(i) + 1.0);
  return {x * std::pow(10.0, static_cast<double>(i % 17)), x, 1.0};
}

TreeSum tree_of(std::size_t begin, std::size_t end) {
  TreeSum tree;
  for (std::size_t i = begin; i < end; ++i) tree.push(i, leaf(i));
  return tree;
}

/// The same tree by recursion: a node whose right half is empty is its left half.
std::vector<double> recursive(std::size_t begin, std::size_t width, std::size_t leaves) {
  if (width == 1) return leaf(begin);
  std::vector<double> left = recursive(begin, width / 2, leaves);
  if (begin + width / 2 >= leaves) return left;
  const std::vector<double> right = recursive(begin + width / 2, width / 2, leaves);
  for (std::size_t k = 0; k < left.size(); ++k) left[k] += right[k];
  return left;
}

}  // namespace

TEST_CASE("A sum in a tree has the same bits, however its leaves are dealt") {
  for (const std::size_t leaves : {1, 2, 3, 7, 20, 64, 100}) {
    const std::vector<double> wanted = recursive(0, 128, leaves);
    CHECK(tree_of(0, leaves).total() == wanted);
    for (const int count : {1, 2, 3, 7, 13}) {
      CAPTURE(leaves, count);
      std::vector<std::vector<double>> totals(static_cast<std::size_t>(count));
      on_ranks(count, [&](Ranks& ranks) {
        const auto rank = static_cast<std::size_t>(ranks.rank());
        const auto [begin, end] =
            leaves_of_part(leaves, rank, static_cast<std::size_t>(ranks.size()));
        totals[rank] = total_over_ranks(ranks, tree_of(begin, end));
      });
      for (const std::vector<double>& total : totals) CHECK(total == wanted);
    }
  }
}

TEST_CASE("Another order gives other bits, so that the test above can fail") {
  std::vector<double> one_by_one = leaf(0);
  for (std::size_t i = 1; i < 100; ++i) {
    const std::vector<double> more = leaf(i);
    for (std::size_t k = 0; k < more.size(); ++k) one_by_one[k] += more[k];
  }
  CHECK(one_by_one != tree_of(0, 100).total());
}

TEST_CASE("A tree holds few nodes and refuses gaps") {
  CHECK(tree_of(0, 64).nodes().size() == 1);
  CHECK(tree_of(1, 63).nodes().size() == 10);
  TreeSum gap = tree_of(0, 3);
  CHECK_THROWS_WITH(gap.push(4, leaf(4)), "leaf 4 of a sum comes after leaf 2");
  CHECK_THROWS_WITH(gap.push(2, leaf(2)), "leaf 2 of a sum comes after leaf 2");
  CHECK_THROWS_WITH(gap.push(3, {1.0}), "sums of 3 and 1 numbers");
  CHECK_THROWS_WITH(tree_of(1, 3).total(), "a sum without its first leaf");
  CHECK_THROWS_WITH(TreeSum().total(), "a sum without its first leaf");
}
