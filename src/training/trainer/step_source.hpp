// Where a trainer's updates get their examples and dropout masks.
#pragma once

#include <array>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

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

/// Makes the data of updates first, first + 1, ..., last - 1 on a thread of its own, a few before
/// they are asked for. `source` must outlive it.
class StepsAhead {
 public:
  StepsAhead(const StepSource& source, Index first, Index last);
  ~StepsAhead();
  StepsAhead(const StepsAhead&) = delete;
  StepsAhead& operator=(const StepsAhead&) = delete;

  /// The data of the next update, until the next call. Throws what making it threw.
  const StepData& next();

 private:
  void make_all(const StepSource& source, Index first, Index last);

  std::array<StepData, 3> data_;  // one in use, the others made or being made
  std::mutex guard_;
  std::condition_variable changed_;
  Index made_ = 0;   // number of updates made, from the first one on
  Index taken_ = 0;  // number of updates taken, with the one in use
  bool stop_ = false;
  std::exception_ptr error_;
  std::jthread thread_;
};

}  // namespace headway::training::detail
