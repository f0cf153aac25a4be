#include "orthogonal_kernels.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "headway/model/path_index.hpp"
#include "headway/numerics/symmetric.hpp"
#include "path_kernel_forms.hpp"
#include "second_order_blocks.hpp"
#include "variance_curvature.hpp"

namespace headway::theory {
namespace {

using numerics::multiply;
using numerics::SpdFactor;
using numerics::symmetric_index;
using numerics::symmetric_size;
using numerics::Transpose;

constexpr double kMostFlops = 1e12;
constexpr double kMostNumbers = 2.5e8;        // 2 GiB
constexpr double kSmallestPivotRatio = 1e13;  // U_kk over its squared pivot: U counts as singular

/// Everything from H = M^{-1} X and b = M^{-1} y, K + T = M M^T: in these coordinates K + T is the
/// identity. H has a column block for each path and output.
class OrthogonalState final : public EnergyState {
 public:
  OrthogonalState(std::shared_ptr<const PathKernels> owner, const OrthogonalRidge& ridge,
                  MatrixXd frame)
      : EnergyState(owner), kernels_(*owner), ridge_(ridge), frame_(std::move(frame)) {
    log_determinant = ridge_.log_determinant();
    quadratic = ridge_.quadratic();
    condition = ridge_.condition_estimate();
    energy_rounding = gradient_rounding =
        std::numeric_limits<double>::epsilon() * (ridge_.pivot_losses() + ridge_.dual_losses());
    const auto terms = static_cast<double>(kernels_.examples() * kernels_.outputs());
    relative_rounding = rounding_of({.pivots = ridge_.pivot_losses(),
                                     .dual = ridge_.dual_losses(),
                                     .terms = terms,
                                     .quadratic = quadratic});
  }
  /// At a U that can be divided by: in the frame W = X F, where nothing cancels.
  void differentiate_in_frame(const MatrixXd& inverse) {
    const Index n0 = kernels_.feature_count();
    const Eigen::Map<const MatrixXd> dual(ridge_.told().data(), n0, frame_.cols());
    half_ = mix_paths(ridge_.half(), inverse);
    half_labels_ = ridge_.half_labels();
    projected_dual_ = dual * inverse;
    gradient = inverse.transpose() *
               (block_traces(ridge_.half(), frame_.cols()) - dual.transpose() * dual) * inverse;
    gradient = 0.5 * (gradient + gradient.transpose()).eval();
  }
  void differentiate_at_singular(const MatrixXd& lifted, const VectorXd& labels) {
    half_ = ridge_.whiten(lifted);
    half_labels_ = ridge_.whiten(labels);
    const VectorXd dual = numerics::multiply_vector(half_, Transpose::kYes, half_labels_);
    projected_dual_ =
        Eigen::Map<const MatrixXd>(dual.data(), kernels_.feature_count(), kernels_.order());
    gradient =
        block_traces(half_, kernels_.order()) - projected_dual_.transpose() * projected_dual_;
  }

  [[nodiscard]] std::unique_ptr<const EnergyCurvature> curvature(
      const MatrixXd& frame, Precision precision) const override {
    return make_whitened_curvature(half_, half_labels_, frame, precision, kernels_.threads());
  }
  /// Always in double precision.
  [[nodiscard]] MatrixXd fisher_information(Precision /*precision*/) const override {
    return theory::fisher_information(blocks());
  }
  [[nodiscard]] MatrixXd contract_third_derivative(const MatrixXd& sigma,
                                                   Precision /*precision*/) const override {
    const Index order = kernels_.order();
    const MatrixXd inner = second_order_inner<double>(half_, blocks(), sigma);
    MatrixXd image(half_.rows(), half_.cols());
    multiply(1.0, inner, Transpose::kNo, half_, Transpose::kNo, 0.0, image);
    const Index rows = half_.size() / order;
    const Eigen::Map<const MatrixXd> left(half_.data(), rows, order);
    const Eigen::Map<const MatrixXd> right(image.data(), rows, order);
    const MatrixXd traces = left.transpose() * right;
    return traces + traces.transpose() + quadratic_third_derivative(*this, sigma);
  }
  [[nodiscard]] MatrixXd apply_projected_inverse(const MatrixXd& u) const override {
    MatrixXd image(half_.rows(), u.cols());
    multiply(1.0, half_, Transpose::kNo, u, Transpose::kNo, 0.0, image);
    MatrixXd result(u.rows(), u.cols());
    multiply(1.0, half_, Transpose::kYes, image, Transpose::kNo, 0.0, result);
    return result;
  }
  [[nodiscard]] QuadraticForm second_order_form(const MatrixXd& directions) const override {
    return half_solved_form(half_, directions, kernels_.order());
  }
  [[nodiscard]] Prediction predict(const MatrixXd& test_features) const override {
    const Index outputs = kernels_.outputs();
    const Index tests = test_features.rows();
    const MatrixXd w = mix_outputs(test_features, frame_, outputs);
    const VectorXd mean = w * ridge_.told();
    const VectorXd variance = ridge_.variance(w);
    return {mean.reshaped(tests, outputs), variance.reshaped(tests, outputs)};
  }

