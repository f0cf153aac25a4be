#include "headway/training/training_ranks.hpp"

#include "headway/error.hpp"

namespace headway::training {

std::pair<Index, Index> TrainingRanks::share(Index micro_batches) const {
  const auto [begin, end] = leaves_of_part(static_cast<std::size_t>(micro_batches),
                                           static_cast<std::size_t>(ranks_->rank()),
                                           static_cast<std::size_t>(ranks_->size()));
  return {static_cast<Index>(begin), static_cast<Index>(end)};
}

bool TrainingRanks::go_on(bool stop) {
  if (stopped_) return false;
  if (sending_) ranks_->abort(static_cast<int>(ErrorKind::kUnavailable));
  // The number of ranks that ask to stop. Sums of whole numbers do not depend on their order.
  TreeSum mine;
  mine.push(static_cast<std::size_t>(ranks_->rank()), {stop ? 1.0 : 0.0});
  stopped_ = total(std::move(mine)).front() > 0.0;
  return !stopped_;
}

std::vector<double> TrainingRanks::total(TreeSum mine) {
  sending_ = true;
  std::vector<double> sum = total_over_ranks(*ranks_, std::move(mine));
  sending_ = false;
  return sum;
}

void TrainingRanks::tell(std::span<double> numbers) {
  sending_ = true;
  broadcast(*ranks_, numbers);
  sending_ = false;
}

}  // namespace headway::training
