// Data sets of arrays in memory, as a program of its own makes them.
#include <fmt/format.h>

#include <set>
#include <string>
#include <vector>

#include "catch.hpp"
#include "headway/dataset.hpp"
#include "headway/error.hpp"

using namespace headway;  // NOLINT(google-build-using-namespace)

namespace {

Tensor counted(std::vector<Index> shape) {
  Tensor all(std::move(shape));
  for (std::size_t i = 0; i < all.values.size(); ++i) all.values[i] = static_cast<double>(i);
  return all;
}

}  // namespace

TEST_CASE("a data set of arrays has their numbers in their order") {
  const Tensor xi = counted({3, 4, 2});
  const MatrixXd y{{1.0}, {-1.0}, {1.0}};
  const Dataset data = Dataset::from_path_features(xi, y, {2, 2});
  CHECK(data.heads == std::vector<int>{2, 2});
  CHECK(data.features == 2);
  CHECK(data.outputs() == 1);
  CHECK(data.train.path_features.rows() == 3);
  CHECK(data.train.path_features.cols() == 8);
  CHECK(data.train.path_features(1, 3) == 8.0 + 3.0);  // example 1, path 1, feature 1
  CHECK(data.train.labels == y);
  Tensor other = xi;
  other.values.back() += 1.0;
  CHECK(Dataset::from_path_features(xi, y, {2, 2}).content_hash == data.content_hash);
  CHECK(Dataset::from_path_features(other, y, {2, 2}).content_hash != data.content_hash);
  CHECK(Dataset::from_path_features(xi, -y, {2, 2}).content_hash != data.content_hash);
  CHECK(Dataset::from_path_features(xi, y, {4}).content_hash != data.content_hash);
}

TEST_CASE("arrays that do not fit each other are refused by name") {
  const MatrixXd y = MatrixXd::Ones(3, 1);
  const auto made = [&](const Tensor& xi, const MatrixXd& labels) {
    return Dataset::from_path_features(xi, labels, {2, 2});
  };
  CHECK_THROWS_WITH(made(counted({3, 8}), y), Catch::Matchers::ContainsSubstring("[P, p, N_0]"));
  Tensor short_one = counted({3, 4, 2});
  short_one.values.pop_back();
  CHECK_THROWS_WITH(made(short_one, y), Catch::Matchers::ContainsSubstring("23 numbers"));
  CHECK_THROWS_WITH(made(counted({3, 5, 2}), y),
                    Catch::Matchers::ContainsSubstring("path_features"));
  CHECK_THROWS_WITH(made(counted({4, 4, 2}), y), Catch::Matchers::ContainsSubstring("labels"));
}

TEST_CASE("a data set of tokens has its heads, or the attention of each example") {
  const Tensor x = counted({3, 2, 4});
  const MatrixXd y{{1.0}, {-1.0}, {1.0}};
  const LayerHeads two = {{MatrixXd::Identity(4, 4), MatrixXd::Ones(4, 4)}, {}, {}, {}};
  const LayerHeads one = {{}, {MatrixXd::Ones(2, 4)}, {MatrixXd::Ones(2, 4)}, {}};
  const Dataset weights = Dataset::from_inputs(x, y, {two, two}, {1, 1, 1, 0, 1, 1});
  CHECK(weights.form == AttentionForm::kWeights);
  CHECK(weights.heads == std::vector<int>{2, 2});
  CHECK(weights.features == 4);
  std::vector<double> second(8);
  weights.train.examples->read_inputs(1, 1, second.data());
  CHECK(second.front() == 8.0);
  std::vector<std::uint8_t> mask(2);
  weights.train.examples->read_mask(1, 1, mask.data());
  CHECK(mask == std::vector<std::uint8_t>{1, 0});
  const Dataset queries = Dataset::from_inputs(x, y, {one});
  CHECK(queries.form == AttentionForm::kQueryKey);
  CHECK(queries.heads == std::vector<int>{1});

  const Tensor a = counted({3, 2, 2, 2});
  const Dataset attended = Dataset::from_attention(x, y, {a, a});
  CHECK(attended.form == AttentionForm::kSupplied);
  CHECK(attended.heads == std::vector<int>{2, 2});
  std::vector<double> rows(8);
  attended.train.examples->read_attention(2, 2, 1, rows.data());
  CHECK(rows.back() == 23.0);

  for (const int heads : {1, 3}) {
    Dataset other = attended;
    const Tensor b = counted({3, heads, 2, 2});
    other.test = Split::from_inputs(x, y, {}, {a, b});
    CHECK_THROWS_WITH(tasks::check_dataset(other),
                      Catch::Matchers::ContainsSubstring(fmt::format(
                          "test/attention: has heads [2, {}]; allowed: [2, 2]", heads)));
    other.test.reset();
    other.sets.push_back({"more", Split::from_inputs(x, y)});
    CHECK_THROWS_WITH(tasks::check_dataset(other),
                      Catch::Matchers::ContainsSubstring("sets/more/attention: has heads []"));
  }

  std::set<std::string> hashes;
  for (const Dataset& data :
       {weights, queries, attended, Dataset::from_inputs(x, y, {two, two}),
        Dataset::from_inputs(x, -y, {one}), Dataset::from_attention(x, y, {a})}) {
    hashes.insert(data.content_hash);
  }
  CHECK(hashes.size() == 6);
  CHECK_THROWS_WITH(Dataset::from_inputs(x, y, {}), Catch::Matchers::ContainsSubstring("heads"));
  CHECK_THROWS_WITH(Dataset::from_attention(x, y, {counted({3, 2, 2})}),
                    Catch::Matchers::ContainsSubstring("attention of layer 1"));
  CHECK_THROWS_WITH(Dataset::from_inputs(x, MatrixXd::Ones(2, 1), {one}),
                    Catch::Matchers::ContainsSubstring("train/labels"));
}
