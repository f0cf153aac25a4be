#include "ladder.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "headway/error.hpp"
#include "headway/sampling/limits.hpp"

namespace headway::sampling {
namespace {

// Rounds of the warm-up after which inverse temperatures are chosen anew, up to this share of it.
constexpr std::int64_t kFirstChoice = 25;
constexpr double kChoosingShare = 0.6;
// Rejection that is counted at least, so that neighbours which never reject keep some distance.
constexpr double kSmallestRejection = 0.02;

bool chooses_after(std::int64_t round, int warmup) {
  if (static_cast<double>(round) > kChoosingShare * warmup) return false;
  for (std::int64_t r = kFirstChoice; r <= round; r *= 2) {
    if (r == round) return true;
  }
  return false;
}

// beta_k = ((R - 1 - k) / (R - 1))^3: denser near the prior, where the energy changes fastest.
std::vector<double> first_temperatures(int replicas) {
  std::vector<double> beta;
  for (int k = 0; k < replicas; ++k) {
    const double share = static_cast<double>(replicas - 1 - k) / static_cast<double>(replicas - 1);
    beta.push_back(share * share * share);
  }
  return beta;
}

}  // namespace

Ladder::Ladder(Chain& main, const Target& target, const SamplerOptions& options, ChainState& state,
               StopSignal* stop)
    : main_(main),
      options_(options),
      state_(state),
      stop_(stop),
      rng_(options.seed, StreamPurpose::kReplicaExchange, stream_of(options, state.chain)) {
  if (dynamic_cast<const TemperedTarget*>(&target) == nullptr) {
    throw Error(ErrorKind::kBadStudy,
                "sampler option replicas: must be 1: this target has no temperature");
  }
  if (state.started) {
    rng_ = Rng(state.ladder.rng);
  } else {
    const auto count = static_cast<std::size_t>(options.replicas);
    LadderState& ladder = state_.ladder;
    ladder.inverse_temperatures = options.inverse_temperatures.empty()
                                      ? first_temperatures(options.replicas)
                                      : options.inverse_temperatures;
    ladder.log_likelihood.assign(count, 0.0);
    ladder.rejected.assign(count - 1, 0.0);
    ladder.attempts.assign(count - 1, 0.0);
    state_.replicas.resize(count - 1);
    for (ChainState& replica : state_.replicas) replica.chain = state.chain;
  }
  for (int k = 1; k < options.replicas; ++k) {
    auto replica = std::make_unique<Replica>();
    replica->options = options;
    replica->options.replicas = 1;
    replica->options.inverse_temperatures.clear();
    replica->options.starts.clear();
    replica->options.keep_draws = false;
    replica->options.first_stream += static_cast<std::uint64_t>(k) * kMostChains;
    if (k + 1 == options.replicas) replica->options.sampler = SamplerKind::kSweep;
    replica->chain =
        std::make_unique<Chain>(target.clone(), replica->options,
                                state_.replicas[static_cast<std::size_t>(k - 1)], nullptr, stop);
    replicas_.push_back(std::move(replica));
  }
  set_temperatures();
}

Chain& Ladder::at(std::size_t replica) {
  return replica == 0 ? main_ : *replicas_[replica - 1]->chain;
}

void Ladder::tell(std::size_t replica) {
  if (stop_ == nullptr) return;
  stop_->moves(state_.chain, replica, state_.ladder.inverse_temperatures[replica]);
}

void Ladder::set_temperatures() {
  for (std::size_t k = 0; k <= replicas_.size(); ++k) {
    at(k).temper(state_.ladder.inverse_temperatures[k]);
  }
}

void Ladder::start() {
  for (const auto& replica : replicas_) replica->chain->start();
  for (std::size_t k = 0; k <= replicas_.size(); ++k) {
    state_.ladder.log_likelihood[k] = at(k).log_likelihood();
  }
}

bool Ladder::advance() {
  LadderState& ladder = state_.ladder;
  if (ladder.next == 0) {
    exchange();
    ladder.next = 1;
  }
  while (ladder.next <= static_cast<std::int64_t>(replicas_.size())) {
    const auto k = static_cast<std::size_t>(ladder.next);
    ChainState& state = state_.replicas[k - 1];
    const std::size_t kept = state.statistics.size();
    tell(k);
    if (!at(k).step()) return false;
    ladder.log_likelihood[k] = at(k).log_likelihood();
    if (state.statistics.size() > kept) state.log_likelihoods.push_back(ladder.log_likelihood[k]);
    ++ladder.next;
  }
  tell(0);  // the chain itself is next
  return true;
}

void Ladder::end_round(bool kept) {
  LadderState& ladder = state_.ladder;
  ladder.log_likelihood[0] = main_.log_likelihood();
  if (kept) state_.log_likelihoods.push_back(ladder.log_likelihood[0]);
  ladder.next = 0;
  ++ladder.rounds;
  if (!options_.inverse_temperatures.empty()) return;
  if (chooses_after(ladder.rounds, options_.warmup)) choose_temperatures();
}

void Ladder::exchange() {
  LadderState& ladder = state_.ladder;
  std::vector<double>& l = ladder.log_likelihood;
  const std::vector<double>& beta = ladder.inverse_temperatures;
  for (std::size_t k = ladder.rounds % 2 == 0 ? 0 : 1; k + 1 < l.size(); k += 2) {
    const double log_ratio = (beta[k] - beta[k + 1]) * (l[k + 1] - l[k]);
    const double probability = std::isnan(log_ratio) ? 0.0 : std::min(1.0, std::exp(log_ratio));
    ladder.rejected[k] += 1.0 - probability;
    ladder.attempts[k] += 1.0;
    if (!(rng_.uniform() < probability)) continue;
    const VectorXd position = at(k).position();
    at(k).move_to(at(k + 1).position());
    at(k + 1).move_to(position);
    std::swap(l[k], l[k + 1]);
    if (state_.iteration >= options_.warmup) ++ladder.exchanges;
  }
}

void Ladder::choose_temperatures() {
  LadderState& ladder = state_.ladder;
  const std::vector<double> beta = ladder.inverse_temperatures;
  // sum[k]: rejections of the neighbours from the prior up to replica k.
  std::vector<double> sum(beta.size(), 0.0);
  for (std::size_t k = beta.size() - 1; k-- > 0;) {
    const double mean =
        ladder.attempts[k] > 0.0 ? ladder.rejected[k] / ladder.attempts[k] : kSmallestRejection;
    sum[k] = sum[k + 1] + std::max(mean, kSmallestRejection);
    ladder.rejected[k] = ladder.attempts[k] = 0.0;
  }
  for (std::size_t k = 1; k + 1 < beta.size(); ++k) {
    const double wanted =
        sum[0] * (1.0 - static_cast<double>(k) / static_cast<double>(beta.size() - 1));
    std::size_t below = beta.size() - 1;  // the first replica, from the prior, that reaches it
    while (below > 1 && sum[below - 1] < wanted) --below;
    const double share = (wanted - sum[below]) / (sum[below - 1] - sum[below]);
    ladder.inverse_temperatures[k] = beta[below] + share * (beta[below - 1] - beta[below]);
  }
  set_temperatures();
  for (std::size_t k = 1; k < beta.size(); ++k) at(k).move_to(VectorXd(at(k).position()));
}

void Ladder::save() {
  for (const auto& replica : replicas_) replica->chain->save();
  state_.ladder.rng = rng_.state();
}

}  // namespace headway::sampling
