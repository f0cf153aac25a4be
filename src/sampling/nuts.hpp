#pragma once

#include <vector>

#include "transition.hpp"

namespace headway::sampling {

/// The no-U-turn sampler (Hoffman and Gelman 2014) with multinomial draws along the trajectory,
/// biased progressive sampling and the generalised U-turn criterion of Betancourt, "A conceptual
/// introduction to Hamiltonian Monte Carlo" (2017), appendix A, including the checks across the
/// seam of two subtrees that Stan makes. Allocates only when a trajectory first reaches a new
/// depth.
class Nuts : public Transition {
 public:
  /// References must outlive the sampler; `stop` may be null.
  Nuts(Hamiltonian& hamiltonian, const SamplerOptions& options, Index dimension, StopSignal* stop);
  bool move(PhasePoint& state, double step_size, Rng& rng, TransitionStatistics& done) override;

 protected:
  /// A stretch of trajectory from its begin (nearest to where it grew from) to its end, and the
  /// draw chosen from it.
  struct Subtree {
    VectorXd begin_momentum, begin_velocity, end_momentum, end_velocity;
    VectorXd momentum_sum;        // rho of the reference
    VectorXd position, gradient;  // the multinomial draw
    double log_density = 0.0, energy = 0.0;
    double log_weight = 0.0;  // log sum exp(H_0 - H) over its points
  };
  // The decisions; tests replace them by wrong ones to show that they would be noticed.
  /// Whether the draw of the second half of a subtree replaces that of the first: uniform over both
  /// halves.
  virtual bool take_half(double log_weight_half, double log_weight_both, Rng& rng);
  /// Whether the draw of a new subtree replaces that of the trajectory: biased towards the new one.
  virtual bool take_subtree(double log_weight_subtree, double log_weight_trajectory, Rng& rng);
  /// Whether the halves of a subtree together go on without a U-turn. Without this the trajectory
  /// could not have been grown from every one of its points.
  [[nodiscard]] virtual bool subtree_goes_on(const Subtree& first, const Subtree& second) const;

  /// Whether two adjacent stretches together go on without a U-turn.
  [[nodiscard]] static bool goes_on(const Subtree& first, const Subtree& second);

 private:
  bool build(int depth, Subtree& tree, Rng& rng);
  bool build_leaf(Subtree& tree);
  void begin_trajectory(PhasePoint& state, Rng& rng);
  void reserve_depth(int depth);

  Hamiltonian& hamiltonian_;
  StopSignal* stop_;
  int max_depth_;
  double threshold_;
  Subtree trajectory_;
  std::vector<Subtree> scratch_;  // scratch_[k]: second half of a tree of depth k + 1
  Subtree extension_;
  PhasePoint point_;  // moves along
  PhasePoint other_end_;
  // of the current transition
  double step_ = 0.0;
  double initial_energy_ = 0.0;
  double acceptance_sum_ = 0.0;
  int leapfrogs_ = 0;
  bool divergent_ = false;
  bool stopped_ = false;
};

/// log(exp(a) + exp(b)), -infinity allowed.
double log_sum_exp(double a, double b);

}  // namespace headway::sampling
