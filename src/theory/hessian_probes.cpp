#include "headway/theory/hessian_probes.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "headway/numerics/dense.hpp"
#include "headway/numerics/symmetric.hpp"

namespace headway::theory {
namespace {

constexpr int kMostLanczosSteps = 60;
constexpr double kQuadratureChange = 1e-3;  // relative change of e_1^T log(T) e_1 that ends a run
constexpr int kPowerSteps = 10;

void scale(Tangent& a, double factor) {
  for (MatrixXd& m : a) m *= factor;
}

/// a c^{-1/2}, c the entropy's diagonal.
Tangent half_precondition(const ActionCurvature& at, Tangent a) {
  for (std::size_t l = 0; l < a.size(); ++l) a[l] /= std::sqrt(at.scale(static_cast<int>(l) + 1));
  return a;
}

/// The metric of independent entries, sum_{i >= j} D_ij^2 = <E, B E> for D = F E F^T.
Tangent apply_entry_metric(const ActionCurvature& at, const Tangent& e) {
  OrderParameters d = at.to_direction(e);
  std::vector<MatrixXd> half;
  for (int l = 1; l <= static_cast<int>(e.size()); ++l) {
    MatrixXd m = 0.5 * d.at(l);
    m.diagonal() *= 2.0;
    half.push_back(std::move(m));
  }
  return at.to_tangent(half);
}

/// |r| in the dual of the metric of independent entries, for r = F^T R F.
double dual_entry_norm(const ActionCurvature& at, const Tangent& r) {
  double sum = 0.0;
  for (std::size_t l = 0; l < r.size(); ++l) {
    const auto lower = at.frames()[l].triangularView<Eigen::Lower>();
    const MatrixXd half = lower.transpose().solve(r[l]);
    const MatrixXd full = lower.transpose().solve(half.transpose());
    sum += 2.0 * full.squaredNorm() - full.diagonal().squaredNorm();
  }
  return std::sqrt(sum);
}

/// A direction with its images under the Hessian and under the metric.
struct Mapped {
  Tangent x, hx, bx;

  void add(double factor, const Mapped& other) {
    add_scaled(x, factor, other.x);
    add_scaled(hx, factor, other.hx);
    add_scaled(bx, factor, other.bx);
  }
  void multiply(double factor) {
    scale(x, factor);
    scale(hx, factor);
    scale(bx, factor);
  }
  /// Makes this orthogonal to `others` (orthonormal) and of length 1 in the metric. False when
  /// nothing is left.
  bool orthonormalise(const std::vector<Mapped>& others) {
    const double before = std::sqrt(inner_product(x, bx));
    for (int pass = 0; pass < 2; ++pass) {
      for (const Mapped& other : others) add(-inner_product(x, other.bx), other);
    }
    const double norm = std::sqrt(std::max(0.0, inner_product(x, bx)));
    if (!(norm > 1e-8 * before)) return false;
    multiply(1.0 / norm);
    return true;
  }
};

/// e_1^T f(T) for the tridiagonal matrix of a Lanczos process.
template <class Function>
VectorXd first_row_of(const std::vector<double>& diagonal, const std::vector<double>& below,
                      Function f, bool& positive) {
  const Index k = static_cast<Index>(diagonal.size());
  const numerics::SymmetricEigen eigen =
      numerics::tridiagonal_eigen(Eigen::Map<const VectorXd>(diagonal.data(), k),
                                  Eigen::Map<const VectorXd>(below.data(), k - 1));
  positive = eigen.values[0] > 0.0;
  if (!positive) return VectorXd::Zero(k);
  const VectorXd values = eigen.values.unaryExpr(f);
  return eigen.vectors * values.cwiseProduct(eigen.vectors.row(0).transpose());
}

/// One Lanczos process of A = c^{-1/2} H c^{-1/2} from z, every basis vector kept and made
/// orthogonal to all others.
class LanczosProbe {
 public:
  LanczosProbe(const ActionCurvature& at, Tangent z)
      : at_(at), norm_(std::sqrt(inner_product(z, z))) {
    scale(z, 1.0 / norm_);
    basis_.push_back(std::move(z));
  }

  /// Steps until log(T) no longer changes. False: interrupted, or not positive.
  bool run(Observer& observer) {
    double last = INFINITY;
    while (static_cast<int>(diagonal_.size()) < kMostLanczosSteps) {
      if (observer.interrupted()) return false;
      const bool exhausted = !step();
      const VectorXd row = first_row_of(
          diagonal_, below_, [](double x) { return std::log(x); }, positive_);
      if (!positive_) return false;
      const double change = std::abs(row[0] - last);
      last = row[0];
      if (exhausted || change < kQuadratureChange * std::abs(last)) break;
    }
    return true;
  }
  [[nodiscard]] bool positive() const { return positive_; }
  [[nodiscard]] int products() const { return static_cast<int>(diagonal_.size()); }
  /// z^T log(A) z
  [[nodiscard]] double log_quadratic() const {
    bool positive = true;
    return norm_ * norm_ *
           first_row_of(
               diagonal_, below_, [](double x) { return std::log(x); }, positive)[0];
  }
  /// A^{-1/2} z
  [[nodiscard]] Tangent inverse_root() const {
    bool positive = true;
    const VectorXd weights = first_row_of(
        diagonal_, below_, [](double x) { return 1.0 / std::sqrt(x); }, positive);
    Tangent result = basis_.front();
    scale(result, norm_ * weights[0]);
    for (Index i = 1; i < weights.size(); ++i)
      add_scaled(result, norm_ * weights[i], basis_[static_cast<std::size_t>(i)]);
    return result;
  }

