#pragma once

#include <span>
#include <utility>
#include <vector>

#include "headway/core/ranks.hpp"
#include "headway/core/tree_sum.hpp"
#include "headway/types.hpp"

namespace headway::training {

/// Ranks that take every step of a training run together: each computes the gradients of its share
/// of the micro-batches, all make the same update (TrainOptions::micro_batches). They call go_on(),
/// total() and tell() in one order, from one thread.
class TrainingRanks {
 public:
  explicit TrainingRanks(Ranks& ranks) : ranks_(&ranks) {}

  [[nodiscard]] bool is_first() const { return ranks_->is_first(); }
  [[nodiscard]] int size() const { return ranks_->size(); }
  /// [begin, end) of the micro-batches that this rank has; may be empty.
  [[nodiscard]] std::pair<Index, Index> share(Index micro_batches) const;

  /// Whether all go on: false for all of them once one has asked to stop, and from then on without
  /// waiting for the others, which do not wait either. A rank that fails asks to stop before it
  /// goes, or the others would wait for it; where it fails in the midst of total() or tell(), that
  /// ends the processes of all (Ranks::abort).
  bool go_on(bool stop);
  [[nodiscard]] bool stopped() const { return stopped_; }
  /// The sum over the micro-batches of all (total_over_ranks()).
  std::vector<double> total(TreeSum mine);
  /// What the first rank has there, to all.
  void tell(std::span<double> numbers);

 private:
  Ranks* ranks_;
  bool stopped_ = false;
  bool sending_ = false;  ///< numbers that the others wait for
};

}  // namespace headway::training
