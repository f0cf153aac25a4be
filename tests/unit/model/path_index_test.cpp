#include "headway/model/path_index.hpp"

#include <string>
#include <vector>

#include "catch.hpp"

using headway::Index;
using namespace headway::model;

TEST_CASE("Paths are row-major with the first layer slowest, counted from 1") {
  const std::vector<int> heads = {2, 3, 2};
  CHECK(path_name(heads, 0) == "(1,1,1)");
  CHECK(path_name(heads, 1) == "(1,1,2)");
  CHECK(path_name(heads, 2) == "(1,2,1)");
  CHECK(path_name(heads, 6) == "(2,1,1)");
  CHECK(path_heads(heads, 11) == std::vector<int>{2, 3, 2});
}

TEST_CASE("The number of paths is the product of the heads, and a double where it may be huge") {
  CHECK(path_count(std::vector<int>{2, 3, 4}) == 24);
  CHECK(path_count(std::vector<int>{}) == 1);
  CHECK(path_count<double>(std::vector<int>(40, 1000)) > 1e119);
  const std::vector<std::string> names = path_names({2, 1, 2});
  CHECK(names == std::vector<std::string>{"(1,1,1)", "(1,1,2)", "(2,1,1)", "(2,1,2)"});
}

TEST_CASE("The rows of an output are those of every path, in their order") {
  const headway::MatrixXd rows =
      headway::MatrixXd{{0, 1}, {2, 3}, {4, 5}, {6, 7}, {8, 9}, {10, 11}};
  CHECK(output_rows(rows, 2, 1) == headway::MatrixXd{{2, 3}, {6, 7}, {10, 11}});
  CHECK(output_rows(rows, 1, 0) == rows);
}

TEST_CASE("Heads are counted over all layers, the first layer first") {
  const std::vector<HeadAddress> heads = all_heads({2, 3});
  REQUIRE(heads.size() == 5);
  CHECK(heads[1].layer == 0);
  CHECK(heads[1].head == 1);
  CHECK(heads[2].layer == 1);
  CHECK(heads[2].head == 0);
}

TEST_CASE("Rows use the heads of their path, for every output") {
  const std::vector<int> heads = {2, 3, 2};
  const Index outputs = 3;
  const PathMembership membership(heads, outputs);
  REQUIRE(membership.size() == 36);
  for (Index row = 0; row < membership.size(); ++row) {
    const std::vector<int> path = path_heads(heads, row / outputs);
    for (const HeadAddress& address : all_heads(heads)) {
      CHECK(membership.uses(row, address) == (path[address.layer] == address.head + 1));
    }
  }
}
