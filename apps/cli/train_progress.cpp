#include "train_progress.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace headway::cli {

void TrainProgress::begin(std::size_t index, std::size_t planned, const studies::TrainedRun& run,
                          const studies::Study& study) {
  title_ = fmt::format("{} seed {}", run.label, run.seed);
  if (planned > 1) title_ = fmt::format("run {} of {}, {}", index + 1, planned, title_);
  on_cpu_ = run.cost.device == "cpu";
  flops_per_step_ = run.cost.flops_per_step;
  batch_ = static_cast<double>(study.train.run.batch);
  steps_ = static_cast<double>(study.train.run.steps);
  step_ = begun_at_ = static_cast<double>(run.state.step);
  began_ = Clock::now();
  has_loss_ = false;
  steps_per_second_ = 0.0;
  score_.clear();
  clock_.restart();
  if (quiet_) return;
  if (run.done()) {
    write_message(fmt::format("headway: {}: done before, not trained again", title_));
  } else if (run.state.step > 0) {
    write_message(fmt::format("headway: {}: resuming at step {}", title_, run.state.step));
  }
}

void TrainProgress::record(const training::TrainRecord& record) {
  step_ = std::max(step_, static_cast<double>(record.step));
  if (record.split == "train") {
    loss_ = record.loss;
    has_loss_ = true;
    steps_per_second_ = record.steps_per_second;
  } else {
    const std::string metric = studies::main_metric({0, 0.0, record.metrics});
    // Of held_out where there is one, else of the split that comes first.
    const bool shown =
        record.split == "held_out" || score_.empty() || score_.starts_with(record.split + " ");
    for (const training::Metric& m : record.metrics) {
      if (m.name == metric && shown) {
        score_ = fmt::format("{} {} {:.4f}", record.split, metric, m.value);
      }
    }
  }
  show();
}

void TrainProgress::progress(std::string_view /*stage*/, double done, double total) {
  if (total == steps_) step_ = done;  // training itself; evaluations count otherwise
  show();
}

void TrainProgress::show() {
  if (!quiet_ && clock_.due()) show_progress(line());
}

std::string TrainProgress::line() const {
  std::string out = fmt::format("{}: step {:.0f} of {:.0f} ({:.1f} %)", title_, step_, steps_,
                                100.0 * step_ / std::max(steps_, 1.0));
  if (has_loss_) out += fmt::format(", loss {:.4g}", loss_);
  if (!score_.empty()) out += ", " + score_;
  if (steps_per_second_ > 0.0) {
    out += fmt::format(", {:.3g} examples/s", steps_per_second_ * batch_);
    if (on_cpu_ && peak_flops_ > 0.0) {
      out += fmt::format(", {:.0f} % of the flop limit",
                         100.0 * steps_per_second_ * flops_per_step_ / peak_flops_);
    }
  }
  const double elapsed = std::chrono::duration<double>(Clock::now() - began_).count();
  const double rate = (step_ - begun_at_) / std::max(elapsed, 1e-9);
  if (rate > 0.0 && step_ < steps_) out += ", " + duration_text((steps_ - step_) / rate) + " left";
  return out;
}

}  // namespace headway::cli
