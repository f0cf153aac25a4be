#include <algorithm>
#include <cmath>

#include "headway/analysis/head_ranking.hpp"
#include "headway/numerics/dense.hpp"

namespace headway::analysis {
namespace {

constexpr double kTiny = 1e-12;
// Networks compute in float32, where a constant column scatters by some 1e-7 of its size. Scaled to
// unit size, that scatter would outweigh all other columns once a removed head moves the column. A
// column that varies by 1e-5 is far above float32 rounding, and counts.
constexpr double kReadoutRounding = 1e-6;
constexpr int kSmallestPower = -4, kLargestPower = 3;  // of the penalties, powers of ten

}  // namespace

RidgeReadout::RidgeReadout(const MatrixXd& x, const MatrixXd& y, std::optional<double> with)
    : standardisation(x, kReadoutRounding),
      offset(y.colwise().mean()),
      wide_(x.rows() <= x.cols()) {
  const MatrixXd standardised = standardisation.apply(x);
  numerics::SymmetricEigen eigen =
      numerics::symmetric_eigen(wide_ ? MatrixXd(standardised * standardised.transpose())
                                      : MatrixXd(standardised.transpose() * standardised),
                                true);
  values_ = eigen.values.cwiseMax(0.0);  // below 0: rounding
  vectors_ = std::move(eigen.vectors);
  if (with) {
    fit(standardised, y, *with);
    return;
  }
  double best = 0.0, smallest = 0.0;
  for (int power = kSmallestPower; power <= kLargestPower; ++power) {
    const double one = std::pow(10.0, power);
    fit(standardised, y, one);
    const double error = missed.squaredNorm();
    if (power > kSmallestPower && !(error < smallest)) continue;
    smallest = error;
    best = one;
  }
  fit(standardised, y, best);
}

void RidgeReadout::fit(const MatrixXd& standardised, const MatrixXd& y, double with_penalty) {
  penalty = with_penalty;
  const VectorXd shrunk = (values_.array() + penalty).inverse();
  if (wide_) {
    factor_ = vectors_ * values_.cwiseProduct(shrunk).cwiseSqrt().asDiagonal();
    reach_ = (standardised.transpose() * vectors_) * shrunk.asDiagonal() * vectors_.transpose();
  } else {
    factor_ = standardised * vectors_ * shrunk.cwiseSqrt().asDiagonal();
    reach_ = vectors_ * shrunk.asDiagonal() * (standardised * vectors_).transpose();
  }
  const MatrixXd centred = y.rowwise() - offset;
  weights = reach_ * centred;
  residuals = centred - factor_ * (factor_.transpose() * centred);
  missed = spared().cwiseInverse().asDiagonal() * residuals;
}

VectorXd RidgeReadout::spared() const {
  const double even = 1.0 / static_cast<double>(factor_.rows());
  return (1.0 - even - factor_.rowwise().squaredNorm().array()).max(kTiny);
}

MatrixXd RidgeReadout::answers(const MatrixXd& x) const {
  return (standardisation.apply(x) * weights).rowwise() + offset;
}

MatrixXd RidgeReadout::pull(const MatrixXd& z, const std::vector<Index>& of) const {
  MatrixXd reached(reach_.rows(), static_cast<Index>(of.size()));
  for (std::size_t k = 0; k < of.size(); ++k) {
    reached.col(static_cast<Index>(k)) = reach_.col(of[k]);
  }
  return (standardisation.apply(z) * reached).array() + 1.0 / static_cast<double>(factor_.rows());
}

MatrixXd RidgeReadout::answers_left_out(const MatrixXd& z) const {
  const MatrixXd standardised = standardisation.apply(z);
  const VectorXd own = standardised.cwiseProduct(reach_.transpose()).rowwise().sum().array() +
                       1.0 / static_cast<double>(factor_.rows());
  return answers(z) - own.asDiagonal() * missed;
}

RidgeReadout::Pair RidgeReadout::two_left_out(const std::vector<Index>& others) const {
  const Index examples = factor_.rows();
  const auto count = static_cast<Index>(others.size());
  const VectorXd left = spared();
  Pair out;
  out.first.assign(static_cast<std::size_t>(residuals.cols()), MatrixXd(examples, count));
  out.second = out.first;
  const double even = 1.0 / static_cast<double>(examples);
  for (Index k = 0; k < count; ++k) {
    const Index other = others[static_cast<std::size_t>(k)];
    const VectorXd between = -(factor_ * factor_.row(other).transpose()).array() - even;
    for (Index i = 0; i < examples; ++i) {
      const bool same = i == other;
      const double b = same ? 0.0 : between[i];
      const double determinant = std::max(left[i] * left[other] - b * b, kTiny);
      for (Index c = 0; c < residuals.cols(); ++c) {
        const double r = residuals(i, c), s = residuals(other, c);
        const auto at = static_cast<std::size_t>(c);
        out.first[at](i, k) = (left[other] * r - b * s) / determinant;
        out.second[at](i, k) = same ? 0.0 : (left[i] * s - b * r) / determinant;
      }
    }
  }
  return out;
}

}  // namespace headway::analysis
