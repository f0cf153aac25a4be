#pragma once

#include <memory>
#include <string>
#include <vector>

#include "headway/core/rng.hpp"
#include "headway/types.hpp"

namespace headway::sampling {

/// A distribution on R^d to sample from, known up to a constant by the log of its density and the
/// gradient.
///
/// A point where the density is not defined is rejected; it is never an error. Return -infinity or
/// NaN (cheap), or throw std::domain_error (costs microseconds, for points that trajectories rarely
/// meet). Any other exception is a fault of the target and stops the run. Each chain works on its
/// own clone(), so a target may keep a mutable workspace.
class Target {
 public:
  Target() = default;
  virtual ~Target() = default;
  Target& operator=(const Target&) = delete;

  /// d >= 1.
  [[nodiscard]] virtual Index dimension() const = 0;

  /// Returns log density at `position` up to a constant (natural log) and writes its gradient; both
  /// of length d. Must depend on `position` alone: the same bits in give the same bits out, or
  /// resuming would not repeat the run.
  virtual double log_density(const Eigen::Ref<const VectorXd>& position,
                             Eigen::Ref<VectorXd> gradient) = 0;

  /// True where information() is implemented.
  [[nodiscard]] virtual bool provides_information() const { return false; }

  /// The expected information about the position: -E[Hessian of the log density] with the data
  /// averaged over the model, d x d and positive definite. MetricKind::kInformation takes it as the
  /// mass matrix. Where it is not defined, return a matrix that is not finite, or throw
  /// std::domain_error. Must depend on `position` alone. The base class throws Error kInternal.
  [[nodiscard]] virtual MatrixXd information(const Eigen::Ref<const VectorXd>& position);

  /// A copy with its own workspace, for one chain.
  [[nodiscard]] virtual std::unique_ptr<Target> clone() const = 0;

  /// Writes a start of a chain, wider than the posterior, and returns true; or returns false for
  /// the default start, uniform on (-initial_radius, initial_radius)^d. Called again when the start
  /// is rejected.
  // NOLINTNEXTLINE(performance-unnecessary-value-param): overriders write through the reference
  virtual bool draw_start(Rng& /*rng*/, Eigen::Ref<VectorXd> /*position*/) { return false; }

  /// d names for messages and files. None if they would take more memory than the draws.
  [[nodiscard]] virtual std::vector<std::string> coordinate_names() const;

  /// One line that identifies the target, for example by content hashes of study and data. A
  /// checkpoint of another target is refused by it.
  [[nodiscard]] virtual std::string fingerprint() const { return ""; }

 protected:
  Target(const Target&) = default;
};

/// A target that brings its own transition, for example exact block Gibbs draws; the run supplies
/// chains, random streams, checkpoints and diagnostics. log_density is not called unless a gradient
/// sampler runs on the target.
class SweepTarget : public Target {
 public:
  /// Replaces `position` by the next state of a chain that leaves the distribution invariant.
  /// Returns its log density for the record, or NaN where that is not wanted. Must depend on
  /// position and rng alone.
  virtual double sweep(Rng& rng, Eigen::Ref<VectorXd> position) = 0;

 protected:
  SweepTarget() = default;
  SweepTarget(const SweepTarget&) = default;
};

/// A posterior whose likelihood is raised to a power, the inverse temperature beta:
///   log density = log prior + beta log likelihood.
/// Replica exchange needs such a target. At beta = 0 sweep() draws from the prior.
class TemperedTarget : public SweepTarget {
 public:
  /// beta in [0, 1] from now on; 1 for a new target.
  virtual void set_inverse_temperature(double beta) = 0;
  /// At any beta: up to a constant, and -infinity or NaN where it is not defined.
  virtual double log_likelihood(const Eigen::Ref<const VectorXd>& position) = 0;

 protected:
  TemperedTarget() = default;
  TemperedTarget(const TemperedTarget&) = default;
};

/// One kept draw.
struct Draw {
  int chain = 0;             ///< from 0
  Index index = 0;           ///< from 0 within the chain
  double log_density = 0.0;  ///< at the position
  bool replayed = false;     ///< was drawn before the checkpoint that the run resumed from
  const VectorXd& position;  ///< unconstrained state, d
};

/// How the caller sees kept draws, for example to compute generated quantities. The base class
/// ignores them.
class DrawRecorder {
 public:
  DrawRecorder() = default;
  DrawRecorder(const DrawRecorder&) = delete;
  DrawRecorder& operator=(const DrawRecorder&) = delete;
  virtual ~DrawRecorder() = default;

  /// Called for every kept draw in order within a chain, from the chain's thread: concurrently for
  /// different chains, so keep storage by chain. `target` is the chain's own clone (last evaluated
  /// somewhere else). When a run resumes, the draws of its checkpoint come first with `replayed`
  /// set, if the checkpoint holds them.
  virtual void record(const Draw& /*draw*/, Target& /*target*/) {}
};

}  // namespace headway::sampling
