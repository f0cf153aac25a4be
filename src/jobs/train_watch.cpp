#include "headway/jobs/train_watch.hpp"

#include <algorithm>

namespace headway::jobs {

void TrainWatch::start(std::size_t /*runs*/, double all_flops, double /*peak_flops*/) {
  ended_ = {0.0, 0.0, all_flops};
}

void TrainWatch::begin(std::size_t index, const TrainedRun& run, const Study& study) {
  const auto step = static_cast<double>(run.state.step);
  running_[index] = {run.cost.flops_per_step, static_cast<double>(study.train.run.steps), step};
  ended_.earlier += step * run.cost.flops_per_step;
}

void TrainWatch::record(std::size_t index, const training::TrainRecord& record) {
  Run& run = running_[index];
  run.step = std::max(run.step, static_cast<double>(record.step));
}

void TrainWatch::progress(std::size_t index, double done, double total) {
  Run& run = running_[index];
  if (total == run.steps) run.step = done;  // else an evaluation, which counts examples
}

void TrainWatch::end(std::size_t index) {
  const Run& run = running_.at(index);
  ended_.done += run.step * run.flops_per_step;
  running_.erase(index);
}

TrainWatch::Work TrainWatch::work() const {
  Work out = ended_;
  for (const auto& [index, run] : running_) out.done += run.step * run.flops_per_step;
  return out;
}

}  // namespace headway::jobs
