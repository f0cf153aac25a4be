#include "verbs/theory/calibration.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>

#include "headway/core/clock.hpp"
#include "headway/core/parallel.hpp"
#include "headway/core/rng.hpp"
#include "headway/error.hpp"
#include "headway/sampling/diagnostics.hpp"
#include "headway/sampling/limits.hpp"
#include "headway/sampling/sample.hpp"

namespace headway {
namespace {

constexpr Index kMostEntries = 6;      // of U_1 that are ranked
constexpr Index kMostPredictions = 4;  // that are ranked
constexpr double kShareOfShort = 0.1;  // of the chains that may have fewer effective draws
constexpr Index kFewestRanked = 7, kMostRanked = 127;
constexpr int kDegrees = 4;
// Streams that neither the evidence nor the chains of a point have. A network has as many of them
// as it may have replicas, and a point as many as it may have networks.
constexpr std::uint64_t kFirstCalibrationStream = std::uint64_t{1} << 51U;
constexpr unsigned kNetworkBits = 16, kPointBits = 36;
static_assert(sampling::kMostChains * sampling::kMostReplicas <= 1 << kNetworkBits);

/// What is ranked, of a network or of a draw.
class Statistics {
 public:
  explicit Statistics(const CalibrationProblem& problem)
      : kind_(problem.kind), predictions_(std::min(kMostPredictions, problem.test_examples)) {
    const model::Architecture& a = problem.architecture;
    const bool exchangeable = kind_ == SampledNetwork::kLearnedAttention;
    const Index order = exchangeable ? 0 : a.outputs * a.paths();
    for (Index i = 0; i < order; ++i) {
      for (Index j = 0; j <= i && std::ssize(entries_) < kMostEntries; ++j) {
        entries_.emplace_back(i, j);
      }
    }
    names_ = {"squared residual", a.outputs == 1 ? "U_a" : "trace of U_a"};
    for (const auto& [i, j] : entries_) names_.push_back(fmt::format("U_1[{},{}]", i + 1, j + 1));
    for (int l = exchangeable ? 1 : 2; l <= a.layers(); ++l) {
      names_.push_back(fmt::format("trace of U_{}", l));
    }
    if (exchangeable) names_.emplace_back("largest attention");
    if (kind_ == SampledNetwork::kHiddenWeights) names_.emplace_back("trace of S");
    if (kind_ != SampledNetwork::kLinear) names_.emplace_back("log likelihood");
    for (Index i = 1; i <= predictions_; ++i) names_.push_back(fmt::format("f[{}]", i));
  }
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }
  [[nodiscard]] Index count() const { return std::ssize(names_); }
  [[nodiscard]] Index predictions() const { return predictions_; }

  /// `test`: f on the test examples, one output at least.
  [[nodiscard]] VectorXd of(const posterior::PosteriorDraw& draw, const MatrixXd& residual,
                            const VectorXd& test) const {
    const theory::OrderParameters& u = draw.order_parameters;
    std::vector<double> values = {residual.squaredNorm(), u.readout.trace()};
    for (const auto& [i, j] : entries_) values.push_back(u.layers.front()(i, j));
    for (std::size_t l = entries_.empty() ? 0 : 1; l < u.layers.size(); ++l) {
      values.push_back(u.layers[l].trace());
    }
    if (kind_ == SampledNetwork::kLearnedAttention) values.push_back(draw.attention_largest);
    if (kind_ == SampledNetwork::kHiddenWeights) values.push_back(draw.feature_covariance.trace());
    if (kind_ != SampledNetwork::kLinear) values.push_back(draw.log_likelihood);
    for (Index i = 0; i < predictions_; ++i) values.push_back(test[i]);
    return Eigen::Map<const VectorXd>(values.data(), std::ssize(values));
  }

