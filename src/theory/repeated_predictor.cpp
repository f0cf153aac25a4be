#include "headway/theory/repeated_predictor.hpp"

#include <algorithm>
#include <utility>

#include "example_space.hpp"
#include "headway/numerics/dense.hpp"
#include "headway/numerics/symmetric.hpp"
#include "path_kernel_forms.hpp"

namespace headway::theory {
namespace {

using numerics::multiply;
using numerics::multiply_vector;
using numerics::symmetric_index;
using numerics::symmetric_size;
using numerics::Transpose;

constexpr Index kTestTile = 64;          // examples
constexpr double kWaitingFlop = 10.0;    // a flop that waits for memory is this much slower
constexpr Index kDirectionsAtOnce = 64;  // between two looks at the observer

bool is_by_example(const PathKernels& kernels) {
  return kernels.form() == KernelForm::kStored || kernels.form() == KernelForm::kStreamed;
}

/// The entries D_ab of directions in svec coordinates, a column each.
MatrixXd entries_of(const MatrixXd& directions, Index paths) {
  MatrixXd d = directions;
  for (Index a = 0; a < paths; ++a) {
    for (Index b = 0; b <= a; ++b) d.row(symmetric_index(a, b)) /= numerics::symmetric_weight(a, b);
  }
  return d;
}

/// The training examples' part of the fluctuation (eq. 42 in the space of examples):
///   alpha'_m = -(K + T)^{-1} K(D_m) alpha,   alpha''_m = -2 (K + T)^{-1} K(D_m) alpha'_m.
struct DualFluctuation {
  MatrixXd first;        // alpha'_m, P x directions
  VectorXd half_second;  // sum_m alpha''_m / 2
};

DualFluctuation dual_fluctuation(const ExampleSpaceState& state, const MatrixXd& directions,
                                 const MatrixXd& entries) {
  const MatrixXd& x = state.kernels().features();
  const MatrixXd& v = state.projected_dual();
  const Index n0 = v.rows();
  const Index paths = v.cols();
  MatrixXd by_pair = MatrixXd::Zero(x.rows(), entries.rows());  // X_a v_b + X_b v_a
  MatrixXd xv(x.rows(), paths);
  for (Index a = 0; a < paths; ++a) {
    multiply(1.0, x.middleCols(a * n0, n0), Transpose::kNo, v, Transpose::kNo, 0.0, xv);
    for (Index b = 0; b < paths; ++b) by_pair.col(symmetric_index(a, b)) += xv.col(b);
  }
  DualFluctuation result;
  result.first.resize(x.rows(), entries.cols());
  multiply(1.0, by_pair, Transpose::kNo, entries, Transpose::kNo, 0.0, result.first);
  result.first = -state.factor().solve(std::move(result.first));
  MatrixXd projected(x.cols(), entries.cols());  // X^T alpha'_m
  multiply(1.0, x, Transpose::kYes, result.first, Transpose::kNo, 0.0, projected);
  MatrixXd sum = MatrixXd::Zero(n0, paths);
  for (Index m = 0; m < entries.cols(); ++m) {
    sum += Eigen::Map<const MatrixXd>(projected.col(m).data(), n0, paths) *
           numerics::vector_to_symmetric(directions.col(m), paths);
  }
  const VectorXd image =
      multiply_vector(x, Transpose::kNo, Eigen::Map<const VectorXd>(sum.data(), sum.size()));
  result.half_second = -state.factor().solve(image);
  return result;
}

/// -sum_m |L^{-1} r_m|^2 of each test example of a tile, from the kernels of all pairs of paths: C
/// of the training examples and C* with the test examples.
VectorXd tile_shift(const numerics::SpdFactor& factor, const MatrixXd& training,
                    const MatrixXd& cross, const VectorXd& coefficients, const MatrixXd& entries) {
  const Index rows = factor.size();
  const Index count = cross.rows() / rows;
  const VectorXd flat = multiply_vector(cross, Transpose::kNo, coefficients);
  const MatrixXd weights = factor.solve(Eigen::Map<const MatrixXd>(flat.data(), rows, count));
  MatrixXd rest = cross;  // r of each pair, then L^{-1} r
  for (Index k = 0; k < rest.cols(); ++k) {
    multiply(-1.0, Eigen::Map<const MatrixXd>(training.col(k).data(), rows, rows), Transpose::kNo,
             weights, Transpose::kNo, 1.0, Eigen::Map<MatrixXd>(rest.col(k).data(), rows, count));
  }
  factor.half_solve(Eigen::Map<MatrixXd>(rest.data(), rows, count * rest.cols()));
  MatrixXd along(rest.rows(), entries.cols());
  multiply(1.0, rest, Transpose::kNo, entries, Transpose::kNo, 0.0, along);
  VectorXd shift(count);
  for (Index j = 0; j < count; ++j) shift[j] = -along.middleRows(j * rows, rows).squaredNorm();
  return shift;
}

}  // namespace

RepeatedPredictor::RepeatedPredictor(std::shared_ptr<const PathKernels> kernels,
                                     std::shared_ptr<const MatrixXd> features, double predictions)
    : kernels_(std::move(kernels)), features_(std::move(features)) {
  if (!is_by_example(*kernels_) || kernels_->outputs() != 1 || features_->rows() == 0) return;
  const double p = static_cast<double>(kernels_->paths());
  const double pairs = static_cast<double>(symmetric_size(kernels_->paths()));
  const double entries =
      static_cast<double>(kernels_->examples()) * static_cast<double>(features_->rows());
  // Flops for an entry of K*: from the columns of X, or from kept kernels, which are read from
  // memory.
  const double direct = 2.0 * p * static_cast<double>(kernels_->feature_count());
  const double kept = 2.0 * pairs * kWaitingFlop;
  const bool cheaper = p * direct + predictions * kept < predictions * direct;
  if (cheaper && 8.0 * entries * pairs <= kMostBytes) keep_kernels();
}

void RepeatedPredictor::keep_kernels() {
  const MatrixXd& x = kernels_->features();
  const Index n0 = kernels_->feature_count();
  const Index paths = kernels_->paths();
  const Index pairs = symmetric_size(paths);
  const Index rows = features_->rows();
  prior_.resize(rows, pairs);
  for (Index first = 0; first < rows; first += kTestTile) {
    Tile tile{first, std::min(kTestTile, rows - first), {}};
    tile.kernels.resize(x.rows() * tile.count, pairs);
    for (Index a = 0; a < paths; ++a) {
      const MatrixXd own = features_->block(first, a * n0, tile.count, n0);
      for (Index b = 0; b <= a; ++b) {
        const Index k = symmetric_index(a, b);
        const MatrixXd other = features_->block(first, b * n0, tile.count, n0);
        Eigen::Map<MatrixXd> kernel(tile.kernels.col(k).data(), x.rows(), tile.count);
        multiply(1.0, x.middleCols(a * n0, n0), Transpose::kNo, other, Transpose::kYes, 0.0,
                 kernel);
        if (a != b) {
          multiply(1.0, x.middleCols(b * n0, n0), Transpose::kNo, own, Transpose::kYes, 1.0,
                   kernel);
        }
        prior_.col(k).segment(first, tile.count) =
            (a == b ? 1.0 : 2.0) * own.cwiseProduct(other).rowwise().sum();
      }
    }
    tiles_.push_back(std::move(tile));
  }
}

Prediction RepeatedPredictor::predict(const EnergyState& state, const MatrixXd& u) const {
  const auto* by_example = dynamic_cast<const ExampleSpaceState*>(&state);
  if (!keeps_kernels() || by_example == nullptr) return state.predict(*features_);
  const VectorXd c = pair_coefficients(u, kernels_->paths());
  Prediction prediction{MatrixXd(examples(), 1), MatrixXd(examples(), 1)};
  prediction.variance.col(0) = multiply_vector(prior_, Transpose::kNo, c);
  for (const Tile& tile : tiles_) {
    VectorXd flat = multiply_vector(tile.kernels, Transpose::kNo, c);
    Eigen::Map<MatrixXd> cross(flat.data(), kernels_->examples(), tile.count);
    prediction.mean.col(0).segment(tile.first, tile.count) =
        multiply_vector(cross, Transpose::kYes, by_example->dual());
    by_example->factor().half_solve(cross);
    prediction.variance.col(0).segment(tile.first, tile.count) -=
        cross.colwise().squaredNorm().transpose();
  }
  prediction.variance = prediction.variance.cwiseMax(0.0);
  return by_example->with_digits(std::move(prediction), multiply_vector(prior_, Transpose::kNo, c),
                                 *features_);
}

PredictionFluctuation RepeatedPredictor::fluctuation(const EnergyState& state, const MatrixXd& u,
                                                     const MatrixXd& directions,
                                                     Observer& observer) const {
  PredictionFluctuation result{mean_fluctuation(state, u, directions, observer), {}};
  if (result.mean_shift.rows() == 0) return {};
  result.variance_shift = variance_shift(state, u, directions, observer);
  if (result.variance_shift.rows() == 0) return {};
  return result;
}

double RepeatedPredictor::direct_flops(Index directions) const {
  const double m = static_cast<double>(directions);
  const double order = static_cast<double>(kernels_->order());
  const double d = order * static_cast<double>(kernels_->feature_count());
  const double columns =
      static_cast<double>(features_->rows()) * static_cast<double>(kernels_->outputs());
  if (is_by_example(*kernels_)) {
    const double r =
        static_cast<double>(kernels_->examples()) * static_cast<double>(kernels_->outputs());
    const double along = m < order ? 0.0 : r * order * order * m;
    return columns * (2.0 * r * d * (std::min(order, m) + 2.0) + along);
  }
  const double product = 2.0 * d * d;  // with Z or W
  if (kernels_->form() == KernelForm::kDistributed) return columns * (m + 1.0) * product;
  const double w = m < order ? 2.0 * m * order * product : order * order * product;
  return w + columns * 2.0 * product;
}

double RepeatedPredictor::kept_flops(Index directions) const {
  const double examples = static_cast<double>(kernels_->examples());
  const double pairs = static_cast<double>(symmetric_size(kernels_->paths()));
  const double n0 = static_cast<double>(kernels_->feature_count());
  const double rows = static_cast<double>(features_->rows());
  const double along = 2.0 * static_cast<double>(directions);
  return examples * pairs * (2.0 * examples * n0 + rows * (3.0 * examples + along));
}

bool RepeatedPredictor::curvature_from_kernels(Index directions) const {
  const double examples = static_cast<double>(kernels_->examples());
  const double pairs = static_cast<double>(symmetric_size(kernels_->paths()));
  return keeps_kernels() && kept_flops(directions) <= direct_flops(directions) &&
         8.0 * examples * examples * pairs <= kMostBytes;
}

double RepeatedPredictor::fluctuation_flops(Index directions) const {
  if (examples() == 0) return 0.0;
  return curvature_from_kernels(directions) ? kept_flops(directions) : direct_flops(directions);
}

MatrixXd RepeatedPredictor::training_kernels(Index directions) const {
  if (!curvature_from_kernels(directions)) return {};
  const MatrixXd& x = kernels_->features();
  const Index n0 = kernels_->feature_count();
  const Index paths = kernels_->paths();
  MatrixXd training(x.rows() * x.rows(), symmetric_size(paths));
  MatrixXd half(x.rows(), x.rows());
  for (Index a = 0; a < paths; ++a) {
    for (Index b = 0; b <= a; ++b) {
      multiply(a == b ? 0.5 : 1.0, x.middleCols(a * n0, n0), Transpose::kNo,
               x.middleCols(b * n0, n0), Transpose::kYes, 0.0, half);
      Eigen::Map<MatrixXd>(training.col(symmetric_index(a, b)).data(), x.rows(), x.rows()) =
          half + half.transpose();
    }
  }
  return training;
}

MatrixXd RepeatedPredictor::variance_shift(const EnergyState& state, const MatrixXd& u,
                                           const MatrixXd& directions, Observer& observer) const {
  MatrixXd shift(examples(), kernels_->outputs());
  const auto told = [&](Index first) {
    observer.progress("1/N correction of the variance", static_cast<double>(first),
                      static_cast<double>(examples()));
    return observer.interrupted();
  };
  const auto* by_example = dynamic_cast<const ExampleSpaceState*>(&state);
  const MatrixXd training =
      by_example != nullptr ? training_kernels(directions.cols()) : MatrixXd();
  if (training.size() == 0) {
    const QuadraticForm form = state.second_order_form(directions);
    for (Index first = 0; first < examples(); first += kTestTile) {
      if (told(first)) return {};
      const Index count = std::min(kTestTile, examples() - first);
      shift.middleRows(first, count) =
          state.variance_shift(u, form, features_->middleRows(first, count));
    }
    return shift;
  }
  const VectorXd c = pair_coefficients(u, kernels_->paths());
  const MatrixXd entries = entries_of(directions, kernels_->paths());
  for (const Tile& tile : tiles_) {
    if (told(tile.first)) return {};
    shift.middleRows(tile.first, tile.count) =
        tile_shift(by_example->factor(), training, tile.kernels, c, entries);
  }
  return shift;
}

MeanFluctuation RepeatedPredictor::mean_fluctuation(const EnergyState& state, const MatrixXd& u,
                                                    const MatrixXd& directions,
                                                    Observer& observer) const {
  const auto* by_example = dynamic_cast<const ExampleSpaceState*>(&state);
  MeanFluctuation result;
  if (!keeps_kernels() || by_example == nullptr) {
    for (Index m = 0; m < directions.cols(); m += kDirectionsAtOnce) {
      if (observer.interrupted()) return {};
      observer.progress("1/N correction of the predictor", static_cast<double>(m),
                        static_cast<double>(directions.cols()));
      const Index count = std::min(kDirectionsAtOnce, directions.cols() - m);
      MeanFluctuation part = state.mean_fluctuation(u, directions.middleCols(m, count), *features_);
      if (m == 0) {
        result = std::move(part);
        continue;
      }
      result.mean_shift += part.mean_shift;
      result.mean_variance += part.mean_variance;
    }
    return result;
  }
  // f' = K*(D)^T alpha + K*(U)^T alpha',  sum_m f''_m / 2 = sum_m K*(D_m)^T alpha'_m + K*(U)^T
  // sum_m alpha''_m / 2
  const MatrixXd entries = entries_of(directions, kernels_->paths());
  const DualFluctuation dual = dual_fluctuation(*by_example, directions, entries);
  const MatrixXd by_pair = dual.first * entries.transpose();
  const VectorXd c = pair_coefficients(u, kernels_->paths());
  const Index rows = kernels_->examples();
  result.mean_shift.resize(examples(), 1);
  result.mean_variance.resize(examples(), 1);
  for (const Tile& tile : tiles_) {
    const VectorXd flat = multiply_vector(tile.kernels, Transpose::kNo, c);
    const Eigen::Map<const MatrixXd> cross(flat.data(), rows, tile.count);
    MatrixXd along(tile.count, entries.rows());  // (C*_ab + C*_ba)^T alpha
    VectorXd shift = multiply_vector(cross, Transpose::kYes, dual.half_second);
    for (Index k = 0; k < entries.rows(); ++k) {
      const Eigen::Map<const MatrixXd> kernel(tile.kernels.col(k).data(), rows, tile.count);
      along.col(k) = multiply_vector(kernel, Transpose::kYes, by_example->dual());
      shift += multiply_vector(kernel, Transpose::kYes, by_pair.col(k));
    }
    MatrixXd first(tile.count, entries.cols());
    multiply(1.0, cross, Transpose::kYes, dual.first, Transpose::kNo, 0.0, first);
    multiply(1.0, along, Transpose::kNo, entries, Transpose::kNo, 1.0, first);
    result.mean_shift.col(0).segment(tile.first, tile.count) = shift;
    result.mean_variance.col(0).segment(tile.first, tile.count) = first.rowwise().squaredNorm();
  }
  return result;
}

}  // namespace headway::theory
