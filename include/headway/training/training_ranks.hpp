#pragma once

#include <span>
#include <utility>
#include <vector>

#include "headway/core/ranks.hpp"
#include "headway/core/tree_sum.hpp"
#include "headway/types.hpp"

namespace headway::training {

/// Ranks that take every step of a training run together. Each computes the gradients of its share
/// of the micro-batches (TrainOptions::micro_batches), and all make the same update. All call
/// go_on(), total() and tell() in the same order, each from one thread.
class TrainingRanks {
 public:
  explicit TrainingRanks(Ranks& ranks) : ranks_(&ranks) {}

  [[nodiscard]] bool is_first() const { return ranks_->is_first(); }
  [[nodiscard]] int size() const { return ranks_->size(); }
  /// [begin, end) of the micro-batches that this rank has; may be empty.
  [[nodiscard]] std::pair<Index, Index> share(Index micro_batches) const;

  /// Whether all go on. False on all ranks once one has asked to stop. From then on it returns
  /// false at once, without waiting for other ranks. A rank that fails calls go_on(true) before it
  /// leaves, since the others would wait for it. If it failed inside total() or tell(), this call
  /// ends the processes of all ranks (Ranks::abort).
  bool go_on(bool stop);
  [[nodiscard]] bool stopped() const { return stopped_; }
  /// The sum over the micro-batches of all ranks (total_over_ranks()).
  std::vector<double> total(TreeSum mine);
  /// Sends the numbers of the first rank to all ranks, in place.
  void tell(std::span<double> numbers);

 private:
  Ranks* ranks_;
  bool stopped_ = false;
  bool sending_ = false;  ///< inside total() or tell(), where the others wait for this rank
};

}  // namespace headway::training
