#include "verbs/theory/sample_summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "headway/core/rng.hpp"
#include "headway/core/text.hpp"
#include "headway/numerics/statistics.hpp"
#include "headway/sampling/diagnostics.hpp"

namespace headway {
namespace {

/// Mean, sd and diagnostics of every entry of one matrix from the records; `offset` is its first
/// entry in a draw.
SampledMatrix summarize_matrix(const std::vector<ChainRecord>& chains, Index draws, Index entries,
                               Index offset, Index n) {
  SampledMatrix result;
  const Index chain_count = static_cast<Index>(chains.size());
  for (MatrixXd* m :
       {&result.mean, &result.sd, &result.mcse, &result.rhat, &result.ess_bulk, &result.ess_tail}) {
    m->resize(n, n);
  }
  result.draws = Tensor({chain_count, draws, n, n});
  MatrixXd series(draws, chain_count);
  for (Index i = 0, k = offset; i < n; ++i) {
    for (Index j = 0; j <= i; ++j, ++k) {
      for (Index c = 0; c < chain_count; ++c) {
        for (Index d = 0; d < draws; ++d) {
          const double value = chains[static_cast<std::size_t>(c)]
                                   .entries[static_cast<std::size_t>(d * entries + k)];
          series(d, c) = value;
          double* matrix = result.draws.values.data() + (c * draws + d) * n * n;
          matrix[i * n + j] = matrix[j * n + i] = value;
        }
      }
      const sampling::QuantityDiagnostics q = sampling::diagnose_quantity(series);
      result.mean(i, j) = result.mean(j, i) = q.mean;
      result.sd(i, j) = result.sd(j, i) = q.sd;
      result.mcse(i, j) = result.mcse(j, i) = q.mcse_mean;
      result.rhat(i, j) = result.rhat(j, i) = q.rhat;
      result.ess_bulk(i, j) = result.ess_bulk(j, i) = q.ess_bulk;
      result.ess_tail(i, j) = result.ess_tail(j, i) = q.ess_tail;
    }
  }
  return result;
}

double smaller(double a, double b) {
  return std::isnan(a) ? b : std::isnan(b) ? a : std::min(a, b);
}
double larger(double a, double b) { return std::isnan(a) ? b : std::isnan(b) ? a : std::max(a, b); }

void note_matrix(const SampledMatrix& m, SamplePoint& point) {
  for (Index i = 0; i < m.mean.rows(); ++i) {
    for (Index j = 0; j <= i; ++j) {
      note_extremes(m.rhat(i, j), m.ess_bulk(i, j), m.ess_tail(i, j), point);
    }
  }
}

constexpr int kMeansDrawn = 400;
constexpr std::uint64_t kMeansStream = 6;  // of kResampledExamples

/// Errors from the spread of the chains, which are independent: right at any autocorrelation, but
/// known to a factor of 1 +- 1/sqrt(2 (chains - 1)) only. Those of the accuracy and of the squared
/// error are their distances, root mean square, when the mean is drawn with the covariance that the
/// chains give it. Examples at the boundary of the classes move together, so accuracies of single
/// chains tell too little.
void summarize_predictor_errors(const std::vector<ChainRecord>& chains,
                                const Evaluation& evaluation, SamplePoint& point) {
  const MatrixXd& mean = point.predictor.mean;
  MatrixXd squares = MatrixXd::Zero(mean.rows(), mean.cols());
  std::vector<MatrixXd> distances;  // of each chain's own mean
  for (const ChainRecord& chain : chains) {
    if (chain.predictors.count == 0) continue;
    distances.push_back(chain.predictors.mean.topRows(mean.rows()) - mean);
    squares += distances.back().cwiseAbs2();
  }
  const auto count = static_cast<double>(distances.size());
  if (count < 2.0) {
    point.predictor_mcse = MatrixXd::Constant(mean.rows(), mean.cols(), kUndefined);
    return;
  }
  const double scale = 1.0 / std::sqrt(count * (count - 1.0));
  point.predictor_mcse = (squares / (count * (count - 1.0))).cwiseSqrt();
  Rng rng(0, StreamPurpose::kResampledExamples, kMeansStream);
  double accuracy = 0.0, squared_error = 0.0;  // sums of squared distances
  for (int draw = 0; draw < kMeansDrawn; ++draw) {
    MatrixXd drawn = mean;
    for (const MatrixXd& distance : distances) drawn += scale * rng.normal() * distance;
    const theory::PredictorStatistics moved = test_statistics(evaluation, drawn);
    accuracy += std::pow(moved.accuracy - point.predictor.accuracy, 2);
    squared_error += std::pow(moved.mean_squared_error - point.predictor.mean_squared_error, 2);
  }
  point.accuracy_mcse = std::sqrt(accuracy / kMeansDrawn);
  point.mean_squared_error_mcse = std::sqrt(squared_error / kMeansDrawn);
}

void summarize_predictor(const std::vector<ChainRecord>& chains, const Evaluation& evaluation,
                         SamplePoint& point) {
  numerics::MatrixMoments predictors;
  MatrixXd variance;  // summed over draws
  std::vector<double> accuracies;
  for (const ChainRecord& chain : chains) {
    if (chain.predictors.count == 0) continue;
    if (variance.size() == 0) {
      variance = chain.variance_sum;
    } else {
      variance += chain.variance_sum;
    }
    predictors.add(chain.predictors);
    accuracies.insert(accuracies.end(), chain.accuracies.begin(), chain.accuracies.end());
  }
  if (predictors.count == 0) return;
  const auto count = static_cast<double>(predictors.count);
  // Law of total variance: Var f = E[variance given the draw] + Var[mean given the draw].
  point.predictor =
      report_evaluation(evaluation, {predictors.mean, variance / count + predictors.variance()});
  summarize_predictor_errors(chains, evaluation, point);
  const Eigen::Map<const VectorXd> a(accuracies.data(), static_cast<Index>(accuracies.size()));
  const numerics::Moments over_draws = numerics::moments(a);
  point.accuracy_mean = over_draws.mean;
  point.accuracy_sd = std::sqrt(over_draws.squares / std::max(1.0, count - 1.0));
}

}  // namespace

void note_extremes(double rhat, double ess_bulk, double ess_tail, SamplePoint& point) {
  point.rhat_max = larger(point.rhat_max, rhat);
  point.ess_bulk_min = smaller(point.ess_bulk_min, ess_bulk);
  point.ess_tail_min = smaller(point.ess_tail_min, ess_tail);
}

void describe_run(const sampling::SamplingResult& result, SamplePoint& point) {
  const sampling::SamplingSummary& summary = result.summary;
  const sampling::KeptDraws& kept = result.kept;
  point.complete = summary.complete;
  point.biased = summary.biased;
  point.warnings = summary.warnings;
  point.chains = static_cast<int>(kept.chains.size());
  point.divergences = 0;
  const auto chains = static_cast<double>(kept.chains.size());
  double acceptance = 0.0;
  double step = 0.0;
  point.energies.resize(kept.draws, static_cast<Index>(kept.chains.size()));
  for (Index i = 0; i < point.energies.cols(); ++i) {
    const auto c = static_cast<std::size_t>(kept.chains[static_cast<std::size_t>(i)]);
    point.divergences += summary.divergences[c];
    point.ebfmi_min = smaller(point.ebfmi_min, summary.ebfmi[c]);
    acceptance += summary.mean_acceptance[c] / chains;
    step += summary.step_size[c] / chains;
    const auto& statistics = result.state.chains[c].statistics;
    for (Index d = 0; d < kept.draws; ++d) {
      point.energies(d, i) = statistics[static_cast<std::size_t>(d)].log_density;
    }
  }
  point.mean_acceptance = acceptance;
  point.step_size = step;
}

void summarize_record(const std::vector<ChainRecord>& chains, const std::vector<Index>& sizes,
                      const Evaluation& evaluation, SamplePoint& point) {
  Index draws = std::numeric_limits<Index>::max();
  for (const ChainRecord& chain : chains) draws = std::min(draws, chain.draws);
  point.draws = draws;
  Index entries = 0;
  for (Index n : sizes) entries += n * (n + 1) / 2;
  Index offset = 0;
  for (std::size_t l = 0; l < sizes.size(); ++l) {
    SampledMatrix matrix = summarize_matrix(chains, draws, entries, offset, sizes[l]);
    note_matrix(matrix, point);
    offset += sizes[l] * (sizes[l] + 1) / 2;
    if (l + 1 < sizes.size()) {
      point.order_parameters.push_back(std::move(matrix));
    } else {
      point.readout_order_parameter = std::move(matrix);
    }
  }
  summarize_predictor(chains, evaluation, point);
}

MatrixXd recorded_positions(const std::vector<ChainRecord>& chains, Index dimension, Index draws) {
  MatrixXd all(dimension, draws * static_cast<Index>(chains.size()));
  Index column = 0;
  for (const ChainRecord& chain : chains) {
    all.middleCols(column, draws) =
        Eigen::Map<const MatrixXd>(chain.positions.data(), dimension, draws);
    column += draws;
  }
  return all;
}

void judge_diagnostics(SamplePoint& point) {
  if (!point.complete) return;  // interrupted: no more draws need be asked for
  if (point.rhat_max > kUsableRhat) {
    point.warnings.push_back(fmt::format(
        "R-hat {} > {}: the chains have not mixed. Raise sample.warmup and sample.draws",
        short_number_text(point.rhat_max), kUsableRhat));
  } else if (point.rhat_max > kGoodRhat) {
    point.warnings.push_back(
        fmt::format("R-hat {:.3f} > {}: error bars are too small. Raise sample.draws",
                    point.rhat_max, kGoodRhat));
  }
  const double wanted = 100.0 * point.chains;
  if (point.ess_bulk_min < wanted) {
    point.warnings.push_back(fmt::format(
        "the slowest entry of U has {:.0f} effective draws, fewer than {:.0f}. Raise sample.draws",
        point.ess_bulk_min, wanted));
  }
}

}  // namespace headway
