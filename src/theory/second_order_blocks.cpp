#include "second_order_blocks.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "headway/numerics/dense.hpp"
#include "headway/numerics/symmetric.hpp"

namespace headway::theory {

using numerics::symmetric_index;
using numerics::symmetric_size;
using numerics::symmetric_weight;

namespace {

template <class Scalar>
using Matrix = Eigen::Matrix<Scalar, Eigen::Dynamic, Eigen::Dynamic>;

constexpr Index kColumnGroup =
    8;  // values of d formed together: long enough products, little memory

template <class Scalar>
BlockSetOf<Scalar> make_blocks_of(const Matrix<Scalar>& w, Index n0) {
  constexpr Scalar kOne{1};
  constexpr Scalar kZero{0};
  BlockSetOf<Scalar> blocks;
  const Index p = w.cols() / n0;
  const bool feature = n0 <= w.rows();
  blocks.kind = feature ? BlockKind::kFeature : BlockKind::kExample;
  blocks.order = p;
  blocks.side = feature ? n0 : w.rows();
  const Index side = blocks.side;
  blocks.columns.resize(side * side, p * p);
  for (Index a = 0; a < p; ++a) {
    for (Index b = 0; b <= a; ++b) {
      Eigen::Map<Matrix<Scalar>> block(blocks.columns.col(a * p + b).data(), side, side);
      if (feature) {
        numerics::multiply(kOne, w.middleCols(a * n0, n0), numerics::Transpose::kYes,
                           w.middleCols(b * n0, n0), numerics::Transpose::kNo, kZero, block);
      } else {
        numerics::multiply(kOne, w.middleCols(a * n0, n0), numerics::Transpose::kNo,
                           w.middleCols(b * n0, n0), numerics::Transpose::kYes, kZero, block);
      }
      if (a != b) {
        Eigen::Map<Matrix<Scalar>> other(blocks.columns.col(b * p + a).data(), side, side);
        other = block.transpose();
      }
    }
  }
  return blocks;
}

template <class Scalar>
MatrixXd fisher_information_of(const BlockSetOf<Scalar>& blocks) {
  const Index p = blocks.order;
  Matrix<Scalar> gram(p * p, p * p);
  numerics::rank_update_lower(Scalar{1}, blocks.columns, numerics::Transpose::kYes, Scalar{0},
                              gram);
  numerics::mirror_lower(gram);
  // t(ab, cd) = tr(K^{-1} C_ab K^{-1} C_cd), see the header.
  const bool feature = blocks.kind == BlockKind::kFeature;
  const auto t = [&](Index a, Index b, Index c, Index d) {
    return static_cast<double>(feature ? gram(a * p + d, b * p + c) : gram(b * p + a, c * p + d));
  };
  MatrixXd fisher(symmetric_size(p), symmetric_size(p));
  for (Index a = 0, row = 0; a < p; ++a) {
    for (Index b = 0; b <= a; ++b, ++row) {
      for (Index c = 0, col = 0; col <= row; ++c) {
        for (Index d = 0; d <= c && col <= row; ++d, ++col) {
          const double weight = 0.5 * symmetric_weight(a, b) * symmetric_weight(c, d);
          fisher(row, col) = fisher(col, row) = weight * (t(a, b, c, d) + t(a, b, d, c));
        }
      }
    }
  }
  return fisher;
}

}  // namespace

BlockSet make_blocks(const MatrixXd& w, Index feature_count) {
  return make_blocks_of<double>(w, feature_count);
}
BlockSetF make_blocks(const numerics::MatrixXf& w, Index feature_count) {
  return make_blocks_of<float>(w, feature_count);
}
MatrixXd fisher_information(const BlockSet& blocks) { return fisher_information_of(blocks); }
MatrixXd fisher_information(const BlockSetF& blocks) { return fisher_information_of(blocks); }

MatrixXd unpack_pair_matrix(const MatrixXd& sigma, Index order) {
  MatrixXd pairs(order * order, order * order);
  for (Index a = 0; a < order; ++a) {
    for (Index b = 0; b < order; ++b) {
      const Index row = symmetric_index(a, b);
      for (Index c = 0; c < order; ++c) {
        for (Index d = 0; d < order; ++d) {
          pairs(a * order + b, c * order + d) =
              sigma(row, symmetric_index(c, d)) / (symmetric_weight(a, b) * symmetric_weight(c, d));
        }
      }
    }
  }
  return pairs;
}

MatrixXd factor_covariance(const MatrixXd& sigma) {
  // A thirtieth of the eigenvectors' time; a semidefinite Sigma has no Cholesky factor.
  if (const std::optional<numerics::SpdFactor> factor = numerics::SpdFactor::factor(sigma))
    return factor->lower();
  const numerics::SymmetricEigen eigen = numerics::symmetric_eigen(sigma, true);
  const VectorXd scales = eigen.values.cwiseMax(0.0).cwiseSqrt();
  return eigen.vectors * scales.asDiagonal();
}

template <class Scalar>
MatrixXd second_order_inner(const Eigen::Matrix<Scalar, Eigen::Dynamic, Eigen::Dynamic>& w,
                            const BlockSetOf<Scalar>& z, const MatrixXd& sigma) {
  using Matrix = Eigen::Matrix<Scalar, Eigen::Dynamic, Eigen::Dynamic>;
  constexpr Scalar kOne{1};
  constexpr Scalar kZero{0};
  const Index p = z.order;
  const Index side = z.side;
  Matrix inner(w.rows(), w.rows());
  if (z.kind == BlockKind::kFeature) {
    // W Q W^T with Q_ad = sum_bc sum_m (D_m)_ab (D_m)_cd Z_bc.
    const MatrixXd pairs = unpack_pair_matrix(sigma, p);
    Matrix wq = Matrix::Zero(w.rows(), w.cols());
    for (Index first = 0; first < p; first += kColumnGroup) {
      const Index group = std::min(kColumnGroup, p - first);
      Matrix columns(p * p, p * group);
      for (Index d = first; d < first + group; ++d) {
        for (Index a = 0; a < p; ++a) {
          for (Index b = 0; b < p; ++b) {
            for (Index c = 0; c < p; ++c) {
              columns(b * p + c, (d - first) * p + a) =
                  static_cast<Scalar>(pairs(a * p + b, c * p + d));
            }
          }
        }
      }
      Matrix q(side * side, p * group);
      numerics::multiply(kOne, z.columns, numerics::Transpose::kNo, columns,
                         numerics::Transpose::kNo, kZero, q);
      for (Index d = 0; d < group; ++d) {
        for (Index a = 0; a < p; ++a) {
          const Eigen::Map<const Matrix> block(q.col(d * p + a).data(), side, side);
          numerics::multiply(kOne, w.middleCols(a * side, side), numerics::Transpose::kNo, block,
                             numerics::Transpose::kNo, kOne,
                             wq.middleCols((first + d) * side, side));
        }
      }
    }
    numerics::multiply(kOne, wq, numerics::Transpose::kNo, w, numerics::Transpose::kYes, kZero,
                       inner);
  } else {
    const MatrixXd root = factor_covariance(sigma);
    Matrix directions(p * p, root.cols());
    for (Index m = 0; m < root.cols(); ++m) {
      const MatrixXd d = numerics::vector_to_symmetric(root.col(m), p);
      directions.col(m) = Eigen::Map<const VectorXd>(d.data(), d.size()).template cast<Scalar>();
    }
    Matrix e(side * side, root.cols());
    numerics::multiply(kOne, z.columns, numerics::Transpose::kNo, directions,
                       numerics::Transpose::kNo, kZero, e);
    const Eigen::Map<const Matrix> wide(e.data(), side, side * root.cols());
    numerics::rank_update_lower(kOne, wide, numerics::Transpose::kNo, kZero, inner);
    numerics::mirror_lower(inner);
  }
  return inner.template cast<double>();
}

template MatrixXd second_order_inner<double>(const MatrixXd&, const BlockSet&, const MatrixXd&);
template MatrixXd second_order_inner<float>(const numerics::MatrixXf&, const BlockSetF&,
                                            const MatrixXd&);

}  // namespace headway::theory
