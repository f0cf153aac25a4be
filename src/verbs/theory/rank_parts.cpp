#include <fmt/format.h>

#include "headway/core/clock.hpp"
#include "headway/core/interruption.hpp"
#include "headway/core/memory.hpp"
#include "headway/core/parallel.hpp"
#include "headway/core/text.hpp"
#include "headway/error.hpp"
#include "headway/rank.hpp"
#include "verbs/head_ranker.hpp"

namespace headway {
namespace {

void check_contributions(const tasks::Dataset& dataset) {
  if (dataset.form != AttentionForm::kPathFeatures || dataset.gram) {
    throw Error(ErrorKind::kBadData,
                fmt::format("{}: holds no contributions: must be a data set of headway extract, or "
                            "of from_hugging_face and from_torch with form=\"contributions\"",
                            dataset.name));
  }
  if (dataset.heads.size() == 1) return;
  throw Error(ErrorKind::kBadData,
              fmt::format("{}: holds contributions of the layers [{}]: must be of one layer, so "
                          "that each part is a path of its own",
                          dataset.name, join(dataset.heads, ", ")));
}

RowMatrixXd parts_in(const tasks::Split& split, Index columns) {
  if (!split.feature_source) return split.path_features;
  RowMatrixXd parts(split.size(), columns);
  split.feature_source->read(0, split.size(), parts.data());
  return parts;
}

/// Of the part with this number from 0: its own, else "L1H3".
std::string name_of(const tasks::Dataset& dataset, std::size_t part) {
  if (!dataset.layers.empty() && part < dataset.layers.front().names.size()) {
    return dataset.layers.front().names[part];
  }
  return fmt::format("L1H{}", part + 1);
}

}  // namespace

RankResult rank_parts(const Study& study, const tasks::Dataset& dataset, Observer& observer) {
  const Clock::time_point began = Clock::now();
  check_contributions(dataset);
  const MatrixXd& labels = dataset.train.labels;
  check_labels_to_rank_by(dataset.name, labels);
  require_cut_memory(dataset.name, labels, physical_memory());
  const Index count = dataset.heads.front();
  LayerParts layer{parts_in(dataset.train, count * dataset.features), count, {}};
  const RowMatrixXd& parts = layer.values;
  check_parts_differ(dataset.name, parts);
  const Index features = parts.cols() / count;
  MatrixXd sum = MatrixXd::Zero(parts.rows(), features);
  for (Index part = 0; part < count; ++part) sum += parts.middleCols(part * features, features);
  const analysis::RankedReadout whole(sum, labels, study.rank.penalty, study.seed);
  MeasuredHeads measured;
  std::vector<analysis::RemovalChanges> fixed, refitted;
  for (Index part = 0; part < count; ++part) {
    throw_if_interrupted(observer);
    auto changes = whole.without(sum - parts.middleCols(part * features, features));
    fixed.push_back(std::move(changes[0]));
    refitted.push_back(std::move(changes[1]));
    measured.names.push_back(name_of(dataset, static_cast<std::size_t>(part)));
    measured.layers.push_back(1);
    measured.heads.push_back(static_cast<int>(part) + 1);
    layer.of_heads.push_back({static_cast<int>(part)});
    observer.whole("rank", static_cast<double>(part + 1), static_cast<double>(count + 1));
  }
  measured.removals.emplace_back("frozen_cut_fixed", analysis::stacked(fixed));
  measured.removals.emplace_back("frozen_cut_refitted", analysis::stacked(refitted));
  const int threads = resolve_threads(study.threads);
  const FrozenCuts cuts = frozen_cuts(layer, labels, whole.readout().penalty, threads, observer);
  measured.others.push_back(column_of_examples("cut_without_theory", cuts.without_theory, 0.0));
  measured.others.push_back(column_of_examples("cut_of_theory", cuts.of_theory, 0.0));
  observer.whole("rank", static_cast<double>(count + 1), static_cast<double>(count + 1));
  RankResult result;
  result.runs.push_back(ranking_of(measured,
                                   "frozen_cut_" + std::string(word_of(study.rank.readout)), whole,
                                   labels, study.rank, study.seed));
  result.runs.back().label = study.name;
  result.runs.back().split = "train";
  result.runs.back().seed = study.seed;
  result.planned = 1;
  result.threads = threads;
  result.seconds = seconds_since(began);
  return result;
}

}  // namespace headway
