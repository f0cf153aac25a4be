#include "verbs/theory/value_sample.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "headway/core/option_error.hpp"
#include "headway/core/text.hpp"
#include "headway/numerics/symmetric.hpp"
#include "headway/sampling/diagnostics.hpp"
#include "verbs/theory/learned_summary.hpp"
#include "verbs/theory/sample_summary.hpp"
#include "verbs/theory/value_problem.hpp"

namespace headway {
namespace {

// Sums of S over consecutive draws, from which its errors come. They are long beside the
// autocorrelation of chains that mix.
constexpr Index kMostBatches = 20, kShortestBatch = 25;

Index batch_count(Index draws) {
  return std::clamp<Index>(draws / kShortestBatch, 1, kMostBatches);
}

/// How many of the first `made` of `draws` draws lie in batch `b`.
Index batch_draws(Index b, Index made, Index draws) {
  const Index batches = batch_count(draws);
  const auto begin = [&](Index k) { return std::min(made, (k * draws + batches - 1) / batches); };
  return begin(b + 1) - begin(b);
}

std::string fingerprint_of(const Study& study, const tasks::Dataset& dataset,
                           const model::Architecture& architecture, const SweepPoint& sweep) {
  const model::ValueNetwork& network = *study.model.value_network;
  return fmt::format(
      "value network {} nonlinearity {} readout {} attention {} widths {} temperature {:.17g} "
      "variances {} data {}",
      word_of(network.form), word_of(network.nonlinearity), word_of(readout_of(study, dataset)),
      word_of(study.model.attention), join(sweep.widths, ","), sweep.temperature,
      join(architecture.variances, ","), dataset.content_hash);
}

MatrixXd trace_series(const std::vector<ChainRecord>& chains, Index draws) {
  MatrixXd series(draws, static_cast<Index>(chains.size()));
  for (Index c = 0; c < series.cols(); ++c) {
    series.col(c) = Eigen::Map<const VectorXd>(
        chains[static_cast<std::size_t>(c)].feature_traces.data(), draws);
  }
  return series;
}

}  // namespace

void check_value_sampling(const Study& study, const tasks::Dataset& dataset) {
  if (!study.model.value_network || dataset.heads.size() == 1) return;
  throw OptionError(
      fmt::format("model.value_network: {} has {} layers of attention; allowed for sample: one "
                  "layer",
                  dataset.name, dataset.heads.size()),
      {"model.value_network"});
}

std::unique_ptr<posterior::ValueChain> value_target(const Study& study,
                                                    const tasks::Dataset& dataset,
                                                    const TheoryProblem& problem,
                                                    std::shared_ptr<const MatrixXd> labels,
                                                    const SweepPoint& sweep) {
  using Sites = posterior::ValueChain::Sites;
  const model::Architecture architecture = architecture_of(study, dataset, sweep.widths);
  const ValueData& data = *problem.values;
  return std::make_unique<posterior::ValueChain>(
      architecture, sweep.temperature, Sites(problem.values, &data.train), std::move(labels),
      data.evaluated.examples() > 0 ? Sites(problem.values, &data.evaluated) : nullptr,
      fingerprint_of(study, dataset, architecture, sweep));
}

void record_features(const MatrixXd& s, Index draw, Index draws, ChainRecord& chain) {
  const Index batches = batch_count(draws);
  if (chain.feature_sums.size() == 0) {
    chain.feature_sums = MatrixXd::Zero(numerics::symmetric_size(s.rows()), batches);
  }
  chain.feature_sums.col(std::min(batches - 1, draw * batches / draws)) +=
      numerics::symmetric_to_vector(s);
  chain.feature_traces.push_back(s.trace());
}

void summarize_features(const std::vector<ChainRecord>& chains, Index draws, SamplePoint& point) {
  const MatrixXd& first = chains.front().feature_sums;
  if (point.draws == 0 || first.size() == 0) return;
  const Index d =
      (static_cast<Index>(std::sqrt(8.0 * static_cast<double>(first.rows()) + 1.0)) - 1) / 2;
  VectorXd sum = VectorXd::Zero(first.rows());
  std::vector<VectorXd> means;
  double made = 0.0;
  for (const ChainRecord& chain : chains) {
    sum += chain.feature_sums.rowwise().sum();
    made += static_cast<double>(chain.draws);
    for (Index b = 0; b < first.cols(); ++b) {
      const Index count = batch_draws(b, chain.draws, draws);
      if (count > 0 && count == batch_draws(b, draws, draws))
        means.emplace_back(chain.feature_sums.col(b) / static_cast<double>(count));
    }
  }
  const VectorXd mean = sum / made;
  VectorXd squares = VectorXd::Zero(mean.size());
  for (const VectorXd& one : means) squares += (one - mean).cwiseAbs2();
  const auto count = static_cast<double>(means.size());
  SampledFeatures& features = point.features.emplace();
  features.mean = numerics::vector_to_symmetric(mean, d);
  features.mcse = count < 2.0 ? MatrixXd(MatrixXd::Constant(d, d, kUndefined))
                              : numerics::vector_to_symmetric(
                                    (squares / (count * (count - 1.0))).cwiseSqrt(), d);
  features.eigenvalues = numerics::symmetric_eigen(features.mean, false).values.reverse();
  const MatrixXd traces = trace_series(chains, point.draws);
  const sampling::QuantityDiagnostics q = sampling::diagnose_quantity(traces);
  note_extremes(q.rhat, q.ess_bulk, q.ess_tail, point);
  features.traces = Tensor({traces.cols(), traces.rows()});
  std::copy_n(traces.data(), traces.size(), features.traces.values.begin());
}

void summarize_value_evidence(const sampling::SamplingResult& result, int replicas, Index labels,
                              SamplePoint& point) {
  if (replicas <= 1) {
    point.evidence_reason = "the evidence of a value network needs sample.replicas > 1";
    return;
  }
  if (!point.features) return;
  const ReplicaEvidence replica =
      summarize_replicas(result.state, static_cast<double>(labels), point);
  point.features->integral_log_evidence = replica.integral;
  point.features->integral_log_evidence_error = replica.integral_error;
  point.features->exchange_rate = replica.exchange_rate;
}

}  // namespace headway
