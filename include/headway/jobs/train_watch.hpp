#pragma once

#include <cstddef>
#include <map>

#include "headway/study.hpp"
#include "headway/train_results.hpp"

namespace headway::jobs {

/// Hears how a training goes on, and counts what is done. The program shows that on a line
/// (TrainProgress). One call at a time.
class TrainWatch {
 public:
  TrainWatch() = default;
  TrainWatch(const TrainWatch&) = delete;
  TrainWatch& operator=(const TrainWatch&) = delete;
  virtual ~TrainWatch() = default;

  /// Before the first run. `runs`: of the whole sweep, which their numbers count. `all_flops`: the
  /// operations of those that this call has, a shard perhaps. `peak_flops`: what this machine could
  /// do at most a second; 0 where that is not known.
  virtual void start(std::size_t runs, double all_flops, double peak_flops);
  /// A run begins, or goes on from `run.state`.
  virtual void begin(std::size_t index, const TrainedRun& run, const Study& study);
  virtual void record(std::size_t index, const training::TrainRecord& record);
  /// Of steps, or of the examples of an evaluation.
  virtual void progress(std::size_t index, double done, double total);
  virtual void end(std::size_t index);

  /// Floating-point operations of the study that are done, those of earlier calls, and all.
  struct Work {
    double done = 0.0, earlier = 0.0, all = 0.0;
  };
  [[nodiscard]] Work work() const;

 protected:
  /// Of a run that is being trained.
  struct Run {
    double flops_per_step = 0.0, steps = 0.0, step = 0.0;
  };
  [[nodiscard]] const Run& running(std::size_t index) const { return running_.at(index); }

 private:
  Work ended_;  ///< of runs that are over
  std::map<std::size_t, Run> running_;
};

}  // namespace headway::jobs
