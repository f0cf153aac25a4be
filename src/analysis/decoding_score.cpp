#include "analysis/decoding_score.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "headway/numerics/statistics.hpp"

namespace headway::analysis {
namespace {

std::vector<Index> values_of(std::vector<Index> tasks) {
  std::sort(tasks.begin(), tasks.end());
  tasks.erase(std::unique(tasks.begin(), tasks.end()), tasks.end());
  return tasks;
}

/// 2 TP / (2 TP + FP + FN); undefined where class 1 is not there.
double f1_of(const VectorXd& s) {
  return s(0) + s(2) > 0.0 ? 2.0 * s(0) / (2.0 * s(0) + s(1) + s(2)) : numerics::kUndefined;
}

double balanced_accuracy_of(const VectorXd& s) {
  double sum = 0.0, classes = 0.0;
  for (Index c = 0; c + 1 < s.size(); c += 2) {
    if (s(c + 1) == 0.0) continue;
    sum += s(c) / s(c + 1);
    classes += 1.0;
  }
  return sum / classes;
}

/// Undefined for a target that does not vary, but for rounding.
double r2_of(const VectorXd& s) {
  const double deviations = s(2) - s(1) * s(1) / s(0);
  return deviations > 1e-12 * s(2) ? 1.0 - s(3) / deviations : numerics::kUndefined;
}

/// The class that is likeliest to be at each place of `asked`: argmax_c P(place | c). This is the
/// best answer for balanced accuracy. kNoAnswer for a place that is not in `places`.
std::vector<int> likeliest_classes(const std::vector<int>& classes, const std::vector<int>& places,
                                   int count, const std::vector<int>& asked) {
  std::map<int, VectorXd> shares;  // of each place
  std::vector<double> of_class(static_cast<std::size_t>(count), 0.0);
  for (const int c : classes) of_class[static_cast<std::size_t>(c)] += 1.0;
  for (std::size_t i = 0; i < classes.size(); ++i) {
    VectorXd& share = shares.try_emplace(places[i], VectorXd::Zero(count)).first->second;
    share(classes[i]) += 1.0 / of_class[static_cast<std::size_t>(classes[i])];
  }
  std::vector<int> out;
  for (const int place : asked) {
    Index best = kNoAnswer;
    if (const auto found = shares.find(place); found != shares.end()) {
      found->second.maxCoeff(&best);
    }
    out.push_back(static_cast<int>(best));
  }
  return out;
}

}  // namespace

Index task_count(const std::vector<Index>& tasks) {
  return static_cast<Index>(values_of(tasks).size());
}

std::vector<Index> task_numbers(const std::vector<Index>& tasks) {
  const std::vector<Index> values = values_of(tasks);
  std::vector<Index> out;
  for (const Index task : tasks) {
    out.push_back(std::lower_bound(values.begin(), values.end(), task) - values.begin());
  }
  return out;
}

double ScoreSums::score_of(const VectorXd& sums) const {
  double total = 0.0, questions = 0.0;
  for (Index at = 0; at < sums.size(); at += per_question) {
    const VectorXd s = sums.segment(at, per_question);
    const double one = metric == DecoderMetric::kF1                 ? f1_of(s)
                       : metric == DecoderMetric::kBalancedAccuracy ? balanced_accuracy_of(s)
                                                                    : r2_of(s);
    if (!std::isfinite(one)) continue;
    total += one;
    questions += 1.0;
  }
  return total / questions;
}

double ScoreSums::jackknife_error() const {
  const VectorXd all = by_task.colwise().sum().transpose();
  std::vector<double> without;
  for (Index t = 0; t < by_task.rows(); ++t) {
    without.push_back(score_of(all - by_task.row(t).transpose()));
  }
  const numerics::Moments m = numerics::moments(without);
  return std::sqrt((m.count - 1.0) / m.count * m.squares);
}

ScoreSums class_sums(const std::vector<std::vector<int>>& answers,
                     const std::vector<std::vector<int>>& classes, int count, DecoderMetric metric,
                     const std::vector<Index>& tasks) {
  const std::vector<Index> numbers = task_numbers(tasks);
  ScoreSums out;
  out.metric = metric;
  out.per_question = metric == DecoderMetric::kF1 ? 3 : 2 * count;
  out.by_task =
      MatrixXd::Zero(task_count(tasks), static_cast<Index>(classes.size()) * out.per_question);
  for (std::size_t q = 0; q < classes.size(); ++q) {
    const Index at = static_cast<Index>(q) * out.per_question;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const int truth = classes[q][i], answer = answers[q][i];
      auto row = out.by_task.row(numbers[i]);
      if (metric == DecoderMetric::kF1) {
        const double yes = answer == kNoAnswer ? 0.5 : answer == 1 ? 1.0 : 0.0;
        if (truth == 1) {
          row(at) += yes;
          row(at + 2) += 1.0 - yes;
        } else {
          row(at + 1) += yes;
        }
      } else {
        row(at + Index{2} * truth) += answer == kNoAnswer ? 1.0 / count
                                      : answer == truth   ? 1.0
                                                          : 0.0;
        row(at + Index{2} * truth + 1) += 1.0;
      }
    }
  }
  return out;
}

ScoreSums regression_sums(const MatrixXd& answers, const MatrixXd& targets,
                          const std::vector<Index>& tasks) {
  const std::vector<Index> numbers = task_numbers(tasks);
  ScoreSums out;
  out.metric = DecoderMetric::kR2;
  out.per_question = 4;
  out.by_task = MatrixXd::Zero(task_count(tasks), 4 * targets.cols());
  // Deviations about one point for all tasks, so that squares do not swallow them.
  const Eigen::RowVectorXd origin = targets.colwise().mean();
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const auto n = static_cast<Index>(i);
    for (Index o = 0; o < targets.cols(); ++o) {
      const double y = targets(n, o) - origin(o), error = targets(n, o) - answers(n, o);
      out.by_task.row(numbers[i]).segment(4 * o, 4) +=
          Eigen::RowVector4d(1.0, y, y * y, error * error);
    }
  }
  return out;
}

double chance_of(const DecodingData& train, const DecodingData& held_out,
                 const DecodingOptions& options) {
  if (options.kind == DecoderKind::kRidge) return 0.0;
  const bool f1 = options.metric == DecoderMetric::kF1;
  double total = 0.0, questions = 0.0;
  for (const std::vector<int>& question : held_out.classes) {
    double present = 0.0;
    for (int c = 0; c < options.class_count; ++c) {
      present += std::find(question.begin(), question.end(), c) != question.end() ? 1.0 : 0.0;
    }
    const auto ones = static_cast<double>(std::count(question.begin(), question.end(), 1));
    const double share = ones / static_cast<double>(question.size());
    if (f1 && share == 0.0) continue;
    total += f1 ? 2.0 * share / (1.0 + share) : 1.0 / present;
    questions += 1.0;
  }
  const double blind = total / questions;
  if (f1 || train.places.empty()) return blind;
  std::vector<std::vector<int>> answers;
  for (const std::vector<int>& question : train.classes) {
    answers.push_back(
        likeliest_classes(question, train.places, options.class_count, held_out.places));
  }
  const ScoreSums by_place =
      class_sums(answers, held_out.classes, options.class_count, options.metric, held_out.tasks);
  return std::max(blind, by_place.score());
}

}  // namespace headway::analysis
