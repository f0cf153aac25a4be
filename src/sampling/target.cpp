#include "headway/sampling/target.hpp"

#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "headway/core/error.hpp"

namespace headway::sampling {
namespace {

[[noreturn]] void bad_prior(const std::string& what) {
  throw Error(ErrorKind::kBadStudy, "Gaussian prior: " + what);
}

}  // namespace

std::vector<std::string> Target::coordinate_names() const {
  std::vector<std::string> names;
  names.reserve(static_cast<std::size_t>(dimension()));
  for (Index i = 0; i < dimension(); ++i) names.push_back(fmt::format("q[{}]", i));
  return names;
}

MatrixXd Target::information(const Eigen::Ref<const VectorXd>& /*position*/) {
  throw Error(ErrorKind::kInternal, "Target::information: this target does not provide it");
}

void GaussianPrior::validate() const {
  const Index d = mean.size();
  if (d < 1 || !mean.allFinite()) bad_prior("mean must be finite and not empty");
  if ((deviation.size() > 0) == (cholesky.size() > 0)) {
    bad_prior("exactly one of deviation and cholesky must be given");
  }
  if (deviation.size() > 0) {
    if (deviation.size() != d) {
      bad_prior(fmt::format("deviation has {} entries, mean has {}", deviation.size(), d));
    }
    if (!deviation.allFinite() || !(deviation.minCoeff() > 0.0)) {
      bad_prior("every deviation must be finite and above 0");
    }
    return;
  }
  if (cholesky.rows() != d || cholesky.cols() != d) {
    bad_prior(fmt::format("cholesky is {} x {}, mean has {} entries", cholesky.rows(),
                          cholesky.cols(), d));
  }
  if (!cholesky.allFinite() || !(cholesky.diagonal().minCoeff() > 0.0)) {
    bad_prior("cholesky must be finite with a diagonal above 0");
  }
}

void GaussianPrior::draw_centred(Rng& rng, Eigen::Ref<VectorXd> out) const {
  rng.fill_normal({out.data(), static_cast<std::size_t>(out.size())});
  if (cholesky.size() == 0) {
    out.array() *= deviation.array();
  } else {
    out = cholesky.triangularView<Eigen::Lower>() * out;
  }
}

double GaussianPrior::log_density(const Eigen::Ref<const VectorXd>& position,
                                  Eigen::Ref<VectorXd> gradient) const {
  const double d = static_cast<double>(dimension());
  double log_scale = 0.0;
  double squared = 0.0;
  gradient = mean - position;
  if (cholesky.size() == 0) {
    log_scale = deviation.array().log().sum();
    gradient.array() /= deviation.array();
    squared = gradient.squaredNorm();
    gradient.array() /= deviation.array();
  } else {
    log_scale = cholesky.diagonal().array().log().sum();
    cholesky.triangularView<Eigen::Lower>().solveInPlace(gradient);
    squared = gradient.squaredNorm();
    cholesky.triangularView<Eigen::Lower>().transpose().solveInPlace(gradient);
  }
  return -0.5 * squared - log_scale - 0.5 * d * std::log(2.0 * std::numbers::pi);
}

double GaussianPriorTarget::log_density(const Eigen::Ref<const VectorXd>& position,
                                        Eigen::Ref<VectorXd> gradient) {
  prior_gradient_.resize(position.size());
  const double log_prior = prior().log_density(position, prior_gradient_);
  const double log_likelihood = log_likelihood_gradient(position, gradient);
  gradient += prior_gradient_;
  return log_prior + log_likelihood;
}

bool GaussianPriorTarget::draw_start(Rng& rng, Eigen::Ref<VectorXd> position) {
  prior().draw_centred(rng, position);
  position += prior().mean;
  return true;
}

}  // namespace headway::sampling
