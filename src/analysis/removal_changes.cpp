#include <algorithm>
#include <cmath>
#include <numeric>

#include "analysis/example_errors.hpp"
#include "headway/analysis/head_ranking.hpp"
#include "headway/core/rng.hpp"
#include "headway/numerics/statistics.hpp"

namespace headway::analysis {
namespace {

constexpr Index kMostPairs = 30'000, kFewestOthers = 8;
constexpr double kFactorSpread = 0.3;      // how far from 1 the factor of answers is expected
constexpr std::uint64_t kPairsStream = 3;  // of kResampledExamples

/// sum f y / sum f^2 without means, drawn to 1 as far as its own error asks for: it makes answers
/// right on average that the penalty has made too small.
double answer_factor(const MatrixXd& answers, const MatrixXd& y) {
  const MatrixXd f = answers.rowwise() - answers.colwise().mean();
  const MatrixXd told = y.rowwise() - y.colwise().mean();
  const double size = f.squaredNorm();
  if (!(size > 0.0)) return 1.0;
  const double found = f.cwiseProduct(told).sum() / size;
  const double variance = f.cwiseProduct(told - found * f).squaredNorm() / (size * size);
  const double trusted = kFactorSpread * kFactorSpread;
  return 1.0 + (found - 1.0) * trusted / (trusted + variance);
}

/// Mean over outputs of their squares, [P, k].
MatrixXd mean_square(const std::vector<MatrixXd>& outputs) {
  MatrixXd sum = outputs.front().array().square();
  for (std::size_t c = 1; c < outputs.size(); ++c) sum.array() += outputs[c].array().square();
  return sum / static_cast<double>(outputs.size());
}

std::vector<Index> drawn_others(Index count, std::uint64_t seed) {
  std::vector<Index> others(static_cast<std::size_t>(count));
  std::iota(others.begin(), others.end(), Index{0});
  const Index kept = std::min(count, std::max(kFewestOthers, kMostPairs / count));
  if (kept == count) return others;
  Rng rng(seed, StreamPurpose::kResampledExamples, kPairsStream);
  numerics::shuffle(others, rng);
  others.resize(static_cast<std::size_t>(kept));
  std::sort(others.begin(), others.end());
  return others;
}

}  // namespace

MatrixXd RemovalChanges::covariance() const {
  const auto count = static_cast<double>(rises.cols());
  const MatrixXd centred = rises.colwise() - rises.rowwise().mean();
  MatrixXd found = centred * centred.transpose() / (count * (count - 1.0));
  const VectorXd own = found.diagonal();
  found *= count / (count + static_cast<double>(rises.rows()));
  found.diagonal() = own;
  return found + pairs * pairs.transpose();
}

VectorXd RemovalChanges::error() const {
  const auto count = static_cast<double>(rises.cols());
  const MatrixXd centred = rises.colwise() - rises.rowwise().mean();
  return (centred.rowwise().squaredNorm() / (count * (count - 1.0)) + pairs.rowwise().squaredNorm())
      .cwiseSqrt();
}

RemovalChanges stacked(const std::vector<RemovalChanges>& rows) {
  const auto heads = static_cast<Index>(rows.size());
  RemovalChanges all{MatrixXd(heads, rows.front().rises.cols()),
                     MatrixXd(heads, rows.front().pairs.cols()), VectorXd(heads), VectorXd(heads),
                     VectorXd(heads)};
  for (Index h = 0; h < heads; ++h) {
    const RemovalChanges& row = rows[static_cast<std::size_t>(h)];
    all.rises.row(h) = row.rises.row(0);
    all.pairs.row(h) = row.pairs.row(0);
    all.shift[h] = row.shift[0];
    all.belief[h] = row.belief[0];
    all.belief_error[h] = row.belief_error[0];
  }
  return all;
}

RankedReadout::RankedReadout(const MatrixXd& x, const MatrixXd& y, std::optional<double> penalty,
                             std::uint64_t seed)
    : y_(y), readout_(x, y, penalty), others_(drawn_others(y.rows(), seed)) {
  answers_ = y - readout_.missed;
  const Eigen::RowVectorXd centre = answers_.colwise().mean();
  expected_ = (answer_factor(answers_, y) * (answers_.rowwise() - centre)).rowwise() +
              Eigen::RowVectorXd(y.colwise().mean());
  twice_ = readout_.two_left_out(others_);
  errors_of_pairs_ = mean_square(twice_.first);
}

VectorXd RankedReadout::errors() const {
  return readout_.missed.rowwise().squaredNorm() / static_cast<double>(y_.cols());
}

std::array<RemovalChanges, 2> RankedReadout::without(const MatrixXd& removed) const {
  std::vector<Index> all(static_cast<std::size_t>(removed.rows()));
  std::iota(all.begin(), all.end(), Index{0});
  const VectorXd own = readout_.pull(removed, all).diagonal();
  const MatrixXd others = readout_.pull(removed, others_);
  const MatrixXd residuals = y_ - readout_.answers(removed);
  std::vector<MatrixXd> missed;
  for (Index c = 0; c < y_.cols(); ++c) {
    const auto at = static_cast<std::size_t>(c);
    missed.emplace_back(
        (own.asDiagonal() * twice_.first[at] + others.cwiseProduct(twice_.second[at])).colwise() +
        residuals.col(c));
  }
  const RidgeReadout again(removed, y_, readout_.penalty);
  return {change(y_ - readout_.answers_left_out(removed), missed),
          change(again.missed, again.two_left_out(others_).first)};
}

RemovalChanges RankedReadout::change(const MatrixXd& missed,
                                     const std::vector<MatrixXd>& missed_by_pairs) const {
  const auto outputs = static_cast<double>(y_.cols());
  const auto count = static_cast<double>(y_.rows());
  const VectorXd rises = missed.rowwise().squaredNorm() / outputs - errors();
  MatrixXd pairs = -(mean_square(missed_by_pairs) - errors_of_pairs_);
  pairs.colwise() += rises;
  const Eigen::RowVectorXd of_others = pairs.colwise().mean();
  const VectorXd of_examples = pairs.rowwise().mean();
  const double both = pairs.mean();
  pairs.rowwise() -= of_others;
  pairs.colwise() -= of_examples;
  pairs.array() += both;
  const double scale = std::sqrt(count / static_cast<double>(others_.size())) / count;
  RowMatrixXd row_major = scale * pairs;
  const VectorXd expected =
      squared_errors(y_ - missed, expected_) - squared_errors(answers_, expected_);
  const numerics::Moments belief = numerics::moments(expected);
  return {rises.transpose(),
          Eigen::Map<const Eigen::RowVectorXd>(row_major.data(), row_major.size()),
          VectorXd::Constant(1, (missed - readout_.missed).squaredNorm() / (count * outputs)),
          VectorXd::Constant(1, belief.mean), VectorXd::Constant(1, belief.standard_error())};
}

}  // namespace headway::analysis
