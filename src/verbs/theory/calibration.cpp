#include "verbs/theory/calibration.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>

#include "headway/core/parallel.hpp"
#include "headway/core/rng.hpp"
#include "headway/error.hpp"
#include "headway/posterior/bartlett_chain.hpp"
#include "headway/posterior/posterior_target.hpp"
#include "headway/sampling/diagnostics.hpp"
#include "headway/sampling/limits.hpp"
#include "headway/sampling/sample.hpp"
#include "headway/theory/orthogonal_ridge.hpp"

namespace headway {
namespace {

constexpr Index kMostEntries = 6;      // of U_1 that are ranked
constexpr Index kMostPredictions = 4;  // that are ranked
constexpr double kShareOfShort = 0.1;  // of the chains that may have fewer effective draws
constexpr Index kFewestRanked = 7, kMostRanked = 127;
constexpr int kDegrees = 4;
constexpr std::uint64_t kFirstCalibrationStream = std::uint64_t{1}
                                                  << 51U;  // none that the evidence has

/// What is ranked, of a network or of a draw.
class Statistics {
 public:
  Statistics(const model::Architecture& architecture, Index test_examples)
      : outputs_(architecture.outputs), predictions_(std::min(kMostPredictions, test_examples)) {
    const Index order = outputs_ * architecture.paths();
    for (Index i = 0; i < order; ++i) {
      for (Index j = 0; j <= i && std::ssize(entries_) < kMostEntries; ++j) {
        entries_.emplace_back(i, j);
      }
    }
    names_ = {"squared residual", outputs_ == 1 ? "U_a" : "trace of U_a"};
    for (const auto& [i, j] : entries_) names_.push_back(fmt::format("U_1[{},{}]", i + 1, j + 1));
    for (int l = 2; l <= architecture.layers(); ++l) {
      names_.push_back(fmt::format("trace of U_{}", l));
    }
    for (Index i = 1; i <= predictions_; ++i) names_.push_back(fmt::format("f[{}]", i));
  }
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }
  [[nodiscard]] Index predictions() const { return predictions_; }

  /// `test`: f on the test examples, one output at least.
  [[nodiscard]] VectorXd of(const theory::OrderParameters& u, const MatrixXd& residual,
                            const VectorXd& test) const {
    std::vector<double> values = {residual.squaredNorm(), u.readout.trace()};
    for (const auto& [i, j] : entries_) values.push_back(u.layers.front()(i, j));
    for (std::size_t l = 1; l < u.layers.size(); ++l) values.push_back(u.layers[l].trace());
    for (Index i = 0; i < predictions_; ++i) values.push_back(test[i]);
    return Eigen::Map<const VectorXd>(values.data(), std::ssize(values));
  }

 private:
  Index outputs_, predictions_;
  std::vector<std::pair<Index, Index>> entries_;
  std::vector<std::string> names_;
};

class StatisticsRecorder final : public sampling::DrawRecorder {
 public:
  StatisticsRecorder(const Statistics& statistics, const MatrixXd& labels, Rng& rng, Index draws)
      : statistics_(statistics),
        labels_(labels),
        rng_(rng),
        seen_(draws, std::ssize(statistics.names())) {}
  void record(const sampling::Draw& draw, sampling::Target& target) override {
    auto& posterior = dynamic_cast<posterior::PosteriorTarget&>(target);
    const posterior::PosteriorDraw drawn =
        posterior.observe(draw.position, statistics_.predictions() > 0);
    VectorXd test(statistics_.predictions());
    for (Index i = 0; i < test.size(); ++i) {
      test[i] = drawn.mean(i, 0) + std::sqrt(std::max(0.0, drawn.variance(i, 0))) * rng_.normal();
    }
    seen_.row(draw.index) =
        statistics_.of(drawn.order_parameters,
                       labels_ - posterior.draw_training_output(draw.position, rng_), test);
  }
  [[nodiscard]] const MatrixXd& seen() const { return seen_; }  // draws x statistics

