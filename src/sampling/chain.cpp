#include "chain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "headway/error.hpp"
#include "headway/sampling/diagnostics.hpp"
#include "ladder.hpp"
#include "nuts.hpp"
#include "sweep.hpp"

namespace headway::sampling {
namespace {

bool adapts_metric(const SamplerOptions& options) {
  return uses_gradient(options.sampler) && options.metric != MetricKind::kUnit;
}

bool takes_information(const SamplerOptions& options) {
  return uses_gradient(options.sampler) && options.metric == MetricKind::kInformation &&
         options.warmup > 0;
}

SweepTarget& require_sweep(Target& target) {
  auto* wanted = dynamic_cast<SweepTarget*>(&target);
  if (wanted == nullptr) {
    throw Error(ErrorKind::kBadStudy,
                "sampler = \"sweep\": needs a target that has its own transition");
  }
  return *wanted;
}

}  // namespace

std::int64_t transitions_of(const SamplerOptions& options) {
  return options.warmup + std::int64_t{options.draws} * options.thin;
}

void accumulate(TransitionStatistics& sum, const TransitionStatistics& one, std::int64_t before) {
  if (before == 0) {
    sum = one;
    return;
  }
  const double share = 1.0 / static_cast<double>(before + 1);
  sum.acceptance += (one.acceptance - sum.acceptance) * share;
  sum.log_density = one.log_density;
  sum.energy = one.energy;
  sum.step_size = one.step_size;
  sum.tree_depth = std::max(sum.tree_depth, one.tree_depth);
  sum.evaluations += one.evaluations;
  sum.divergent = sum.divergent || one.divergent;
  sum.saturated = sum.saturated || one.saturated;
}

Chain::Chain(std::unique_ptr<Target> target, const SamplerOptions& options, ChainState& state,
             DrawRecorder* recorder, StopSignal* stop)
    : options_(options),
      state_(state),
      recorder_(recorder),
      target_(std::move(target)),
      metric_(uses_gradient(options.sampler) ? options.metric : MetricKind::kUnit,
              target_->dimension()),
      hamiltonian_(*target_, metric_),
      rng_(options.seed, StreamPurpose::kChain, stream_of(options, state.chain)),
      point_(target_->dimension(), uses_gradient(options.sampler)) {
  if (uses_gradient(options.sampler)) schedule_ = warmup_schedule(options.warmup);
  if (!adapts_metric(options)) schedule_.window_ends.clear();
  if (takes_information(options)) {
    InformationSchedule information = information_schedule(options.warmup);
    schedule_.window_ends = std::move(information.window_ends);
    probes_ = std::move(information.probes);
  }
  make_transition(stop);
  reserve();
  if (options.replicas > 1) {
    ladder_ = std::make_unique<Ladder>(*this, *target_, options, state, stop);
  }
  if (!state.started) return;
  rng_ = Rng(state.rng);
  point_.position = state.position;
  if (uses_gradient(options.sampler)) point_.gradient = state.gradient;
  point_.log_density = state.log_density;
  if (state.inverse_metric.size() > 0) metric_.set_inverse(state.inverse_metric);
}

Chain::~Chain() = default;

void Chain::make_transition(StopSignal* stop) {
  const Index d = target_->dimension();
  switch (options_.sampler) {
    case SamplerKind::kNuts:
      transition_ = std::make_unique<Nuts>(hamiltonian_, options_, d, stop);
      break;
    case SamplerKind::kSweep:
      transition_ = std::make_unique<Sweep>(require_sweep(*target_));
      break;
    default: {
      auto hmc = std::make_unique<StaticHmc>(hamiltonian_, options_, d, stop);
      if (options_.sampler == SamplerKind::kLangevin) langevin_ = hmc.get();
      transition_ = std::move(hmc);
    }
  }
}

bool Chain::try_start(Rng& rng) {
  const auto chain = static_cast<std::size_t>(state_.chain);
  if (!options_.starts.empty()) {
    point_.position = options_.starts[chain];
  } else if (!target_->draw_start(rng, point_.position)) {
    for (double& x : point_.position) x = options_.initial_radius * (2.0 * rng.uniform() - 1.0);
  }
  if (!point_.position.allFinite()) return false;
  if (!uses_gradient(options_.sampler)) return true;
  hamiltonian_.evaluate(point_);
  return std::isfinite(point_.log_density);
}

void Chain::find_start(Rng& rng) {
  const int attempts = options_.starts.empty() ? options_.start_attempts : 1;
  for (int i = 0; i < attempts; ++i) {
    if (try_start(rng)) return;
  }
  if (!options_.starts.empty()) {
    throw Error(
        ErrorKind::kBadStudy,
        fmt::format("chain {} cannot start: the density or its gradient is zero, infinite or "
                    "NaN at the given position starts[{}]",
                    state_.chain + 1, state_.chain));
  }
  throw Error(ErrorKind::kBadStudy,
              fmt::format("chain {} cannot start: the density or its gradient is zero, infinite or "
                          "NaN at all of {} random positions. Give starting positions, change "
                          "initial_radius = {}, or check the target",
                          state_.chain + 1, attempts, options_.initial_radius));
}

void Chain::find_first_step(Rng& rng) {
  state_.step_size = options_.step_size;
  if (options_.warmup == 0) return;
  state_.step_size = find_step_size(hamiltonian_, point_, options_.step_size, rng);
  if (state_.step_size == 0.0) {
    throw Error(ErrorKind::kBadStudy,
                fmt::format("chain {} cannot start: no step size is small enough at its starting "
                            "point. The log density jumps there, or its gradient is wrong",
                            state_.chain + 1));
  }
  if (!std::isfinite(state_.step_size)) {
    throw Error(ErrorKind::kBadStudy,
                fmt::format("chain {} cannot start: the density looks constant over any distance, "
                            "so it is not a proper posterior",
                            state_.chain + 1));
  }
  restart(state_.dual_averaging, state_.step_size);
}

void Chain::start() {
  Rng start_rng(options_.seed, StreamPurpose::kChainStart, stream_of(options_, state_.chain));
  find_start(start_rng);
  if (uses_gradient(options_.sampler)) {
    const auto empty_window = [this] {
      reset(state_.window, target_->dimension(), is_full_matrix(options_.metric));
    };
    if (takes_information(options_)) {  // from the first step on
      empty_window();
      add_information_here();
      set_metric_from_window();
      state_.window = CovarianceState{};
    }
    find_first_step(start_rng);
    state_.evaluations += hamiltonian_.evaluations();
    if (!schedule_.window_ends.empty()) empty_window();
  }
  if (ladder_) ladder_->start();
  state_.started = true;
}

void Chain::reserve() {
  const auto kept = static_cast<std::size_t>(options_.draws);
  state_.statistics.reserve(kept);
  if (!options_.keep_draws) return;
  state_.draws.reserve(kept * static_cast<std::size_t>(target_->dimension()));
}

bool Chain::step() {
  if (ladder_ && !ladder_->advance()) return false;
  const Rng before = rng_;
  if (langevin_ != nullptr) langevin_->set_corrected(state_.iteration < options_.warmup);
  TransitionStatistics done;
  if (!transition_->move(point_, state_.step_size, rng_, done)) {
    rng_ = before;
    return false;
  }
  state_.evaluations += done.evaluations;
  const std::size_t kept = state_.statistics.size();
  if (state_.iteration < options_.warmup) {
    if (done.divergent) ++state_.warmup_divergences;
    if (uses_gradient(options_.sampler)) adapt(done);
  } else {
    keep(done);
  }
  ++state_.iteration;
  if (ladder_) ladder_->end_round(state_.statistics.size() > kept);
  return true;
}

void Chain::adapt(const TransitionStatistics& done) {
  const double target = resolved_target_accept(options_);
  state_.step_size = update(state_.dual_averaging, done.acceptance, target);
  const auto& ends = schedule_.window_ends;
  if (!ends.empty()) {
    const auto transition = static_cast<int>(state_.iteration);
    collect(transition);
    if (std::binary_search(ends.begin(), ends.end(), transition)) close_window();
  }
  if (state_.iteration + 1 == options_.warmup) {
    state_.step_size = averaged_step(state_.dual_averaging);
    state_.window = CovarianceState{};
  }
}

void Chain::collect(int transition) {
  if (options_.metric == MetricKind::kInformation) {
    if (std::binary_search(probes_.begin(), probes_.end(), transition)) add_information_here();
  } else if (transition >= schedule_.first && transition < schedule_.last) {
    add(state_.window, point_.position);
  }
}

void Chain::add_information_here() {
  try {
    add_information(state_.window, target_->information(point_.position));
  } catch (const std::domain_error&) {
    return;  // not defined here: the window's other positions must do
  }
}

void Chain::set_metric_from_window() {
  if (options_.metric == MetricKind::kInformation) {
    if (state_.window.count == 0) return;
    const MatrixXd inverse = inverse_information(state_.window);
    if (inverse.size() > 0 && inverse.allFinite()) metric_.set_inverse(inverse);
  } else if (state_.window.count > 1) {
    metric_.set_inverse(regularised_covariance(state_.window));
  }
}

void Chain::close_window() {
  set_metric_from_window();
  reset(state_.window, target_->dimension(), is_full_matrix(options_.metric));
  const std::int64_t evaluations = hamiltonian_.evaluations();
  // This is only a first guess for dual averaging. Without one it continues from its step size.
  const double guess = find_step_size(hamiltonian_, point_, state_.step_size, rng_);
  if (guess > 0.0 && std::isfinite(guess)) state_.step_size = guess;
  state_.evaluations += hamiltonian_.evaluations() - evaluations;
  restart(state_.dual_averaging, state_.step_size);
}

void Chain::keep(const TransitionStatistics& done) {
  add(state_.energies, done.energy);
  const std::int64_t within = (state_.iteration - options_.warmup) % options_.thin;
  accumulate(state_.pending, done, within);
  if (within + 1 < options_.thin) return;
  state_.statistics.push_back(state_.pending);
  state_.pending = TransitionStatistics{};
  if (options_.keep_draws) {
    state_.draws.insert(state_.draws.end(), point_.position.begin(), point_.position.end());
  }
  if (recorder_ == nullptr) return;
  const auto index = static_cast<Index>(state_.statistics.size()) - 1;
  recorder_->record({state_.chain, index, done.log_density, false, point_.position}, *target_);
}

void Chain::replay() {
  if (recorder_ == nullptr) return;
  const Eigen::Map<const MatrixXd> draws = state_.draw_matrix();
  VectorXd position;
  for (Index i = 0; i < draws.cols(); ++i) {
    position = draws.col(i);
    const double log_density = state_.statistics[static_cast<std::size_t>(i)].log_density;
    recorder_->record({state_.chain, i, log_density, true, position}, *target_);
  }
}

void Chain::save() {
  state_.rng = rng_.state();
  state_.position = point_.position;
  if (uses_gradient(options_.sampler)) state_.gradient = point_.gradient;
  state_.log_density = point_.log_density;
  state_.inverse_metric = metric_.inverse();
  if (ladder_) ladder_->save();
}

void Chain::temper(double beta) {
  dynamic_cast<TemperedTarget&>(*target_).set_inverse_temperature(beta);
}

double Chain::log_likelihood() {
  ++state_.evaluations;
  return dynamic_cast<TemperedTarget&>(*target_).log_likelihood(point_.position);
}

void Chain::move_to(const VectorXd& position) {
  point_.position = position;
  if (!uses_gradient(options_.sampler)) return;
  hamiltonian_.evaluate(point_);
  ++state_.evaluations;
}

}  // namespace headway::sampling
