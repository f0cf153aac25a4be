#include "headway/sampling/sample.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <memory>
#include <mutex>
#include <numeric>
#include <span>

#include "chain.hpp"
#include "headway/core/clock.hpp"
#include "headway/core/detail_observer.hpp"
#include "headway/core/parallel.hpp"
#include "headway/error.hpp"
#include "summarize.hpp"

namespace headway::sampling {
namespace {

constexpr std::chrono::milliseconds kProgressPeriod{100};

// Passes messages between chains on several threads and the observer, which is called from one
// thread at a time.
class Desk : public StopSignal {
 public:
  Desk(Observer* observer, int replicas, std::int64_t done, std::int64_t total)
      : observer_(observer), replicas_(replicas), done_(done), total_(total) {}

  bool stop_requested() override {
    if (stop_.load(std::memory_order_relaxed)) return true;
    if (observer_ == nullptr) return false;
    const std::unique_lock<std::mutex> lock(guard_, std::try_to_lock);
    if (lock.owns_lock() && observer_->interrupted()) stop_ = true;
    return stop_.load(std::memory_order_relaxed);
  }

  void transition_done() {
    const std::int64_t done = 1 + done_.fetch_add(1, std::memory_order_relaxed);
    if (observer_ == nullptr) return;
    const std::unique_lock<std::mutex> lock(guard_, std::try_to_lock);
    if (!lock.owns_lock()) return;
    const Clock::time_point now = Clock::now();
    if (now - told_ < kProgressPeriod) return;
    told_ = now;
    tell(done);
  }

  void moves(int chain, std::size_t replica, double inverse_temperature) override {
    if (observer_ == nullptr) return;
    const std::unique_lock<std::mutex> lock(guard_, std::try_to_lock);
    if (!lock.owns_lock()) return;
    const Clock::time_point now = Clock::now();
    if (now - told_of_replica_ < kProgressPeriod) return;
    told_of_replica_ = now;
    tell_detail(*observer_,
                fmt::format("chain {} replica {} of {}", chain + 1, replica + 1, replicas_),
                fmt::format("beta {:.3g}", inverse_temperature));
  }

  // After the threads have ended.
  void tell_all() { tell(done_.load()); }
  [[nodiscard]] bool stopped() const { return stop_.load(); }

 private:
  void tell(std::int64_t done) {
    if (observer_ == nullptr) return;
    observer_->progress("sampling", static_cast<double>(done), static_cast<double>(total_));
  }

