#include "train_progress.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace headway::cli {

void TrainProgress::begin(std::size_t index, const headway::TrainedRun& run,
                          const headway::Study& study) {
  Run& shown = runs_[index];
  shown.title = fmt::format("{} seed {}", run.label, run.seed);
  shown.on_cpu = run.cost.device == "cpu";
  shown.flops_per_step = run.cost.flops_per_step;
  shown.batch = static_cast<double>(study.train.run.batch);
  shown.steps = static_cast<double>(study.train.run.steps);
  shown.step = shown.begun_at = static_cast<double>(run.state.step);
  shown.began = Clock::now();
  clock_.restart();
  if (quiet_) return;
  if (run.done()) {
    write_message(fmt::format("headway: {}: done before, not trained again", numbered(index)));
  } else if (run.state.step > 0) {
    write_message(fmt::format("headway: {}: resuming at step {}", numbered(index), run.state.step));
  }
}

void TrainProgress::record(std::size_t index, const training::TrainRecord& record) {
  Run& run = runs_[index];
  run.step = std::max(run.step, static_cast<double>(record.step));
  if (record.split == "train") {
    run.loss = record.loss;
    run.has_loss = true;
    run.steps_per_second = record.steps_per_second;
  } else {
    const std::string metric = headway::main_metric({0, 0.0, record.metrics});
    // The score on held_out where there is one, else on the first split.
    const bool shown = record.split == "held_out" || run.score.empty() ||
                       run.score.starts_with(record.split + " ");
    for (const training::Metric& m : record.metrics) {
      if (m.name == metric && shown) {
        run.score = fmt::format("{} {} {:.4f}", record.split, metric, m.value);
      }
    }
  }
  show();
}

void TrainProgress::progress(std::size_t index, double done, double total) {
  Run& run = runs_[index];
  if (total == run.steps) run.step = done;  // else an evaluation, which counts examples
  show();
}

void TrainProgress::end(std::size_t index) { runs_.erase(index); }

void TrainProgress::show() {
  if (quiet_ || !clock_.due()) return;
  show_progress(runs_.size() == 1 ? line(runs_.begin()->first, runs_.begin()->second)
                                  : line_of_all());
}

double TrainProgress::Run::seconds_left() const {
  const double elapsed = std::chrono::duration<double>(Clock::now() - began).count();
  const double rate = (step - begun_at) / std::max(elapsed, 1e-9);
  return rate > 0.0 ? std::max(steps - step, 0.0) / rate : 0.0;
}

std::string TrainProgress::numbered(std::size_t index) const {
  const std::string& title = runs_.at(index).title;
  return planned_ > 1 ? fmt::format("run {} of {}, {}", index + 1, planned_, title) : title;
}

std::string TrainProgress::speed() const {
  double examples = 0.0;
  double flops = 0.0;
  bool on_cpu = true;
  for (const auto& [index, run] : runs_) {
    examples += run.steps_per_second * run.batch;
    flops += run.steps_per_second * run.flops_per_step;
    on_cpu = on_cpu && run.on_cpu;
  }
  if (!(examples > 0.0)) return "";
  std::string out = fmt::format(", {:.3g} examples/s", examples);
  if (on_cpu && peak_flops_ > 0.0) {
    out += fmt::format(", {:.0f} % of the flop limit", 100.0 * flops / peak_flops_);
  }
  return out;
}

std::string TrainProgress::line(std::size_t index, const Run& run) const {
  std::string out = fmt::format("{}: step {:.0f} of {:.0f} ({:.1f} %)", numbered(index), run.step,
                                run.steps, 100.0 * run.step / std::max(run.steps, 1.0));
  if (run.has_loss) out += fmt::format(", loss {:.4g}", run.loss);
  if (!run.score.empty()) out += ", " + run.score;
  out += speed();
  if (run.seconds_left() > 0.0) out += ", " + duration_text(run.seconds_left()) + " left";
  return out;
}

std::string TrainProgress::line_of_all() const {
  std::string out;
  double seconds = 0.0;
  for (const auto& [index, run] : runs_) {
    out += fmt::format("{}{} ({} of {}) {:.0f} %", out.empty() ? "" : ", ", run.title, index + 1,
                       planned_, 100.0 * run.step / std::max(run.steps, 1.0));
    seconds = std::max(seconds, run.seconds_left());
  }
  out += speed();
  if (seconds > 0.0) out += fmt::format(", {} left of these", duration_text(seconds));
  return out;
}

}  // namespace headway::cli
