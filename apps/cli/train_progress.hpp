#pragma once

#include <chrono>
#include <string>

#include "headway/core/observer.hpp"
#include "headway/studies/training.hpp"
#include "terminal.hpp"

namespace headway::cli {

/// The observer of `train`: one line with step, loss, accuracy or R^2, examples a second, share of
/// the flop limit and remaining time; on standard error.
class TrainProgress final : public Observer {
 public:
  /// `peak_flops`: what this machine could do at most; 0 where that is not known. `messages` gets
  /// warnings and notes.
  TrainProgress(bool quiet, double peak_flops, Observer& messages)
      : quiet_(quiet), peak_flops_(peak_flops), messages_(messages) {}

  /// A run begins, or goes on from `run.state`.
  void begin(std::size_t index, std::size_t planned, const studies::TrainedRun& run,
             const studies::Study& study);
  void record(const training::TrainRecord& record);

  void progress(std::string_view stage, double done, double total) override;
  void warning(std::string_view text) override { messages_.warning(text); }
  void note(std::string_view text) override { messages_.note(text); }
  [[nodiscard]] bool interrupted() const override { return stop_requested(); }

 private:
  using Clock = std::chrono::steady_clock;
  void show();
  [[nodiscard]] std::string line() const;

  bool quiet_;
  double peak_flops_;
  Observer& messages_;
  ProgressClock clock_;
  std::string title_;
  bool on_cpu_ = true;
  double flops_per_step_ = 0.0;
  double batch_ = 0.0, steps_ = 0.0;
  double step_ = 0.0, begun_at_ = 0.0;  // this call began at that step
  Clock::time_point began_;
  double loss_ = 0.0, steps_per_second_ = 0.0;
  bool has_loss_ = false;
  std::string score_;  // "held_out r2 0.61"
};

}  // namespace headway::cli
