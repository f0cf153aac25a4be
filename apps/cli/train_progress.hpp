#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "headway/train.hpp"
#include "terminal.hpp"

namespace headway::cli {

/// The progress of `train` on standard error: the share of the whole study that is done, and the
/// time that the rest will take, both in floating-point operations. Then for one run step, loss,
/// accuracy or R^2, examples a second and the share of the flop limit. For several runs at once how
/// far each is, examples a second and the share of the limit of all together.
class TrainProgress {
 public:
  /// `runs`: of the whole sweep, which their numbers count. `all_flops`: the operations of those
  /// that this call has, a shard perhaps. `peak_flops`: what this machine could do at most a
  /// second; 0 where that is not known.
  TrainProgress(bool quiet, std::size_t runs, double all_flops, double peak_flops)
      : quiet_(quiet), planned_(runs), all_flops_(all_flops), peak_flops_(peak_flops) {}

  /// A run begins, or goes on from `run.state`.
  void begin(std::size_t index, const TrainedRun& run, const Study& study);
  void record(std::size_t index, const training::TrainRecord& record);
  /// Of steps, or of the examples of an evaluation.
  void progress(std::size_t index, double done, double total);
  void end(std::size_t index);

  /// Operations of the study that are done, those of earlier calls, and all.
  struct Work {
    double done = 0.0, earlier = 0.0, all = 0.0;
  };
  [[nodiscard]] Work work() const;

 private:
  struct Run {
    std::string title;  ///< "hyla seed 1"
    bool on_cpu = true;
    double flops_per_step = 0.0;
    double batch = 0.0, steps = 0.0;
    double step = 0.0;
    double loss = 0.0, steps_per_second = 0.0;
    bool has_loss = false;
    std::string score;  ///< "held_out r2 0.61"
  };

  void show();
  [[nodiscard]] std::string numbered(std::size_t index) const;
  void advance();
  /// What runs are at: one part for each thing that is said.
  [[nodiscard]] std::vector<std::string> parts_of_one() const;
  [[nodiscard]] std::vector<std::string> parts_of_all() const;
  void add_speed(std::vector<std::string>& parts) const;

  bool quiet_;
  std::size_t planned_;
  double all_flops_;
  double peak_flops_;
  double ended_ = 0.0, earlier_ = 0.0;  ///< operations of ended runs, and of earlier calls
  bool begun_ = false;
  Pace pace_;
  ProgressClock clock_;
  std::map<std::size_t, Run> runs_;  ///< that are being trained, by index
};

}  // namespace headway::cli
