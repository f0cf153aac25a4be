#include "headway/model/value_kernel.hpp"

#include <algorithm>
#include <vector>

#include "headway/core/parallel.hpp"

namespace headway::model {
namespace {

using numerics::MatrixRef;
using numerics::multiply;
using numerics::Transpose;

constexpr Index kTileSites = 256;  // of each side: half a megabyte of pairs

/// Consecutive examples whose sites make a tile.
struct Tile {
  Index begin = 0, end = 0;    // examples
  Index first = 0, sites = 0;  // their sites
  [[nodiscard]] Index count() const { return end - begin; }
};

std::vector<Tile> tiles_of(const ValueSites& sites) {
  std::vector<Tile> tiles;
  for (Index i = 0; i < sites.examples(); ++i) {
    const Index more = sites.first(i + 1) - sites.first(i);
    if (tiles.empty() || tiles.back().sites + more > kTileSites)
      tiles.push_back({i, i, sites.first(i), 0});
    tiles.back().end = i + 1;
    tiles.back().sites += more;
  }
  return tiles;
}

/// psi S psi'^T of every pair of sites.
MatrixXd covariances(const WhitenedSites& a, const Tile& s, const WhitenedSites& b, const Tile& t) {
  MatrixXd c(s.sites, t.sites);
  multiply(1.0, a.directions().middleRows(s.first, s.sites), Transpose::kNo,
           b.directions().middleRows(t.first, t.sites), Transpose::kYes, 0.0, c);
  return c;
}

/// Sums J over the sites of each pair of examples: blocks of C.
void sum_sites(const WhitenedSites& a, const Tile& s, const WhitenedSites& b, const Tile& t,
               const MatrixXd& j, MatrixXd& c) {
  const Index readouts = a.sites().readouts();
  const Index rows = a.sites().examples(), columns = b.sites().examples();
  const double share = 1.0 / static_cast<double>(readouts);
  MatrixXd half(s.sites, readouts);  // J A'^T of one example of t
  for (Index k = t.begin; k < t.end; ++k) {
    const Index at = b.sites().first(k), count = b.sites().first(k + 1) - at;
    multiply(share, j.middleCols(at - t.first, count), Transpose::kNo,
             b.sites().weights.middleRows(at, count), Transpose::kNo, 0.0, half);
    for (Index i = s.begin; i < s.end; ++i) {
      const Index from = a.sites().first(i), sites = a.sites().first(i + 1) - from;
      const MatrixXd pair = a.sites().weights.middleRows(from, sites).transpose() *
                            half.middleRows(from - s.first, sites);
      for (Index q = 0; q < readouts; ++q) {
        for (Index r = 0; r < readouts; ++r) c(r * rows + i, q * columns + k) = pair(r, q);
      }
    }
  }
}

/// Weights of every pair of sites in <B, C>: (1/R) A^T B A', of the tile's pairs of examples.
MatrixXd site_weights(const ValueSites& sites, const Tile& s, const Tile& t, const MatrixXd& b) {
  const Index readouts = sites.readouts(), rows = sites.examples();
  const double share = 1.0 / static_cast<double>(readouts);
  MatrixXd w(s.sites, t.sites), half(s.sites, readouts), pair(readouts, readouts);
  for (Index k = t.begin; k < t.end; ++k) {
    const Index at = sites.first(k), count = sites.first(k + 1) - at;
    for (Index i = s.begin; i < s.end; ++i) {
      const Index from = sites.first(i), n = sites.first(i + 1) - from;
      for (Index q = 0; q < readouts; ++q) {
        for (Index r = 0; r < readouts; ++r) pair(r, q) = share * b(r * rows + i, q * rows + k);
      }
      half.middleRows(from - s.first, n) = sites.weights.middleRows(from, n) * pair;
    }
    multiply(1.0, half, Transpose::kNo, sites.weights.middleRows(at, count), Transpose::kYes, 0.0,
             w.middleCols(at - t.first, count));
  }
  return w;
}

}  // namespace

WhitenedSites::WhitenedSites(const ValueSites& sites, const MatrixXd& factor)
    : sites_(sites), directions_(sites.directions.rows(), factor.cols()) {
  multiply(1.0, sites.directions, Transpose::kNo, factor, Transpose::kNo, 0.0, directions_);
  variances_ = directions_.rowwise().squaredNorm();
}

MatrixXd value_kernel(const WhitenedSites& a, const WhitenedSites& b, int threads) {
  const std::vector<Tile> rows = tiles_of(a.sites()), columns = tiles_of(b.sites());
  const Index readouts = a.sites().readouts();
  MatrixXd c(readouts * a.sites().examples(), readouts * b.sites().examples());
  parallel_for(static_cast<Index>(columns.size()), threads, [&](Index k) {
    const Tile& t = columns[static_cast<std::size_t>(k)];
    for (const Tile& s : rows) {
      MatrixXd j = covariances(a, s, b, t);
      normal_products(a.sites().nonlinearity, a.variances().segment(s.first, s.sites),
                      b.variances().segment(t.first, t.sites), j);
      sum_sites(a, s, b, t, j, c);
    }
  });
  return c;
}

MatrixXd value_kernel(const WhitenedSites& a, int threads) {
  const std::vector<Tile> tiles = tiles_of(a.sites());
  const Index n = a.sites().readouts() * a.sites().examples();
  MatrixXd c(n, n);
  parallel_for(static_cast<Index>(tiles.size()), threads, [&](Index k) {
    const Tile& t = tiles[static_cast<std::size_t>(k)];
    for (std::size_t i = static_cast<std::size_t>(k); i < tiles.size(); ++i) {
      const Tile& s = tiles[i];
      MatrixXd j = covariances(a, s, a, t);
      normal_products(a.sites().nonlinearity, a.variances().segment(s.first, s.sites),
                      a.variances().segment(t.first, t.sites), j);
      sum_sites(a, s, a, t, j, c);
    }
  });
  // Pairs of examples in tiles above the diagonal were left out, for all pairs of readouts.
  const Index examples = a.sites().examples(), readouts = a.sites().readouts();
  std::vector<Index> tile_end(static_cast<std::size_t>(examples));
  for (const Tile& t : tiles) {
    for (Index i = t.begin; i < t.end; ++i) tile_end[static_cast<std::size_t>(i)] = t.begin;
  }
  for (Index q = 0; q < readouts; ++q) {
    for (Index k = 0; k < examples; ++k) {
      for (Index r = 0; r < readouts; ++r) {
        for (Index i = 0; i < tile_end[static_cast<std::size_t>(k)]; ++i)
          c(r * examples + i, q * examples + k) = c(q * examples + k, r * examples + i);
      }
    }
  }
  return 0.5 * (c + c.transpose());
}

MatrixXd value_kernel_diagonal(const WhitenedSites& a) {
  const ValueSites& sites = a.sites();
  const Index readouts = sites.readouts();
  MatrixXd result(readouts * sites.examples(), readouts);
  for (Index i = 0; i < sites.examples(); ++i) {
    const Tile one{i, i + 1, sites.first(i), sites.first(i + 1) - sites.first(i)};
    MatrixXd j = covariances(a, one, a, one);
    const VectorXd n = a.variances().segment(one.first, one.sites);
    normal_products(a.sites().nonlinearity, n, n, j);
    const auto weights = sites.weights.middleRows(one.first, one.sites);
    result.middleRows(i * readouts, readouts) =
        weights.transpose() * j * weights / static_cast<double>(readouts);
  }
  return result;
}

MatrixXd value_kernel_slope(const WhitenedSites& a, const MatrixXd& b, int threads) {
  const ValueSites& sites = a.sites();
  const std::vector<Tile> tiles = tiles_of(sites);
  const Index d = sites.directions.cols();
  // Of each tile t: sum over s >= t of psi_s^T G, with the order of the sum fixed.
  std::vector<MatrixXd> parts(tiles.size());
  std::vector<VectorXd> by_variance(tiles.size());
  parallel_for(static_cast<Index>(tiles.size()), threads, [&](Index k) {
    const auto at = static_cast<std::size_t>(k);
    const Tile& t = tiles[at];
    MatrixXd left = MatrixXd::Zero(d, t.sites);
    by_variance[at] = VectorXd::Zero(sites.directions.rows());
    for (std::size_t i = at; i < tiles.size(); ++i) {
      const Tile& s = tiles[i];
      const double times = i == at ? 1.0 : 2.0;
      MatrixXd g = covariances(a, s, a, t);
      numerics::VarianceSlopes slopes;
      normal_product_slopes(sites.nonlinearity, a.variances().segment(s.first, s.sites),
                            a.variances().segment(t.first, t.sites), site_weights(sites, s, t, b),
                            g, slopes);
      multiply(times, sites.directions.middleRows(s.first, s.sites), Transpose::kYes, g,
               Transpose::kNo, 1.0, left);
      by_variance[at].segment(s.first, s.sites) += times * slopes.by_n;
      by_variance[at].segment(t.first, t.sites) += times * slopes.by_m;
    }
    parts[at] = left * sites.directions.middleRows(t.first, t.sites);
  });
  MatrixXd slope = MatrixXd::Zero(d, d);
  VectorXd variance = VectorXd::Zero(sites.directions.rows());
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    slope += parts[i];
    variance += by_variance[i];
  }
  const MatrixXd weighted = variance.asDiagonal() * sites.directions;
  multiply(1.0, sites.directions, Transpose::kYes, weighted, Transpose::kNo, 1.0, slope);
  return 0.5 * (slope + slope.transpose());
}

}  // namespace headway::model