 private:
  SampledNetwork kind_;
  Index predictions_;
  std::vector<std::pair<Index, Index>> entries_;
  std::vector<std::string> names_;
};

class StatisticsRecorder final : public sampling::DrawRecorder {
 public:
  StatisticsRecorder(const Statistics& statistics, const MatrixXd& labels, Rng& rng, Index draws)
      : statistics_(statistics), labels_(labels), rng_(rng), seen_(draws, statistics.count()) {}
  void record(const sampling::Draw& draw, sampling::Target& target) override {
    auto& posterior = dynamic_cast<posterior::PosteriorTarget&>(target);
    const posterior::PosteriorDraw drawn =
        posterior.observe(draw.position, statistics_.predictions() > 0);
    VectorXd test(statistics_.predictions());
    for (Index i = 0; i < test.size(); ++i) {
      test[i] = drawn.mean(i, 0) + std::sqrt(std::max(0.0, drawn.variance(i, 0))) * rng_.normal();
    }
    seen_.row(draw.index) =
        statistics_.of(drawn, labels_ - posterior.draw_training_output(draw.position, rng_), test);
  }
  [[nodiscard]] const MatrixXd& seen() const { return seen_; }  // draws x statistics

 private:
  const Statistics& statistics_;
  const MatrixXd& labels_;
  Rng& rng_;
  MatrixXd seen_;
};

/// Asks whether to stop, and says nothing.
class StopObserver final : public Observer {
 public:
  explicit StopObserver(const Observer& observer) : observer_(observer) {}
  [[nodiscard]] bool interrupted() const override { return observer_.interrupted(); }

