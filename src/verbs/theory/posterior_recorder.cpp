#include "verbs/theory/posterior_recorder.hpp"

#include <algorithm>
#include <cmath>

#include "headway/error.hpp"
#include "verbs/theory/value_sample.hpp"

namespace headway {
namespace {

void append_lower(const MatrixXd& u, std::vector<double>& out) {
  for (Index i = 0; i < u.rows(); ++i) {
    for (Index j = 0; j <= i; ++j) out.push_back(u(i, j));
  }
}

}  // namespace

PosteriorRecorder::PosteriorRecorder(std::vector<ChainRecord>& records, bool keep_positions,
                                     Index draws, Index predictor_draws,
                                     const Evaluation& evaluation)
    : records_(records),
      keep_positions_(keep_positions),
      draws_(std::max<Index>(1, draws)),
      predictor_draws_(evaluation.examples() > 0 ? std::min(predictor_draws, draws_) : 0),
      evaluation_(evaluation) {}

void PosteriorRecorder::record(const sampling::Draw& draw, sampling::Target& target) {
  auto* posterior = dynamic_cast<posterior::PosteriorTarget*>(&target);
  if (posterior == nullptr)
    throw Error(ErrorKind::kInternal, "sample: the target describes no network");
  ChainRecord& chain = records_.at(static_cast<std::size_t>(draw.chain));
  const bool predict = predicts(chain.draws, predictor_draws_, draws_);
  posterior::PosteriorDraw seen = posterior->observe(draw.position, predict);
  for (const MatrixXd& u : seen.order_parameters.layers) append_lower(u, chain.entries);
  append_lower(seen.order_parameters.readout, chain.entries);
  if (seen.feature_covariance.size() > 0)
    record_features(seen.feature_covariance, chain.draws, draws_, chain);
  if (keep_positions_)
    chain.positions.insert(chain.positions.end(), draw.position.begin(), draw.position.end());
  if (!std::isnan(seen.attention_largest)) {
    for (const double x : {seen.attention_entropy, seen.attention_largest, seen.log_likelihood}) {
      chain.attention.push_back(x);
    }
  }
  ++chain.draws;
  if (!predict) return;
  if (chain.predictors.count == 0) {
    chain.variance_sum = MatrixXd::Zero(seen.variance.rows(), seen.variance.cols());
  }
  chain.predictors.add(seen.mean);
  chain.variance_sum += seen.variance;
  chain.accuracies.push_back(test_statistics(evaluation_, seen.mean).accuracy);
}

}  // namespace headway
