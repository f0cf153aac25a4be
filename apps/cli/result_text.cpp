#include "result_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "headway/core/labels.hpp"
#include "headway/core/text.hpp"
#include "headway/model/path_index.hpp"
#include "headway/results/lookup.hpp"
#include "headway/results/table.hpp"

namespace headway::cli {

namespace {

/// ", 1000 test, 200 validation and 500 mnist examples"; " and 1000 test examples" without sets.
std::string evaluated_text(const SolveResult& result) {
  if (result.set_names.empty())
    return fmt::format(" and {}", count_text(result.test_examples, "test example"));
  std::string out = fmt::format(", {} test", result.test_examples);
  for (std::size_t i = 0; i < result.set_names.size(); ++i) {
    const bool last = i + 1 == result.set_names.size();
    out +=
        fmt::format("{} {} {}", last ? " and" : ",", result.set_examples[i], result.set_names[i]);
  }
  return out + " examples";
}

std::string diagonal_of(const MatrixXd& mean, const MatrixXd& error,
                        std::string (*entry)(double, double, const char*)) {
  constexpr Index kMost = 4;
  std::string out;
  for (Index i = 0; i < std::min(mean.rows(), kMost); ++i) {
    out += (i > 0 ? ", " : "") + entry(mean(i, i), error(i, i), "{:.4g}");
  }
  return mean.rows() > kMost ? out + ", ..." : out;
}

}  // namespace

std::string study_header(const Study& study, const SolveResult& result) {
  const Index paths = model::path_count(result.heads);
  return wrapped(fmt::format(
      "{}: {} train{}, {}, {}, heads [{}], {}\n\n", study.name, result.train_examples,
      evaluated_text(result), count_text(result.features, "feature"),
      count_text(result.outputs, "output"), numbers_text(result.heads), count_text(paths, "path")));
}

Measure::Measure(const SolveResult& result) : accuracy_(labels_are_classes(result.test_labels)) {}

std::string Measure::text(const PredictorReport& report) const {
  return accuracy_ ? cell(report.accuracy, "{:.4f}") : cell(report.mean_squared_error, "{:.4g}");
}

std::string Measure::limit_text(const SolveResult& result, double temperature) const {
  const GaussianProcessPoint* limit = headway::gaussian_process_at(result, temperature);
  return limit != nullptr ? text(limit->predictor) : "-";
}

SetColumns::SetColumns(const SolveResult& result, bool limits) : limits_(limits) {
  for (const std::string& name : result.set_names) {
    const auto has_accuracy = [&](const PredictorReport& report) {
      return std::any_of(report.sets.begin(), report.sets.end(), [&](const auto& set) {
        return set.name == name && std::isfinite(set.accuracy);
      });
    };
    const auto some = [&](const auto& points) {
      return std::any_of(points.begin(), points.end(),
                         [&](const auto& point) { return has_accuracy(point.predictor); });
    };
    // Where attention is learned there is no Gaussian process.
    columns_.push_back({name, some(result.gaussian_process) || some(result.points)});
  }
}

std::vector<std::string> SetColumns::header(std::vector<std::string> header, std::size_t at) const {
  for (const Column& column : columns_) {
    header.insert(header.begin() + static_cast<std::ptrdiff_t>(at++),
                  column.accuracy ? column.name : column.name + " MSE");
    if (limits_) header.insert(header.begin() + static_cast<std::ptrdiff_t>(at++), "GP");
  }
  return header;
}

std::string SetColumns::text(const Column& column, const PredictorReport& report) {
  double value = headway::kUndefined;
  for (const SetReport& set : report.sets) {
    if (set.name == column.name) value = column.accuracy ? set.accuracy : set.mean_squared_error;
  }
  return cell(value, column.accuracy ? "{:.4f}" : "{:.4g}");
}

std::vector<std::string> SetColumns::row(std::vector<std::string> row, std::size_t at,
                                         const PredictorReport& report,
                                         const GaussianProcessPoint* limit) const {
  const auto insert = [&](const std::string& text) {
    row.insert(row.begin() + static_cast<std::ptrdiff_t>(at++), text);
  };
  for (const Column& column : columns_) {
    insert(text(column, report));
    if (limits_) insert(limit != nullptr ? text(column, limit->predictor) : "-");
  }
  return row;
}

std::string readout_text(const MatrixXd& readout) {
  return readout.size() == 1 ? small_cell(readout(0, 0)) : diagonal_text(readout, 3);
}

std::string first_layer_text(const theory::OrderParameters& u) {
  return u.layers.empty() ? "-" : diagonal_text(u.layers.front());
}

std::string measured_diagonal(const MatrixXd& mean, const MatrixXd& error) {
  return diagonal_of(mean, error, &measured_text);
}

std::string deviations_diagonal(const MatrixXd& mean, const MatrixXd& deviation) {
  return diagonal_of(mean, deviation, &deviation_text);
}

}  // namespace headway::cli
