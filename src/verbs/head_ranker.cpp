#include "verbs/head_ranker.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "headway/analysis/removal.hpp"
#include "headway/core/interruption.hpp"
#include "headway/core/labels.hpp"
#include "headway/core/memory.hpp"
#include "headway/core/option_error.hpp"
#include "headway/core/quiet_observer.hpp"
#include "headway/error.hpp"
#include "headway/numerics/statistics.hpp"
#include "headway/solve.hpp"

namespace headway {
namespace {

using numerics::listed;

constexpr Index kFewestExamples = 8, kFewestOfClass = 2;
constexpr double kIntervalShare = 0.9;  // and what tells heads apart
constexpr Index kTheoryWidth = 10;
constexpr double kRounding =
    1e-11;  // squared: parts that differ by less, in single precision, are the same

/// U_1 of the theory for these parts, the outputs of a part side by side.
MatrixXd solved_order_parameters(const RowMatrixXd& parts, Index count, const MatrixXd& labels,
                                 double temperature, int threads, const Observer& observer) {
  tasks::Dataset dataset;
  dataset.name = "parts of a layer";
  dataset.form = AttentionForm::kPathFeatures;
  dataset.heads = {static_cast<int>(count)};
  dataset.layers.resize(1);
  dataset.features = parts.cols() / count;
  dataset.train.path_features = parts;
  dataset.train.labels = labels;
  Study study = Study::of_arrays();
  study.model.widths = {{kTheoryWidth}};
  study.model.temperatures = {temperature};
  study.solve.hessian = study.solve.corrections = When::kOff;
  study.threads = threads;
  // With many parts the theory is at its end at this width. The documents say so, so it does not
  // warn.
  QuietObserver quiet(observer);
  return headway::solve(study, dataset, quiet).points.at(0).order_parameters.layers.front();
}

RankColumn column(std::string name, const VectorXd& value, const VectorXd& error, double passes) {
  return {std::move(name), listed(value), listed(error), passes};
}

/// A frozen cut is no removal, and no column calls it one.
std::string column_of(const std::string& measured) {
  return measured.starts_with("frozen_cut_") ? measured : "removal_" + measured;
}

void check_cheapest(Index cheapest, std::size_t heads) {
  if (cheapest <= static_cast<Index>(heads)) return;
  throw OptionError(
      fmt::format("rank.cheapest = {}: must be at most {}, the number of heads", cheapest, heads),
      {"rank.cheapest"});
}

}  // namespace

void check_labels_to_rank_by(const std::string& name, const MatrixXd& labels) {
  const auto refuse = [&](const std::string& fault) {
    throw Error(ErrorKind::kBadData, fmt::format("{}: labels: {}", name, fault));
  };
  const Index examples = labels.rows(), classes = labels.cols();
  if (examples < kFewestExamples) {
    refuse(fmt::format("{} examples: must be at least {}", examples, kFewestExamples));
  }
  if ((labels.rowwise() - labels.row(0)).isZero(0.0)) {
    refuse(fmt::format("are the same for all {} examples: must be at least two different labels",
                       examples));
  }
  if (!labels_are_classes(labels)) return;
  const VectorXd of_class = classes == 1 ? VectorXd(Eigen::Vector2d((labels.array() < 0.0).count(),
                                                                    (labels.array() > 0.0).count()))
                                         : VectorXd(labels.colwise().sum().transpose());
  if (examples < of_class.size()) {
    refuse(fmt::format("{} examples of {} classes: must be at least as many examples as classes",
                       examples, of_class.size()));
  }
  for (Index c = 0; c < of_class.size(); ++c) {
    // A class that is never there is no fault of one-hot labels of many classes.
    if (of_class[c] != 1.0) continue;
    refuse(
        fmt::format("class {} has 1 of {} examples: must be at least {} of each class that "
                    "there is",
                    c, examples, kFewestOfClass));
  }
}

void require_cut_memory(const std::string& name, const MatrixXd& labels, double memory_bytes) {
  const double side = static_cast<double>(labels.rows()) * static_cast<double>(labels.cols());
  const double bytes = 4.0 * sizeof(double) * side * side;
  if (bytes <= memory_bytes) return;
  throw Error(
      ErrorKind::kBadData,
      fmt::format("{}: {} examples of {} outputs: the theory's cuts need {:.1f} GiB: must "
                  "be at most {:.1f} GiB, the memory of this machine; give fewer examples",
                  name, labels.rows(), labels.cols(), bytes / kGibibyte, memory_bytes / kGibibyte));
}

void check_parts_differ(const std::string& name, const RowMatrixXd& parts) {
  const double spread = (parts.rowwise() - parts.colwise().mean()).squaredNorm();
  if (spread > kRounding * parts.squaredNorm()) return;
  throw Error(ErrorKind::kBadData,
              fmt::format("{}: train: the contributions are the same on all examples: must be some "
                          "that differ",
                          name));
}

RankColumn column_of_examples(std::string name, const MatrixXd& rows, double passes) {
  VectorXd value(rows.rows()), error(rows.rows());
  for (Index h = 0; h < rows.rows(); ++h) {
    const analysis::Estimate mean = analysis::estimate_mean(rows.row(h).transpose());
    value[h] = mean.mean;
    error[h] = mean.error;
  }
  return column(std::move(name), value, error, passes);
}

FrozenCuts frozen_cuts(const LayerParts& layer, const MatrixXd& labels, double penalty, int threads,
                       const Observer& observer) {
  const RowMatrixXd scaled = analysis::scaled_parts(layer.values);
  const MatrixXd centred = labels.rowwise() - labels.colwise().mean();
  const double temperature = analysis::matched_temperature(scaled, layer.count, penalty);
  MatrixXd u;
  try {
    u = solved_order_parameters(scaled, layer.count, centred, temperature, threads, observer);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kBadStudy) throw;
    throw OptionError(
        fmt::format("rank.penalty = {:g}: is so small that rounding makes the theory's kernel of "
                    "the parts singular: must be larger",
                    penalty),
        {"rank.penalty"});
  }
  const auto between = [&] { throw_if_interrupted(observer); };
  between();  // of an interrupted solution U is no minimum
  const auto changes = [&](const MatrixXd& of) {
    return analysis::cut_changes(scaled, layer.count, layer.of_heads, centred, {temperature, of},
                                 between);
  };
  return {changes(MatrixXd()), changes(u)};
}

