// Mean and spread of a stream of matrices against two passes over all of them.
#include "headway/numerics/matrix_moments.hpp"

#include <utility>
#include <vector>

#include "catch.hpp"
#include "random_matrices.hpp"

using namespace headway;
using headway::numerics::MatrixMoments;
using testing::difference;
using testing::random_matrix;

namespace {

std::vector<MatrixXd> stream_around(double mean) {
  std::vector<MatrixXd> all;
  for (std::uint64_t i = 0; i < 40; ++i) {
    all.emplace_back((random_matrix(3, 2, i + 1).array() + mean).matrix());
  }
  return all;
}

/// The unbiased variance by two passes, with `shift` taken away first.
MatrixXd variance_of(const std::vector<MatrixXd>& all, double shift) {
  const auto n = static_cast<double>(all.size());
  MatrixXd mean = MatrixXd::Zero(3, 2);
  for (const MatrixXd& x : all) mean += ((x.array() - shift) / n).matrix();
  MatrixXd squares = MatrixXd::Zero(3, 2);
  for (const MatrixXd& x : all) squares += (x.array() - shift - mean.array()).square().matrix();
  return squares / (n - 1.0);
}

}  // namespace

TEST_CASE("A large mean hides no spread") {
  for (const double offset : {0.0, 1e3, -1e8}) {
    CAPTURE(offset);
    const std::vector<MatrixXd> all = stream_around(offset);
    MatrixMoments moments;
    for (const MatrixXd& x : all) moments.add(x);
    CHECK(moments.count == 40);
    // The numbers themselves are known to eps |offset| only, the same for both.
    CHECK(difference(moments.variance(), variance_of(all, offset)) < 1e-6);
    MatrixXd mean = MatrixXd::Zero(3, 2);
    for (const MatrixXd& x : all) mean += ((x.array() - offset) / 40.0).matrix();
    CHECK(difference((moments.mean.array() - offset).matrix(), mean) < 1e-6);
  }
}

TEST_CASE("Streams that are joined have the moments of one stream") {
  const std::vector<MatrixXd> all = stream_around(1e6);
  MatrixMoments whole;
  MatrixMoments joined;
  joined.add(MatrixMoments());  // none changes nothing
  CHECK(joined.count == 0);
  for (const auto [begin, end] : {std::pair<std::size_t, std::size_t>{0, 7}, {7, 8}, {8, 40}}) {
    MatrixMoments part;
    for (std::size_t i = begin; i < end; ++i) {
      part.add(all[i]);
      whole.add(all[i]);
    }
    joined.add(part);
    joined.add(MatrixMoments());
  }
  CHECK(joined.count == whole.count);
  CHECK(difference(joined.mean, whole.mean) < 1e-9);
  CHECK(difference(joined.variance(), whole.variance()) < 1e-9);
}

TEST_CASE("A single matrix has no spread") {
  MatrixMoments moments;
  moments.add(MatrixXd{{1.0, -2.0}});
  CHECK(moments.mean == MatrixXd{{1.0, -2.0}});
  CHECK(moments.variance() == MatrixXd::Zero(1, 2));
}