 private:
  const Statistics& statistics_;
  const MatrixXd& labels_;
  Rng& rng_;
  MatrixXd seen_;
};

/// A network, and draws given its labels.
struct Replicate {
  VectorXd truth;
  MatrixXd seen;
  double effective = 0.0;  // draws of the statistic that has fewest
};

Replicate replicate_of(const CalibrationProblem& problem, const Statistics& statistics,
                       sampling::SamplerOptions options, std::uint64_t stream) {
  Rng rng(options.seed, StreamPurpose::kPrior, kFirstCalibrationStream + stream);
  const posterior::BartlettChain prior(problem.architecture);
  VectorXd x(prior.dimension());
  prior.draw_prior(rng, x);
  const posterior::BartlettChain::Factors factors = prior.factors(x);
  const MatrixXd& factor = factors.factor.front();
  VectorXd weights(factor.cols() * problem.kernels.feature_count());
  rng.fill_normal({weights.data(), static_cast<std::size_t>(weights.size())});
  const Index outputs = problem.architecture.outputs;
  const auto output = [&](const MatrixXd& features) {
    const VectorXd f = theory::mix_outputs(features, factor, outputs) * weights;
    return MatrixXd(f.reshaped(features.rows(), outputs));
  };
  const MatrixXd f = output(problem.kernels.features());
  MatrixXd noise(f.rows(), f.cols());
  rng.fill_normal({noise.data(), static_cast<std::size_t>(noise.size())});
  noise *= std::sqrt(problem.temperature);
  const MatrixXd labels = f + noise;
  Replicate replicate;
  replicate.truth = statistics.of(posterior::BartlettChain::order_parameters(factors), noise,
                                  output(problem.test_features).col(0));
  options.first_stream = stream;
  StatisticsRecorder recorder(statistics, labels, rng, options.draws);
  sampling::SamplingHooks hooks;
  hooks.recorder = &recorder;
  sampling::sample(*problem.target(labels), options, hooks);
  replicate.seen = recorder.seen();
  replicate.effective = static_cast<double>(options.draws);
  for (Index k = 0; k < replicate.seen.cols(); ++k) {
    const double effective = sampling::ess_bulk(replicate.seen.col(k));
    replicate.effective = effective < replicate.effective ? effective : replicate.effective;
  }
  return replicate;
}

/// 2^k - 1 draws, so that there are 2^k ranks.
Index draws_to_rank(const std::vector<Replicate>& replicates) {
  std::vector<double> effective;
  for (const Replicate& one : replicates) effective.push_back(one.effective);
  std::sort(effective.begin(), effective.end());
  const auto at = static_cast<std::size_t>(kShareOfShort * static_cast<double>(effective.size()));
  const double most = std::min(effective[at], static_cast<double>(replicates.front().seen.rows()));
  Index draws = kFewestRanked;
  while (draws < kMostRanked && static_cast<double>(2 * draws + 1) <= most) draws = 2 * draws + 1;
  return std::min(draws, replicates.front().seen.rows());
}

}  // namespace

double uniformity_p_value(const std::vector<double>& values) {
  double sums[kDegrees + 1] = {};
  for (const double value : values) {
    const double x = 2.0 * value - 1.0;
    double before = 1.0, now = x;  // Legendre polynomials
    for (int k = 1; k <= kDegrees; ++k) {
      sums[k] += std::sqrt(2.0 * k + 1.0) * now;
      before = std::exchange(now, ((2.0 * k + 1.0) * x * now - k * before) / (k + 1.0));
    }
  }
  double square = 0.0;
  for (const double sum : sums) square += sum * sum / static_cast<double>(values.size());
  return std::exp(-0.5 * square) * (1.0 + 0.5 * square);
}

std::optional<SampledCalibration> calibrate(const CalibrationProblem& problem,
                                            const sampling::SamplerOptions& options, int networks,
                                            std::size_t point, Observer& observer) {
  sampling::SamplerOptions one = options;
  one.chains = 1;
  one.replicas = 1;
  one.threads = 1;
  one.starts.clear();
  const Statistics statistics(problem.architecture, problem.test_features.rows());
  std::vector<Replicate> replicates(static_cast<std::size_t>(networks));
  const int threads = resolve_threads(options.threads);
  for (int begin = 0; begin < networks; begin += threads) {
    if (observer.interrupted()) return std::nullopt;
    observer.progress("calibrating", begin, networks);
    parallel_for(std::min(threads, networks - begin), threads, [&](Index i) {
      const auto k = static_cast<std::size_t>(begin + i);
      replicates[k] = replicate_of(problem, statistics, one, point_stream(point, k));
    });
  }
  observer.progress("calibrating", networks, networks);
  SampledCalibration result;
  result.statistics = statistics.names();
  result.draws = draws_to_rank(replicates);
  const Index count = std::ssize(statistics.names());
  result.ranks.resize(networks, count);
  result.p_values.resize(count);
  for (Index k = 0; k < count; ++k) {
    Rng rng(options.seed, StreamPurpose::kPrior,
            kFirstCalibrationStream +
                point_stream(point, sampling::kMostDraws + static_cast<std::uint64_t>(k)));
    std::vector<double> uniform;
    for (int r = 0; r < networks; ++r) {
      const Replicate& one_of = replicates[static_cast<std::size_t>(r)];
      Index rank = 0;
      std::uint64_t equal = 0;  // as of an example without features, whose prediction is always 0
      for (Index i = 1; i <= result.draws; ++i) {
        const Index draw = i * one_of.seen.rows() / result.draws - 1;
        rank += one_of.seen(draw, k) < one_of.truth[k] ? 1 : 0;
        equal += one_of.seen(draw, k) == one_of.truth[k] ? 1 : 0;
      }
      if (equal > 0) rank += static_cast<Index>(rng.uniform_index(equal + 1));
      result.ranks(r, k) = static_cast<double>(rank);
      uniform.push_back((static_cast<double>(rank) + rng.uniform()) /
                        static_cast<double>(result.draws + 1));
    }
    result.p_values[k] = uniformity_p_value(uniform);
  }
  result.p_value =
      std::min(1.0, static_cast<double>(count) * result.p_values.minCoeff<Eigen::PropagateNaN>());
  return result;
}

}  // namespace headway
