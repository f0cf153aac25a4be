// Data sets of arrays in memory, as a program of its own makes them.
#include "headway/dataset_from_arrays.hpp"

#include "catch.hpp"
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
  const tasks::Dataset data = dataset_from_path_features(xi, y, {2, 2});
  CHECK(data.heads == std::vector<int>{2, 2});
  CHECK(data.features == 2);
  CHECK(data.outputs() == 1);
  CHECK(data.train.path_features.rows() == 3);
  CHECK(data.train.path_features.cols() == 8);
  CHECK(data.train.path_features(1, 3) == 8.0 + 3.0);  // example 1, path 1, feature 1
  CHECK(data.train.labels == y);
  Tensor other = xi;
  other.values.back() += 1.0;
  CHECK(dataset_from_path_features(xi, y, {2, 2}).content_hash == data.content_hash);
  CHECK(dataset_from_path_features(other, y, {2, 2}).content_hash != data.content_hash);
  CHECK(dataset_from_path_features(xi, -y, {2, 2}).content_hash != data.content_hash);
  CHECK(dataset_from_path_features(xi, y, {4}).content_hash != data.content_hash);
}

TEST_CASE("arrays that do not fit each other are refused by name") {
  const MatrixXd y = MatrixXd::Ones(3, 1);
  const auto made = [&](const Tensor& xi, const MatrixXd& labels) {
    return dataset_from_path_features(xi, labels, {2, 2});
  };
  CHECK_THROWS_WITH(made(counted({3, 8}), y), Catch::Matchers::ContainsSubstring("[P, p, N_0]"));
  Tensor short_one = counted({3, 4, 2});
  short_one.values.pop_back();
  CHECK_THROWS_WITH(made(short_one, y), Catch::Matchers::ContainsSubstring("23 numbers"));
  CHECK_THROWS_WITH(made(counted({3, 5, 2}), y),
                    Catch::Matchers::ContainsSubstring("path_features"));
  CHECK_THROWS_WITH(made(counted({4, 4, 2}), y), Catch::Matchers::ContainsSubstring("labels"));
}