  Observer* observer_;
  int replicas_;
  std::atomic<std::int64_t> done_;
  std::int64_t total_;
  std::atomic<bool> stop_{false};
  std::mutex guard_;
  Clock::time_point told_ = Clock::now();
  Clock::time_point told_of_replica_;  // never yet: the first is told at once
};

// Runs one chain to its end, a stop or its share of a wave between two checkpoints.
void run_chain(Chain& chain, Desk& desk, double seconds) {
  const Clock::time_point begin = Clock::now();
  if (!desk.stop_requested()) {
    if (!chain.started()) chain.start();
    while (!chain.finished() && !desk.stop_requested() && chain.step()) {
      desk.transition_done();
      if (seconds > 0.0 && seconds_since(begin) >= seconds) break;
    }
  }
  if (chain.started()) chain.save();
}

Checkpoint first_state(const Target& target, const SamplerOptions& options,
                       const Checkpoint* resume) {
  if (resume != nullptr) {
    require_matching(*resume, options, target.dimension(), target.fingerprint());
    return *resume;
  }
  Checkpoint state;
  state.settings = describe_settings(options, target.dimension(), target.fingerprint());
  state.chains.resize(static_cast<std::size_t>(options.chains));
  for (int c = 0; c < options.chains; ++c) state.chains[static_cast<std::size_t>(c)].chain = c;
  return state;
}

// Runs the wanted chains in waves. Complete when every chain of the run has finished.
RunEnd run_chains(const Target& target, const SamplerOptions& options, const SamplingHooks& hooks,
                  Checkpoint& state) {
  const int end = std::min(hooks.chains.second, options.chains);
  const std::span<ChainState> states =
      std::span(state.chains).subspan(hooks.chains.first, end - hooks.chains.first);
  const auto count = static_cast<Index>(states.size());
  std::int64_t done = 0;
  for (const ChainState& chain : states) done += chain.iteration;
  Desk desk(hooks.observer, options.replicas, done, transitions_of(options) * count);
  std::vector<std::unique_ptr<Chain>> chains;
  chains.reserve(states.size());
  for (ChainState& chain : states) {
    chains.push_back(
        std::make_unique<Chain>(target.clone(), options, chain, hooks.recorder, &desk));
  }
  const auto finished = [&chains] {
    return std::all_of(chains.begin(), chains.end(), [](const auto& c) { return c->finished(); });
  };
  const int threads = resolve_threads(options.threads);
  const double wave = hooks.checkpoints != nullptr ? options.checkpoint_seconds : 0.0;
  if (hooks.resume != nullptr) {
    parallel_for(count, threads, [&](Index c) { chains[c]->replay(); });
  }
  while (!finished() && !desk.stopped()) {
    parallel_for(count, threads, [&](Index c) { run_chain(*chains[c], desk, wave); });
    if (wave > 0.0 && !finished()) hooks.checkpoints->save(state);
  }
  desk.tell_all();
  const bool complete = std::ranges::all_of(state.chains, [&](const ChainState& chain) {
    return chain.iteration >= transitions_of(options);
  });
  if (complete) return RunEnd::kComplete;
  return desk.stopped() ? RunEnd::kInterrupted : RunEnd::kOtherChainsLeft;
}

std::vector<QuantityDiagnostics> diagnose_all(const SamplingResult& result, Index dimension,
                                              int threads) {
  std::vector<QuantityDiagnostics> all(static_cast<std::size_t>(dimension));
  parallel_for(dimension, threads, [&](Index i) {
    all[static_cast<std::size_t>(i)] = diagnose_quantity(result.coordinate_draws(i));
  });
  return all;
}

void require_information(const Target& target, const SamplerOptions& options) {
  if (!uses_gradient(options.sampler) || options.metric != MetricKind::kInformation) return;
  if (target.provides_information()) return;
  throw Error(ErrorKind::kBadStudy,
              "sampler option metric = \"information\": must be \"unit\", \"diagonal\" or "
              "\"dense\": this target does not provide its expected information");
}

std::vector<Index> draws_of_chains(const Checkpoint& state, Index most) {
  std::vector<Index> draws;
  for (const ChainState& chain : state.chains) {
    draws.push_back(std::min(most, static_cast<Index>(chain.statistics.size())));
  }
  return draws;
}

}  // namespace

KeptDraws most_draws(const std::vector<Index>& draws) {
  std::vector<int> chains(draws.size());
  std::iota(chains.begin(), chains.end(), 0);
  std::ranges::stable_sort(chains, std::ranges::greater{},
                           [&](int c) { return draws[static_cast<std::size_t>(c)]; });
  std::size_t count = draws.size();
  Index each = 0;
  for (std::size_t n = 1; n <= chains.size(); ++n) {
    const Index shortest = draws[static_cast<std::size_t>(chains[n - 1])];
    if (static_cast<Index>(n) * shortest < static_cast<Index>(count) * each || shortest == 0)
      continue;
    count = n;
    each = shortest;
  }
  chains.resize(count);
  std::ranges::sort(chains);
  return {chains, each};
}

MatrixXd SamplingResult::coordinate_draws(Index coordinate) const {
  MatrixXd block(kept.draws, static_cast<Index>(kept.chains.size()));
  for (Index c = 0; c < block.cols(); ++c) {
    const int chain = kept.chains[static_cast<std::size_t>(c)];
    block.col(c) = state.chains[static_cast<std::size_t>(chain)]
                       .draw_matrix()
                       .row(coordinate)
                       .head(kept.draws);
  }
  return block;
}

SamplingResult sample(const Target& target, const SamplerOptions& options,
                      const SamplingHooks& hooks) {
  const Clock::time_point begin = Clock::now();
  const Index dimension = target.dimension();
  options.validate(dimension);
  require_information(target, options);
  SamplingResult result;
  result.names = target.coordinate_names();
  // A large target may have no names. Its kept draws get numbered names.
  if (result.names.empty() && options.keep_draws) result.names = target.Target::coordinate_names();
  result.state = first_state(target, options, hooks.resume);
  const RunEnd end = run_chains(target, options, hooks, result.state);
  result.kept = most_draws(draws_of_chains(result.state, options.draws));
  const int threads = resolve_threads(options.threads);
  if (options.keep_draws && result.kept.draws > 0) {
    result.coordinates = diagnose_all(result, dimension, threads);
  }
  result.summary = summarize(result, options, end);
  result.summary.dimension = dimension;
  result.summary.seconds = seconds_since(begin);
  result.summary.threads = threads;
  if (hooks.observer != nullptr) {
    for (const std::string& warning : result.summary.warnings) hooks.observer->warning(warning);
  }
  return result;
}

}  // namespace headway::sampling