 private:
  /// Traces over features of the blocks of H^T H.
  [[nodiscard]] static MatrixXd block_traces(const MatrixXd& h, Index blocks) {
    const Eigen::Map<const MatrixXd> columns(h.data(), h.size() / blocks, blocks);
    return columns.transpose() * columns;
  }
  [[nodiscard]] const BlockSet& blocks() const {
    if (blocks_.columns.size() == 0) blocks_ = make_blocks(half_, kernels_.feature_count());
    return blocks_;
  }
  [[nodiscard]] MatrixXd compute_average_information() const override {
    const Index order = kernels_.order();
    const Index n0 = kernels_.feature_count();
    MatrixXd z = MatrixXd::Zero(half_.rows(), symmetric_size(order));
    for (Index a = 0; a < order; ++a) {
      const MatrixXd hv = half_.middleCols(a * n0, n0) * projected_dual_;
      for (Index b = 0; b < order; ++b) {
        const double scale = a == b ? 1.0 : 0.5 * numerics::symmetric_weight(a, b);
        z.col(symmetric_index(a, b)) += scale * hv.col(b);
      }
    }
    return z.transpose() * z;
  }

  const PathKernels& kernels_;
  OrthogonalRidge ridge_;
  MatrixXd frame_;
  MatrixXd half_;
  VectorXd half_labels_;
  mutable BlockSet blocks_;
};

}  // namespace

double rounding_of(const Losses& losses) {
  return std::numeric_limits<double>::epsilon() *
         (losses.pivots / losses.terms + losses.dual / (losses.terms + std::abs(losses.quadratic)));
}

OrthogonalKernels::OrthogonalKernels(const MatrixXd& features, const MatrixXd& labels, Index paths)
    : paths_(paths), features_(features), labels_(labels) {
  merge_equal_examples();
  const Index columns = features_.cols();
  const Index rows = features_.rows();
  if (rows > columns + 1) {  // rows beyond the rank of X tell nothing of U
    const numerics::OrthogonalFactor rotation = numerics::OrthogonalFactor::factor(features_, true);
    MatrixXd rotated(columns, columns);
    for (Index j = 0; j < columns; ++j)
      rotated.col(rotation.order()[static_cast<std::size_t>(j)]) = rotation.r().col(j);
    const MatrixXd turned = rotation.rotate(labels_);
    rest_rows_ += (rows - columns) * labels_.cols();
    rest_square_ += turned.bottomRows(rows - columns).squaredNorm();
    features_ = std::move(rotated);
    labels_ = turned.topRows(columns);
  }
  const Index n0 = columns / paths_;
  sizes_.resize(paths_);
  for (Index a = 0; a < paths_; ++a) sizes_[a] = features_.middleCols(a * n0, n0).norm();
}

void OrthogonalKernels::merge_equal_examples() {
  std::vector<Index> order(static_cast<std::size_t>(features_.rows()));
  std::iota(order.begin(), order.end(), Index{0});
  const auto compare = [&](Index a, Index b) {
    for (Index j = 0; j < features_.cols(); ++j) {
      if (features_(a, j) != features_(b, j)) return features_(a, j) < features_(b, j) ? -1 : 1;
    }
    return 0;
  };
  std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) { return compare(a, b) < 0; });
  std::vector<Index> first;  // of each group, its place in the order
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (i == 0 || compare(order[i - 1], order[i]) != 0) first.push_back(static_cast<Index>(i));
  }
  const auto groups = static_cast<Index>(first.size());
  if (groups == features_.rows()) return;
  first.push_back(features_.rows());
  MatrixXd features(groups, features_.cols());
  MatrixXd labels(groups, labels_.cols());
  for (Index g = 0; g < groups; ++g) {
    const Index begin = first[static_cast<std::size_t>(g)];
    const Index count = first[static_cast<std::size_t>(g) + 1] - begin;
    const std::vector<Index> equal(order.begin() + begin, order.begin() + begin + count);
    const MatrixXd told = labels_(equal, Eigen::all);
    const double root = std::sqrt(static_cast<double>(count));
    features.row(g) = root * features_.row(equal.front());
    labels.row(g) = root * told.colwise().mean();
    rest_square_ += (told.rowwise() - told.colwise().mean()).squaredNorm();
  }
  rest_rows_ = (features_.rows() - groups) * labels_.cols();
  features_ = std::move(features);
  labels_ = std::move(labels);
}

