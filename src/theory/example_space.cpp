#include "example_space.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "headway/numerics/symmetric.hpp"
#include "orthogonal_kernels.hpp"
#include "variance_curvature.hpp"

namespace headway::theory {

using numerics::multiply;
using numerics::rank_update_lower;
using numerics::symmetric_index;
using numerics::symmetric_size;
using numerics::symmetric_weight;
using numerics::Transpose;

VectorXd ExampleSpaceKernels::label_vector() const {
  return Eigen::Map<const VectorXd>(labels_.data(), labels_.size());
}

MatrixXd ExampleSpaceKernels::project(const VectorXd& alpha) const {
  const Index c = outputs();
  const Index n0 = feature_count();
  MatrixXd flat(features_.cols(), c);
  for (Index k = 0; k < c; ++k) {
    flat.col(k) = numerics::multiply_vector(features_, Transpose::kYes,
                                            alpha.segment(k * examples(), examples()));
  }
  MatrixXd v(n0, order());
  for (Index a = 0; a < paths(); ++a) {
    for (Index k = 0; k < c; ++k) v.col(a * c + k) = flat.block(a * n0, k, n0, 1);
  }
  return v;
}

MatrixXd ExampleSpaceKernels::lifted_features() const {
  const Index c = outputs();
  if (c == 1) return features_;
  const Index n0 = feature_count();
  MatrixXd lifted = MatrixXd::Zero(examples() * c, n0 * order());
  for (Index a = 0; a < paths(); ++a) {
    for (Index k = 0; k < c; ++k) {
      lifted.block(k * examples(), (a * c + k) * n0, examples(), n0) =
          features_.middleCols(a * n0, n0);
    }
  }
  return lifted;
}

MatrixXd ExampleSpaceKernels::predictive_mean(const MatrixXd& u, double temperature,
                                              const MatrixXd& test_features) const {
  MatrixXd k = renormalized_kernel(u);
  k.diagonal().array() += temperature;
  const std::optional<numerics::SpdFactor> factor = numerics::SpdFactor::factor(std::move(k));
  const auto lost = [&](const numerics::SpdFactor& f) {
    const double sum = (row_squares(u).array() / f.lower().diagonal().array().square()).sum();
    return std::numeric_limits<double>::epsilon() * sum >
           kToleratedRounding * static_cast<double>(f.size());
  };
  if (!factor || lost(*factor)) {
    if (orthogonal() != nullptr)
      return orthogonal()->predictive_mean(u, temperature, test_features);
    if (!factor) return {};
  }
  return mean_from_dual(test_features, project(factor->solve(label_vector())), u);
}

ExampleSpaceState::ExampleSpaceState(const ExampleSpaceKernels& kernels, MatrixXd u,
                                     double temperature, numerics::SpdFactor factor)
    : EnergyState(kernels.shared_from_this()),
      kernels_(kernels),
      u_(std::move(u)),
      temperature_(temperature),
      factor_(std::move(factor)) {
  const VectorXd y = kernels_.label_vector();
  alpha_ = factor_.solve(y);
  log_determinant = factor_.log_determinant();
  quadratic = y.dot(alpha_);
  condition = factor_.condition_estimate();
  estimate_rounding();
  // K is known to eps |K|, so y^T (K + T)^{-1} y to eps |K| |alpha|^2; tr(K + T) = |L|^2.
  energy_rounding =
      std::numeric_limits<double>::epsilon() * factor_.lower().squaredNorm() * alpha_.squaredNorm();
  projected_dual_ = kernels_.project(alpha_);
}

void ExampleSpaceState::estimate_rounding() {
  // K_ij is known to eps of the roots of two row squares: that changes a squared pivot by as much
  // as its own row square, and y^T (K + T)^{-1} y by alpha^T dK alpha.
  const VectorXd squares = kernels_.row_squares(u_);
  const VectorXd pivots = factor_.lower().diagonal();
  relative_rounding = rounding_of({.pivots = (squares.array() / pivots.array().square()).sum(),
                                   .dual = alpha_.cwiseAbs2().dot(squares),
                                   .terms = static_cast<double>(pivots.size()),
                                   .quadratic = quadratic});
}

void ExampleSpaceState::differentiate(const MatrixXd& inverse, const MatrixXd& traces) {
  gradient = traces - dual_products();
  // Where A is large, C cancels in the traces. What is left is eps |A| |C|, and tr(K) is the sum of
  // U C over the paths.
  gradient_rounding = std::numeric_limits<double>::epsilon() * inverse.norm() *
                      factor_.lower().squaredNorm() / static_cast<double>(kernels_.order());
}

const MatrixXd& ExampleSpaceState::half_solved() const {
  if (half_solved_.size() == 0) {
    half_solved_ = kernels_.lifted_features();
    factor_.half_solve(half_solved_);
  }
  return half_solved_;
}

const BlockSet& ExampleSpaceState::blocks() const {
  if (blocks_.columns.size() == 0) blocks_ = make_blocks(half_solved(), kernels_.feature_count());
  return blocks_;
}

MatrixXd ExampleSpaceState::compute_average_information() const {
  // Columns L^{-1} C_k alpha, C_k alpha = w_k / 2 (X_a v_b + X_b v_a) lifted to the outputs of a
  // and b.
  const Index p = kernels_.order();
  const Index c = kernels_.outputs();
  const Index examples = kernels_.examples();
  const Index n0 = kernels_.feature_count();
  MatrixXd z = MatrixXd::Zero(examples * c, symmetric_size(p));
  MatrixXd xv(examples, p);
  for (Index path = 0; path < kernels_.paths(); ++path) {
    multiply(1.0, kernels_.features().middleCols(path * n0, n0), Transpose::kNo, projected_dual_,
             Transpose::kNo, 0.0, xv);
    for (Index k = 0; k < c; ++k) {
      const Index a = path * c + k;
      for (Index b = 0; b < p; ++b) {
        const double scale = a == b ? 1.0 : 0.5 * symmetric_weight(a, b);
        z.col(symmetric_index(a, b)).segment(k * examples, examples) += scale * xv.col(b);
      }
    }
  }
  factor_.half_solve(z);
  MatrixXd information(z.cols(), z.cols());
  rank_update_lower(1.0, z, Transpose::kYes, 0.0, information);
  numerics::mirror_lower(information);
  return information;
}

numerics::MatrixXf ExampleSpaceState::half_solved_in_single() const {
  if (half_solved_.size() != 0) return half_solved_.cast<float>();
  numerics::MatrixXf w = kernels_.lifted_features().cast<float>();
  factor_.half_solve(w);
  return w;
}

MatrixXd ExampleSpaceState::fisher_information(Precision precision) const {
  if (precision == Precision::kDouble) return theory::fisher_information(blocks());
  return theory::fisher_information(make_blocks(half_solved_in_single(), kernels_.feature_count()));
}

MatrixXd ExampleSpaceState::second_order_matrix(const MatrixXd& sigma, Precision precision) const {
  MatrixXd inner;
  if (precision == Precision::kDouble) {
    inner = second_order_inner<double>(half_solved(), blocks(), sigma);
  } else {
    const numerics::MatrixXf w = half_solved_in_single();
    inner = second_order_inner<float>(w, make_blocks(w, kernels_.feature_count()), sigma);
  }
  factor_.half_solve_transposed(inner);
  MatrixXd transposed = inner.transpose();
  factor_.half_solve_transposed(transposed);
  return 0.5 * (transposed + transposed.transpose());
}

MatrixXd ExampleSpaceState::contract_third_derivative(const MatrixXd& sigma,
                                                      Precision precision) const {
  return 2.0 * kernels_.contract(second_order_matrix(sigma, precision)) +
         quadratic_third_derivative(*this, sigma);
}

MatrixXd ExampleSpaceState::apply_projected_inverse(const MatrixXd& u) const {
  const Index c = kernels_.outputs();
  const Index n0 = kernels_.feature_count();
  const Index examples = kernels_.examples();
  const Index columns = u.cols();
  MatrixXd over_paths(n0 * kernels_.paths(), c * columns);  // column (output, column)
  for (Index a = 0; a < kernels_.paths(); ++a) {
    for (Index k = 0; k < c; ++k) {
      over_paths.block(a * n0, k * columns, n0, columns) = u.middleRows((a * c + k) * n0, n0);
    }
  }
  MatrixXd by_example(examples, c * columns);
  multiply(1.0, kernels_.features(), Transpose::kNo, over_paths, Transpose::kNo, 0.0, by_example);
  MatrixXd stacked(examples * c, columns);
  for (Index k = 0; k < c; ++k) {
    stacked.middleRows(k * examples, examples) = by_example.middleCols(k * columns, columns);
  }
  stacked = factor_.solve(std::move(stacked));
  for (Index k = 0; k < c; ++k) {
    by_example.middleCols(k * columns, columns) = stacked.middleRows(k * examples, examples);
  }
  multiply(1.0, kernels_.features(), Transpose::kYes, by_example, Transpose::kNo, 0.0, over_paths);
  MatrixXd result(u.rows(), columns);
  for (Index a = 0; a < kernels_.paths(); ++a) {
    for (Index k = 0; k < c; ++k) {
      result.middleRows((a * c + k) * n0, n0) = over_paths.block(a * n0, k * columns, n0, columns);
    }
  }
  return result;
}

QuadraticForm ExampleSpaceState::second_order_form(const MatrixXd& directions) const {
  return half_solved_form(half_solved(), directions, kernels_.order());
}

Prediction ExampleSpaceState::predict(const MatrixXd& test_features) const {
  const Index c = kernels_.outputs();
  const Index tests = test_features.rows();
  Prediction prediction;
  prediction.mean.resize(tests, c);
  prediction.variance.resize(tests, c);
  MatrixXd cross = cross_kernel(kernels_.features(), test_features, u_, c);
  const VectorXd mean = cross.transpose() * alpha_;
  factor_.half_solve(cross);
  const VectorXd explained = cross.colwise().squaredNorm();
  MatrixXd prior = MatrixXd::Zero(tests, c);
  for (Index k = 0; k < c; ++k) {
    const MatrixXd mixed = mix_paths(test_features, output_block(u_, c, k, k));
    for (Index j = 0; j < mixed.cols(); ++j)  // column by column: row sums would stride
      prior.col(k).array() += mixed.col(j).array() * test_features.col(j).array();
    prediction.mean.col(k) = mean.segment(k * tests, tests);
    prediction.variance.col(k) = (prior.col(k) - explained.segment(k * tests, tests)).cwiseMax(0.0);
  }
  return with_digits(std::move(prediction), prior, test_features);
}

Prediction ExampleSpaceState::with_digits(Prediction prediction, const MatrixXd& prior,
                                          const MatrixXd& test_features) const {
  const double least = std::numeric_limits<double>::epsilon() / kToleratedRounding;
  if ((prediction.variance.array() >= least * prior.array()).all()) return prediction;
  const std::unique_ptr<EnergyState> rotated = kernels_.evaluate_rotated(u_, temperature_);
  return rotated ? rotated->predict(test_features) : prediction;
}

MatrixXd quadratic_third_derivative(const EnergyState& state, const MatrixXd& sigma) {
  const MatrixXd& v = state.projected_dual();
  const Index n0 = v.rows();
  const Index p = v.cols();
  const MatrixXd root = factor_covariance(sigma);
  const Index m_count = root.cols();
  MatrixXd stacked(n0 * p, m_count);
  std::vector<MatrixXd> directions;
  directions.reserve(m_count);
  for (Index m = 0; m < m_count; ++m) {
    directions.push_back(numerics::vector_to_symmetric(root.col(m), p));
    const MatrixXd vd = v * directions.back();
    stacked.col(m) = Eigen::Map<const VectorXd>(vd.data(), vd.size());
  }
  const MatrixXd first = -state.apply_projected_inverse(stacked);
  MatrixXd result = MatrixXd::Zero(p, p);
  VectorXd sum = VectorXd::Zero(n0 * p);
  for (Index m = 0; m < m_count; ++m) {
    const Eigen::Map<const MatrixXd> v1(first.col(m).data(), n0, p);
    const MatrixXd vd = v1 * directions[m];
    sum += Eigen::Map<const VectorXd>(vd.data(), vd.size());
    result -= 2.0 * v1.transpose() * v1;
  }
  const MatrixXd second_flat = -2.0 * state.apply_projected_inverse(sum);
  const Eigen::Map<const MatrixXd> second(second_flat.data(), n0, p);
  const MatrixXd vv = second.transpose() * v;
  return result - vv - vv.transpose();
}

}  // namespace headway::theory
