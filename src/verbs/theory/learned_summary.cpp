#include "verbs/theory/learned_summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "headway/posterior/tempered_evidence.hpp"
#include "headway/sampling/diagnostics.hpp"
#include "verbs/theory/sample_summary.hpp"

namespace headway {
namespace {

constexpr Index kNumbersADraw = 3;      // of ChainRecord::attention
constexpr double kWrongEvidence = 3.0;  // errors between the two ways, from which they disagree
constexpr double kSmallestExchange = 0.1;

/// What the matrix of one draw says whatever the order of heads. `lower`: its lower triangle, row
/// by row.
void append_invariants(const double* lower, Index n, std::vector<double>& out) {
  std::vector<double> diagonal;
  double squares = 0.0;
  double trace = 0.0;
  for (Index i = 0; i < n; ++i) {
    for (Index j = 0; j <= i; ++j, ++lower) {
      squares += (i == j ? 1.0 : 2.0) * *lower * *lower;
      if (i == j) diagonal.push_back(*lower);
    }
    trace += diagonal.back();
  }
  std::sort(diagonal.begin(), diagonal.end());
  out.insert(out.end(), diagonal.begin(), diagonal.end());
  if (n == 1) return;
  out.push_back(trace);
  out.push_back(squares);
}

/// One number of ChainRecord::attention, draws x chains.
MatrixXd attention_draws(const std::vector<ChainRecord>& chains, Index draws, Index number) {
  MatrixXd series(draws, static_cast<Index>(chains.size()));
  for (Index c = 0; c < series.cols(); ++c) {
    for (Index d = 0; d < draws; ++d) {
      series(d, c) = chains[static_cast<std::size_t>(c)]
                         .attention[static_cast<std::size_t>(d * kNumbersADraw + number)];
    }
  }
  return series;
}

Tensor by_chain(const MatrixXd& series) {
  Tensor tensor({series.cols(), series.rows()});
  std::copy_n(series.data(), series.size(), tensor.values.begin());
  return tensor;
}

void note_quantity(const sampling::QuantityDiagnostics& q, SamplePoint& point) {
  note_extremes(q.rhat, q.ess_bulk, q.ess_tail, point);
}

}  // namespace

void summarize_attention(const std::vector<ChainRecord>& chains, const std::vector<Index>& sizes,
                         SamplePoint& point) {
  const Index draws = point.draws;
  const auto count = static_cast<Index>(chains.size());
  Index entries = 0;
  for (const Index n : sizes) entries += n * (n + 1) / 2;
  point.rhat_max = point.ess_bulk_min = point.ess_tail_min = kUndefined;
  std::vector<MatrixXd> series;
  for (Index c = 0; c < count; ++c) {
    for (Index d = 0; d < draws; ++d) {
      const double* at = chains[static_cast<std::size_t>(c)].entries.data() + d * entries;
      std::vector<double> numbers;
      for (const Index n : sizes) {
        append_invariants(at, n, numbers);
        at += n * (n + 1) / 2;
      }
      if (series.empty()) series.assign(numbers.size(), MatrixXd(draws, count));
      for (std::size_t i = 0; i < numbers.size(); ++i) series[i](d, c) = numbers[i];
    }
  }
  for (const MatrixXd& one : series) note_quantity(sampling::diagnose_quantity(one), point);
  SampledAttention& attention = point.attention.emplace();
  const MatrixXd entropy = attention_draws(chains, draws, 0);
  const MatrixXd largest = attention_draws(chains, draws, 1);
  const MatrixXd log_likelihood = attention_draws(chains, draws, 2);
  const sampling::QuantityDiagnostics e = sampling::diagnose_quantity(entropy);
  const sampling::QuantityDiagnostics l = sampling::diagnose_quantity(largest);
  if (!e.not_finite) note_quantity(e, point);
  note_quantity(l, point);
  note_quantity(sampling::diagnose_quantity(log_likelihood), point);
  attention.entropy_mean = e.mean;
  attention.entropy_mcse = e.mcse_mean;
  attention.largest_mean = l.mean;
  attention.largest_mcse = l.mcse_mean;
  attention.entropy = by_chain(entropy);
  attention.largest = by_chain(largest);
  attention.log_likelihood = by_chain(log_likelihood);
}

ReplicaEvidence summarize_replicas(const sampling::Checkpoint& state, double data_count,
                                   SamplePoint& point) {
  std::vector<posterior::TemperedDraws> chains;
  double exchanges = 0.0;
  double attempts = 0.0;
  for (const sampling::ChainState& chain : state.chains) {
    posterior::TemperedDraws one{chain.ladder.inverse_temperatures, {}};
    const auto replicas = static_cast<Index>(chain.replicas.size()) + 1;
    one.log_likelihoods.resize(point.draws, replicas);
    for (Index k = 0; k < replicas; ++k) {
      const std::vector<double>& l =
          k == 0 ? chain.log_likelihoods
                 : chain.replicas[static_cast<std::size_t>(k - 1)].log_likelihoods;
      one.log_likelihoods.col(k) = Eigen::Map<const VectorXd>(l.data(), point.draws);
    }
    for (std::size_t k = 0; k < chain.ladder.attempts.size(); ++k) {
      attempts += chain.ladder.attempts[k];
      exchanges += chain.ladder.attempts[k] - chain.ladder.rejected[k];
    }
    chains.push_back(std::move(one));
  }
  ReplicaEvidence found;
  found.exchange_rate = exchanges / attempts;
  const posterior::TemperedEvidence evidence = posterior::tempered_evidence(chains);
  const double constant = -0.5 * data_count * std::log(2.0 * std::numbers::pi);
  point.log_evidence = evidence.bridge + constant;
  point.log_evidence_error = evidence.bridge_error;
  found.integral = evidence.integral + constant;
  found.integral_error = evidence.integral_error;
  if (std::isnan(point.log_evidence)) {
    point.evidence_reason = "too few draws, or a replica without a finite log likelihood";
    return found;
  }
  if (!evidence.chains_agree) {
    point.warnings.push_back(fmt::format(
        "log evidence differs between chains by more than three times their own errors. Its error, "
        "{:.2g}, includes this. Raise sample.warmup and sample.draws",
        point.log_evidence_error));
  }
  if (evidence.disagreement > kWrongEvidence) {
    point.warnings.push_back(fmt::format(
        "log evidence is {:.3f} by bridge sampling and {:.3f} by thermodynamic integration, more "
        "than {:g} errors apart. Raise sample.replicas or sample.draws",
        point.log_evidence, found.integral, kWrongEvidence));
  }
  if (found.exchange_rate < kSmallestExchange) {
    point.warnings.push_back(
        fmt::format("replicas exchange in {:.0f} % of the trials. Raise sample.replicas",
                    100.0 * found.exchange_rate));
  }
  return found;
}

void keep_attention_weights(const std::vector<ChainRecord>& chains,
                            const posterior::LearnedChain& target, SamplePoint& point) {
  const MatrixXd positions = recorded_positions(chains, target.dimension(), point.draws);
  const model::AttentionPrior& prior = target.coordinates().prior();
  const double deviation = prior.form == model::AttentionPriorForm::kMatrix
                               ? std::sqrt(prior.variance)
                               : std::pow(prior.variance, 0.25);
  SampledAttention& attention = *point.attention;
  attention.weights = Tensor({static_cast<Index>(chains.size()), point.draws, target.weights()});
  Eigen::Map<MatrixXd>(attention.weights.values.data(), target.weights(), positions.cols()) =
      deviation * positions.topRows(target.weights());
  attention.weight_names = target.coordinates().names();
}

}  // namespace headway