bool OrthogonalKernels::affordable(const KernelSizes& sizes) {
  const auto features = static_cast<double>(sizes.paths * sizes.feature_count);
  const auto outputs = static_cast<double>(sizes.outputs);
  const double all = static_cast<double>(sizes.examples);
  const double rows = std::min(all, features) * outputs;
  const double columns = features * outputs;
  return 6.0 * rows * columns * std::min(rows, columns) + 2.0 * all * features * features <
             kMostFlops &&
         rows * columns + all * features < kMostNumbers;
}

OrthogonalKernels::Frame OrthogonalKernels::frame_of(const MatrixXd& u) const {
  const Index outputs = labels_.cols();
  const VectorXd diagonal = u.diagonal();
  std::vector<Index> order;
  for (Index k = 0; k < u.rows(); ++k) {
    if (diagonal[k] > 0.0) order.push_back(k);  // else a path that was pruned
  }
  const auto size = [&](Index k) { return std::sqrt(diagonal[k]) * sizes_[k / outputs]; };
  std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) { return size(a) > size(b); });
  const auto rank = static_cast<Index>(order.size());
  const MatrixXd sorted = u(order, order);
  const std::optional<SpdFactor> cholesky = SpdFactor::factor(sorted);
  Frame frame{MatrixXd::Zero(u.rows(), rank), {}};
  if (cholesky &&
      (rank == 0 ||
       (sorted.diagonal().array() / cholesky->lower().diagonal().array().square()).maxCoeff() <
           kSmallestPivotRatio)) {
    frame.matrix(order, Eigen::all) = cholesky->lower();
    if (rank < u.rows()) return frame;
    MatrixXd inverse = MatrixXd::Identity(rank, rank);
    cholesky->half_solve(inverse);
    frame.inverse.resize(rank, rank);
    frame.inverse(Eigen::all, order) = inverse;
    return frame;
  }
  // Singular, of narrow layers. Every path in units of its own U_kk.
  const VectorXd roots = sorted.diagonal().cwiseSqrt();
  const VectorXd over = roots.cwiseInverse();
  const numerics::SymmetricEigen eigen =
      numerics::symmetric_eigen(over.asDiagonal() * sorted * over.asDiagonal(), true);
  const double smallest = static_cast<double>(rank) * std::numeric_limits<double>::epsilon() *
                          eigen.values.cwiseAbs().maxCoeff();
  const Index kept = (eigen.values.array() > smallest).count();
  frame.matrix = MatrixXd::Zero(u.rows(), kept);
  frame.matrix(order, Eigen::all) = roots.asDiagonal() * eigen.vectors.rightCols(kept) *
                                    eigen.values.tail(kept).cwiseSqrt().asDiagonal();
  return frame;
}

std::optional<OrthogonalRidge> OrthogonalKernels::ridge(const Frame& frame,
                                                        double temperature) const {
  return OrthogonalRidge::factor(mix_outputs(features_, frame.matrix, labels_.cols()),
                                 labels_.reshaped(), temperature, rest_rows_, rest_square_);
}

MatrixXd OrthogonalKernels::lifted_features() const {
  const Index outputs = labels_.cols();
  return mix_outputs(features_, MatrixXd::Identity(paths_ * outputs, paths_ * outputs), outputs);
}

std::unique_ptr<EnergyState> OrthogonalKernels::evaluate(std::shared_ptr<const PathKernels> owner,
                                                         const MatrixXd& u,
                                                         double temperature) const {
  if (!u.allFinite() || (u.diagonal().array() < 0.0).any()) return nullptr;
  Frame frame = frame_of(u);
  const std::optional<OrthogonalRidge> found = ridge(frame, temperature);
  if (!found) return nullptr;
  auto state = std::make_unique<OrthogonalState>(std::move(owner), *found, std::move(frame.matrix));
  if (frame.inverse.size() > 0) {
    state->differentiate_in_frame(frame.inverse);
  } else {
    state->differentiate_at_singular(lifted_features(), labels_.reshaped());
  }
  return state;
}

MatrixXd OrthogonalKernels::predictive_mean(const MatrixXd& u, double temperature,
                                            const MatrixXd& test_features) const {
  const Frame frame = frame_of(u);
  const std::optional<OrthogonalRidge> found = ridge(frame, temperature);
  if (!found) return {};
  const VectorXd mean = mix_outputs(test_features, frame.matrix, labels_.cols()) * found->told();
  return mean.reshaped(test_features.rows(), labels_.cols());
}

}  // namespace headway::theory
