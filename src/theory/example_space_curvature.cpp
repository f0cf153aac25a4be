#include <memory>
#include <utility>

#include "example_space.hpp"
#include "headway/numerics/tiles.hpp"

namespace headway::theory {
namespace {

using numerics::multiply_tiled;
using numerics::symmetric_product_tiled;
using numerics::Transpose;

MatrixXd symmetric_part(const MatrixXd& a) { return 0.5 * (a + a.transpose()); }

/// Through matrices over examples, for every form and number of outputs: with A = (K + T)^{-1} and
/// K' = K(D),
///   A' = -A K' A,  alpha' = -A K' alpha;     A'' = 2 A K' A K' A,  alpha'' = -2 A K' alpha'
/// and the results are the contractions of M' and M'' (eqs. 59 and 60).
class ExampleSpaceCurvature final : public EnergyCurvature {
 public:
  ExampleSpaceCurvature(const ExampleSpaceState& state, MatrixXd frame)
      : state_(state), frame_(std::move(frame)) {}

  [[nodiscard]] MatrixXd apply(const MatrixXd& e) const override {
    const First first = derive(e);
    const MatrixXd outer = first.alpha * state_.dual().transpose();
    return contract(first.inverse - outer - outer.transpose());
  }
  [[nodiscard]] MatrixXd apply_twice(const MatrixXd& e) const override {
    const First first = derive(e);
    const VectorXd alpha = -2.0 * state_.factor().solve(first.kernel * first.alpha);
    const MatrixXd outer = alpha * state_.dual().transpose();
    const MatrixXd inverse = -2.0 * state_.factor().solve(first.kernel * first.inverse);
    return contract(symmetric_part(inverse) - outer - outer.transpose() -
                    2.0 * first.alpha * first.alpha.transpose());
  }

 private:
  struct First {
    MatrixXd kernel;   // K'
    MatrixXd inverse;  // A'
    VectorXd alpha;    // alpha'
  };
  [[nodiscard]] First derive(const MatrixXd& e) const {
    First first;
    first.kernel =
        state_.kernels().renormalized_kernel(symmetric_part(frame_ * e * frame_.transpose()));
    numerics::mirror_lower(first.kernel);
    const MatrixXd half = state_.factor().solve(first.kernel);
    first.inverse = -symmetric_part(state_.factor().solve(half.transpose()));
    first.alpha = -half * state_.dual();
    return first;
  }
  [[nodiscard]] MatrixXd contract(const MatrixXd& m) const {
    return frame_.transpose() * state_.kernels().contract(m) * frame_;
  }

  const ExampleSpaceState& state_;
  MatrixXd frame_;
};

/// Through the whitened features W = L^{-1} X (F kron I), with K + T = L L^T and b = L^{-1} y. With
/// several outputs X is lifted, a block for each path and output. No factor is applied, so single
/// precision keeps its digits whatever the condition of K + T.
///   Q = sum_ab E_ab W_a W_b^T,   q = Q b;      M' = -Q + q b^T + b q^T
///   M'' = 2 Q^2 - 2 (s b^T + b s^T) - 2 q q^T,   s = Q q;      result_ab = <W_a, M W_b>
template <class Scalar>
class WhitenedCurvature final : public EnergyCurvature {
  using Matrix = Eigen::Matrix<Scalar, Eigen::Dynamic, Eigen::Dynamic>;
  using Vector = Eigen::Matrix<Scalar, Eigen::Dynamic, 1>;

 public:
  WhitenedCurvature(const MatrixXd& half, const MatrixXd& half_labels, const MatrixXd& frame,
                    int threads)
      : threads_(threads),
        paths_(frame.cols()),
        w_(mix_paths(Matrix(half.template cast<Scalar>()), Matrix(frame.template cast<Scalar>()),
                     threads_)),
        b_(half_labels.template cast<Scalar>()) {}

  [[nodiscard]] MatrixXd apply(const MatrixXd& e) const override {
    Matrix m = kernel_change(e);
    const Vector q = m * b_;
    m = -m;
    m.noalias() += q * b_.transpose();
    m.noalias() += b_ * q.transpose();
    return contract(m);
  }
  [[nodiscard]] MatrixXd apply_twice(const MatrixXd& e) const override {
    const Matrix change = kernel_change(e);
    const Vector q = change * b_;
    const Vector s = change * q;
    Matrix m(change.rows(), change.cols());
    symmetric_product_tiled(change, change, Transpose::kNo, m, threads_);
    m *= Scalar{2};
    m.noalias() -= Scalar{2} * s * b_.transpose();
    m.noalias() -= Scalar{2} * b_ * s.transpose();
    m.noalias() -= Scalar{2} * q * q.transpose();
    return contract(m);
  }

 private:
  [[nodiscard]] Matrix kernel_change(const MatrixXd& e) const {
    const Matrix mixed = mix_paths(w_, Matrix(e.template cast<Scalar>()), threads_);
    Matrix q(w_.rows(), w_.rows());
    symmetric_product_tiled(mixed, w_, Transpose::kNo, q, threads_);
    return q;
  }
  [[nodiscard]] MatrixXd contract(const Matrix& m) const {
    Matrix mw(w_.rows(), w_.cols());
    multiply_tiled(m, Transpose::kNo, w_, Transpose::kNo, mw, threads_);
    const Index rows = w_.size() / paths_;
    Matrix result(paths_, paths_);
    symmetric_product_tiled(Eigen::Map<const Matrix>(w_.data(), rows, paths_),
                            Eigen::Map<const Matrix>(mw.data(), rows, paths_), Transpose::kYes,
                            result, threads_);
    return result.template cast<double>();
  }

  int threads_;
  Index paths_;
  Matrix w_;
  Vector b_;
};

}  // namespace

std::unique_ptr<const EnergyCurvature> make_whitened_curvature(const MatrixXd& half,
                                                               const MatrixXd& half_labels,
                                                               const MatrixXd& frame,
                                                               Precision precision, int threads) {
  if (precision == Precision::kDouble)
    return std::make_unique<WhitenedCurvature<double>>(half, half_labels, frame, threads);
  return std::make_unique<WhitenedCurvature<float>>(half, half_labels, frame, threads);
}

std::unique_ptr<const EnergyCurvature> ExampleSpaceState::curvature(const MatrixXd& frame,
                                                                    Precision precision) const {
  if (!kernels_.cost().whitened_products)
    return std::make_unique<ExampleSpaceCurvature>(*this, frame);
  MatrixXd labels = kernels_.label_vector();
  factor_.half_solve(labels);
  return make_whitened_curvature(half_solved(), labels, frame, precision, kernels_.threads());
}

}  // namespace headway::theory
