#include <fmt/core.h>

#include <algorithm>
#include <functional>

#include "headway/core/error.hpp"
#include "headway/io/hdf5_file.hpp"
#include "headway/studies/lookup.hpp"
#include "io/result_file/write.hpp"
#include "io/result_file/write_network.hpp"

namespace headway::io {
namespace {

/// One row for each curve, padded with `filler` to the longest.
template <typename Value, typename Source>
std::vector<Value> padded_rows(const std::vector<studies::PruningCurve>& curves, Value filler,
                               Source source, std::vector<Index>& shape) {
  std::size_t longest = 0;
  for (const auto& curve : curves) longest = std::max(longest, source(curve).size());
  std::vector<Value> rows;
  for (const auto& curve : curves) {
    const auto& values = source(curve);
    for (std::size_t i = 0; i < longest; ++i) {
      rows.push_back(i < values.size() ? static_cast<Value>(values[i]) : filler);
    }
  }
  shape = {static_cast<Index>(curves.size()), static_cast<Index>(longest)};
  return rows;
}

void write_curve(const std::string& path, const studies::PruningCurve& curve, Hdf5OutputFile& out) {
  if (curve.accuracy.empty()) return;
  out.write(path, {static_cast<Index>(curve.accuracy.size())}, curve.accuracy.data());
  out.write_integers(path + "_order", {static_cast<Index>(curve.order.size())},
                     {curve.order.begin(), curve.order.end()});
}

void write_random_curves(const std::string& group, const studies::PrunePoint& point,
                         Hdf5OutputFile& out) {
  if (point.random.empty()) return;
  std::vector<Index> shape;
  const std::vector<double> accuracy = padded_rows(
      point.random, studies::kUndefined,
      [](const studies::PruningCurve& c) -> const std::vector<double>& { return c.accuracy; },
      shape);
  out.write(group + "/random", shape, accuracy.data());
  const std::vector<std::int64_t> order = padded_rows(
      point.random, std::int64_t{-1},
      [](const studies::PruningCurve& c) -> const std::vector<int>& { return c.order; }, shape);
  out.write_integers(group + "/random_order", shape, order);
  out.write(group + "/random_mean", {static_cast<Index>(point.random_mean.size())},
            point.random_mean.data());
  out.write(group + "/random_sd", {static_cast<Index>(point.random_sd.size())},
            point.random_sd.data());
}

/// Builds the file in memory with `fill`, then puts it in place.
void write_result(const std::string& file_path, bool force,
                  const std::function<void(Hdf5OutputFile&)>& fill) {
  check_output_path(file_path, force);
  const Hdf5Lock lock;
  Hdf5OutputFile out;
  fill(out);
  out.write_to(file_path, force);
}

template <typename Result>
void check_points(const Result& result) {
  if (result.points.size() <= result.solve.points.size()) return;
  throw Error(ErrorKind::kInternal, fmt::format("a result of {} points for {} solved ones",
                                                result.points.size(), result.solve.points.size()));
}

}  // namespace

void write_alignment(const std::string& group, const studies::AlignPoint& point,
                     Hdf5OutputFile& out) {
  out.set(group, "seconds", point.seconds);
  out.write(group + "/overlaps", point.overlaps);
  out.write(group + "/gaussian_process_overlaps", point.gaussian_process_overlaps);
  out.write(group + "/cumulative", point.cumulative);
  out.write(group + "/gaussian_process_cumulative", point.gaussian_process_cumulative);
  out.write(group + "/eigenvalues", point.eigenvalues);
  out.write(group + "/gaussian_process_eigenvalues", point.gaussian_process_eigenvalues);
}

void write_pruning(const std::string& group, const studies::PrunePoint& point,
                   Hdf5OutputFile& out) {
  out.set(group, "accuracy", point.accuracy);
  out.set(group, "seconds", point.seconds);
  const auto count = static_cast<Index>(point.heads.size());
  std::vector<std::int64_t> layer, head;
  std::vector<std::string> names;
  for (const studies::HeadReport& report : point.heads) {
    layer.push_back(report.layer);
    head.push_back(report.head);
    names.push_back(report.name);
  }
  out.write_integers(group + "/layer", {count}, layer);
  out.write_integers(group + "/head", {count}, head);
  out.write_strings(group + "/name", names);
  const auto write_numbers = [&](const char* name, double studies::HeadReport::*member) {
    std::vector<double> values;
    for (const studies::HeadReport& report : point.heads) values.push_back(report.*member);
    out.write(fmt::format("{}/{}", group, name), {count}, values.data());
  };
  write_numbers("score", &studies::HeadReport::score);
  write_numbers("score_weighted", &studies::HeadReport::score_weighted);
  write_numbers("accuracy_without", &studies::HeadReport::accuracy_without);
  write_numbers("mean_squared_error_without", &studies::HeadReport::mean_squared_error_without);
  write_curve(group + "/cumulative/score", point.by_score, out);
  write_curve(group + "/cumulative/greedy", point.greedy, out);
  if (!point.greedy_on.empty()) out.set(group + "/cumulative", "greedy_on", point.greedy_on);
  write_random_curves(group + "/cumulative", point, out);
}

void write_solve_result(const std::string& file_path, const studies::Study& study,
                        const studies::SolveResult& result, const ResultProvenance& provenance,
                        bool force) {
  write_result(file_path, force, [&](Hdf5OutputFile& out) {
    write_solve_part("solve", study, result, provenance, out);
  });
}

void write_align_result(const std::string& file_path, const studies::Study& study,
                        const studies::AlignResult& result, const ResultProvenance& provenance,
                        bool force) {
  check_points(result);
  write_result(file_path, force, [&](Hdf5OutputFile& out) {
    write_solve_part("align", study, result.solve, provenance, out);
    for (std::size_t i = 0; i < result.points.size(); ++i) {
      write_alignment(fmt::format("points/{}/alignment", i), result.points[i], out);
    }
  });
}

void write_prune_result(const std::string& file_path, const studies::Study& study,
                        const studies::PruneResult& result, const ResultProvenance& provenance,
                        bool force) {
  check_points(result);
  write_result(file_path, force, [&](Hdf5OutputFile& out) {
    write_solve_part("prune", study, result.solve, provenance, out);
    for (std::size_t i = 0; i < result.points.size(); ++i) {
      const std::string group = fmt::format("points/{}", i);
      write_pruning(group + "/pruning", result.points[i], out);
      write_network_scores(group + "/network/scores", result.points[i].network, out);
    }
    if (result.network) write_network("network", *result.network, out);
  });
}

void write_sample_result(const std::string& file_path, const studies::Study& study,
                         const studies::SampleResult& result, const ResultProvenance& provenance,
                         bool force) {
  check_points(result);
  write_result(file_path, force, [&](Hdf5OutputFile& out) {
    write_root_part("sample", study, result.solve, provenance, out);
    for (std::size_t i = 0; i < result.points.size(); ++i) {
      const std::string group = fmt::format("points/{}", i);
      write_sample_point(group, result.points[i], out);
      out.set(group, "gp_accuracy",
              studies::gaussian_process_accuracy(result.solve, result.points[i].temperature));
      write_solve_point(group + "/theory", result.solve.points[i], result.solve, out);
    }
  });
}

}  // namespace headway::io
