// Where a trainer's updates get their examples and dropout masks.
#pragma once

#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "training/model/transformer_engine.hpp"

namespace headway::training::detail {

/// The data of any update by its number, from 0.
class StepSource {
 public:
  /// `task` must outlive the source.
  StepSource(const TransformerOptions& model, const TrainOptions& options,
             const TrainingTask& task);
  /// From now on make() makes the micro-batches [begin, end) alone.
  void take_share(std::pair<Index, Index> share);
  /// The memory of `out` is used again. May be called from several threads.
  void make(Index step, StepData* out) const;

 private:
  void draw_dropout(Index step, std::vector<float>* out) const;

  const TrainingTask* task_;
  Index batch_, pieces_, layers_, tokens_;
  Index first_piece_ = 0;
  Index last_piece_;
  Index micro_pieces_;
  std::uint64_t seed_;
  double dropout_;
};

/// Makes the data of updates first, first + 1, ..., last - 1 on `threads` of its own, a few before
/// they are asked for. An update's data is made by one thread, from streams addressed by its
/// number: so no number of threads changes a bit. `source` must outlive it.
class StepsAhead {
 public:
  StepsAhead(const StepSource& source, Index first, Index last, int threads = 1);
  ~StepsAhead();
  StepsAhead(const StepsAhead&) = delete;
  StepsAhead& operator=(const StepsAhead&) = delete;

  /// The data of the next update, until the next call. Throws what making it threw.
  const StepData& next();

 private:
  void make_some(const StepSource& source, Index first, Index last);
  [[nodiscard]] StepData& place_of(Index update) {
    return data_[static_cast<std::size_t>(update) % data_.size()];
  }

  // Updates are counted from the first. A ring: one in use, the others made or being made.
  std::vector<StepData> data_;
  std::vector<Index> made_;  // at each place: the last update made there, plus one
  std::mutex guard_;
  std::condition_variable changed_;
  Index begun_ = 0;  // number of updates that a thread makes or has made
  Index taken_ = 0;  // number of updates taken, with the one in use
  bool stop_ = false;
  std::exception_ptr error_;
  Index failed_ = 0;                   // the first update that has none, where there is an error
  std::vector<std::jthread> threads_;  // last: they end first
};

}  // namespace headway::training::detail
