#include "headway/numerics/tiles.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "headway/core/parallel.hpp"

namespace headway::numerics {
namespace {

constexpr double kTileFlops = 3e7;   // a smaller tile costs less than handing it to a thread
constexpr Index kMostTiles = 16;     // along one dimension
constexpr Index kSmallestEdge = 96;  // of a tile: below, packing costs more than the product
constexpr Index kSmallSymmetric = 3 * kSmallestEdge;  // cut along the sum too
constexpr Index kSumParts = 8;

/// How many tiles along `length`, and where tile i begins (on multiples of 16).
class Cut {
 public:
  Cut(Index length, double flops, Index smallest_edge, Index most)
      : length_(length),
        count_(std::clamp<Index>(
            std::min(static_cast<Index>(std::min(flops / kTileFlops, 1e6)), length / smallest_edge),
            1, most)) {}
  [[nodiscard]] Index count() const { return count_; }
  [[nodiscard]] Index begin(Index i) const {
    return i == count_ ? length_ : length_ * i / count_ / 16 * 16;
  }
  [[nodiscard]] Index size(Index i) const { return begin(i + 1) - begin(i); }

 private:
  Index length_;
  Index count_;
};

/// A block of the factor op(A): `count` of its rows, and `sum_count` of the columns that the
/// product sums over.
template <class Const>
Const part(const Const& a, Transpose t, Index first, Index count, Index sum_first,
           Index sum_count) {
  return t == Transpose::kYes ? Const(a.block(sum_first, first, sum_count, count))
                              : Const(a.block(first, sum_first, count, sum_count));
}

template <class Const, class Mutable>
void multiply_cut(const Const& a, Transpose ta, const Const& b, Transpose tb, Mutable c,
                  int threads) {
  using Scalar = typename Const::Scalar;
  const Index k = ta == Transpose::kYes ? a.rows() : a.cols();
  const double flops =
      2.0 * static_cast<double>(c.rows()) * static_cast<double>(c.cols()) * static_cast<double>(k);
  // Along the longer side of C: each tile packs all of the other operand again.
  const bool by_rows = c.rows() > c.cols();
  const Cut cut(by_rows ? c.rows() : c.cols(), flops, kSmallestEdge, kMostTiles);
  parallel_for(cut.count(), threads, [&](Index i) {
    const Index first = cut.begin(i);
    const Index size = cut.size(i);
    if (by_rows) {
      multiply(Scalar{1}, part(a, ta, first, size, 0, k), ta, b, tb, Scalar{0},
               c.middleRows(first, size));
    } else {
      const Transpose other = tb == Transpose::kYes ? Transpose::kNo : Transpose::kYes;
      multiply(Scalar{1}, a, ta, part(b, other, first, size, 0, k), tb, Scalar{0},
               c.middleCols(first, size));
    }
  });
}

template <class Const, class Mutable>
void symmetric_product_cut(const Const& a, const Const& b, Transpose t, Mutable c, int threads) {
  using Scalar = typename Const::Scalar;
  using Matrix = Eigen::Matrix<Scalar, Eigen::Dynamic, Eigen::Dynamic>;
  const Index n = c.rows();
  const Index k = t == Transpose::kYes ? a.rows() : a.cols();
  const double flops =
      2.0 * static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(k);
  const Transpose left = t;
  const Transpose right = t == Transpose::kYes ? Transpose::kNo : Transpose::kYes;
  const Cut rows(n, flops, kSmallestEdge, kMostTiles / 2);
  const Cut sum(k, n <= kSmallSymmetric ? flops : 0.0, kSmallestEdge, kSumParts);
  std::vector<Matrix> parts(static_cast<std::size_t>(sum.count() - 1), Matrix(n, n));
  const Index tiles = rows.count() * (rows.count() + 1) / 2;
  parallel_for(tiles * sum.count(), threads, [&](Index task) {
    const Index s = task % sum.count();
    const Index tile = task / sum.count();
    Index i = 0;
    while ((i + 1) * (i + 2) / 2 <= tile) ++i;
    const Index j = tile - i * (i + 1) / 2;
    Mutable out = s == 0 ? c : Mutable(parts[static_cast<std::size_t>(s - 1)]);
    multiply(Scalar{1}, part(a, t, rows.begin(i), rows.size(i), sum.begin(s), sum.size(s)), left,
             part(b, t, rows.begin(j), rows.size(j), sum.begin(s), sum.size(s)), right, Scalar{0},
             out.block(rows.begin(i), rows.begin(j), rows.size(i), rows.size(j)));
  });
  for (const Matrix& p : parts) c.template triangularView<Eigen::Lower>() += p;
  mirror_lower(c);
}

}  // namespace

void multiply_tiled(const ConstMatrixRef& a, Transpose ta, const ConstMatrixRef& b, Transpose tb,
                    MatrixRef c, int threads) {
  multiply_cut<ConstMatrixRef, MatrixRef>(a, ta, b, tb, c, threads);
}
void multiply_tiled(const ConstMatrixRefF& a, Transpose ta, const ConstMatrixRefF& b, Transpose tb,
                    MatrixRefF c, int threads) {
  multiply_cut<ConstMatrixRefF, MatrixRefF>(a, ta, b, tb, c, threads);
}

void symmetric_product_tiled(const ConstMatrixRef& a, const ConstMatrixRef& b, Transpose t,
                             MatrixRef c, int threads) {
  symmetric_product_cut<ConstMatrixRef, MatrixRef>(a, b, t, c, threads);
}
void symmetric_product_tiled(const ConstMatrixRefF& a, const ConstMatrixRefF& b, Transpose t,
                             MatrixRefF c, int threads) {
  symmetric_product_cut<ConstMatrixRefF, MatrixRefF>(a, b, t, c, threads);
}

void half_solve_tiled(const SpdFactor& factor, MatrixRef b, int threads) {
  const double n = static_cast<double>(factor.size());
  const Cut cut(b.cols(), n * n * static_cast<double>(b.cols()), kSmallestEdge, kMostTiles);
  parallel_for(cut.count(), threads,
               [&](Index i) { factor.half_solve(b.middleCols(cut.begin(i), cut.size(i))); });
}

}  // namespace headway::numerics