HeadRanking ranking_of(const MeasuredHeads& measured, const std::string& target,
                       const analysis::RankedReadout& whole, const MatrixXd& labels,
                       const RankOptions& wanted, std::uint64_t seed) {
  const std::size_t heads = measured.names.size();
  check_cheapest(wanted.cheapest, heads);
  const auto chosen = std::find_if(measured.removals.begin(), measured.removals.end(),
                                   [&](const auto& one) { return one.first == target; });
  if (chosen == measured.removals.end()) throw Error(ErrorKind::kInternal, "no removal " + target);
  const analysis::RemovalChanges& changes = chosen->second;
  const analysis::RankEstimate estimate = analysis::combine(changes, seed);
  HeadRanking out;
  out.target = column_of(target);
  out.examples = labels.rows();
  out.loss = whole.errors().mean();
  if (labels_are_classes(labels)) {
    out.accuracy = right_answers(labels - whole.readout().missed, labels).mean();
  }
  out.penalty = whole.readout().penalty;
  out.cheapest =
      wanted.cheapest > 0 ? wanted.cheapest : std::max<Index>(1, static_cast<Index>(heads) / 4);
  const analysis::RankCeiling ceiling = analysis::rank_ceiling(changes.rises, seed);
  out.halves = ceiling.halves;
  out.halves_sd = ceiling.deviation;
  out.ceiling = ceiling.whole;
  out.told_apart = analysis::told_apart(changes.rises);
  out.names = measured.names;
  out.layers = measured.layers;
  out.heads = measured.heads;
  out.ranks = analysis::shared_ranks(estimate.draws, kIntervalShare);
  const auto interval = estimate.interval(kIntervalShare);
  out.estimate = listed(estimate.mean);
  out.low = listed(interval[0]);
  out.high = listed(interval[1]);
  out.error = listed(estimate.deviation());
  out.among_cheapest =
      listed(analysis::among_cheapest(estimate.draws, static_cast<int>(out.cheapest)));
  for (const auto& [name, change] : measured.removals) {
    out.columns.push_back(
        column(column_of(name), change.mean(), change.error(), measured.removal_passes));
    out.columns.push_back(
        column("expected_" + name, change.belief, change.belief_error, measured.removal_passes));
  }
  out.columns.insert(out.columns.end(), measured.others.begin(), measured.others.end());
  return out;
}

}  // namespace headway
