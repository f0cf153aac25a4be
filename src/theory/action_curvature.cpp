#include "headway/theory/action_curvature.hpp"

#include <optional>
#include <utility>

#include "headway/core/rng.hpp"
#include "headway/error.hpp"
#include "headway/numerics/symmetric.hpp"
#include "headway/numerics/tiles.hpp"

namespace headway::theory {
namespace {

using numerics::multiply_tiled;
using numerics::SpdFactor;
using numerics::Transpose;

MatrixXd product(const MatrixXd& a, Transpose ta, const MatrixXd& b, Transpose tb, int threads) {
  MatrixXd c(ta == Transpose::kYes ? a.cols() : a.rows(),
             tb == Transpose::kYes ? b.rows() : b.cols());
  multiply_tiled(a, ta, b, tb, c, threads);
  return c;
}

/// F E F^T, or F^T E F, of a symmetric E.
MatrixXd congruence(const MatrixXd& f, Transpose t, const MatrixXd& e, int threads) {
  const MatrixXd half = product(f, t, e, Transpose::kNo, threads);
  const MatrixXd full = product(half, Transpose::kNo, f,
                                t == Transpose::kNo ? Transpose::kYes : Transpose::kNo, threads);
  return 0.5 * (full + full.transpose());
}

}  // namespace

double inner_product(const Tangent& a, const Tangent& b) {
  double sum = 0.0;
  for (std::size_t l = 0; l < a.size(); ++l) sum += a[l].cwiseProduct(b[l]).sum();
  return sum;
}

void add_scaled(Tangent& a, double factor, const Tangent& b) {
  for (std::size_t l = 0; l < a.size(); ++l) a[l] += factor * b[l];
}

Tangent random_tangent(const Tangent& shape, Rng& rng) {
  Tangent e;
  for (const MatrixXd& m : shape) {
    VectorXd v(numerics::symmetric_size(m.rows()));
    for (double& x : v) x = rng.normal();
    e.push_back(numerics::vector_to_symmetric(v, m.rows()));
  }
  return e;
}

std::vector<MatrixXd> cholesky_frames(const OrderParameters& u) {
  std::vector<MatrixXd> frames;
  for (int l = 1; l <= static_cast<int>(u.layers.size()) + 1; ++l) {
    std::optional<SpdFactor> factor = SpdFactor::factor(u.at(l));
    if (!factor) {
      throw Error(ErrorKind::kInternal,
                  "cholesky_frames: an order parameter is not positive definite");
    }
    frames.push_back(factor->lower());
  }
  return frames;
}

EntropyCurvature::EntropyCurvature(const model::Architecture& architecture,
                                   const std::vector<MatrixXd>& frames, int threads)
    : architecture_(architecture), threads_(threads) {
  for (int l = 1; l <= architecture.layers(); ++l) {
    const MatrixXd& above = frames[l];
    MatrixXd j = frames[l - 1];
    const Index q = above.rows();
    for (Index h = 0; h < architecture.heads[l - 1]; ++h) {
      above.triangularView<Eigen::Lower>().solveInPlace(j.middleRows(h * q, q));
    }
    MatrixXd w = MatrixXd::Zero(q, q);
    for (Index h = 0; h < architecture.heads[l - 1]; ++h) {
      numerics::rank_update_lower(1.0, j.middleRows(h * q, q), Transpose::kNo, 1.0, w);
    }
    numerics::mirror_lower(w);
    coupling_.push_back(std::move(j));
    trace_.push_back(std::move(w));
  }
}

Tangent EntropyCurvature::apply(const Tangent& e) const {
  const int layers = architecture_.layers();
  Tangent result(e.size());
  for (int l = 1; l <= layers + 1; ++l) {
    result[l - 1] = static_cast<double>(architecture_.width(l)) * e[l - 1];
  }
  for (int l = 1; l <= layers; ++l) {  // what couples U_l and U_{l+1}
    const double n = architecture_.width(l);
    const double s2 = architecture_.variance(l);
    const Index heads = architecture_.heads[l - 1];
    const MatrixXd& j = coupling_[l - 1];
    const MatrixXd& upper = e[l];
    const Index q = upper.rows();
    // The upper layer's own term, and the term with the partial trace of J E J^T.
    const MatrixXd ew = upper * trace_[l - 1];
    const MatrixXd je = product(j, Transpose::kNo, e[l - 1], Transpose::kNo, threads_);
    MatrixXd trace = MatrixXd::Zero(q, q);
    MatrixXd repeated(j.rows(), j.cols());  // (I kron E_{l+1}) J
    for (Index h = 0; h < heads; ++h) {
      numerics::multiply(1.0, je.middleRows(h * q, q), Transpose::kNo, j.middleRows(h * q, q),
                         Transpose::kYes, 1.0, trace);
      numerics::multiply(1.0, upper, Transpose::kNo, j.middleRows(h * q, q), Transpose::kNo, 0.0,
                         repeated.middleRows(h * q, q));
    }
    result[l] += (n / s2) * (ew + ew.transpose() - 0.5 * (trace + trace.transpose())) -
                 n * static_cast<double>(heads) * upper;
    const MatrixXd back = product(j, Transpose::kYes, repeated, Transpose::kNo, threads_);
    result[l - 1] -= (0.5 * n / s2) * (back + back.transpose());
  }
  return result;
}

ActionCurvature::ActionCurvature(const Action& action, const OrderParameters& u,
                                 const Action::Evaluation& at, Precision precision)
    : action_(action),
      u_(u),
      threads_(action.kernels().threads()),
      frames_(cholesky_frames(u)),
      gradient_(to_tangent(at.gradient)),
      entropy_(action.architecture(), frames_, threads_),
      energy_(at.energy->curvature(frames_.front(), precision)) {
  const model::Architecture& a = action.architecture();
  for (int l = 1; l <= a.layers() + 1; ++l) {
    scales_.push_back(
        a.width(l) +
        (l == 1 ? 0.0 : static_cast<double>(a.width(l - 1)) * static_cast<double>(a.heads[l - 2])));
  }
}

Tangent ActionCurvature::hessian(const Tangent& e) const {
  Tangent result = entropy_.apply(e);
  result.front() += energy_->apply(e.front());
  return result;
}

Tangent ActionCurvature::geodesic_hessian(const Tangent& e) const {
  Tangent result = hessian(e);
  for (std::size_t l = 0; l < e.size(); ++l) {
    const MatrixXd ge = product(gradient_[l], Transpose::kNo, e[l], Transpose::kNo, threads_);
    result[l] += 0.5 * (ge + ge.transpose());
  }
  return result;
}

Tangent ActionCurvature::precondition(Tangent e) const {
  for (std::size_t l = 0; l < e.size(); ++l) e[l] /= scales_[l];
  return e;
}

OrderParameters ActionCurvature::to_direction(const Tangent& e) const {
  OrderParameters d = u_;
  for (std::size_t l = 0; l < e.size(); ++l) {
    d.at(static_cast<int>(l) + 1) = congruence(frames_[l], Transpose::kNo, e[l], threads_);
  }
  return d;
}

Tangent ActionCurvature::to_tangent(const std::vector<MatrixXd>& gradient) const {
  Tangent e;
  for (std::size_t l = 0; l < gradient.size(); ++l)
    e.push_back(congruence(frames_[l], Transpose::kYes, gradient[l], threads_));
  return e;
}

Tangent ActionCurvature::third_derivative(const Tangent& e) const {
  Tangent result =
      to_tangent(entropy_gradient_second_derivative(action_.architecture(), u_, to_direction(e)));
  result.front() += energy_->apply_twice(e.front());
  return result;
}

}  // namespace headway::theory
