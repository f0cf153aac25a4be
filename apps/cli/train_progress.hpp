#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <string>

#include "headway/train.hpp"
#include "terminal.hpp"

namespace headway::cli {

/// The progress of `train` on standard error. For one run, a line has step, loss, accuracy or R^2,
/// examples a second, the share of the flop limit and the remaining time. For several runs at once,
/// it has how far each is, examples a second and the share of the limit of all together, and the
/// time that the slowest needs.
class TrainProgress {
 public:
  /// `peak_flops`: what this machine could do at most; 0 where that is not known.
  TrainProgress(bool quiet, std::size_t planned, double peak_flops)
      : quiet_(quiet), planned_(planned), peak_flops_(peak_flops) {}

  /// A run begins, or goes on from `run.state`.
  void begin(std::size_t index, const headway::TrainedRun& run, const headway::Study& study);
  void record(std::size_t index, const training::TrainRecord& record);
  /// Of steps, or of the examples of an evaluation.
  void progress(std::size_t index, double done, double total);
  void end(std::size_t index);

 private:
  using Clock = std::chrono::steady_clock;
  struct Run {
    std::string title;  ///< "hyla seed 1"
    bool on_cpu = true;
    double flops_per_step = 0.0;
    double batch = 0.0, steps = 0.0;
    double step = 0.0, begun_at = 0.0;  ///< the step now, and when this call began
    Clock::time_point began;
    double loss = 0.0, steps_per_second = 0.0;
    bool has_loss = false;
    std::string score;  ///< "held_out r2 0.61"

    [[nodiscard]] double seconds_left() const;  ///< 0: not known yet, or at its end
  };

  void show();
  [[nodiscard]] std::string numbered(std::size_t index) const;
  [[nodiscard]] std::string line(std::size_t index, const Run& run) const;
  [[nodiscard]] std::string line_of_all() const;
  [[nodiscard]] std::string speed() const;

  bool quiet_;
  std::size_t planned_;
  double peak_flops_;
  ProgressClock clock_;
  std::map<std::size_t, Run> runs_;  ///< that are being trained, by index
};

}  // namespace headway::cli