 private:
  const Observer& observer_;
};

/// Numbers of draws that a network may be ranked among: 2^k - 1, for 2^k ranks.
std::vector<Index> levels_of(Index draws) {
  std::vector<Index> levels;
  for (Index level = kFewestRanked; level <= std::min(draws, kMostRanked); level = 2 * level + 1) {
    levels.push_back(level);
  }
  if (levels.empty()) levels.push_back(draws);
  return levels;
}

/// What is kept of a network: its effective draws, of the statistic that has fewest; then, for each
/// level and statistic, how many draws lie below the network, and how many are equal to it, as of
/// an example without features, whose prediction is always 0.
VectorXd counts_of(const VectorXd& truth, const MatrixXd& seen) {
  const std::vector<Index> levels = levels_of(seen.rows());
  VectorXd counts = VectorXd::Zero(1 + 2 * std::ssize(levels) * truth.size());
  counts[0] = static_cast<double>(seen.rows());
  for (Index k = 0; k < seen.cols(); ++k) {
    const double effective = sampling::ess_bulk(seen.col(k));
    counts[0] = effective < counts[0] ? effective : counts[0];
  }
  Index at = 1;
  for (const Index level : levels) {
    for (Index k = 0; k < truth.size(); ++k, at += 2) {
      for (Index i = 1; i <= level; ++i) {
        const Index draw = i * seen.rows() / level - 1;
        counts[at] += seen(draw, k) < truth[k] ? 1.0 : 0.0;
        counts[at + 1] += seen(draw, k) == truth[k] ? 1.0 : 0.0;
      }
    }
  }
  return counts;
}

/// The counts of a network, or nothing when interrupted.
std::optional<VectorXd> run_network(const CalibrationProblem& problem, const Statistics& statistics,
                                    const sampling::SamplerOptions& options, std::uint64_t stream,
                                    Observer& stop) {
  Rng rng(options.seed, StreamPurpose::kPrior, kFirstCalibrationStream + stream);
  PriorNetwork network = problem.network(rng);
  MatrixXd noise(network.train.rows(), network.train.cols());
  rng.fill_normal({noise.data(), static_cast<std::size_t>(noise.size())});
  noise *= std::sqrt(problem.temperature);
  const MatrixXd labels = network.train + noise;
  const std::unique_ptr<sampling::Target> target = problem.target(labels);
  if (network.position) {
    network.seen =
        dynamic_cast<posterior::PosteriorTarget&>(*target).observe(*network.position, false);
  }
  const VectorXd truth = statistics.of(network.seen, noise, network.test.col(0));
  StatisticsRecorder recorder(statistics, labels, rng, options.draws);
  const sampling::SamplingHooks hooks{.observer = &stop, .recorder = &recorder};
  if (!sampling::sample(*target, options, hooks).summary.complete) return std::nullopt;
  return counts_of(truth, recorder.seen());
}

/// Which of the levels nine networks of ten have the effective draws for.
Index level_to_rank(const MatrixXd& counts, const std::vector<Index>& levels) {
  std::vector<double> effective(counts.col(0).begin(), counts.col(0).end());
  std::sort(effective.begin(), effective.end());
  const auto at = static_cast<std::size_t>(kShareOfShort * static_cast<double>(effective.size()));
  Index level = 0;
  while (level + 1 < std::ssize(levels) &&
         static_cast<double>(levels[static_cast<std::size_t>(level) + 1]) <= effective[at]) {
    ++level;
  }
  return level;
}

SampledCalibration ranks_of(const Statistics& statistics, const MatrixXd& counts,
                            const sampling::SamplerOptions& options, std::size_t point) {
  SampledCalibration result;
  result.statistics = statistics.names();
  const std::vector<Index> levels = levels_of(options.draws);
  const Index level = level_to_rank(counts, levels);
  result.draws = levels[static_cast<std::size_t>(level)];
  const Index count = statistics.count();
  result.ranks.resize(counts.rows(), count);
  result.p_values.resize(count);
  for (Index k = 0; k < count; ++k) {
    Rng rng(options.seed, StreamPurpose::kPrior,
            kFirstCalibrationStream +
                point_stream(point, sampling::kMostDraws + static_cast<std::uint64_t>(k)));
    std::vector<double> uniform;
    for (Index r = 0; r < counts.rows(); ++r) {
      const Index at = 1 + 2 * (level * count + k);
      const auto equal = static_cast<std::uint64_t>(counts(r, at + 1));
      double rank = counts(r, at);
      if (equal > 0) rank += static_cast<double>(rng.uniform_index(equal + 1));
      result.ranks(r, k) = rank;
      uniform.push_back((rank + rng.uniform()) / static_cast<double>(result.draws + 1));
    }
    result.p_values[k] = uniformity_p_value(uniform);
  }
  result.p_value =
      std::min(1.0, static_cast<double>(count) * result.p_values.minCoeff<Eigen::PropagateNaN>());
  return result;
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
                                            const sampling::SamplerOptions& options,
                                            const CalibrationRun& run, Observer& observer) {
  sampling::SamplerOptions one = options;
  one.chains = 1;
  one.threads = 1;
  one.starts.clear();
  const Statistics statistics(problem);
  StopObserver stop(observer);
  const Index width = 1 + 2 * std::ssize(levels_of(options.draws)) * statistics.count();
  MatrixXd own;
  MatrixXd& done = run.done != nullptr ? *run.done : own;
  if (done.size() == 0) done.resize(0, width);
  if (done.cols() != width || done.rows() > run.networks) {
    throw Error(ErrorKind::kBadData, "checkpoint: the calibration in it belongs to another study");
  }
  const int threads = resolve_threads(options.threads);
  Clock::time_point saved = Clock::now();
  while (done.rows() < run.networks) {
    const Index begin = done.rows();
    observer.progress("calibrating", static_cast<double>(begin), run.networks);
    const Index together = std::min<Index>(threads, run.networks - begin);
    std::vector<std::optional<VectorXd>> counts(static_cast<std::size_t>(together));
    parallel_for(together, threads, [&](Index i) {
      const auto k = static_cast<std::uint64_t>(begin + i);
      sampling::SamplerOptions mine = one;
      mine.first_stream =
          kFirstCalibrationStream + (std::uint64_t{run.point} << kPointBits) + (k << kNetworkBits);
      counts[static_cast<std::size_t>(i)] =
          run_network(problem, statistics, mine, point_stream(run.point, k), stop);
    });
    for (const std::optional<VectorXd>& row : counts) {
      if (!row) break;
      done.conservativeResize(done.rows() + 1, Eigen::NoChange);
      done.row(done.rows() - 1) = row->transpose();
    }
    const bool ends = done.rows() < begin + together;
    const bool due =
        options.checkpoint_seconds > 0.0 && seconds_since(saved) > options.checkpoint_seconds;
    if (run.save && (ends || due)) {
      run.save();
      saved = Clock::now();
    }
    if (ends) return std::nullopt;
  }
  observer.progress("calibrating", run.networks, run.networks);
  return ranks_of(statistics, done, options, run.point);
}

}  // namespace headway
