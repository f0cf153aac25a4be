#include "nuts.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace headway::sampling {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Generalised criterion between two ends: both velocities still point along the summed momentum.
template <typename Sum>
bool is_straight(const VectorXd& velocity_begin, const VectorXd& velocity_end,
                 const Sum& momentum) {
  return velocity_begin.dot(momentum) > 0.0 && velocity_end.dot(momentum) > 0.0;
}

}  // namespace

double log_sum_exp(double a, double b) {
  const double high = std::max(a, b);
  if (high == -kInfinity) return high;
  return high + std::log1p(std::exp(std::min(a, b) - high));
}

Nuts::Nuts(Hamiltonian& hamiltonian, const SamplerOptions& options, Index dimension,
           StopSignal* stop)
    : hamiltonian_(hamiltonian),
      stop_(stop),
      max_depth_(options.max_tree_depth),
      threshold_(options.divergence_threshold),
      point_(dimension),
      other_end_(dimension) {}

bool Nuts::take_half(double log_weight_half, double log_weight_both, Rng& rng) {
  return rng.uniform() < std::exp(log_weight_half - log_weight_both);
}

bool Nuts::take_subtree(double log_weight_subtree, double log_weight_trajectory, Rng& rng) {
  if (log_weight_subtree > log_weight_trajectory) return true;
  return rng.uniform() < std::exp(log_weight_subtree - log_weight_trajectory);
}

bool Nuts::subtree_goes_on(const Subtree& first, const Subtree& second) const {
  return goes_on(first, second);
}

bool Nuts::goes_on(const Subtree& first, const Subtree& second) {
  return is_straight(first.begin_velocity, second.end_velocity,
                     first.momentum_sum + second.momentum_sum) &&
         // across the seam: each stretch with the first point of the other
         is_straight(first.begin_velocity, second.begin_velocity,
                     first.momentum_sum + second.begin_momentum) &&
         is_straight(first.end_velocity, second.end_velocity,
                     second.momentum_sum + first.end_momentum);
}

// Makes room for the second halves of all levels up to `depth`.
void Nuts::reserve_depth(int depth) {
  while (static_cast<int>(scratch_.size()) < depth) scratch_.emplace_back();
}

bool Nuts::build_leaf(Subtree& tree) {
  if (stop_ != nullptr && stop_->stop_requested()) {
    stopped_ = true;
    return false;
  }
  hamiltonian_.leapfrog(point_, step_);
  ++leapfrogs_;
  const double energy = hamiltonian_.energy(point_);
  const double gain = initial_energy_ - energy;
  acceptance_sum_ += gain > 0.0 ? 1.0 : std::exp(gain);
  if (-gain > threshold_) {
    divergent_ = true;
    return false;
  }
  tree.log_weight = gain;
  tree.begin_momentum = point_.momentum;
  tree.begin_velocity = point_.velocity;
  tree.end_momentum = point_.momentum;
  tree.end_velocity = point_.velocity;
  tree.momentum_sum = point_.momentum;
  tree.position = point_.position;
  tree.gradient = point_.gradient;
  tree.log_density = point_.log_density;
  tree.energy = energy;
  return true;
}

// Grows a subtree of 2^depth points from point_. False: it diverged, turned or was stopped, and is
// not to be used.
bool Nuts::build(int depth, Subtree& tree, Rng& rng) {
  if (depth == 0) return build_leaf(tree);
  Subtree& second = scratch_[static_cast<std::size_t>(depth) - 1];
  if (!build(depth - 1, tree, rng)) return false;  // the first half, in place
  if (!build(depth - 1, second, rng)) return false;
  const double log_weight = log_sum_exp(tree.log_weight, second.log_weight);
  if (take_half(second.log_weight, log_weight, rng)) {
    tree.position.swap(second.position);
    tree.gradient.swap(second.gradient);
    tree.log_density = second.log_density;
    tree.energy = second.energy;
  }
  const bool on = subtree_goes_on(tree, second);
  tree.log_weight = log_weight;
  tree.momentum_sum += second.momentum_sum;
  tree.end_momentum.swap(second.end_momentum);
  tree.end_velocity.swap(second.end_velocity);
  return on;
}

void Nuts::begin_trajectory(PhasePoint& state, Rng& rng) {
  hamiltonian_.draw_momentum(state, rng);
  initial_energy_ = hamiltonian_.energy(state);
  point_ = state;
  other_end_ = state;
  trajectory_.begin_momentum = trajectory_.end_momentum = state.momentum;
  trajectory_.begin_velocity = trajectory_.end_velocity = state.velocity;
  trajectory_.momentum_sum = state.momentum;
  trajectory_.position = state.position;
  trajectory_.gradient = state.gradient;
  trajectory_.log_density = state.log_density;
  trajectory_.energy = initial_energy_;
  trajectory_.log_weight = 0.0;
  acceptance_sum_ = 0.0;
  leapfrogs_ = 0;
  divergent_ = stopped_ = false;
}

bool Nuts::move(PhasePoint& state, double step_size, Rng& rng, TransitionStatistics& done) {
  begin_trajectory(state, rng);
  step_ = step_size;
  int depth = 0;
  bool on = true;
  while (on && depth < max_depth_) {
    // point_ and trajectory_.end are the end that grows; turning round swaps the two ends. The
    // criteria do not change when time runs backwards, so the momenta keep their sign.
    if (rng.uniform() < 0.5) {
      step_ = -step_;
      std::swap(point_, other_end_);
      trajectory_.begin_momentum.swap(trajectory_.end_momentum);
      trajectory_.begin_velocity.swap(trajectory_.end_velocity);
    }
    reserve_depth(depth);
    if (!build(depth, extension_, rng)) break;
    ++depth;
    if (take_subtree(extension_.log_weight, trajectory_.log_weight, rng)) {
      trajectory_.position.swap(extension_.position);
      trajectory_.gradient.swap(extension_.gradient);
      trajectory_.log_density = extension_.log_density;
      trajectory_.energy = extension_.energy;
    }
    on = goes_on(trajectory_, extension_);
    trajectory_.log_weight = log_sum_exp(trajectory_.log_weight, extension_.log_weight);
    trajectory_.momentum_sum += extension_.momentum_sum;
    trajectory_.end_momentum.swap(extension_.end_momentum);
    trajectory_.end_velocity.swap(extension_.end_velocity);
  }
  if (stopped_) return false;
  state.position.swap(trajectory_.position);
  state.gradient.swap(trajectory_.gradient);
  state.log_density = trajectory_.log_density;
  done.log_density = state.log_density;
  done.energy = trajectory_.energy;
  done.acceptance = acceptance_sum_ / static_cast<double>(leapfrogs_);
  done.step_size = step_size;
  done.tree_depth = depth;
  done.evaluations = leapfrogs_;
  done.divergent = divergent_;
  done.saturated = on && depth == max_depth_ && !divergent_;
  return true;
}

}  // namespace headway::sampling
