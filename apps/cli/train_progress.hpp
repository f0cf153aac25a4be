#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "headway/jobs/train_watch.hpp"
#include "terminal.hpp"

namespace headway::cli {

/// The progress of `train` on standard error: the share of the whole study that is done, and the
/// time that the rest will take, both in floating-point operations. Then for one run step, loss,
/// accuracy or R^2, examples a second and the share of the flop limit. For several runs at once how
/// far each is, examples a second and the share of the limit of all together.
class TrainProgress final : public jobs::TrainWatch {
 public:
  void start(std::size_t runs, double all_flops, double peak_flops) override;
  void begin(std::size_t index, const TrainedRun& run, const Study& study) override;
  void record(std::size_t index, const training::TrainRecord& record) override;
  void progress(std::size_t index, double done, double total) override;
  void end(std::size_t index) override;

 private:
  /// What the line says of a run, beside what TrainWatch counts.
  struct Shown {
    std::string title;  ///< "hyla seed 1"
    bool on_cpu = true;
    double batch = 0.0;
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

  std::size_t planned_ = 0;
  double peak_flops_ = 0.0;
  bool begun_ = false;
  Pace pace_;
  ProgressClock clock_;
  std::map<std::size_t, Shown> runs_;  ///< that are being trained, by index
};

}  // namespace headway::cli
