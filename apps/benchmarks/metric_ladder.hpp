#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>
#include <ctime>
#include <vector>

#include "headway/dataset.hpp"
#include "headway/sample.hpp"
#include "headway/solve.hpp"
#include "headway/study.hpp"
#include "one_shot_like_examples.hpp"

namespace headway {

/// Processor time of this process in seconds.
inline double processor_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

/// Stops a computation that has used this much processor time.
class ProcessorLimit final : public Observer {
 public:
  explicit ProcessorLimit(double seconds) : end_(processor_seconds() + seconds) {}
  [[nodiscard]] bool interrupted() const override { return processor_seconds() > end_; }

 private:
  double end_;
};

/// 40 examples of 12 features whose paths are alike, and of which the first carries the label.
inline tasks::Dataset ladder_dataset(const std::vector<int>& heads) {
  tasks::Dataset data;
  data.name = "ladder";
  data.form = AttentionForm::kPathFeatures;
  data.heads = heads;
  data.layers.resize(heads.size());
  data.features = 12;
  Index paths = 1;
  for (const int h : heads) paths *= h;
  one_shot_like_examples(40, data.features, paths, data.train.path_features, data.train.labels);
  data.content_hash = "ladder";
  return data;
}

/// One point of `headway sample` with its defaults but for the metric: prints the processor time of
/// the chains with their warm-up, and effective draws a second of the slowest entry of all U.
inline void measure_metric(const tasks::Dataset& data, Study study, SampleMetric metric,
                           double limit, const SolveResult& solved) {
  study.sample.metric = metric;
  ProcessorLimit observer(limit);
  const double began = processor_seconds();
  const SampleResult result = sample(study, data, observer, {}, &solved);
  const double seconds = processor_seconds() - began;
  const SamplePoint& point = result.points.at(0);
  if (point.complete) {
    fmt::print(" | {:.1f} s, {:.0f}", seconds, point.ess_bulk_min / seconds);
  } else {
    fmt::print(" | > {:.0f} s", limit);
  }
  std::fflush(stdout);
}

/// Two chains of each metric over a ladder of unknowns and widths, as a table. "auto" is the
/// information metric in all of them. A run ends after `limit` seconds.
inline void measure_metrics(double temperature, double limit) {
  fmt::print(
      "P = 40, N_0 = 12, T = {}\n\n| heads | N | auto | diagonal | dense | unit |\n"
      "|---|---|---|---|---|---|\n",
      temperature);
  const std::vector<std::vector<int>> ladder = {{6}, {3, 3}, {2, 2, 3}, {3, 3, 2}, {9, 3}};
  for (const std::vector<int>& heads : ladder) {
    const tasks::Dataset data = ladder_dataset(heads);
    for (const Index width : {3, 10, 30, 100, 1000}) {
      Study study;
      study.task.set_kind(TaskKind::kDataset);
      study.threads = 1;
      study.model.widths = {{width}};
      study.model.temperatures = {temperature};
      study.solve.corrections = When::kOff;
      study.sample.chains = 2;
      study.sample.evidence = false;
      Observer quiet;
      const SolveResult solved = solve(study, data, quiet);
      fmt::print("| {} | {}", fmt::join(heads, " x "), width);
      for (const SampleMetric metric : {SampleMetric::kAuto, SampleMetric::kDiagonal,
                                        SampleMetric::kDense, SampleMetric::kUnit}) {
        measure_metric(data, study, metric, limit, solved);
      }
      fmt::print(" |\n");
    }
  }
}

}  // namespace headway