 private:
  /// False when the space is exhausted.
  bool step() {
    Tangent w = half_precondition(at_, at_.hessian(half_precondition(at_, basis_.back())));
    diagonal_.push_back(inner_product(w, basis_.back()));
    for (int pass = 0; pass < 2; ++pass) {
      for (const Tangent& v : basis_) add_scaled(w, -inner_product(w, v), v);
    }
    const double length = std::sqrt(inner_product(w, w));
    if (!(length > 1e-7 * std::abs(diagonal_.front()))) return false;
    below_.push_back(length);
    scale(w, 1.0 / length);
    basis_.push_back(std::move(w));
    return true;
  }

  const ActionCurvature& at_;
  double norm_;
  bool positive_ = true;
  std::vector<Tangent> basis_;
  std::vector<double> diagonal_, below_;
};

/// +-1 in every svec coordinate.
Tangent random_signs(const Tangent& shape, Rng& rng) {
  Tangent z = random_tangent(shape, rng);
  for (MatrixXd& m : z) {
    for (Index j = 0; j < m.cols(); ++j) {
      for (Index i = 0; i < m.rows(); ++i)
        m(i, j) = std::copysign(1.0 / numerics::symmetric_weight(i, j), m(i, j));
    }
  }
  return z;
}

}  // namespace

SmallestEigenvalue smallest_hessian_eigenvalue(const Action& action, const ActionCurvature& at,
                                               double tolerance, int most_products,
                                               Observer& observer) {
  SmallestEigenvalue result;
  const auto map = [&](Tangent x) {
    ++result.products;
    Tangent hx = at.hessian(x);
    Tangent bx = apply_entry_metric(at, x);
    return Mapped{std::move(x), std::move(hx), std::move(bx)};
  };
  // Starts where the entropy's Hessian is smallest: a power iteration for the largest eigenvalue of
  // c^{-1} B, with B the metric of independent entries.
  Rng rng(0, StreamPurpose::kHessianProbes);
  Tangent start = random_tangent(at.gradient(), rng);
  for (int i = 0; i < kPowerSteps; ++i) {
    start = at.precondition(apply_entry_metric(at, start));
    scale(start, 1.0 / std::sqrt(inner_product(start, start)));
  }
  Mapped x = map(std::move(start));
  x.orthonormalise({});
  std::optional<Mapped> last;  // the direction of the last step
  const double unit = 1.0 / action.architecture().largest_width();
  while (true) {
    const double value = inner_product(x.x, x.hx);
    Tangent residual = x.hx;
    add_scaled(residual, -value, x.bx);
    result.value = unit * value;
    result.error = unit * dual_entry_norm(at, residual);
    if (result.error <= tolerance * std::abs(result.value) || result.products >= most_products)
      return result;
    if (observer.interrupted()) return SmallestEigenvalue{};
    std::vector<Mapped> space = {x};
    Mapped w = map(at.precondition(std::move(residual)));
    if (!w.orthonormalise(space)) return result;
    space.push_back(std::move(w));
    if (last && last->orthonormalise(space)) space.push_back(std::move(*last));
    const Index size = static_cast<Index>(space.size());
    MatrixXd projected(size, size);
    for (Index i = 0; i < size; ++i) {
      for (Index j = 0; j < size; ++j)
        projected(i, j) = inner_product(space[static_cast<std::size_t>(i)].x,
                                        space[static_cast<std::size_t>(j)].hx);
    }
    if (!projected.allFinite()) return SmallestEigenvalue{};
    const VectorXd weights =
        numerics::symmetric_eigen(0.5 * (projected + projected.transpose()), true).vectors.col(0);
    last = space[1];
    last->multiply(weights[1]);
    if (size == 3) last->add(weights[2], space[2]);
    x.multiply(weights[0]);
    x.add(1.0, *last);
    x.orthonormalise({});
  }
}

double HessianProbes::log_determinant() const {
  double sum = 0.0;
  for (double x : log_determinants) sum += x;
  return sum / static_cast<double>(log_determinants.size());
}

double HessianProbes::log_determinant_error() const {
  const double n = static_cast<double>(log_determinants.size());
  const double mean = log_determinant();
  double sum = 0.0;
  for (double x : log_determinants) sum += (x - mean) * (x - mean);
  return std::sqrt(sum / (n * (n - 1.0)));
}

HessianProbes probe_hessian(const ActionCurvature& at, int probes, std::uint64_t seed,
                            Observer& observer) {
  HessianProbes result;
  result.positive = true;
  for (int m = 0; m < probes; ++m) {
    Rng rng(seed, StreamPurpose::kHessianProbes, static_cast<std::uint64_t>(m) + 1);
    Tangent z = random_signs(at.gradient(), rng);
    LanczosProbe probe(at, z);
    const bool finished = probe.run(observer);
    result.products += probe.products();
    result.positive = probe.positive();
    result.interrupted = !finished && result.positive;
    if (!finished) return result;
    observer.progress("probes of the Hessian", m + 1, probes);
    result.log_determinants.push_back(probe.log_quadratic());
    Tangent draw = half_precondition(at, probe.inverse_root());
    scale(draw, std::sqrt(2.0));
    result.draws.push_back(std::move(draw));
    z = half_precondition(at, std::move(z));
    scale(z, std::sqrt(2.0));
    result.entropy_draws.push_back(std::move(z));
  }
  return result;
}

}  // namespace headway::theory
