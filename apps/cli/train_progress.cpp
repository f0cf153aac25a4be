#include "train_progress.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "headway/core/text.hpp"

namespace headway::cli {

void TrainProgress::start(std::size_t runs, double all_flops, double peak_flops) {
  TrainWatch::start(runs, all_flops, peak_flops);
  planned_ = runs;
  peak_flops_ = peak_flops;
}

void TrainProgress::begin(std::size_t index, const TrainedRun& run, const Study& study) {
  TrainWatch::begin(index, run, study);
  Shown& shown = runs_[index];
  shown.title = fmt::format("{} seed {}", run.label, run.seed);
  shown.on_cpu = run.cost.device == "cpu";
  shown.batch = static_cast<double>(study.train.run.batch);
  if (begun_) {
    advance();
  } else {
    pace_.begin(work().done, work().earlier);
    begun_ = true;
  }
  clock_.restart();
  if (run.done()) {
    write_message(fmt::format("headway: {}: done before, not trained again", numbered(index)));
  } else if (run.state.step > 0) {
    write_message(fmt::format("headway: {}: resuming at step {}", numbered(index), run.state.step));
  }
}

void TrainProgress::record(std::size_t index, const training::TrainRecord& record) {
  TrainWatch::record(index, record);
  Shown& run = runs_[index];
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
  TrainWatch::progress(index, done, total);
  advance();
  show();
}

void TrainProgress::end(std::size_t index) {
  TrainWatch::end(index);
  runs_.erase(index);
}

void TrainProgress::advance() { pace_.advance(work().done, work().earlier); }

void TrainProgress::show() {
  if (runs_.empty() || !clock_.due()) return;
  const std::vector<std::string> parts = runs_.size() == 1 ? parts_of_one() : parts_of_all();
  const double share = work().done / std::max(work().all, 1.0);
  const double left = pace_.seconds_left(work().all);
  const std::size_t columns = progress_columns();
  if (columns > 0) return show_progress(bar_line("train", share, left, parts, columns - 1));
  std::string line = join(parts, ", ");
  if (planned_ > 1) line += fmt::format(", study {:.0f} %", std::floor(100.0 * share));
  if (left > 0.0) line += fmt::format(", {} left", duration_text(left));
  show_progress(line);
}

std::string TrainProgress::numbered(std::size_t index) const {
  const std::string& title = runs_.at(index).title;
  return planned_ > 1 ? fmt::format("run {} of {}, {}", index + 1, planned_, title) : title;
}

void TrainProgress::add_speed(std::vector<std::string>& parts) const {
  double examples = 0.0;
  double flops = 0.0;
  bool on_cpu = true;
  for (const auto& [index, run] : runs_) {
    examples += run.steps_per_second * run.batch;
    flops += run.steps_per_second * running(index).flops_per_step;
    on_cpu = on_cpu && run.on_cpu;
  }
  if (!(examples > 0.0)) return;
  parts.push_back(fmt::format("{:.3g} examples/s", examples));
  if (on_cpu && peak_flops_ > 0.0) {
    parts.push_back(fmt::format("{:.0f} % of the flop limit", 100.0 * flops / peak_flops_));
  }
}

std::vector<std::string> TrainProgress::parts_of_one() const {
  const auto& [index, run] = *runs_.begin();
  std::vector<std::string> parts;  // short ones, of which a narrow terminal shows the first
  if (planned_ > 1) parts.push_back(fmt::format("run {} of {}", index + 1, planned_));
  parts.push_back(run.title);
  const Run& at = running(index);
  parts.push_back(fmt::format("step {:.0f} of {:.0f} ({:.1f} %)", at.step, at.steps,
                              100.0 * at.step / std::max(at.steps, 1.0)));
  if (run.has_loss) parts.push_back(fmt::format("loss {:.4g}", run.loss));
  if (!run.score.empty()) parts.push_back(run.score);
  add_speed(parts);
  return parts;
}

std::vector<std::string> TrainProgress::parts_of_all() const {
  std::vector<std::string> parts;
  for (const auto& [index, run] : runs_) {
    const Run& at = running(index);
    parts.push_back(fmt::format("{} ({} of {}) {:.0f} %", run.title, index + 1, planned_,
                                100.0 * at.step / std::max(at.steps, 1.0)));
  }
  add_speed(parts);
  return parts;
}

}  // namespace headway::cli
